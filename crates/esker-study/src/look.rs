//! A quick look at a design, to rule it out: it finds how far the design is from the budgets, no more precisely than
//! that takes.

use esker_core::{Ratio, ReplayEnd};
use esker_results::{LatencySummary, RequestStatistics};
use esker_sim::Ceiling;

use crate::StudyError;
use crate::busy::Busy;
use crate::design::Design;
use crate::measure::{Load, measured_run};
use crate::setup::set_up;
use crate::strain::{Limits, LoadSearch, Stretches, lost, strain};
use crate::task::Task;

/// Returns by how much a design misses a budget, as the logarithm of value over budget. It looks at the busy times of a
/// large trace, and at all of any other. On a design whose times depend on what it has served it looks at the busy
/// times, too. The look ends early once the 99th percentile is sure to be `until` times the budget
/// ([`crate::strain::FAR`] mostly); the result is then a little more than the logarithm of that.
pub(crate) fn look(task: &Task<'_>, design: &Design, until: f64) -> Result<f64, StudyError> {
    let Some(limits) = &task.limits else { return Ok(0.0) };
    match task.busy {
        // It has to get into the state in which it is judged.
        _ if design.judging.depends_on_history() => {
            let stressed = design.stressed(task, task.settings.seed, LoadSearch::Asked)?;
            Ok(stressed.map_or(0.0, |stressed| stressed.missed(limits)))
        }
        Some(busy) => {
            let missed = in_busy_times(task, busy, limits, design, until)?;
            // If more than a hundredth of all requests lies outside the busy times, those may decide.
            let others = task.workload.profile.requests.saturating_sub(busy.times.judged_requests());
            let decided = missed >= until.ln() || others <= task.workload.profile.requests / 100;
            if task.is_large() || decided { Ok(missed) } else { Ok(over_all(task, limits, design, until)?.max(missed)) }
        }
        None => over_all(task, limits, design, until),
    }
}

/// Looks at the stretches in which budgets hold, under the load that has to be carried.
fn in_busy_times(
    task: &Task<'_>,
    busy: &Busy,
    limits: &Limits,
    design: &Design,
    until: f64,
) -> Result<f64, StudyError> {
    let mut simulation = set_up(task, design, Ratio::ONE)?;
    let stretches = Stretches::of(busy, &simulation)?.judged_alone();
    let stretches = stretches.until(until * limits.p99_us);
    let load = limits.load.max(1.0);
    Ok(strain(&stretches, &mut simulation, load, task.hooks)?.missed(limits, load))
}

/// Looks at all the times by which a design is judged.
fn over_all(task: &Task<'_>, limits: &Limits, design: &Design, until: f64) -> Result<f64, StudyError> {
    let requests = task.workload.profile.requests;
    let ceiling = Ceiling::p99_above(until * limits.p99_us, requests);
    let run = measured_run(task, design, &Load::as_traced(task.workload), Some(ceiling))?;
    match run.replay.end {
        ReplayEnd::Complete => {}
        ReplayEnd::Stopped => {
            let left = 1.0 - run.statistics.response().count() as f64 / requests as f64;
            return Ok(lost(until, left));
        }
        _ => return Ok(f64::MAX),
    }
    let p99 = |statistics: &RequestStatistics| LatencySummary::of(&statistics.response()).p99_us;
    let times = [&run.busy, &run.busy_by_bytes, &run.hour].into_iter().flatten().chain([&run.statistics]);
    let longest = times.map(p99).fold(0.0, f64::max);
    Ok((longest / limits.p99_us.max(1e-9)).max(1.0).ln())
}
