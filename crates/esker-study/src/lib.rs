//! From traces to a verdict: characterises them, simulates candidate designs, and judges these.

mod arrivals;
mod assumptions;
mod candidates;
mod curve;
mod endurance;
mod lifetime;
mod load;
mod misalignment;
mod run;
mod simulate;
mod stretch;
mod verdict;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use esker_core::registry::NotFound;
use esker_core::{Bytes, Hint, Ratio, ReplayError, Unsupported, jobs};
use esker_sim::{AssemblyError, ConfigError, RunError, Slowest, WorkloadError};
use esker_trace::{ReadOptions, TraceError, group_inputs};
use thiserror::Error;

pub use candidates::{DesignOrigin, design_origins};
pub use lifetime::{LIFETIME_LIMIT_YEARS, Wear, lifetime_years};
pub use load::remarks;

use candidates::Design;
use esker_results::study::{
    ActiveRegion, Budgets, Candidate, Measured, MissRatioCurve, ReplayMode, ReplaySummary, STUDY_SCHEMA, StudyReport,
    WorkloadStudy,
};
use load::StudyWorkload;

/// The traces to study, and options.
#[derive(Clone, Debug)]
pub struct StudySettings {
    /// The traces; the per-CPU files of one blktrace recording count as one.
    pub traces: Vec<PathBuf>,
    /// Options for reading them.
    pub read: ReadOptions,
    /// Whether all traces form one workload, instead of one each.
    pub together: bool,
    /// The budgets that designs are judged by.
    pub budgets: Budgets,
    /// Share of each flash design's capacity that holds data.
    pub utilisation: Ratio,
    /// Whether to use the wide set of designs.
    pub thorough: bool,
    /// Seed of preconditioning and sampling.
    pub seed: u64,
    /// Number of threads. The result does not depend on it.
    pub threads: usize,
    /// The command that repeats the study, for the report.
    pub command: String,
}

/// Callbacks and flags by which the caller watches and stops a study.
pub struct Hooks<'a> {
    /// Called with the current task, the amount done, and the total if known; from several threads.
    pub progress: &'a (dyn Fn(&str, u64, Option<u64>) + Sync),
    /// Set to true to stop the study.
    pub cancel: &'a AtomicBool,
    /// Number of requests simulated so far.
    pub simulated: &'a AtomicU64,
}

impl Hooks<'_> {
    fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
    fn check(&self) -> Result<(), StudyError> {
        if self.cancelled() { Err(StudyError::Cancelled) } else { Ok(()) }
    }
    fn tell(&self, what: &str, done: u64, total: Option<u64>) {
        (self.progress)(what, done, total);
    }
    /// Adds to the simulated requests. Returns false if the study should stop.
    fn simulated(&self, _: u64) -> bool {
        self.simulated.fetch_add(esker_sim::Watch::EVERY, Ordering::Relaxed);
        !self.cancelled()
    }
}

/// Why a study failed.
#[derive(Debug, Error)]
pub enum StudyError {
    /// A trace could not be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A trace has no reads or writes.
    #[error("{name} has no reads and no writes: there is nothing to study")]
    NothingToDo {
        /// The trace.
        name: String,
    },
    /// A trace spans more time than a run can.
    #[error("the last request of {name} comes {years} years after its first, but simulated time ends after 292 years")]
    TooLong {
        /// The trace.
        name: String,
        /// Its time from first to last request.
        years: u64,
    },
    /// A setting is invalid.
    #[error("{message}")]
    Settings {
        /// The setting and the reason.
        message: String,
    },
    /// A design could not be built.
    #[error("a design could not be simulated: {0}")]
    Design(Box<DesignFault>),
    /// The user stopped the study.
    #[error("interrupted")]
    Cancelled,
}

impl StudyError {
    fn design(fault: impl Into<DesignFault>) -> Self {
        match fault.into() {
            DesignFault::Run(RunError::Cancelled) => Self::Cancelled,
            fault => Self::Design(Box::new(fault)),
        }
    }
}

/// Why a design could not be simulated.
#[derive(Debug, Error)]
pub enum DesignFault {
    /// Its devices cannot be built.
    #[error(transparent)]
    Assembly(#[from] AssemblyError),
    /// Its replay cannot go on.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Its drive's preset is unknown.
    #[error(transparent)]
    Preset(#[from] NotFound),
    /// Its drive does not report its flash.
    #[error("a drive does not report its flash")]
    NoFlash,
}

impl From<ConfigError> for DesignFault {
    fn from(error: ConfigError) -> Self {
        Self::Run(error.into())
    }
}
impl From<WorkloadError> for DesignFault {
    fn from(error: WorkloadError) -> Self {
        ConfigError::from(error).into()
    }
}
impl From<ReplayError> for DesignFault {
    fn from(error: ReplayError) -> Self {
        Self::Run(error.into())
    }
}
impl From<Unsupported> for DesignFault {
    fn from(error: Unsupported) -> Self {
        Self::Run(error.into())
    }
}

impl Hint for StudyError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Trace(error) => error.hint(),
            Self::TooLong { .. } => Some(
                "are its times in the unit of its format? `esker trace filter --speed 1000` makes them shorter".into(),
            ),
            Self::NothingToDo { .. } => Some("`esker trace info` shows what was read".into()),
            _ => None,
        }
    }

    fn work_failed(&self) -> bool {
        match self {
            Self::Trace(error) => error.work_failed(),
            Self::Design { .. } => true,
            _ => false,
        }
    }
}

/// Runs a study.
pub fn study(settings: &StudySettings, hooks: &Hooks<'_>) -> Result<StudyReport, StudyError> {
    check(settings)?;
    let groups = group_inputs(&settings.traces);
    let mut workloads = Vec::new();
    if settings.together && groups.len() > 1 {
        let workload = load::together(&groups, &settings.read, hooks)?;
        workloads.push(study_workload(&workload, settings, hooks)?);
    } else {
        for paths in &groups {
            let workload = load::single(paths, &settings.read, hooks)?;
            workloads.push(study_workload(&workload, settings, hooks)?);
        }
    }
    Ok(StudyReport {
        schema: STUDY_SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        command: settings.command.clone(),
        seed: settings.seed,
        budgets: settings.budgets.clone(),
        workloads,
        assumptions: assumptions::assumptions(settings),
        cost: None,
    })
}

fn check(settings: &StudySettings) -> Result<(), StudyError> {
    let error = |message: String| Err(StudyError::Settings { message });
    if settings.utilisation == Ratio::ZERO || settings.utilisation > Ratio::ONE {
        return error(format!(
            "a utilisation of {} makes no sense: it is above 0 % and at most 100 %",
            settings.utilisation
        ));
    }
    if !(settings.budgets.years > 0.0 && settings.budgets.years.is_finite()) {
        return error(format!("{} years make no sense as a budget", settings.budgets.years));
    }
    if settings.traces.is_empty() {
        return error("there is no trace to study".into());
    }
    Ok(())
}

/// The result of one job of a workload.
enum JobOutcome {
    Candidate(Box<Candidate>, Option<Slowest>),
    Curve(MissRatioCurve),
}

fn study_workload(
    workload: &StudyWorkload,
    settings: &StudySettings,
    hooks: &Hooks<'_>,
) -> Result<WorkloadStudy, StudyError> {
    let active = Bytes(workload.map().footprint());
    let designs = candidates::designs(active, settings.utilisation, settings.thorough)?;
    let grows = workload.has_times() && settings.budgets.load_at_the_end() > 1.0;
    let expected = workload.profile.requests * designs.len() as u64 * if grows { 2 } else { 1 };
    let before = hooks.simulated.load(Ordering::Relaxed);
    let report = |what: &str, _: u64, _: Option<u64>| {
        let done = hooks.simulated.load(Ordering::Relaxed).saturating_sub(before);
        (hooks.progress)(what, done.min(expected), Some(expected));
    };
    let inner = Hooks { progress: &report, cancel: hooks.cancel, simulated: hooks.simulated };
    let inner = &inner;
    // One job for each design, and a last one for the curve.
    let outcomes = jobs::collect(settings.threads, designs.len() + 1, |index| {
        let Some(design) = designs.get(index) else {
            return curve::curve(workload, settings.seed, inner).map(JobOutcome::Curve);
        };
        inner.tell(&format!("simulating {}", design.name), 0, None);
        let (candidate, slowest) = simulate::simulate(workload, design, settings, inner)?;
        inner.tell(&format!("simulated {}", design.name), 0, None);
        Ok::<_, StudyError>(JobOutcome::Candidate(Box::new(candidate), slowest))
    });
    let (mut simulated, mut slowest) = (Vec::new(), Vec::new());
    let mut miss_ratio_curve = None;
    for outcome in outcomes {
        match outcome? {
            JobOutcome::Candidate(candidate, request) => {
                simulated.push(*candidate);
                slowest.push(request);
            }
            JobOutcome::Curve(curve) => miss_ratio_curve = Some(curve),
        }
    }
    let miss_ratio_curve = miss_ratio_curve.expect("the curve is one of the jobs");
    let misalignments = misalignments(workload, &designs, &simulated, settings, hooks)?;
    let replay = replay_summary(workload);
    let measured = workload.profile.measured.as_ref().map(|measured| Measured {
        all: measured.all,
        read: measured.read,
        write: measured.write,
        busiest_hour_p99_us: measured.busiest_hour.p99_us,
        requests: measured.requests,
    });
    let verdict = verdict::verdict(&verdict::Evidence {
        budgets: &settings.budgets,
        replay: &replay,
        profile: &workload.profile,
        measured: measured.as_ref(),
        candidates: &simulated,
        curve: &miss_ratio_curve,
        misalignments: &misalignments,
    });
    let slowest = match drive_for_stretch(&designs, &simulated, verdict.recommended.as_deref()) {
        Some(index) => {
            inner.tell(&format!("looking at {}", designs[index].name), 0, None);
            let slowest =
                slowest[index].map(|slowest| stretch::around(workload, &designs[index], slowest, settings, inner));
            slowest.transpose()?.flatten()
        }
        None => None,
    };
    Ok(WorkloadStudy {
        name: workload.name.clone(),
        verdict,
        inputs: workload.inputs.clone(),
        replay,
        active_region: ActiveRegion {
            record_bytes: esker_trace::AREA_BYTES,
            active_bytes: active.0,
            address_span_bytes: workload.profile.address_span_bytes,
            utilisation: settings.utilisation.as_f64(),
        },
        profile: workload.profile.clone(),
        measured,
        candidates: simulated,
        slowest,
        miss_ratio_curve,
        misalignments,
    })
}

/// Returns the drive whose slowest requests are shown: the recommended design or, if that has no flash, the first that
/// served everything.
fn drive_for_stretch(designs: &[Design], simulated: &[Candidate], recommended: Option<&str>) -> Option<usize> {
    let served = |index: &usize| {
        designs[*index].sold.is_some() && simulated[*index].outcome == esker_results::study::CandidateOutcome::Served
    };
    let mut drives = (0..designs.len()).filter(served);
    let chosen = drives.clone().find(|index| Some(designs[*index].name.as_str()) == recommended);
    chosen.or_else(|| drives.next())
}

/// Returns constant misalignments, with their cost on the first flash design that served the workload.
fn misalignments(
    workload: &StudyWorkload,
    designs: &[Design],
    simulated: &[Candidate],
    settings: &StudySettings,
    hooks: &Hooks<'_>,
) -> Result<Vec<esker_results::study::Misalignment>, StudyError> {
    let mut found = misalignment::found(workload);
    if found.is_empty() {
        return Ok(found);
    }
    let pair = designs.iter().zip(simulated).find(|(design, candidate)| {
        design.sold.is_some() && candidate.outcome == esker_results::study::CandidateOutcome::Served
    });
    if let Some((design, candidate)) = pair {
        let cost = misalignment::cost(workload, design, candidate, &found, settings, hooks)?;
        for misalignment in &mut found {
            misalignment.cost.clone_from(&cost);
        }
    }
    Ok(found)
}

fn replay_summary(workload: &StudyWorkload) -> ReplaySummary {
    if workload.has_times() {
        ReplaySummary {
            mode: ReplayMode::Open,
            queue_depth: None,
            reason: "Requests arrive at the times of the trace.".into(),
        }
    } else {
        ReplaySummary {
            mode: ReplayMode::Closed,
            queue_depth: Some(simulate::CLOSED_DEPTH.get()),
            reason: format!(
                "The trace has no times: it was replayed closed loop, always {} requests under way.",
                simulate::CLOSED_DEPTH
            ),
        }
    }
}
