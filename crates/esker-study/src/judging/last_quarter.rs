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
    workload.arrivals().nth(requests_before(workload)).map(|(at, _)| at)
}

/// Number of requests before the last quarter.
pub(super) fn requests_before(workload: &StudyWorkload) -> usize {
    let requests = workload.profile.requests;
    usize::try_from(requests - requests / 4).unwrap_or(usize::MAX)
}

/// Returns the pages that the host wrote to flash.
pub(super) fn flash_pages(report: &Report) -> u64 {
    report.devices.values().filter_map(|device| device.flash.as_ref()).map(|flash| flash.host_page_writes).sum()
}
