//! Judges designs whose placement policy moves data, and whether the policy has settled by the end of the trace.
//!
//! Until then, results describe a transition: extents go on moving, and how much room they find in the end is not
//! known. No policy of esker moves cold data back to make room, so hot data that change all the time fill the flash. If
//! many extents still move in the last quarter of the trace, the design is therefore not judged.

use std::cell::Cell;

use esker_core::{Control, Nanos, replay};
use esker_results::Report;
use esker_results::study::{Candidate, JudgedState, PolicySettled, SettledState};
use esker_sim::{RunMeasurements, Watch};

use super::last_quarter::{self, LEFT_OUT, flash_pages};
use super::ready::{ReadyDesign, play_loads, under_load};
use crate::StudyError;
use crate::arrivals::{Load, arrivals};
use crate::busy::Busy;
use crate::design::{Design, Judging, PlayedStretches};
use crate::endurance::LateWrites;
use crate::load::StudyWorkload;
use crate::run::MeasuredRun;
use crate::setup::{Setup, set_up};
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
        run: &mut MeasuredRun,
        candidate: &mut Candidate,
    ) -> Result<(), StudyError> {
        let StressResults { first, headroom } = under_load(task, asked, run)?;
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
        play_loads(task, asked, search, || ReadyDesign::after_trace(task, design))
    }
}

/// Judges the last quarter of the requests of a measured run whose results are in `report`. To find the counts at its
/// beginning, it replays the other three quarters on a new device, as the run did. The policy has settled if the
/// requests that made extents move in that quarter are too few to matter in a 99th percentile.
fn late(task: &Task<'_>, design: &Design, report: &Report) -> Result<(PolicySettled, LateWrites), StudyError> {
    let load = Load::AS_TRACED;
    let Setup { mut device, replay_settings, .. } = set_up(task.workload, design, &load, task.settings, task.hooks)?;
    device.control(Nanos::ZERO, Control::StartMeasuring).map_err(StudyError::design)?;
    let mut go_on = |ended| task.hooks.simulated(ended);
    let mut measured = RunMeasurements::new().with_watch(Watch { go_on: &mut go_on });
    let left_out = Cell::default();
    let early = last_quarter::requests_before(task.workload);
    let arrivals = arrivals(&task.workload.requests, &load, device.capacity(), &left_out)?.take(early);
    let settings = esker_core::ReplaySettings { sample_every: None, ..replay_settings };
    replay(&mut *device, arrivals, &settings, &mut measured).map_err(StudyError::design)?;
    if measured.stopped() {
        return Err(StudyError::Cancelled);
    }
    let before = Report::of(&*device);
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
