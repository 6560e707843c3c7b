//! The four workloads of Agrawal 2008, as far as they can be had.
//!
//! Of IOzone the first 100,000 requests were released, of Postmark all. TPC-C and Exchange cannot be had: requests are
//! made up by what section 4.1 says of them, as one drive sees them.

use crate::traces::{self, PaperTrace};
use crate::{Claim, Context};

/// A workload.
pub(super) struct Workload {
    pub(super) name: &'static str,
    requests: Requests,
    /// What stands in for it, where it cannot be had.
    stand_in: Option<&'static str>,
}

enum Requests {
    Trace(&'static PaperTrace),
    /// A table `[workload.synthetic]`.
    MadeUp(&'static str),
}

/// The first 100,000 requests.
pub(super) const IOZONE: Workload =
    Workload { name: "IOzone", requests: Requests::Trace(&traces::IOZONE), stand_in: None };

pub(super) const POSTMARK: Workload =
    Workload { name: "Postmark", requests: Requests::Trace(&traces::POSTMARK), stand_in: None };

/// "Multiples of 8 KB", aligned; "about twice as many reads as writes"; "the average trace rate of 300 IOPS per
/// SSD". Where they go is not said.
pub(super) const TPCC: Workload = Workload {
    name: "TPC-C",
    requests: Requests::MadeUp(
        "requests = 40_000\nread_fraction = \"66.67%\"\nsize = \"8KiB\"\nalignment = \"8KiB\"\n\
         arrivals = { kind = \"poisson\", rate = \"300/s\" }\n",
    ),
    stand_in: Some("8 KiB at random addresses, two reads to a write, 300 requests a second"),
};

/// "About a 3:2 read-to-write ratio", "variable size", "only about 900 IOPS" for ten drives. The sizes are those of
/// table 4 (see there), in the pieces of up to 32 KiB that reach one drive.
pub(super) const EXCHANGE: Workload = Workload {
    name: "Exchange",
    requests: Requests::MadeUp(
        "requests = 65_000\n\
         read_fraction = \"60%\"\n\
         alignment = \"4KiB\"\n\
         size = [{ size = \"8KiB\", weight = 29 }, { size = \"16KiB\", weight = 48 }, \
         { size = \"32KiB\", weight = 46 }]\n\
         arrivals = { kind = \"poisson\", rate = \"111/s\" }\n",
    ),
    stand_in: Some("three reads to two writes of 8 to 32 KiB at random addresses, 111 requests a second"),
};

/// In the order of the paper's figures.
pub(super) static ALL: [&Workload; 4] = [&TPCC, &EXCHANGE, &IOZONE, &POSTMARK];

impl Workload {
    /// The experiment of `drive` under it, or which file is missing.
    pub(super) fn experiment(&self, drive: &str, context: &Context<'_>) -> Result<String, String> {
        Ok(match self.requests {
            Requests::Trace(trace) => traces::experiment(drive, &trace.find(context)?, "", context),
            Requests::MadeUp(table) => format!("[workload.synthetic]\n{table}\n{drive}seed = {}\n", context.seed),
        })
    }

    /// A claim that was measured under it.
    pub(super) fn on(&self, claim: Claim) -> Claim {
        match self.stand_in {
            Some(stand_in) => claim.on_stand_in(stand_in),
            None => claim,
        }
    }

    /// Whether it is the authors' own trace.
    pub(super) fn is_real(&self) -> bool {
        self.stand_in.is_none()
    }
}

/// Mean response, milliseconds.
pub(super) fn response_ms(results: &esker_results::RunResults) -> f64 {
    results.requests.all.response_time.mean_us / 1e3
}

/// Pages that cleaning moved.
pub(super) fn pages_moved(results: &esker_results::RunResults) -> u64 {
    results.devices.values().filter_map(|device| Some(device.flash.as_ref()?.programs.cleaning)).sum()
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::Item;

    /// A shortened run of the made-up workloads on `drive` with `keys`: the configuration is sound.
    pub(in crate::items) fn short(item: &Item, drive: &str, keys: &[(&str, &str)]) -> esker_results::RunResults {
        let cancel = AtomicBool::new(false);
        let context = Context { seed: 1, traces: None, progress: &|_| {}, cancel: &cancel };
        let text = EXCHANGE.experiment(drive, &context).unwrap();
        let keys: Vec<_> = [("workload.head", "200"), ("device.flash.geometry.blocks_per_plane", "64")]
            .into_iter()
            .chain(keys.iter().copied())
            .collect();
        traces::run(item, &context, &text, &keys, (0, 1)).unwrap()
    }

    /// What an item says where no trace is given.
    pub(in crate::items) fn without_traces(workload: &Workload) -> String {
        let cancel = AtomicBool::new(false);
        let context = Context { seed: 1, traces: None, progress: &|_| {}, cancel: &cancel };
        workload.experiment("", &context).unwrap_err()
    }

    #[test]
    fn a_missing_trace_is_named() {
        assert!(without_traces(&POSTMARK).contains("ssd-postmark-aligned2.trace"));
    }
}
