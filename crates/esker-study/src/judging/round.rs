//! Plays the trace as if it came round to a busy stretch: from the end of the stretch to the end of the trace, then
//! from the beginning to the stretch.
//!
//! Every request is played once, as in the trace. What the stretch uses for the first time is therefore as new to a
//! design as in the trace. If the stretch were played after the whole trace, a cache would hold everything that it asks
//! for, and a placement policy would have moved it to flash.

use std::cell::Cell;

use esker_core::{Arrival, Control, LatencyHistogram, Nanos, Ratio, ReplayEnd};
use esker_results::Reporting;
use esker_sim::{RunMeasurements, Simulation};

use crate::StudyError;
use crate::busy::{Busy, Stretch};
use crate::design::Design;
use crate::setup::set_up;
use crate::strain::{Limits, LoadSearch, Strain, StressResults, Stretches, headroom, loads, strain};
use crate::task::Task;

/// Time between two parts of the trace.
const GAP: Nanos = Nanos::from_secs(1);

/// A design that has served everything but a stretch.
pub(super) struct PlayedAround {
    pub(super) simulation: Simulation,
    /// Number of requests around the stretch.
    pub(super) requests: u64,
    /// Response times of their last quarter.
    pub(super) last_quarter: LatencyHistogram,
}

/// Plays what is around `stretch` on a new device, and calls `at_quarter` before the last quarter. Returns `None` if
/// the design cannot keep up.
pub(super) fn play_around(
    task: &Task<'_>,
    design: &Design,
    stretch: Stretch,
    at_quarter: impl FnOnce(&dyn Reporting),
) -> Result<Option<PlayedAround>, StudyError> {
    let mut simulation = set_up(task, design, Ratio::ONE)?;
    simulation.control(Control::StartMeasuring).map_err(StudyError::design)?;
    let left_out = Cell::default();
    let around = |simulation: &Simulation| -> Result<_, StudyError> {
        let all = || simulation.arrivals(&task.workload.requests, &left_out).map_err(StudyError::design);
        Ok(coming_round(all()?, all()?, stretch))
    };
    let requests = around(&simulation)?.count() as u64;
    let early = requests - requests / 4;
    let part = |simulation: &mut Simulation, from: u64, count: u64| {
        let requests = around(simulation)?.skip(usize(from)).take(usize(count));
        play(task, simulation, requests)
    };
    if part(&mut simulation, 0, early)?.is_none() {
        return Ok(None);
    }
    at_quarter(simulation.device());
    let late = part(&mut simulation, early, requests - early)?;
    Ok(late.map(|last_quarter| PlayedAround { simulation, requests, last_quarter }))
}

/// Plays each busy stretch on a design that has served what is around it, under the load of the trace and under the
/// load that has to be carried. Each load takes the whole trace again, so no larger one is tried.
pub(super) fn stressed_around(
    task: &Task<'_>,
    design: &Design,
    (busy, limits): (&Busy, &Limits),
) -> Result<StressResults, StudyError> {
    let first = strained_around(task, design, (busy, limits), 1.0)?;
    let headroom = headroom(&first, limits, &loads(LoadSearch::Asked, limits), |load| {
        strained_around(task, design, (busy, limits), load)
    })?;
    Ok(StressResults { first, headroom })
}

/// Does so under one load. The stretch by bytes is left out if a budget breaks in the one by requests.
fn strained_around(
    task: &Task<'_>,
    design: &Design,
    (busy, limits): (&Busy, &Limits),
    load: f64,
) -> Result<Strain, StudyError> {
    let alone = |stretch: Stretch| {
        let Some(PlayedAround { mut simulation, .. }) = play_around(task, design, stretch, |_| {})? else {
            return Ok(Strain::TOO_MUCH);
        };
        strain(&Stretches::alone(busy, &stretch, &simulation)?, &mut simulation, load, task.hooks)
    };
    let mut strained = alone(busy.times.stretch)?;
    if let (Some(by_bytes), None) = (busy.times.by_bytes, strained.broken(limits, load)) {
        strained.add_by_bytes(alone(by_bytes)?);
    }
    Ok(strained)
}

/// Returns the requests after `stretch`, and then those before it. Their times begin at zero.
fn coming_round(
    all: impl Iterator<Item = Arrival>,
    again: impl Iterator<Item = Arrival>,
    stretch: Stretch,
) -> impl Iterator<Item = Arrival> {
    let mut end = Nanos::ZERO;
    let after = all
        .filter(move |arrival| arrival.at >= stretch.to)
        .map(move |arrival| Arrival { at: arrival.at - stretch.to, ..arrival });
    let before = again.take_while(move |arrival| arrival.at < stretch.from);
    let mut begin = None;
    after.map(|arrival| (false, arrival)).chain(before.map(|arrival| (true, arrival))).map(
        move |(is_before, arrival)| {
            if !is_before {
                end = arrival.at;
                return arrival;
            }
            let begin = *begin.get_or_insert(end + GAP);
            Arrival { at: begin + arrival.at, ..arrival }
        },
    )
}

/// Replays requests a little later, with the same times between them. Returns their response times, or `None` if the
/// device cannot keep up.
fn play(
    task: &Task<'_>,
    simulation: &mut Simulation,
    requests: impl Iterator<Item = Arrival>,
) -> Result<Option<LatencyHistogram>, StudyError> {
    simulation.rest(GAP);
    let mut first = None;
    let requests = requests.map(move |arrival| {
        let first = *first.get_or_insert(arrival.at);
        Arrival { at: arrival.at - first, ..arrival }
    });
    let mut measured = RunMeasurements::new();
    let replay = simulation.play(requests, &mut measured, &mut task.hooks.go_on()).map_err(StudyError::design)?;
    Ok((replay.end == ReplayEnd::Complete).then(|| measured.statistics().response()))
}

fn usize(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use esker_core::{Bytes, Lba, Request};

    #[test]
    fn what_comes_after_the_stretch_comes_first_and_nothing_comes_twice() {
        let at = |second: u64| Arrival { at: Nanos::from_secs(second), request: Request::read(Lba(0), Bytes(512)) };
        let all = || (0..10).map(at);
        let stretch = Stretch { from: Nanos::from_secs(3), to: Nanos::from_secs(6), requests: 3 };
        let times: Vec<u64> = coming_round(all(), all(), stretch).map(|arrival| arrival.at.0 / 1_000_000_000).collect();
        // Seconds 6 to 9 and, a second later, 0 to 2.
        assert_eq!(times, [0, 1, 2, 3, 4, 5, 6]);
        let late = Stretch { from: Nanos::from_secs(7), to: Nanos::from_secs(10), requests: 3 };
        assert_eq!(coming_round(all(), all(), late).count(), 7);
    }
}
