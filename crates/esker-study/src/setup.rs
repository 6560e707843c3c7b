//! Makes the experiment of a design, and builds its devices.

use std::num::NonZeroU32;

use esker_core::{Nanos, Ratio};
use esker_results::study::{ReplayMode, ReplaySummary};
use esker_sim::{
    BeyondCapacity, Experiment, OneOrMore, RunSettings, SettleSettings, Simulation, WorkloadSettings, scaled,
};
use esker_trace::ReadOptions;

use crate::design::Design;
use crate::load::StudyWorkload;
use crate::need;
use crate::task::Task;
use crate::{StudyError, StudySettings};

/// Requests under way in a closed-loop replay.
pub(crate) const CLOSED_DEPTH: NonZeroU32 = NonZeroU32::new(32).expect("it is not zero");
/// A design counts as saturated once a request has waited this long for it, or as long as the trace if that is
/// shorter...
const WAIT_MAX: Nanos = Nanos::from_secs(60);
/// ... but at least this long,
const WAIT_MIN: Nanos = Nanos::from_secs(1);
/// ... or once this many requests wait.
const BACKLOG_MAX: u64 = 2_000_000;
/// Number of intervals of the series over time.
const INTERVALS: u64 = 240;

/// Builds a design, ready to serve the trace with its times multiplied by `time_scale`.
pub(crate) fn set_up(task: &Task<'_>, design: &Design, time_scale: Ratio) -> Result<Simulation, StudyError> {
    let experiment = experiment(task.workload, design, time_scale, task.settings)?;
    let simulation = Simulation::with(experiment, Some(task.drives)).map_err(StudyError::design)?;
    task.hooks.check()?;
    Ok(simulation)
}

/// Returns the whole experiment: the design, how traces are read and laid out, and when the run ends. `esker sim`
/// repeats the study's run with it.
pub(crate) fn experiment(
    workload: &StudyWorkload,
    design: &Design,
    time_scale: Ratio,
    settings: &StudySettings,
) -> Result<Experiment, StudyError> {
    let (read, usual) = (&settings.read, ReadOptions::default());
    let timed = workload.has_times();
    let duration = scaled(Nanos::from_secs_f64(workload.profile.duration_s.unwrap_or(0.0)), time_scale);
    let used = need::used(workload, &settings.data, settings.budgets.years);
    let spread_over = design.on_disks.then_some(used);
    let workload = WorkloadSettings {
        trace: Some(match workload.files.as_slice() {
            [only] => OneOrMore::One(only.clone()),
            several => OneOrMore::More(several.to_vec()),
        }),
        format: read.format.clone(),
        lenient: read.lenient,
        reorder: (read.reorder_time != usual.reorder_time).then_some(read.reorder_time),
        reorder_records: (read.reorder_records != usual.reorder_records).then_some(read.reorder_records as u64),
        time_scale: (timed && time_scale != Ratio::ONE).then_some(time_scale),
        queue_depth: (!timed).then_some(CLOSED_DEPTH),
        beyond_capacity: if design.on_disks { BeyondCapacity::Spread } else { BeyondCapacity::Dense },
        spread_over,
        ..WorkloadSettings::default()
    };
    let run = RunSettings {
        seed: settings.seed,
        series: timed.then(|| interval(duration)),
        wait_limit: Some(duration.clamp(WAIT_MIN, WAIT_MAX)),
        backlog_limit: BACKLOG_MAX,
        settle: design.flash.map(|_| SettleSettings::default()),
        ..RunSettings::default()
    };
    Experiment::of(design.system.clone(), workload, run).map_err(StudyError::design)
}

/// Returns the length of an interval of the series: a whole number of milliseconds.
fn interval(duration: Nanos) -> Nanos {
    Nanos::from_millis((duration.0 / INTERVALS).div_ceil(1_000_000).max(1))
}

/// Says how the requests of a workload arrive.
pub(crate) fn replay_summary(workload: &StudyWorkload) -> ReplaySummary {
    if workload.has_times() {
        ReplaySummary {
            mode: ReplayMode::Open,
            queue_depth: None,
            reason: "Requests arrive at the times of the trace.".into(),
        }
    } else {
        ReplaySummary {
            mode: ReplayMode::Closed,
            queue_depth: Some(CLOSED_DEPTH.get()),
            reason: format!(
                "{}: it was replayed closed loop, always {CLOSED_DEPTH} requests under way.",
                workload.why_no_times()
            ),
        }
    }
}
