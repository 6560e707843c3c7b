//! The two devices of table 4.2, which cannot be had, and what stands in for them.

use esker_results::RunResults;
use esker_sim::{Experiment, RunOptions};

use crate::{Context, Item, ItemFault, ReproduceError};

/// A device of table 4.2, or a layer of its flash.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tested {
    pub(super) name: &'static str,
    /// The device's table in an experiment, called `d`.
    device: &'static str,
    pub(super) stand_in: &'static str,
}

const FLASH: &str = "the flash of table 3.2 on four channels, 256 MB of it with 7 % spare; the Mtron drive's layer and \
                     buffer are not published";

/// Four-way SLC (tables 3.2 and 4.2) with a map of pages.
pub(super) const SSD_PAGE: Tested = Tested {
    name: "SSD, page map",
    device: "preset = \"kim-slc-32g\"\nprecondition = \"steady\"\nover_provisioning = \"7%\"\n\
             [device.d.geometry]\nchannels = 4\nblocks_per_plane = 512\n",
    stand_in: FLASH,
};

/// The same with log blocks.
pub(super) const SSD_FAST: Tested = Tested {
    name: "SSD, FAST",
    device: "preset = \"kim-slc-32g\"\nprecondition = \"steady\"\nftl = \"fast\"\nover_provisioning = \"7%\"\n\
             [device.d.geometry]\nchannels = 4\nblocks_per_plane = 512\n",
    stand_in: FLASH,
};

/// A disk of 10,000 rpm. All else is assumed: one zone of 84 MB/s, seeks of 4.6 ms over a third of the surface.
pub(super) const DISK: Tested = Tested {
    name: "disk",
    device: "preset = \"sas-10k-2400g\"\ncapacity = \"150GB\"\nsurfaces = 4\n\
             zones = [{ cylinders = 74_500, sectors_per_track = 984 }]\n\
             seek = [[1, \"0.4ms\"], [8_000, \"2.7ms\"], [25_000, \"4.6ms\"], [74_499, \"8.9ms\"]]\n",
    stand_in: "a disk of 10,000 rpm and 150 GB, its rate and seeks assumed; no extraction of the paper's is public",
};

/// What is asked of a device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) reads_percent: u32,
    pub(super) sequential: bool,
    /// Size of a request, KiB.
    pub(super) kib: u32,
    /// Requests that are measured, after as many that are not.
    pub(super) requests: u64,
    /// Writes a second; one request after the other if `None`.
    pub(super) rate: Option<u32>,
}

impl Tested {
    /// Simulates it as part `part.0` of `part.1` of the item.
    pub(super) fn measure(
        &self,
        item: &Item,
        context: &Context<'_>,
        asked: &Asked,
        part: (usize, usize),
    ) -> Result<RunResults, ReproduceError> {
        let error = |fault: ItemFault| ReproduceError::of(item, fault);
        let Asked { reads_percent, sequential, kib, requests, rate } = *asked;
        let (depth, arrivals) = match rate {
            None => ("queue_depth = 1\n", String::new()),
            Some(rate) => ("", format!(", arrivals = {{ kind = \"poisson\", rate = \"{rate}/s\" }}")),
        };
        let text = format!(
            "[workload]\n{depth}synthetic = {{ requests = {}, read_fraction = \"{reads_percent}%\", \
             size = \"{kib}KiB\", sequential_fraction = \"{}%\"{arrivals} }}\n[device.d]\n{}\
             [run]\ntarget = \"d\"\nwarm_up_requests = {requests}\nseed = {}\n",
            2 * requests,
            if sequential { 100 } else { 0 },
            self.device,
            context.seed
        );
        let experiment = Experiment::from_str(&text, "the item's experiment").map_err(|fault| error(fault.into()))?;
        let progress = |ended: u64, all: u64| {
            (context.progress)((part.0 as f64 + ended as f64 / all.max(1) as f64) / part.1 as f64);
        };
        let options = RunOptions { progress: Some(&progress), ..context.run_options() };
        let results = esker_sim::run(&experiment, &options).map_err(|fault| error(fault.into()))?;
        match (results.requests.errors, &results.saturated) {
            (0, None) => Ok(results),
            (0, Some(_)) => Err(error(ItemFault::Saturated)),
            (failed, _) => Err(error(ItemFault::RequestsFailed(failed))),
        }
    }
}
