//! The systems of chapter II (a flash drive and a disk of 7,200 rpm as one volume, each alone, or two disks), and the
//! ways in which they are loaded.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use esker_core::Request;
use esker_results::RunResults;
use esker_sim::{Experiment, Ladder, LoadStep, OfferedLoad, RunError, RunOptions, Simulation};

use crate::{Context, Item, ItemFault, ReproduceError};

/// The drive whose writes are slow (Transcend), and the fast one (MemoRight).
pub(super) const SLOW: &str = "transcend-ts16gssd25s-16g";
pub(super) const FAST: &str = "memoright-gt-32g";
pub(super) const DISK: &str = "samsung-sp2504c-250g";

/// What claims under SPECsfs were measured on.
pub(super) const SPECSFS: &str = "synthetic requests with the published mix; which chunks are read is assumed, and the \
                                  devices are stand-ins, too";

/// No policy: chunks on the devices in turns.
pub(super) const STRIPING: &str = "{ kind = \"static-split\" }";
pub(super) const FLASH_ONLY: &str = "{ kind = \"fast-first\" }";
pub(super) const DISK_ONLY: &str = "{ kind = \"fast-first\", order = [1] }";
/// Migration with the paper's delta. Its rate of tokens is not published: three a second.
pub(super) const MIGRATION: &str = "{ kind = \"migration\", delta = \"100%\", interval = \"300ms\" }";
/// Migration for workloads whose chunks all have the same mix: after four accesses, the default, a chunk looks like
/// any mix, and chunks move for nothing.
pub(super) const WARY_MIGRATION: &str =
    "{ kind = \"migration\", delta = \"100%\", interval = \"300ms\", accesses_min = 16 }";

/// Devices as one volume.
#[derive(Clone, Copy, Debug)]
pub(super) struct Volume<'a> {
    /// The preset of the flash drive; `None` for two disks.
    pub(super) flash: Option<&'a str>,
    /// The policy's table.
    pub(super) policy: &'a str,
    /// The size of a chunk.
    pub(super) chunk: &'a str,
}

impl<'a> Volume<'a> {
    /// A hybrid with chunks of 64 KiB, as in most of the chapter.
    pub(super) fn hybrid(flash: &'a str, policy: &'a str) -> Self {
        Self { flash: Some(flash), policy, chunk: "64KiB" }
    }

    /// Two disks, striped.
    pub(super) fn two_disks() -> Self {
        Self { flash: None, policy: STRIPING, chunk: "64KiB" }
    }

    /// The experiment under `workload`, the lines of its table. Flash is full of data.
    pub(super) fn experiment(&self, workload: &str, warm_up: u64, seed: u64) -> Result<Experiment, ItemFault> {
        let Self { flash, policy, chunk } = self;
        let first = match flash {
            Some(flash) => format!("preset = \"{flash}\"\nprecondition = \"filled\""),
            None => format!("preset = \"{DISK}\""),
        };
        let text = format!(
            "[workload]\n{workload}\n[device.first]\n{first}\n[device.disk]\npreset = \"{DISK}\"\n\
             [device.volume]\nkind = \"hybrid\"\nchildren = [\"first\", \"disk\"]\nextent = \"{chunk}\"\n\
             capacity = \"8GiB\"\npolicy = {policy}\n\
             [run]\ntarget = \"volume\"\nseed = {seed}\nwarm_up_requests = {warm_up}\n"
        );
        Ok(Experiment::from_str(&text, "the item's experiment")?)
    }
}

/// More waiting requests than this mean that a volume cannot carry the load.
const BACKLOG_MAX: u64 = 5_000;

/// One run of several of an item.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) item: &'a Item,
    pub(super) context: &'a Context<'a>,
    /// Index of this run, and number of runs.
    pub(super) index: usize,
    pub(super) runs: usize,
    /// Part of the requests that is served; less than one in tests.
    pub(super) scale: f64,
}

/// The requests of SPECsfs's stand-in, at rates that rise.
type SpecsfsLoad<'a> = OfferedLoad<&'a mut dyn Iterator<Item = Request>>;

impl Part<'_> {
    pub(super) fn error(&self, fault: impl Into<ItemFault>) -> ReproduceError {
        ReproduceError::of(self.item, fault)
    }

    pub(super) fn requests(&self, all: u64) -> u64 {
        (all as f64 * self.scale).ceil() as u64
    }

    /// Reports progress within this run; returns false if the user wants to stop.
    pub(super) fn go_on(&self, done: f64) -> bool {
        (self.context.progress)((self.index as f64 + done.clamp(0.0, 1.0)) / self.runs as f64);
        !self.context.cancel.load(Ordering::Relaxed)
    }

    /// The results of `experiment` as it is.
    pub(super) fn run(&self, experiment: &Experiment) -> Result<RunResults, ReproduceError> {
        if !self.go_on(0.0) {
            return Err(ReproduceError::Cancelled);
        }
        let progress = |ended: u64, all: u64| _ = self.go_on(ended as f64 / all.max(1) as f64);
        let options = RunOptions { progress: Some(&progress), ..self.context.run_options() };
        let results = esker_sim::run(experiment, &options).map_err(|fault| self.error(fault))?;
        match results.requests.errors {
            0 => Ok(results),
            failed => Err(self.error(ItemFault::RequestsFailed(failed))),
        }
    }

    /// Requests per second of `processes` that send requests of the workload `preset` one after the other.
    pub(super) fn closed_loop(&self, volume: &Volume<'_>, preset: &str, processes: u32) -> Result<f64, ReproduceError> {
        // Only migration has to settle.
        let warm_up = self.requests(if volume.policy.contains("migration") { 200_000 } else { 20_000 });
        let all = warm_up + self.requests(40_000);
        let workload = format!("processes = {processes}\nsynthetic = {{ preset = \"{preset}\", requests = {all} }}");
        let experiment = volume.experiment(&workload, warm_up, self.context.seed).map_err(|fault| self.error(fault))?;
        Ok(self.run(&experiment)?.throughput.requests_per_s)
    }

    /// Calls `serve` with the simulated volume and a load of SPECsfs's stand-in.
    pub(super) fn with_specsfs<T>(
        &self,
        volume: &Volume<'_>,
        serve: impl FnOnce(&mut Simulation, &mut SpecsfsLoad<'_>) -> Result<T, RunError>,
    ) -> Result<T, ReproduceError> {
        let seed = self.context.seed;
        let synthetic = "synthetic = { preset = \"wu-specsfs\", requests = 100_000_000 }";
        let mut experiment = volume.experiment(synthetic, 0, seed).map_err(|fault| self.error(fault))?;
        experiment.run.backlog_limit = BACKLOG_MAX;
        let workload = experiment.open_workload(self.context.cancel).map_err(|fault| self.error(fault))?;
        let mut simulation =
            Simulation::with(experiment, Some(&self.context.drives)).map_err(|fault| self.error(fault))?;
        let left_out = Cell::default();
        let arrivals = simulation.arrivals(&workload, &left_out).map_err(|fault| self.error(fault))?;
        let mut requests = arrivals.map(|arrival| arrival.request);
        let requests: &mut dyn Iterator<Item = Request> = &mut requests;
        serve(&mut simulation, &mut OfferedLoad::new(requests, seed)).map_err(|fault| self.error(fault))
    }

    /// The rate at which the mean response reaches 50 ms, and the steps up to it. SPECsfs raises its load in the same
    /// way, and gives up an operation after 50 ms.
    pub(super) fn saturation(&self, volume: &Volume<'_>) -> Result<Saturation, ReproduceError> {
        let settle = self.requests(if volume.policy.contains("migration") { 400_000 } else { 20_000 });
        let ladder = self.ladder(volume);
        let mut steps = self.with_specsfs(volume, |simulation, load| {
            // Steps count anew; a ladder has some twenty of them.
            let expected = (settle + 20 * (ladder.warm_up + ladder.measured)) as f64;
            let (mut before, mut last) = (0, 0);
            let mut go_on = |ended: u64| {
                before += if ended < last { last } else { 0 };
                last = ended;
                self.go_on((before + ended) as f64 / expected)
            };
            // All systems but flash alone carry this.
            let rate = if volume.policy == FLASH_ONLY { 40.0 } else { 130.0 };
            load.offer(simulation, rate, (settle, 0), &mut go_on)?;
            load.climb(simulation, &ladder, &mut go_on)
        })?;
        let failed: u64 = steps.iter().map(|step| step.errors).sum();
        if failed > 0 {
            return Err(self.error(ItemFault::RequestsFailed(failed)));
        }
        let per_s = ladder.highest_per_s(&steps);
        steps.retain(|step| step.mean_ms.is_finite());
        Ok(Saturation { per_s, steps })
    }

    fn ladder(&self, volume: &Volume<'_>) -> Ladder {
        let (first_per_s, factor) = match volume.flash {
            _ if volume.policy == FLASH_ONLY => (40.0, 1.08),
            Some(SLOW) => (140.0, 1.04),
            _ => (200.0, 1.08),
        };
        // Tests only see whether it works.
        let last_per_s = if self.scale < 1.0 { first_per_s * factor } else { 20_000.0 };
        let (warm_up, measured) = (self.requests(6_000), self.requests(40_000));
        Ladder { first_per_s, last_per_s, factor, warm_up, measured, limit_ms: 50.0 }
    }
}

/// Where a system saturates.
#[derive(Clone, Debug)]
pub(super) struct Saturation {
    /// Requests per second.
    pub(super) per_s: f64,
    /// Steps that were carried, by rising rate.
    pub(super) steps: Vec<LoadStep>,
}

impl Saturation {
    /// Offered rates and mean responses in milliseconds.
    pub(super) fn points(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.steps.iter().map(|step| (step.per_s, step.mean_ms))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use crate::{ClaimVerdict, Context, Item, ItemOutcome, ReproduceError};

    type Measure = fn(&Item, &Context<'_>, f64) -> Result<ItemOutcome, ReproduceError>;

    /// The outcome of `measure` on a small part of the requests. Asserts that every claim belongs to the item, is one
    /// of a stand-in, and has a reason, and that figures have points.
    pub(in crate::items::wu) fn short(item: &Item, measure: Measure) -> ItemOutcome {
        let cancel = AtomicBool::new(false);
        let progress = |share| assert!((0.0..=1.0).contains(&share));
        let context = Context { seed: 1, traces: None, progress: &progress, cancel: &cancel, drives: Arc::default() };
        let outcome = measure(item, &context, 0.01).unwrap();
        for claim in &outcome.claims {
            assert_eq!(claim.item, item.name);
            crate::items::check_claim(claim);
            assert_eq!(claim.verdict, ClaimVerdict::StandIn, "{}", claim.claim);
        }
        for figure in &outcome.figures {
            assert!(figure.curves.iter().all(|curve| !curve.points.is_empty()), "{}", figure.title);
        }
        cancel.store(true, std::sync::atomic::Ordering::Relaxed);
        let context = Context { cancel: &cancel, ..context };
        assert!(matches!(measure(item, &context, 0.05), Err(ReproduceError::Cancelled)), "it can be stopped");
        outcome
    }
}
