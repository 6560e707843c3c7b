//! Designs in the busiest stretches alone.

use esker_core::{Nanos, ReplayEnd, ReplaySettings};
use esker_results::Reporting;
use esker_results::study::Headroom;
use esker_sim::Experiment;

use crate::arrivals::Load;
use crate::offers::Design;
use crate::run::MeasuredRun;
use crate::setup::{Setup, set_up};
use crate::simulate::measured_run;
use crate::strain::{FAR, Search, Strain, Stressed, Stretches, headroom, loads, strain};
use crate::task::Task;
use crate::{Hooks, StudyError, StudySettings, warming};

/// Plays the busiest stretches on a design as it is before the trace, with random numbers from `seed`, under the load
/// of the trace and under larger ones; on a hybrid after the trace, for its policy has to see that first, and on a
/// cache when it is warm.
pub(crate) fn stressed(
    task: &Task<'_>,
    design: &Design,
    seed: u64,
    search: Search,
) -> Result<Option<Stressed>, StudyError> {
    let (Some(busy), Some(limits)) = (task.busy, &task.limits) else { return Ok(None) };
    let settings = StudySettings { seed, ..task.settings.clone() };
    let task = &Task { settings: &settings, ..*task };
    if design.is_cache() {
        return warming::stressed(task, busy, design, limits).map(Some);
    }
    let too_much = Stressed { first: Strain::TOO_MUCH, headroom: Headroom::default() };
    let Some(mut ready) = Ready::of(task, design)? else { return Ok(Some(too_much)) };
    let stretches = Stretches::of(busy, &ready.experiment, &*ready.device)?;
    let first = ready.strain(&stretches, 1.0, task.hooks)?;
    let judged = stretches.judged_alone();
    // By how much the largest loads are too large does not matter.
    let judged = if search == Search::Further { judged.until(FAR * limits.p99_us) } else { judged };
    let mut kept_up = true;
    let headroom = headroom(&first, limits, &loads(search, limits), |load| {
        if !kept_up {
            // Requests of the load before are still under way.
            let Some(again) = Ready::of(task, design)? else { return Ok(Strain::TOO_MUCH) };
            ready = again;
        }
        let strain = ready.strain(&judged, load, task.hooks)?;
        kept_up = strain.busy.is_some();
        Ok(strain)
    })?;
    Ok(Some(Stressed { first, headroom }))
}

/// A design on which stretches can be played.
pub(crate) struct Ready {
    pub(crate) device: Box<dyn Reporting>,
    pub(crate) experiment: Experiment,
    replay_settings: ReplaySettings,
    now: Nanos,
}

impl Ready {
    /// The design as it is before the trace; a hybrid after it, and `None` if it cannot keep up with it.
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
        strain(stretches, &mut self.device, &self.replay_settings, load, &mut self.now, hooks)
    }
}
