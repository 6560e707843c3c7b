//! Judges designs whose placement policy moves data, and whether the policy has settled by the end of the trace.
//!
//! Until then, results describe a transition: extents go on moving, and how much room they find in the end is not
//! known. No policy of esker moves cold data back to make room, so hot data that change all the time fill the flash. If
//! many extents still move in the last quarter of the trace, the design is therefore not judged.

use std::cell::Cell;

use esker_core::{Control, Nanos, Ratio};
use esker_results::Report;
use esker_results::study::{Candidate, JudgedState, PolicySettled, SettledState};
use esker_sim::RunMeasurements;

use super::last_quarter::{self, LEFT_OUT, flash_pages};
use super::ready::{after_trace, play_loads, under_load};
use crate::StudyError;
use crate::busy::Busy;
use crate::design::{Design, Judging, PlayedStretches};
use crate::endurance::LateWrites;
use crate::load::StudyWorkload;
use crate::run::DesignRun;
use crate::setup::set_up;
use crate::strain::{Limits, LoadSearch, StressResults};
use crate::task::Task;

/// An extent moves after this many requests to it: the default of the policy.
const REQUESTS_A_MOVE: u64 = 4;

/// Judges a design once its placement policy has settled: by the last quarter of the measured run, and by the busiest
/// stretches played after it.
#[derive(Debug)]
pub(crate) struct Settled;

impl Judging for Settled {
    fn state(&self, report: &Report) -> JudgedState {
        JudgedState::Settled(SettledState { moved_extents: moved(report).extents, settled: None })
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
        report: &Report,
        _: Option<&PlayedStretches>,
        candidate: &mut Candidate,
    ) -> Result<Option<LateWrites>, StudyError> {
        let (settled, late) = late(task, design, report)?;
        let moved_extents = moved(report).extents;
        candidate.judged = JudgedState::Settled(SettledState { moved_extents, settled: Some(settled) });
        Ok(Some(late))
    }

    fn headroom(
        &self,
        task: &Task<'_>,
        _: &Design,
        asked: (&Busy, &Limits),
        _: Option<PlayedStretches>,
        run: &mut DesignRun,
        candidate: &mut Candidate,
    ) -> Result<(), StudyError> {
        let StressResults { first, headroom } = under_load(task, asked, &mut run.simulation)?;
        candidate.headroom = Some(headroom);
        (candidate.busy, candidate.busy_by_bytes) = (first.busy, first.busy_by_bytes);
        Ok(())
    }

    /// The policy has to see the trace first.
    fn stressed(
        &self,
        task: &Task<'_>,
        design: &Design,
        asked: (&Busy, &Limits),
        search: LoadSearch,
    ) -> Result<StressResults, StudyError> {
        play_loads(task, asked, search, || after_trace(task, design))
    }
}

/// Judges the last quarter of the requests of a measured run whose results are in `report`. To find the counts at its
/// beginning, it replays the other three quarters on a new device, as the run did. The policy has settled if the
/// requests that made extents move in that quarter are too few to matter in a 99th percentile.
fn late(task: &Task<'_>, design: &Design, report: &Report) -> Result<(PolicySettled, LateWrites), StudyError> {
    let mut simulation = set_up(task, design, Ratio::ONE)?;
    simulation.control(Control::StartMeasuring).map_err(StudyError::design)?;
    let left_out = Cell::default();
    let early = task.workload.requests.first(last_quarter::requests_before(task.workload));
    let early = simulation.arrivals(&early, &left_out).map_err(StudyError::design)?;
    let played = simulation.play(early, &mut RunMeasurements::new(), &mut task.hooks.go_on());
    played.map_err(StudyError::design)?;
    let before = Report::of(simulation.device());
    let late_moves = moved(report).extents.saturating_sub(moved(&before).extents);
    let late_moves_max = task.workload.profile.requests / 4 / LEFT_OUT / REQUESTS_A_MOVE;
    let settled = PolicySettled { late_moves, late_moves_max, settled: late_moves <= late_moves_max };
    let pages = 4.0 * flash_pages(report).saturating_sub(flash_pages(&before)) as f64;
    Ok((settled, LateWrites { pages, once_bytes: moved(report).bytes }))
}

/// What a placement policy moved.
struct Moved {
    extents: u64,
    bytes: u64,
}

fn moved(report: &Report) -> Moved {
    let placement = report.devices.values().find_map(|device| device.placement).unwrap_or_default();
    Moved { extents: placement.moved_extents, bytes: placement.moved_bytes }
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
        let (settled, late) = late(&task, &design, &Report::of(run.simulation.device())).unwrap();
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
