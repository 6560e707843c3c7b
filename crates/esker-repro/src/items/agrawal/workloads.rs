//! The four workloads of Agrawal 2008, as far as they are available.
//!
//! Of IOzone the first 100,000 requests were released, of Postmark all. TPC-C and Exchange are not available: synthetic
//! requests follow the description of section 4.1, as seen by one drive.

use esker_core::{Bytes, Ratio};
use esker_sim::WorkloadSettings;
use esker_trace::{ArrivalPattern, Rate, SizePattern, SyntheticSettings, WeightedSize};

use crate::traces::{self, PaperTrace};
use crate::{Claim, Context};

/// A workload.
pub(super) struct PaperWorkload {
    pub(super) name: &'static str,
    requests: Requests,
    /// Description of the stand-in, if the trace is not available.
    stand_in: Option<&'static str>,
}

enum Requests {
    Trace(&'static PaperTrace),
    MadeUp(fn() -> SyntheticSettings),
}

/// The first 100,000 requests.
pub(super) const IOZONE: PaperWorkload =
    PaperWorkload { name: "IOzone", requests: Requests::Trace(&traces::IOZONE), stand_in: None };

pub(super) const POSTMARK: PaperWorkload =
    PaperWorkload { name: "Postmark", requests: Requests::Trace(&traces::POSTMARK), stand_in: None };

/// "Multiples of 8 KB", aligned; "about twice as many reads as writes"; "the average trace rate of 300 IOPS per SSD".
/// The text does not give their addresses.
pub(super) const TPCC: PaperWorkload = PaperWorkload {
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
/// table 4 (see there), split into the pieces of up to 32 KiB that reach one drive.
pub(super) const EXCHANGE: PaperWorkload = PaperWorkload {
    name: "Exchange",
    requests: Requests::MadeUp(|| exchange([(8, 29), (16, 48), (32, 46)], Rate::per_second(111))),
    stand_in: Some("three reads to two writes of 8 to 32 KiB at random addresses, 111 requests a second"),
};

/// In the order of the paper's figures.
pub(super) static ALL: [&PaperWorkload; 4] = [&TPCC, &EXCHANGE, &IOZONE, &POSTMARK];

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

/// Makes a workload of synthetic requests.
pub(super) fn made_up(synthetic: SyntheticSettings) -> WorkloadSettings {
    WorkloadSettings { synthetic: Some(synthetic), ..WorkloadSettings::default() }
}

impl PaperWorkload {
    /// Returns the workload's settings, or the name of the missing file.
    pub(super) fn settings(&self, context: &Context<'_>) -> Result<WorkloadSettings, String> {
        Ok(match self.requests {
            Requests::Trace(trace) => traces::workload(&trace.find(context)?),
            Requests::MadeUp(synthetic) => made_up(synthetic()),
        })
    }

    /// Marks a claim as measured under this workload.
    pub(super) fn on(&self, claim: Claim) -> Claim {
        match self.stand_in {
            Some(stand_in) => claim.on_stand_in(stand_in),
            None => claim,
        }
    }

    /// Returns true if it is the authors' own trace.
    pub(super) fn is_real(&self) -> bool {
        self.stand_in.is_none()
    }
}

/// Mean response time, milliseconds.
pub(super) fn response_ms(results: &esker_results::RunResults) -> f64 {
    results.requests.all.response_time.mean_us / 1e3
}

/// Pages that cleaning moved.
pub(super) fn pages_moved(results: &esker_results::RunResults) -> u64 {
    results.devices.values().filter_map(|device| Some(device.flash.as_ref()?.programs.cleaning)).sum()
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::Item;
    use crate::drive::Drive;
    use crate::traces::PlannedRun;

    /// Runs a shortened synthetic workload on `drive`, to check the configuration.
    pub(in crate::items) fn short(item: &Item, drive: Drive, timeline: u32) -> esker_results::RunResults {
        let cancel = AtomicBool::new(false);
        let context = Context { seed: 1, traces: None, progress: &|_| {}, cancel: &cancel, drives: Arc::default() };
        let workload = WorkloadSettings { head: Some(200), ..EXCHANGE.settings(&context).unwrap() };
        let drive = drive.changed(|ssd| ssd.geometry.blocks_per_plane = 64);
        traces::run(item, &context, PlannedRun { timeline, ..PlannedRun::new(drive.system(), workload) }, (0, 1))
            .unwrap()
    }

    /// Runs an item without traces, and returns its message about that.
    pub(in crate::items) fn without_traces(workload: &PaperWorkload) -> String {
        let cancel = AtomicBool::new(false);
        let context = Context { seed: 1, traces: None, progress: &|_| {}, cancel: &cancel, drives: Arc::default() };
        workload.settings(&context).unwrap_err()
    }

    #[test]
    fn a_missing_trace_is_named() {
        assert!(without_traces(&POSTMARK).contains("ssd-postmark-aligned2.trace"));
    }
}
