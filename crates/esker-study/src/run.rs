//! A design and its measurements after the measured run.

use esker_core::{Nanos, Replay, ReplaySettings};
use esker_results::{Reporting, RequestStatistics, SeriesPoint};
use esker_sim::{Experiment, Slowest};

/// State and measurements after the run, for further analysis.
pub(crate) struct MeasuredRun {
    pub(crate) device: Box<dyn Reporting>,
    pub(crate) experiment: Experiment,
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
    /// Simulated time of the device.
    pub(crate) now: Nanos,
    /// Settings for further replays on the device.
    pub(crate) replay_settings: ReplaySettings,
}
