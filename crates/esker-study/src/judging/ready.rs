//! Plays the busiest stretches alone on designs.

use esker_core::{Nanos, ReplayEnd, ReplaySettings};
use esker_results::Reporting;
use esker_results::study::Headroom;
use esker_sim::Experiment;

use crate::arrivals::Load;
use crate::busy::Busy;
use crate::design::Design;
use crate::measure::measured_run;
use crate::run::MeasuredRun;
use crate::setup::{Setup, set_up};
use crate::strain::{FAR, Limits, LoadSearch, Strain, StressResults, Stretches, headroom, loads, strain};
use crate::task::Task;
use crate::{Hooks, StudyError};

/// A design on which stretches can be played.
pub(crate) struct ReadyDesign {
    pub(crate) device: Box<dyn Reporting>,
    pub(crate) experiment: Experiment,
    replay_settings: ReplaySettings,
    now: Nanos,
}

impl ReadyDesign {
    /// Builds a design in its state before the trace.
    pub(crate) fn before_trace(task: &Task<'_>, design: &Design) -> Result<Self, StudyError> {
        let Setup { device, replay_settings, experiment } =
            set_up(task.workload, design, &Load::AS_TRACED, task.settings, task.hooks)?;
        Ok(Self { device, experiment, replay_settings, now: Nanos::ZERO })
    }

    /// Builds a design and replays the trace on it. Returns `None` if it cannot keep up with the trace.
    pub(super) fn after_trace(task: &Task<'_>, design: &Design) -> Result<Option<Self>, StudyError> {
        let MeasuredRun { device, experiment, replay_settings, now, replay, .. } =
            measured_run(task, design, &Load::AS_TRACED)?;
        let kept_up = replay.end == ReplayEnd::Complete;
        Ok(kept_up.then_some(Self { device, experiment, replay_settings, now }))
    }

    pub(crate) fn strain(&mut self, stretches: &Stretches, load: f64, hooks: &Hooks<'_>) -> Result<Strain, StudyError> {
        strain(stretches, &mut *self.device, &self.replay_settings, load, &mut self.now, hooks)
    }
}

/// Plays the busiest stretches under the load of the trace and under larger loads, on a design that `ready` makes. It
/// returns `None` if the design cannot keep up with the trace.
pub(super) fn play_loads(
    task: &Task<'_>,
    (busy, limits): (&Busy, &Limits),
    search: LoadSearch,
    ready: impl Fn() -> Result<Option<ReadyDesign>, StudyError>,
) -> Result<StressResults, StudyError> {
    let too_much = StressResults { first: Strain::TOO_MUCH, headroom: Headroom::default() };
    let Some(mut design) = ready()? else { return Ok(too_much) };
    let stretches = Stretches::of(busy, &design.experiment, &*design.device)?;
    let first = design.strain(&stretches, 1.0, task.hooks)?;
    let judged = stretches.judged_alone();
    // It does not matter by how much the largest loads are too large.
    let judged = if search == LoadSearch::Further { judged.until(FAR * limits.p99_us) } else { judged };
    let mut kept_up = true;
    let headroom = headroom(&first, limits, &loads(search, limits), |load| {
        if !kept_up {
            // Requests of the last load are still under way.
            let Some(again) = ready()? else { return Ok(Strain::TOO_MUCH) };
            design = again;
        }
        let strain = design.strain(&judged, load, task.hooks)?;
        kept_up = strain.busy.is_some();
        Ok(strain)
    })?;
    Ok(StressResults { first, headroom })
}

/// Plays the busiest stretches after a measured run, under the load of the trace and under the load that has to be
/// carried, to find the busiest resource and the headroom.
pub(super) fn under_load(
    task: &Task<'_>,
    (busy, limits): (&Busy, &Limits),
    run: &mut MeasuredRun,
) -> Result<StressResults, StudyError> {
    let stretches = Stretches::of(busy, &run.experiment, &*run.device)?;
    let MeasuredRun { device, replay_settings, now, .. } = run;
    let first = strain(&stretches, &mut **device, replay_settings, 1.0, now, task.hooks)?;
    let headroom = headroom(&first, limits, &loads(LoadSearch::Asked, limits), |load| {
        strain(&stretches, &mut **device, replay_settings, load, now, task.hooks)
    })?;
    Ok(StressResults { first, headroom })
}
