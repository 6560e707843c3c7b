//! Plays the busiest stretches alone on designs.

use esker_core::{Nanos, ReplayEnd, ReplaySettings};
use esker_results::Reporting;
use esker_results::study::Headroom;
use esker_sim::Experiment;

use crate::arrivals::Load;
use crate::offers::Design;
use crate::run::MeasuredRun;
use crate::setup::{Setup, set_up};
use crate::simulate::measured_run;
use crate::strain::{FAR, LoadSearch, Strain, StressResults, Stretches, headroom, loads, strain};
use crate::task::Task;
use crate::{Hooks, StudyError, StudySettings, warming};

/// Plays the busiest stretches with random numbers from `seed`, under the load of the trace and under larger loads. A
/// design plays them in its state before the trace; a hybrid after the trace, because its policy has to see that first;
/// a cache when it is warm.
pub(crate) fn stressed(
    task: &Task<'_>,
    design: &Design,
    seed: u64,
    search: LoadSearch,
) -> Result<Option<StressResults>, StudyError> {
    let (Some(busy), Some(limits)) = (task.busy, &task.limits) else { return Ok(None) };
    let settings = StudySettings { seed, ..task.settings.clone() };
    let task = &Task { settings: &settings, ..*task };
    if design.is_cache() {
        return warming::stressed(task, busy, design, limits).map(Some);
    }
    let too_much = StressResults { first: Strain::TOO_MUCH, headroom: Headroom::default() };
    let Some(mut ready) = ReadyDesign::of(task, design)? else { return Ok(Some(too_much)) };
    let stretches = Stretches::of(busy, &ready.experiment, &*ready.device)?;
    let first = ready.strain(&stretches, 1.0, task.hooks)?;
    let judged = stretches.judged_alone();
    // It does not matter by how much the largest loads are too large.
    let judged = if search == LoadSearch::Further { judged.until(FAR * limits.p99_us) } else { judged };
    let mut kept_up = true;
    let headroom = headroom(&first, limits, &loads(search, limits), |load| {
        if !kept_up {
            // Requests of the last load are still under way.
            let Some(again) = ReadyDesign::of(task, design)? else { return Ok(Strain::TOO_MUCH) };
            ready = again;
        }
        let strain = ready.strain(&judged, load, task.hooks)?;
        kept_up = strain.busy.is_some();
        Ok(strain)
    })?;
    Ok(Some(StressResults { first, headroom }))
}

/// A design on which stretches can be played.
pub(crate) struct ReadyDesign {
    pub(crate) device: Box<dyn Reporting>,
    pub(crate) experiment: Experiment,
    replay_settings: ReplaySettings,
    now: Nanos,
}

impl ReadyDesign {
    /// Builds a design in its state before the trace, or a hybrid in its state after it. Returns `None` if the hybrid
    /// cannot keep up with the trace.
    pub(crate) fn of(task: &Task<'_>, design: &Design) -> Result<Option<Self>, StudyError> {
        if design.is_hybrid() {
            let MeasuredRun { device, experiment, replay_settings, now, replay, .. } =
                measured_run(task, design, &Load::AS_TRACED)?;
            let kept_up = replay.end == ReplayEnd::Complete;
            return Ok(kept_up.then_some(Self { device, experiment, replay_settings, now }));
        }
        let Setup { device, replay_settings, experiment } =
            set_up(task.workload, design, &Load::AS_TRACED, task.settings, task.hooks)?;
        Ok(Some(Self { device, experiment, replay_settings, now: Nanos::ZERO }))
    }

    pub(crate) fn strain(&mut self, stretches: &Stretches, load: f64, hooks: &Hooks<'_>) -> Result<Strain, StudyError> {
        strain(stretches, &mut *self.device, &self.replay_settings, load, &mut self.now, hooks)
    }
}
