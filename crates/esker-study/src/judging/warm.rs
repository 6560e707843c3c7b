//! Judges designs with a cache when that is warm: when the trace has come round to the busy stretch.

use esker_core::Nanos;
use esker_results::study::{CacheWarmed, Candidate, Headroom, JudgedState, WarmState};
use esker_results::{FlashCacheReport, LatencySummary, Report, Reporting};

use super::last_quarter::{self, LEFT_OUT, flash_pages};
use super::round::{PlayedAround, play_around};
use crate::StudyError;
use crate::busy::{Busy, Stretch};
use crate::design::{Design, Judging, PlayedStretches};
use crate::late_writes::{LateWrites, PromotedBytes};
use crate::load::StudyWorkload;
use crate::run::DesignRun;
use crate::strain::{Limits, LoadSearch, Strain, StressResults, Stretches, headroom, loads, strain};
use crate::task::Task;

/// With fewer requests than this before the busy stretch, one in a hundred of a quarter of them says nothing.
const REQUESTS_MIN: u64 = 4 * LEFT_OUT;

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
        warm.played.strain.add_by_bytes(again.played.strain);
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
    let mut before = CacheCounts::default();
    let at_quarter = |device: &dyn Reporting| before = CacheCounts::of(device);
    let Some(round) = play_around(task, design, stretch, at_quarter)? else { return Ok(None) };
    let PlayedAround { mut simulation, requests: rest, last_quarter: late } = round;
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
    let filled = |counts: &CacheCounts| counts.cache.filled_bytes as f64;
    let promoted = PromotedBytes {
        all: filled(all) + filled(stretch),
        late: (filled(all) - filled(before) + filled(stretch)) * of_trace,
    };
    let late = LateWrites {
        pages: pages as f64 * of_trace,
        // A cache with free room is filled once. If lines are evicted, others come in for good.
        once_bytes: if full { 0 } else { before.cache.filled_bytes },
        promoted: warm.then_some(promoted),
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

/// Counters of the cache and the flash since measuring began.
#[derive(Default)]
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
