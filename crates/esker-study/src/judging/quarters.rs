//! Plays a workload up to its middle, its last quarter and its end, and counts what a placement policy has moved by
//! then: whether it has settled, or moves as much as it will for good.

use std::cell::Cell;

use esker_core::{Arrival, LatencyHistogram, Nanos, ReplayEnd};
use esker_results::study::PolicySettled;
use esker_results::{PlacementReport, Report, Reporting};
use esker_sim::{RunMeasurements, Simulation, Workload};

use super::last_quarter::{LEFT_OUT, flash_pages};
use crate::{Hooks, StudyError};

/// An extent moves after this many requests to it: the default of the policy.
const REQUESTS_A_MOVE: u64 = 4;
/// Moves in the third and the last quarter are compared only if there are this many in each: below, their ratio is
/// noise.
const MOVES_MIN: u64 = 64;
/// Moves go on at the same rate if those of the third and the last quarter differ by this factor at most.
const SAME_RATE: f64 = 1.5;
/// The flash is as full as it will be for good if the extents that it gains in the last quarter are at most this share
/// of the moves: what comes is mostly made up for by what leaves.
const GROWTH_MAX: f64 = 0.25;

/// What a placement policy has done since measuring began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PlacementCounts {
    pub(crate) moves: PlacementReport,
    /// Extents on the first device, which is the flash.
    pub(crate) on_flash: u64,
    /// Pages that were written to the flash.
    pub(crate) flash_pages: u64,
}

impl PlacementCounts {
    pub(crate) fn of(device: &dyn Reporting) -> Self {
        let placed = device.composite().and_then(|composite| Some(composite.extent_places()?.placed()));
        let placed = placed.unwrap_or_default();
        let on_flash = placed.devices.first().map_or(0, |flash| flash.extents);
        Self { moves: placed.moved, on_flash, flash_pages: flash_pages(&Report::of(device)) }
    }

    /// Returns the bytes that moved to the flash since `before`. Other moves led away from it.
    pub(crate) fn moved_to_flash(&self, before: &Self) -> u64 {
        let (extents, bytes) = (self.moved(before), self.moves.moved_bytes - before.moves.moved_bytes);
        let gained = self.on_flash as f64 - before.on_flash as f64;
        let to_flash = f64::midpoint(extents as f64, gained).clamp(0.0, extents as f64);
        (bytes as f64 * to_flash / extents.max(1) as f64) as u64
    }

    /// Returns the extents that moved since `before`.
    fn moved(&self, before: &Self) -> u64 {
        self.moves.moved_extents - before.moves.moved_extents
    }
}

/// What a policy has done before the first request, after a half, after three quarters and after all of the requests.
pub(crate) type QuarterCounts = [PlacementCounts; 4];

/// Returns how many extents may move in the last quarter of `requests` for a policy to count as settled: so few that
/// the requests that make them move do not matter in a 99th percentile.
pub(crate) fn late_moves_max(requests: u64) -> u64 {
    requests / 4 / LEFT_OUT / REQUESTS_A_MOVE
}

/// Returns whether a policy has settled that has done this by the quarters of `requests`. Otherwise it may have become
/// steady: it moves as much as in the quarter before, and as much away from the flash as to it.
pub(crate) fn policy_settled([_, half, before, end]: &QuarterCounts, requests: u64) -> PolicySettled {
    let (third_moves, late_moves) = (before.moved(half), end.moved(before));
    let late_moves_max = late_moves_max(requests);
    let late_growth = end.on_flash.cast_signed() - before.on_flash.cast_signed();
    let (fewer, more) = (third_moves.min(late_moves), third_moves.max(late_moves));
    let same_rate = fewer >= MOVES_MIN && more as f64 <= SAME_RATE * fewer as f64;
    let balanced = late_growth.unsigned_abs() as f64 <= GROWTH_MAX * late_moves as f64;
    PolicySettled {
        late_moves,
        late_moves_max,
        settled: late_moves <= late_moves_max,
        third_moves,
        late_growth,
        steady: same_rate && balanced,
    }
}

/// Plays a workload bit by bit on a new simulation, at the times that its requests have.
pub(crate) struct PlayedParts<'a> {
    pub(crate) simulation: Simulation,
    workload: &'a Workload,
    /// Time of the simulation at which the workload begins, and number of its requests that were played.
    begin: Nanos,
    played: usize,
}

impl<'a> PlayedParts<'a> {
    pub(crate) fn new(simulation: Simulation, workload: &'a Workload) -> Self {
        let begin = simulation.now();
        Self { simulation, workload, begin, played: 0 }
    }

    /// Plays on until the first `requests` requests of the workload have been played, those included that reach no
    /// device. Returns the response times, or `None` if the device cannot keep up.
    pub(crate) fn up_to(&mut self, requests: u64, hooks: &Hooks<'_>) -> Result<Option<LatencyHistogram>, StudyError> {
        let left_out = Cell::default();
        let first = self.workload.first(requests);
        let all = self.simulation.arrivals(&first, &left_out).map_err(StudyError::design)?;
        let (gone, count) = (self.simulation.now().saturating_sub(self.begin), Cell::new(self.played));
        let part = all.skip(self.played).map(|arrival| {
            count.set(count.get() + 1);
            Arrival { at: arrival.at.saturating_sub(gone), ..arrival }
        });
        let mut measured = RunMeasurements::new();
        let replay = self.simulation.play(part, &mut measured, &mut hooks.go_on()).map_err(StudyError::design)?;
        self.played = count.get();
        Ok((replay.end == ReplayEnd::Complete).then(|| measured.statistics().response()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts after `moved_extents` moves, with `on_flash` extents on the flash.
    fn after(moved_extents: u64, on_flash: u64) -> PlacementCounts {
        let moves = PlacementReport { moved_extents, moved_bytes: moved_extents << 17, ..PlacementReport::default() };
        PlacementCounts { moves, on_flash, flash_pages: 0 }
    }

    fn found(counts: [(u64, u64); 3]) -> (bool, bool) {
        let [half, before, end] = counts.map(|(moved, on_flash)| after(moved, on_flash));
        let settled = policy_settled(&[after(0, 0), half, before, end], 40_000);
        (settled.settled, settled.steady)
    }

    #[test]
    fn a_policy_is_steady_if_it_moves_back_as_much_as_it_brings_at_the_same_rate() {
        // 25 moves may be in the last quarter of 40,000 requests for the policy to count as settled.
        assert_eq!(found([(500, 100), (600, 110), (625, 135)]), (true, false));
        assert_eq!(found([(500, 100), (600, 110), (626, 110)]), (false, false), "too few moves to compare");
        assert_eq!(found([(500, 100), (700, 110), (900, 110)]), (false, true));
        assert_eq!(found([(500, 100), (700, 110), (1_000, 110)]), (false, true), "half as many again");
        assert_eq!(found([(500, 100), (700, 110), (1_001, 110)]), (false, false), "more than that");
        assert_eq!(found([(500, 100), (800, 110), (999, 110)]), (false, false), "or fewer");
        assert_eq!(found([(500, 100), (700, 110), (900, 160)]), (false, true));
        assert_eq!(found([(500, 100), (700, 110), (900, 161)]), (false, false), "the flash fills up");
        assert_eq!(found([(500, 100), (700, 110), (900, 59)]), (false, false), "or empties");
        // Nothing moves back: the flash gains what moves.
        assert_eq!(found([(500, 600), (700, 800), (900, 1_000)]), (false, false));
    }

    #[test]
    fn what_moves_to_flash_is_told_from_what_leaves_it() {
        let before = after(100, 50);
        assert_eq!(after(140, 90).moved_to_flash(&before), 40 << 17);
        assert_eq!(after(140, 50).moved_to_flash(&before), 20 << 17);
        assert_eq!(after(140, 10).moved_to_flash(&before), 0);
        assert_eq!(before.moved_to_flash(&before), 0);
    }
}
