//! A design after its measured run.

use esker_core::Replay;
use esker_results::{RequestStatistics, SeriesPoint};
use esker_sim::{Simulation, Slowest};

/// A design after its measured run, and what was measured.
pub(crate) struct DesignRun {
    pub(crate) simulation: Simulation,
    pub(crate) replay: Replay,
    pub(crate) statistics: RequestStatistics,
    pub(crate) hour: Option<RequestStatistics>,
    /// In the busiest stretch by requests and in the one by bytes.
    pub(crate) busy: Option<RequestStatistics>,
    pub(crate) busy_by_bytes: Option<RequestStatistics>,
    /// From the time on when requests count instead of all; only if there is such a time.
    pub(crate) last_quarter: Option<RequestStatistics>,
    pub(crate) series: Vec<SeriesPoint>,
    pub(crate) slowest: Option<Slowest>,
}
