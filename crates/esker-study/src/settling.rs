//! Judges whether the policy of a hybrid has settled by the end of the trace.
//!
//! Until then, results describe a transition: extents go on moving, and how much room they find in the end is not
//! known. No policy of esker moves cold data back to make room, so hot data that change all the time fill the flash. If
//! many extents still move in the last quarter of the trace, a hybrid is therefore not judged.

use std::cell::Cell;

use esker_core::{Control, Nanos, replay};
use esker_results::Report;
use esker_results::study::{PolicySettled, SettledState};
use esker_sim::{RunMeasurements, Watch};

use crate::StudyError;
use crate::arrivals::{Load, arrivals};
use crate::endurance::LateWrites;
use crate::load::StudyWorkload;
use crate::offers::{Design, HYBRID};
use crate::setup::{Setup, set_up};
use crate::task::Task;

/// An extent moves after this many requests to it: the default of the policy.
const REQUESTS_A_MOVE: u64 = 4;
/// One request in this many is left out by a budget for the 99th percentile.
pub(crate) const LEFT_OUT: u64 = 100;

/// Returns from when on requests of the busiest hour count, which lasts from `from` to `to`: from the last quarter of
/// the trace on, if the hour reaches that far. Before that, the policy may not have settled.
pub(crate) fn judged_from(workload: &StudyWorkload, from: Nanos, to: Nanos) -> Nanos {
    late_from(workload).map_or(from, |at| if at < to { at.max(from) } else { from })
}

/// Returns when the last quarter of the requests begins.
pub(crate) fn late_from(workload: &StudyWorkload) -> Option<Nanos> {
    let late = usize::try_from(early(workload)).ok().and_then(|early| workload.arrivals().nth(early));
    late.map(|(at, _)| at)
}

/// Number of requests before the last quarter.
fn early(workload: &StudyWorkload) -> u64 {
    let requests = workload.profile.requests;
    requests - requests / 4
}

/// Returns what a hybrid moved in its measured run, whose results are in `report`.
pub(crate) fn moved(report: &Report) -> SettledState {
    SettledState { moved_extents: placement(report).0, settled: None }
}

/// Judges the last quarter of the requests of a measured run whose results are in `report`. To find the counts at its
/// beginning, it replays the other three quarters on a new device, as the run did. The policy has settled if the
/// requests that made extents move in that quarter are too few to matter in a 99th percentile.
pub(crate) fn late(
    task: &Task<'_>,
    design: &Design,
    report: &Report,
) -> Result<(PolicySettled, LateWrites), StudyError> {
    let load = Load::AS_TRACED;
    let Setup { mut device, replay_settings, .. } = set_up(task.workload, design, &load, task.settings, task.hooks)?;
    device.control(Nanos::ZERO, Control::StartMeasuring).map_err(StudyError::design)?;
    let mut go_on = |ended| task.hooks.simulated(ended);
    let mut measured = RunMeasurements::new().with_watch(Watch { go_on: &mut go_on });
    let left_out = Cell::default();
    let requests = task.workload.profile.requests;
    let early = usize::try_from(early(task.workload)).unwrap_or(usize::MAX);
    let arrivals = arrivals(&task.workload.requests, &load, device.capacity(), &left_out)?.take(early);
    let settings = esker_core::ReplaySettings { sample_every: None, ..replay_settings };
    replay(&mut *device, arrivals, &settings, &mut measured).map_err(StudyError::design)?;
    if measured.stopped() {
        return Err(StudyError::Cancelled);
    }
    let before = Report::of(&*device);
    let ((moved, moved_bytes), (moved_before, _)) = (placement(report), placement(&before));
    let late_moves = moved.saturating_sub(moved_before);
    let late_moves_max = requests / 4 / LEFT_OUT / REQUESTS_A_MOVE;
    let settled = PolicySettled { late_moves, late_moves_max, settled: late_moves <= late_moves_max };
    let pages = 4.0 * pages(report).saturating_sub(pages(&before)) as f64;
    Ok((settled, LateWrites { pages, once_bytes: moved_bytes }))
}

/// Returns the number of extents that moved, and their bytes.
fn placement(report: &Report) -> (u64, u64) {
    let placement = report.devices.get(HYBRID).and_then(|device| device.placement).unwrap_or_default();
    (placement.moved_extents, placement.moved_bytes)
}

/// Returns the pages that the host wrote to flash.
pub(crate) fn pages(report: &Report) -> u64 {
    report.devices.values().filter_map(|device| device.flash.as_ref()).map(|flash| flash.host_page_writes).sum()
}
