//! Plays the busiest stretches alone on designs.

use esker_core::ReplayEnd;
use esker_results::study::Headroom;
use esker_sim::Simulation;

use crate::StudyError;
use crate::busy::Busy;
use crate::design::Design;
use crate::measure::{Load, measured_run};
use crate::strain::{FAR, Limits, LoadSearch, Strain, StressResults, Stretches, headroom, loads, strain};
use crate::task::Task;

/// Builds a design and replays the trace on it. Returns `None` if it cannot keep up with the trace.
pub(super) fn after_trace(task: &Task<'_>, design: &Design) -> Result<Option<Simulation>, StudyError> {
    let run = measured_run(task, design, &Load::as_traced(task.workload), None)?;
    Ok((run.replay.end == ReplayEnd::Complete).then_some(run.simulation))
}

/// Plays the busiest stretches under the load of the trace and under larger loads, on a design that `ready` makes. It
/// returns `None` if the design cannot keep up with the trace.
pub(super) fn play_loads(
    task: &Task<'_>,
    (busy, limits): (&Busy, &Limits),
    search: LoadSearch,
    ready: impl Fn() -> Result<Option<Simulation>, StudyError>,
) -> Result<StressResults, StudyError> {
    let too_much = StressResults { first: Strain::TOO_MUCH, headroom: Headroom::default() };
    let Some(mut simulation) = ready()? else { return Ok(too_much) };
    let stretches = Stretches::of(busy, &simulation)?;
    let first = strain(&stretches, &mut simulation, 1.0, task.hooks)?;
    let judged = stretches.judged_alone();
    // It does not matter by how much the largest loads are too large.
    let judged = if search == LoadSearch::Further { judged.until(FAR * limits.p99_us) } else { judged };
    let mut kept_up = true;
    let headroom = headroom(&first, limits, &loads(search, limits), |load| {
        if !kept_up {
            // Requests of the last load are still under way.
            let Some(again) = ready()? else { return Ok(Strain::TOO_MUCH) };
            simulation = again;
        }
        let strain = strain(&judged, &mut simulation, load, task.hooks)?;
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
    simulation: &mut Simulation,
) -> Result<StressResults, StudyError> {
    let stretches = Stretches::of(busy, simulation)?;
    let first = strain(&stretches, simulation, 1.0, task.hooks)?;
    let headroom = headroom(&first, limits, &loads(LoadSearch::Asked, limits), |load| {
        strain(&stretches, simulation, load, task.hooks)
    })?;
    Ok(StressResults { first, headroom })
}
