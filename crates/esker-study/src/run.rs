//! A design after its measured run.

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
    /// Of the busy stretch, by requests and by bytes.
    pub(crate) busy: Option<RequestStatistics>,
    pub(crate) busy_by_bytes: Option<RequestStatistics>,
    /// Of the last quarter of the requests; of a hybrid alone.
    pub(crate) last_quarter: Option<RequestStatistics>,
    pub(crate) series: Vec<SeriesPoint>,
    pub(crate) slowest: Option<Slowest>,
    /// Time on the device.
    pub(crate) now: Nanos,
    /// For replays on the device.
    pub(crate) replay_settings: ReplaySettings,
}
