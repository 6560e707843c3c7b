//! Judges designs with a cache when that is warm. It plays the trace from the end of the busy stretch to the end of the
//! trace, then from the beginning to the busy stretch, as if the trace repeated; then the stretch itself.
//!
//! Every request is played once, as in the trace. Lines that are used for the first time therefore miss as often as in
//! the trace. If the stretches were played after the whole trace, as on other designs, the cache would hold everything
//! that they ask for.

use std::cell::Cell;

use esker_core::{Arrival, Control, LatencyHistogram, Nanos, Ratio, ReplayEnd};
use esker_results::study::{CacheWarmed, Candidate, Headroom, JudgedState, WarmState};
use esker_results::{FlashCacheReport, LatencySummary, Report, Reporting};
use esker_sim::{RunMeasurements, Simulation};

use super::last_quarter::{self, LEFT_OUT, flash_pages};
use crate::StudyError;
use crate::busy::{Busy, Stretch};
use crate::design::{Design, Judging, PlayedStretches};
use crate::endurance::LateWrites;
use crate::load::StudyWorkload;
use crate::run::DesignRun;
use crate::setup::set_up;
use crate::strain::{Limits, LoadSearch, Strain, StressResults, Stretches, headroom, loads, strain};
use crate::task::Task;

/// With fewer requests than this before the busy stretch, one in a hundred of a quarter of them says nothing.
const REQUESTS_MIN: u64 = 4 * LEFT_OUT;
/// Time between two parts of the trace.
const GAP: Nanos = Nanos::from_secs(1);

/// Judges a design once its cache is warm: by the busiest stretches, each played after the rest of the trace.
#[derive(Debug)]
pub(crate) struct Warm;

impl Judging for Warm {
    fn state(&self, _: &Report) -> JudgedState {
        JudgedState::Warm(WarmState::default())
    }

    /// Before the last quarter, the cache may be cold.
    fn hour_from(&self, workload: &StudyWorkload, from: Nanos, to: Nanos) -> Nanos {
        last_quarter::counted_from(workload, from, to)
    }

    fn play_busy(
        &self,
        task: &Task<'_>,
        design: &Design,
        candidate: &mut Candidate,
    ) -> Result<Option<PlayedStretches>, StudyError> {
        let Some(busy) = task.busy else { return Ok(None) };
        let Some(warm) = warm(task, busy, design, 1.0)? else { return Ok(None) };
        candidate.judged = JudgedState::Warm(WarmState { hit_ratio: Some(warm.hit_ratio), warmed: Some(warm.warmed) });
        candidate.busy.clone_from(&warm.played.strain.busy);
        candidate.busy_by_bytes.clone_from(&warm.played.strain.busy_by_bytes);
        candidate.last_quarter = warm.last_quarter;
        Ok(Some(warm.played))
    }

    fn headroom(
        &self,
        task: &Task<'_>,
        design: &Design,
        asked: (&Busy, &Limits),
        played: Option<PlayedStretches>,
        _: &mut DesignRun,
        candidate: &mut Candidate,
    ) -> Result<(), StudyError> {
        let first = played.map_or(Strain::TOO_MUCH, |played| played.strain);
        candidate.headroom = Some(carried(task, design, asked, &first)?);
        Ok(())
    }

    /// Each load takes the whole trace again, so only the load that has to be carried is tried.
    fn stressed(
        &self,
        task: &Task<'_>,
        design: &Design,
        asked: (&Busy, &Limits),
        _: LoadSearch,
    ) -> Result<StressResults, StudyError> {
        let first = warm(task, asked.0, design, 1.0)?.map_or(Strain::TOO_MUCH, |warm| warm.played.strain);
        let headroom = carried(task, design, asked, &first)?;
        Ok(StressResults { first, headroom })
    }
}

/// The results of a warm cache in the busy stretch.
pub(crate) struct WarmResults {
    /// What the flash takes in the long run is right if the rest of the trace is like these requests.
    pub(crate) played: PlayedStretches,
    /// Response times in the last quarter of the requests before the stretch.
    pub(crate) last_quarter: Option<LatencySummary>,
    pub(crate) warmed: CacheWarmed,
    /// Share of accesses to lines that hit, in the last quarter before the stretch and in the stretch itself.
    pub(crate) hit_ratio: f64,
}

/// Warms the cache of a design, and plays the busiest stretch by requests at `load` times the trace's speed. If no
/// budget breaks in it, does the same with a new device for the busiest stretch by bytes. Returns `None` if the cache
/// cannot keep up before a stretch.
pub(crate) fn warm(
    task: &Task<'_>,
    busy: &Busy,
    design: &Design,
    load: f64,
) -> Result<Option<WarmResults>, StudyError> {
    let Some(mut warm) = warm_before(task, busy, design, (busy.times.stretch, load))? else { return Ok(None) };
    let broken = task.limits.as_ref().and_then(|limits| warm.played.strain.broken(limits, load));
    if let (Some(by_bytes), None) = (busy.times.by_bytes, broken) {
        let Some(again) = warm_before(task, busy, design, (by_bytes, load))? else { return Ok(None) };
        match again.played.strain.busy {
            Some(busy) => warm.played.strain.busy_by_bytes = Some(busy),
            None => warm.played.strain = Strain::TOO_MUCH,
        }
    }
    Ok(Some(warm))
}

/// Warms the cache of a design, and plays one stretch.
fn warm_before(
    task: &Task<'_>,
    busy: &Busy,
    design: &Design,
    (stretch, load): (Stretch, f64),
) -> Result<Option<WarmResults>, StudyError> {
    let mut simulation = set_up(task, design, Ratio::ONE)?;
    simulation.control(Control::StartMeasuring).map_err(StudyError::design)?;
    let left_out = Cell::default();
    let around = |simulation: &Simulation| -> Result<_, StudyError> {
        let all = || simulation.arrivals(&task.workload.requests, &left_out).map_err(StudyError::design);
        Ok(coming_round(all()?, all()?, stretch))
    };
    let rest = around(&simulation)?.count() as u64;
    let early = rest - rest / 4;
    let part = |simulation: &mut Simulation, from: u64, count: u64| {
        let requests = around(simulation)?.skip(usize(from)).take(usize(count));
        play(task, simulation, requests)
    };
    if part(&mut simulation, 0, early)?.is_none() {
        return Ok(None);
    }
    let before = CacheCounts::of(simulation.device());
    let Some(late) = part(&mut simulation, early, rest - early)? else { return Ok(None) };
    let quarter = CacheCounts::of(simulation.device());
    let stretches = Stretches::alone(busy, &stretch, &simulation)?;
    let strain = strain(&stretches, &mut simulation, load, task.hooks)?;
    // Playing the stretch begins a new measurement.
    let counted = [before, quarter, CacheCounts::of(simulation.device())];
    let last_quarter = (late.count() > 0).then(|| LatencySummary::of(&late));
    Ok(Some(WarmResults { last_quarter, ..of_counts(strain, rest, stretches.len(), &counted) }))
}

/// Makes results of the counts after the first three quarters of `rest` requests, after all of them, and in the stretch
/// with its `busy` requests.
fn of_counts(strain: Strain, rest: u64, busy: u64, [before, all, stretch]: &[CacheCounts; 3]) -> WarmResults {
    let late_requests = rest / 4;
    let full = before.cache.evictions > 0;
    let late_lines = all.cache.held_lines.saturating_sub(before.cache.held_lines);
    let late_lines_max = late_requests / LEFT_OUT;
    let warm = rest >= REQUESTS_MIN && (full || late_lines <= late_lines_max);
    let hits = all.cache.hits - before.cache.hits + stretch.cache.hits;
    let misses = all.cache.misses - before.cache.misses + stretch.cache.misses;
    let pages = all.pages - before.pages + stretch.pages;
    let of_trace = (rest + busy) as f64 / (late_requests + busy).max(1) as f64;
    let late = LateWrites {
        pages: pages as f64 * of_trace,
        // A cache with free room is filled once. If lines are evicted, others come in for good.
        once_bytes: if full { 0 } else { before.cache.filled_bytes },
    };
    WarmResults {
        played: PlayedStretches { strain, late },
        last_quarter: None,
        warmed: CacheWarmed { late_requests, late_lines, late_lines_max, full, warm },
        hit_ratio: hits as f64 / (hits + misses).max(1) as f64,
    }
}

/// Tries the load that has to be carried.
fn carried(
    task: &Task<'_>,
    design: &Design,
    (busy, limits): (&Busy, &Limits),
    first: &Strain,
) -> Result<Headroom, StudyError> {
    headroom(first, limits, &loads(LoadSearch::Asked, limits), |load| {
        Ok(warm(task, busy, design, load)?.map_or(Strain::TOO_MUCH, |warm| warm.played.strain))
    })
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

/// Counters of the cache and the flash since measuring began.
struct CacheCounts {
    cache: FlashCacheReport,
    pages: u64,
}

impl CacheCounts {
    fn of(device: &dyn Reporting) -> Self {
        let report = Report::of(device);
        let pages = flash_pages(&report);
        let cache = report.devices.into_values().find_map(|device| device.flash_cache).unwrap_or_default();
        Self { cache, pages }
    }
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
