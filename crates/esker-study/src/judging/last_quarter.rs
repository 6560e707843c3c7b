//! The last quarter of a trace: what depends on the requests served before is judged by it.

use esker_core::Nanos;
use esker_results::Report;

use crate::load::StudyWorkload;

/// One request in this many is left out by a budget for the 99th percentile.
pub(super) const LEFT_OUT: u64 = 100;

/// Returns from when on requests of a time count that lasts from `from` to `to`: from the last quarter of the trace on,
/// if the time reaches that far.
pub(super) fn counted_from(workload: &StudyWorkload, from: Nanos, to: Nanos) -> Nanos {
    begin(workload).map_or(from, |at| if at < to { at.max(from) } else { from })
}

/// Returns when the last quarter of the requests begins.
pub(super) fn begin(workload: &StudyWorkload) -> Option<Nanos> {
    let before = usize::try_from(requests_before(workload)).unwrap_or(usize::MAX);
    workload.arrivals().nth(before).map(|(at, _)| at)
}

/// Number of requests before the last quarter, including those that reach no device, such as trims of what was never
/// written.
pub(super) fn requests_before(workload: &StudyWorkload) -> u64 {
    let requests = workload.profile.requests;
    requests - requests / 4
}

/// Returns the pages that the host wrote to flash.
pub(super) fn flash_pages(report: &Report) -> u64 {
    report.devices.values().filter_map(|device| device.flash.as_ref()).map(|flash| flash.host_page_writes).sum()
}
