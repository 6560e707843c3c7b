//! The papers' traces, if the user has them.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use esker_core::{Bytes, Request};
use esker_results::RunResults;
use esker_sim::{ConfigError, Experiment, OneOrMore, RunOptions, RunSettings, System, Workload, WorkloadSettings};

use crate::{Context, Item, ItemFault, ReproduceError};

/// A trace that a paper used, or a stand-in for one.
#[derive(Debug)]
pub(crate) struct PaperTrace {
    /// Its description.
    pub(crate) title: &'static str,
    /// Possible file names, best first.
    pub(crate) names: &'static [&'static str],
}

/// The first 100,000 requests of Agrawal's IOzone trace, as released with the authors' simulator.
pub(crate) const IOZONE: PaperTrace = PaperTrace {
    title: "Agrawal's IOzone trace",
    names: &["ssd-iozone-aligned2-100K.trace", "iozone-100k.disksim", "iozone-100k.disksim.zst"],
};

/// Agrawal's Postmark trace, as released with the authors' simulator.
pub(crate) const POSTMARK: PaperTrace = PaperTrace {
    title: "Agrawal's Postmark trace",
    names: &["ssd-postmark-aligned2.trace", "postmark-62k.disksim", "postmark-62k.disksim.zst"],
};

/// A short extract of a TPC-C trace, which came with another simulator (MQSim).
pub(crate) const TPCC: PaperTrace = PaperTrace {
    title: "the TPC-C trace of MQSim",
    names: &["tpcc-small.trace", "tpcc-small.mqsim", "tpcc-small.mqsim.zst"],
};

/// The Financial trace of the Storage Performance Council, or its first requests.
pub(crate) const FINANCIAL1: PaperTrace = PaperTrace {
    title: "the trace Financial1",
    names: &["Financial1.spc", "Financial1.spc.zst", "Financial1-first10k.spc", "Financial1-first10k.spc.zst"],
};

/// The first two hours of a virtual machine's disk, as CloudPhysics recorded them.
pub(crate) const CLOUDPHYSICS: PaperTrace = PaperTrace {
    title: "the CloudPhysics trace of two hours",
    names: &["cloudphysics-2h.vscsi", "cloudphysics-2h.vscsi.zst"],
};

/// A release server at Microsoft.
pub(crate) const DTRS: PaperTrace =
    PaperTrace { title: "the trace DTRS", names: &["msps-dtrs-8h.ssdsim", "msps-dtrs-8h.ssdsim.zst"] };

/// A personal computer, recorded by DiskMon.
pub(crate) const MAYUN2: PaperTrace =
    PaperTrace { title: "the trace mayun2", names: &["diskmon-mayun2.diskmon", "diskmon-mayun2.diskmon.zst"] };

/// The sample that comes with esker.
pub(crate) const SAMPLE: PaperTrace =
    PaperTrace { title: "the sample of the repository", names: &["office-server.nbdkit.log.zst"] };

/// A volume of the proxy at MSR Cambridge, or its first requests.
pub(crate) const PRXY_0: PaperTrace = PaperTrace {
    title: "the trace prxy_0",
    names: &["prxy_0.csv", "prxy_0.csv.zst", "msr-prxy_0-first20k.csv", "msr-prxy_0-first20k.csv.zst"],
};

const fn msr(title: &'static str, names: &'static [&'static str]) -> PaperTrace {
    PaperTrace { title, names }
}

/// The volumes of MSR Cambridge that Salman's table 7.1 can mean; it says which one of `usr` alone, in section 2.1.3.
pub(crate) const MSR: [PaperTrace; 6] = [
    msr("usr_0", &["usr_0.csv", "usr_0.csv.zst"]),
    msr("proj_0", &["proj_0.csv", "proj_0.csv.zst"]),
    msr("src1_0", &["src1_0.csv", "src1_0.csv.zst"]),
    msr("src2_0", &["src2_0.csv", "src2_0.csv.zst"]),
    msr("stg_0", &["stg_0.csv", "stg_0.csv.zst"]),
    msr("mds_0", &["mds_0.csv", "mds_0.csv.zst"]),
];

/// Returns the files of `folder` that items may read.
pub fn trace_files(folder: &Path) -> Vec<PathBuf> {
    let all = [IOZONE, POSTMARK, TPCC, FINANCIAL1, PRXY_0, CLOUDPHYSICS, DTRS, MAYUN2, SAMPLE].into_iter().chain(MSR);
    let names = all.flat_map(|trace| trace.names);
    names.map(|name| folder.join(name)).filter(|path| path.is_file()).collect()
}

impl PaperTrace {
    /// Returns its path, or a message about which file to get and how to pass it.
    pub(crate) fn find(&self, context: &Context<'_>) -> Result<PathBuf, String> {
        let folder = context.traces.as_deref();
        let found =
            folder.and_then(|folder| self.names.iter().map(|name| folder.join(name)).find(|path| path.is_file()));
        found.ok_or_else(|| {
            let names = self.names.join(" or ");
            match folder {
                Some(folder) => format!("{} is missing: {} has no file {names}", self.title, folder.display()),
                None => format!("{} is missing: name the folder that has {names} with `--traces DIR`", self.title),
            }
        })
    }
}

/// A run of an item: a workload on a system.
pub(crate) struct PlannedRun {
    pub(crate) system: System,
    pub(crate) workload: WorkloadSettings,
    /// Number of requests that the results list one by one.
    pub(crate) timeline: u32,
}

impl PlannedRun {
    pub(crate) fn new(system: System, workload: WorkloadSettings) -> Self {
        Self { system, workload, timeline: 0 }
    }
}

/// Makes a workload of the trace at `path`.
pub(crate) fn workload(path: &Path) -> WorkloadSettings {
    WorkloadSettings { trace: Some(OneOrMore::One(path.to_string_lossy().into_owned())), ..WorkloadSettings::default() }
}

/// Runs `plan` as part `part.0` of `part.1` of the item.
pub(crate) fn run(
    item: &Item,
    context: &Context<'_>,
    plan: PlannedRun,
    part: (usize, usize),
) -> Result<RunResults, ReproduceError> {
    let error = |fault: ItemFault| ReproduceError::of(item, fault);
    let settings = RunSettings { seed: context.seed, timeline: plan.timeline, ..RunSettings::default() };
    let experiment = Experiment::of(plan.system, plan.workload, settings).map_err(|fault| error(fault.into()))?;
    let progress = |ended: u64, all: u64| {
        (context.progress)((part.0 as f64 + ended as f64 / all.max(1) as f64) / part.1 as f64);
    };
    let options = RunOptions { progress: Some(&progress), ..context.run_options() };
    let results = esker_sim::run(&experiment, &options).map_err(|fault| error(fault.into()))?;
    if results.saturated.is_some() {
        return Err(error(ItemFault::Saturated));
    }
    if results.requests.errors > 0 {
        return Err(error(ItemFault::RequestsFailed(results.requests.errors)));
    }
    Ok(results)
}

/// Returns all requests of the trace at `path` in order, without their times, and without trims and flushes.
pub(crate) fn requests(item: &Item, context: &Context<'_>, path: &Path) -> Result<Vec<Request>, ReproduceError> {
    let settings = workload(path);
    let opened = Workload::open(&settings, Path::new(""), context.seed, context.cancel);
    let opened = opened.map_err(|fault| ReproduceError::of(item, fault))?;
    let left_out = Cell::default();
    let arrivals = opened.arrivals(Bytes(u64::MAX), &settings, &left_out);
    let requests =
        arrivals.map_err(|fault| ReproduceError::of(item, ConfigError::from(fault)))?.map(|arrival| arrival.request);
    Ok(requests.filter(|request| request.kind.has_data()).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn a_missing_trace_is_named_with_the_way_to_give_it() {
        let cancel = AtomicBool::new(false);
        let context = |traces| Context { seed: 1, traces, progress: &|_| {}, cancel: &cancel, drives: Arc::default() };
        let message = POSTMARK.find(&context(None)).unwrap_err();
        assert!(message.contains("ssd-postmark-aligned2.trace") && message.contains("--traces"), "{message}");
        let message = IOZONE.find(&context(Some("no-such-folder".into()))).unwrap_err();
        assert!(message.contains("no-such-folder") && message.contains("iozone-100k.disksim.zst"), "{message}");
    }
}
