//! Judges designs whose placement policy moves data, and whether the policy has settled by the end of the trace.
//!
//! Until then, results describe a transition: extents go on moving, and how much room they find in the end is not
//! known. If many extents still move in the last quarter of the trace, the design is judged only if its policy moves
//! cold data back as fast as hot data come, and as fast as in the quarter before: then this goes on for good, and what
//! it costs is part of the results.

use std::cell::Cell;

use esker_core::{Control, Nanos, Ratio};
use esker_results::study::{Candidate, Headroom, JudgedState, PolicySettled, SettledState};
use esker_results::{Report, Reporting};
use esker_sim::Simulation;

use super::last_quarter;
use super::quarters::{PlacementCounts, PlayedParts, QuarterCounts, policy_settled};
use super::ready::{after_trace, play_loads, under_load};
use super::round::stressed_around;
use crate::StudyError;
use crate::busy::Busy;
use crate::design::{Design, Judging, PlayedStretches};
use crate::late_writes::{LateWrites, PromotedBytes};
use crate::load::StudyWorkload;
use crate::run::DesignRun;
use crate::setup::set_up;
use crate::strain::{Limits, LoadSearch, Strain, StressResults};
use crate::task::Task;

/// Judges a design once its placement policy has settled: by the last quarter of the measured run, and by the busiest
/// stretches played after it.
#[derive(Debug)]
pub(crate) struct Settled;

impl Judging for Settled {
    fn state(&self, report: &Report) -> JudgedState {
        JudgedState::Settled(SettledState { moved_extents: moved_extents(report), settled: None })
    }

    /// Before the last quarter, the policy may not have settled.
    fn hour_from(&self, workload: &StudyWorkload, from: Nanos, to: Nanos) -> Nanos {
        last_quarter::counted_from(workload, from, to)
    }

    fn late_from(&self, workload: &StudyWorkload) -> Option<Nanos> {
        last_quarter::begin(workload)
    }

    fn late_writes(
        &self,
        task: &Task<'_>,
        design: &Design,
        device: &dyn Reporting,
        _: Option<&PlayedStretches>,
        candidate: &mut Candidate,
    ) -> Result<Option<LateWrites>, StudyError> {
        let end = PlacementCounts::of(device);
        let (settled, late) = late(task, design, &end)?;
        let moved_extents = end.moves.moved_extents;
        candidate.judged = JudgedState::Settled(SettledState { moved_extents, settled: Some(settled) });
        Ok(Some(late))
    }

    fn headroom(
        &self,
        task: &Task<'_>,
        design: &Design,
        asked: (&Busy, &Limits),
        _: Option<PlayedStretches>,
        run: &mut DesignRun,
        candidate: &mut Candidate,
    ) -> Result<(), StudyError> {
        let StressResults { first, headroom } = match candidate.judged {
            JudgedState::Settled(SettledState { settled: Some(settled), .. }) if goes_on(&settled) => {
                stressed_around(task, design, asked)?
            }
            _ => under_load(task, asked, &mut run.simulation)?,
        };
        candidate.headroom = Some(headroom);
        (candidate.busy, candidate.busy_by_bytes) = (first.busy, first.busy_by_bytes);
        Ok(())
    }

    /// The policy has to see the trace first. If it goes on moving as it did, the trace comes round to each stretch.
    fn stressed(
        &self,
        task: &Task<'_>,
        design: &Design,
        asked: (&Busy, &Limits),
        search: LoadSearch,
    ) -> Result<StressResults, StudyError> {
        let mut counts = QuarterCounts::default();
        let Some(simulation) = play_quarters(task, design, &mut counts, task.workload.profile.requests)? else {
            return Ok(StressResults { first: Strain::TOO_MUCH, headroom: Headroom::default() });
        };
        if goes_on(&policy_settled(&counts, task.workload.profile.requests)) {
            return stressed_around(task, design, asked);
        }
        let played = Cell::new(Some(simulation));
        play_loads(task, asked, search, || match played.take() {
            Some(simulation) => Ok(Some(simulation)),
            None => after_trace(task, design),
        })
    }
}

/// Returns true if the policy has not settled, but moves as much as it will for good.
fn goes_on(settled: &PolicySettled) -> bool {
    settled.steady && !settled.settled
}

/// Plays the first `requests` requests of the trace on a new device, and notes the counts by the quarters of the trace
/// up to there. Returns `None` if the design cannot keep up.
fn play_quarters(
    task: &Task<'_>,
    design: &Design,
    counts: &mut QuarterCounts,
    requests: u64,
) -> Result<Option<Simulation>, StudyError> {
    let mut simulation = set_up(task, design, Ratio::ONE)?;
    simulation.control(Control::StartMeasuring).map_err(StudyError::design)?;
    let mut parts = PlayedParts::new(simulation, &task.workload.requests);
    let all = task.workload.profile.requests;
    let ends = [0, all / 2, last_quarter::requests_before(task.workload), all];
    for (count, upto) in counts.iter_mut().zip(ends).filter(|(_, upto)| *upto <= requests) {
        if parts.up_to(upto, task.hooks)?.is_none() {
            return Ok(None);
        }
        *count = PlacementCounts::of(parts.simulation.device());
    }
    Ok(Some(parts.simulation))
}

/// Judges the last quarter of the requests of a measured run that ended with `end`. To find the counts before it, it
/// replays the other three quarters on a new device, as the run did.
fn late(task: &Task<'_>, design: &Design, end: &PlacementCounts) -> Result<(PolicySettled, LateWrites), StudyError> {
    let mut counts = [*end; 4];
    play_quarters(task, design, &mut counts, last_quarter::requests_before(task.workload))?;
    let [begin, _, before, end] = counts;
    let settled = policy_settled(&counts, task.workload.profile.requests);
    let pages = 4.0 * end.flash_pages.saturating_sub(before.flash_pages) as f64;
    // What goes on moving is written for good.
    let once_bytes = if goes_on(&settled) { 0 } else { end.moved_to_flash(&begin) };
    let promoted =
        PromotedBytes { all: end.moved_to_flash(&begin) as f64, late: 4.0 * end.moved_to_flash(&before) as f64 };
    let promoted = (settled.settled || settled.steady).then_some(promoted);
    Ok((settled, LateWrites { pages, once_bytes, promoted }))
}

fn moved_extents(report: &Report) -> u64 {
    report.devices.values().find_map(|device| device.placement).unwrap_or_default().moved_extents
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, AtomicU64};

    use esker_core::Bytes;
    use esker_trace::{Operation, ReadOptions, Record, TraceReader, TraceWriter};

    use super::*;
    use crate::hybrid_tests::{HOT, HYBRID, SyntheticWorkload, asked, small};
    use crate::measure::{Load, measured_run};
    use crate::prepare::PreparedWorkload;
    use crate::{Hooks, load};

    /// What moved in the last quarter of a trace, and the pages that were written to the flash.
    fn late_in(trace: &Path) -> (u64, f64) {
        let settings = asked(trace, small());
        let (cancel, simulated) = (AtomicBool::new(false), AtomicU64::new(0));
        let hooks = Hooks { progress: &|_, _, _| {}, cancel: &cancel, simulated: &simulated };
        let workload = load::single(&settings.traces, &settings.read, &hooks).unwrap();
        let prepared = PreparedWorkload::of(&workload, &settings).unwrap();
        let offers = prepared.offers(&workload, &settings, &hooks).unwrap();
        let offer = offers.iter().find(|offer| offer.name() == HYBRID).unwrap();
        let design = offer.design(Bytes(workload.map().footprint()), settings.utilisation).unwrap();
        let task = prepared.task(&workload, &settings, &hooks);
        let run = measured_run(&task, &design, &Load::as_traced(&workload), None).unwrap();
        let (settled, late) = late(&task, &design, &PlacementCounts::of(run.simulation.device())).unwrap();
        // What was moved by a policy that had not settled says nothing of the long run.
        assert!(!settled.settled && !settled.steady && late.promoted.is_none(), "{settled:?}, {late:?}");
        (settled.late_moves, late.pages)
    }

    /// Writes the trace again, with a trim after each request of an area that is not used: it reaches no device.
    fn with_trims_of_nothing(trace: &Path, to: &Path) {
        let mut reader = TraceReader::open(&[trace.to_path_buf()], &ReadOptions::default()).unwrap();
        let file = std::fs::File::create(to).unwrap();
        let mut writer = TraceWriter::create("esker", Box::new(file), &["0".into()]).unwrap();
        let mut batch = Vec::new();
        while reader.next_batch(&mut batch).unwrap() {
            for record in &batch {
                writer.push(record).unwrap();
                writer.push(&Record { operation: Operation::Trim, offset: 1 << 40, ..*record }).unwrap();
            }
        }
        writer.finish().unwrap();
    }

    #[test]
    fn requests_that_reach_no_device_do_not_shift_the_last_quarter() {
        let folder = tempfile::tempdir().unwrap();
        let path = SyntheticWorkload { moves_after_s: Some(20), seconds: 90, ..HOT }.write(folder.path());
        let (moves, pages) = late_in(&path);
        assert!(moves > 50 && pages > 1_000.0, "{moves} {pages}");
        let trims = folder.path().join("trims.esker");
        with_trims_of_nothing(&path, &trims);
        let found = late_in(&trims);
        assert!(
            found.0.abs_diff(moves) <= 2 && (0.99..1.01).contains(&(found.1 / pages)),
            "{found:?}, {moves} {pages}"
        );
    }
}
