//! The four workloads of Agrawal 2008, as far as they can be had.
//!
//! Of IOzone the first 100,000 requests were released, of Postmark all. TPC-C and Exchange cannot be had: requests are
//! made up by what section 4.1 says of them, as one drive sees them.

use esker_core::{Bytes, Ratio};
use esker_sim::WorkloadSettings;
use esker_trace::{ArrivalPattern, Rate, SizePattern, SyntheticSettings, WeightedSize};

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
    MadeUp(fn() -> SyntheticSettings),
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
    requests: Requests::MadeUp(|| SyntheticSettings {
        read_fraction: Ratio::parts_per_billion(666_700_000),
        size: SizePattern::Fixed(Bytes::kib(8)),
        alignment: Some(Bytes::kib(8)),
        arrivals: Some(ArrivalPattern::Poisson { rate: Rate::per_second(300) }),
        ..SyntheticSettings::new(40_000)
    }),
    stand_in: Some("8 KiB at random addresses, two reads to a write, 300 requests a second"),
};

/// "About a 3:2 read-to-write ratio", "variable size", "only about 900 IOPS" for ten drives. The sizes are those of
/// table 4 (see there), in the pieces of up to 32 KiB that reach one drive.
pub(super) const EXCHANGE: Workload = Workload {
    name: "Exchange",
    requests: Requests::MadeUp(|| exchange([(8, 29), (16, 48), (32, 46)], Rate::per_second(111))),
    stand_in: Some("three reads to two writes of 8 to 32 KiB at random addresses, 111 requests a second"),
};

/// In the order of the paper's figures.
pub(super) static ALL: [&Workload; 4] = [&TPCC, &EXCHANGE, &IOZONE, &POSTMARK];

/// Exchange's requests: sizes in KiB with their weights.
pub(super) fn exchange<const N: usize>(sizes: [(u64, u32); N], rate: Rate) -> SyntheticSettings {
    let size = |(kib, weight)| WeightedSize { size: Bytes::kib(kib), weight };
    SyntheticSettings {
        read_fraction: Ratio::percent(60),
        alignment: Some(Bytes::kib(4)),
        size: SizePattern::Mixture(sizes.map(size).to_vec()),
        arrivals: Some(ArrivalPattern::Poisson { rate }),
        ..SyntheticSettings::new(65_000)
    }
}

/// Made-up requests as a workload.
pub(super) fn made_up(synthetic: SyntheticSettings) -> WorkloadSettings {
    WorkloadSettings { synthetic: Some(synthetic), ..WorkloadSettings::default() }
}

impl Workload {
    /// What is asked of a drive, or which file is missing.
    pub(super) fn settings(&self, context: &Context<'_>) -> Result<WorkloadSettings, String> {
        Ok(match self.requests {
            Requests::Trace(trace) => traces::workload(&trace.find(context)?),
            Requests::MadeUp(synthetic) => made_up(synthetic()),
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
    use crate::drive::Drive;
    use crate::traces::Plan;

    /// A shortened run of a made-up workload on `drive`: the configuration is sound.
    pub(in crate::items) fn short(item: &Item, drive: Drive, timeline: u32) -> esker_results::RunResults {
        let cancel = AtomicBool::new(false);
        let context = Context { seed: 1, traces: None, progress: &|_| {}, cancel: &cancel };
        let workload = WorkloadSettings { head: Some(200), ..EXCHANGE.settings(&context).unwrap() };
        let drive = drive.changed(|ssd| ssd.geometry.blocks_per_plane = 64);
        traces::run(item, &context, Plan { timeline, ..Plan::new(drive.system(), workload) }, (0, 1)).unwrap()
    }

    /// What an item says where no trace is given.
    pub(in crate::items) fn without_traces(workload: &Workload) -> String {
        let cancel = AtomicBool::new(false);
        let context = Context { seed: 1, traces: None, progress: &|_| {}, cancel: &cancel };
        workload.settings(&context).unwrap_err()
    }

    #[test]
    fn a_missing_trace_is_named() {
        assert!(without_traces(&POSTMARK).contains("ssd-postmark-aligned2.trace"));
    }
}
