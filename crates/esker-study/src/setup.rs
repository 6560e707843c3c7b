//! Makes the experiment of a design, and builds its devices.

use std::num::NonZeroU32;

use esker_core::{Nanos, Ratio, ReplaySettings};
use esker_results::Reporting;
use esker_results::study::{ReplayMode, ReplaySummary};
use esker_sim::{Experiment, OneOrMore, RunSettings, SettleSettings, WorkloadSettings};
use esker_trace::ReadOptions;

use crate::arrivals::{Load, beyond_capacity};
use crate::design::Design;
use crate::load::StudyWorkload;
use crate::need;
use crate::{Hooks, StudyError, StudySettings};

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

/// A design that is ready to be measured.
pub(crate) struct Setup {
    pub(crate) device: Box<dyn Reporting>,
    pub(crate) replay_settings: ReplaySettings,
    pub(crate) experiment: Experiment,
}

/// Builds a design, ready to be measured.
pub(crate) fn set_up(
    workload: &StudyWorkload,
    design: &Design,
    load: &Load<'_>,
    settings: &StudySettings,
    hooks: &Hooks<'_>,
) -> Result<Setup, StudyError> {
    let experiment = experiment(workload, design, load, settings)?;
    let device = design.system.assemble(settings.seed).map_err(StudyError::design)?.device;
    hooks.check()?;
    let run = &experiment.run;
    let open = run.replay_settings(experiment.workload.queue_depth);
    let replay_settings = ReplaySettings { sample_every: run.series, ..open };
    Ok(Setup { device, replay_settings, experiment })
}

/// Returns the whole experiment: the design, how traces are read and laid out, and when the run ends. `esker sim`
/// repeats the study's run with it.
pub(crate) fn experiment(
    workload: &StudyWorkload,
    design: &Design,
    load: &Load<'_>,
    settings: &StudySettings,
) -> Result<Experiment, StudyError> {
    let (read, usual) = (&settings.read, ReadOptions::default());
    let timed = workload.has_times();
    let duration = load.scaled(Nanos::from_secs_f64(workload.profile.duration_s.unwrap_or(0.0)));
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
        time_scale: (timed && load.time_scale != Ratio::ONE).then_some(load.time_scale),
        queue_depth: (!timed).then_some(CLOSED_DEPTH),
        beyond_capacity: beyond_capacity(spread_over),
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
