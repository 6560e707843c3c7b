//! Profiles of traces, as `esker trace info --json` prints them. Each file answers one question.

mod alignment;
mod arrivals;
mod load;
mod peaks;
mod responses;
mod sizes;
mod skew;
mod volumes;
mod working_set;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use alignment::*;
pub use arrivals::*;
pub use load::*;
pub use peaks::*;
pub use responses::*;
pub use sizes::*;
pub use skew::*;
pub use volumes::*;
pub use working_set::*;

/// What `esker trace info --json` prints: the profile of one trace, or a list of several.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum TraceProfiles {
    /// One trace.
    One(Box<TraceProfile>),
    /// Several.
    Several(Vec<TraceProfile>),
}

/// The profile of a trace, with what was read.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct TraceProfile {
    /// The file, as it was named.
    pub trace: String,
    /// The format that it was read as.
    pub format: String,
    /// What to know of the numbers, in sentences.
    pub remarks: Vec<String>,
    /// The profile.
    #[serde(flatten)]
    pub profile: Profile,
}

/// Profile of a trace. A page is 4 KiB of one volume, and counts as touched if any of its bytes was; trims touch
/// nothing. Times are absent if the trace has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Requests of all kinds.
    pub requests: u64,
    /// Reads.
    pub read_requests: u64,
    /// Writes.
    pub write_requests: u64,
    /// Trims.
    pub trim_requests: u64,
    /// Flushes.
    pub flush_requests: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Bytes trimmed.
    pub trim_bytes: u64,
    /// Mean size of reads and writes; zero if there are none.
    pub mean_size_bytes: f64,
    /// Median size of reads and writes (nearest rank); zero if there are none.
    pub median_size_bytes: u64,
    /// Distinct pages read or written.
    pub pages_4k: u64,
    /// Distinct pages read.
    pub pages_4k_read: u64,
    /// Distinct pages written.
    pub pages_4k_written: u64,
    /// Distinct pages read or written, times 4,096.
    pub footprint_bytes: u64,
    /// Number of touched 1 MiB areas, times their size: the dense address space that the trace can be mapped to.
    pub active_bytes: u64,
    /// Distance from the lowest to the highest byte read or written, summed over the volumes.
    pub address_span_bytes: u64,
    /// Share of requests that start exactly where the previous one on the same volume ended (without flushes).
    pub sequential_fraction: f64,
    /// Share of requests whose address is the end of the previous request, whatever the volumes of the two: the
    /// addresses of all volumes count as one address space. Kim 2009, table 5.3: "the address of incoming request is
    /// next to that of the previous request". As there, interleaved volumes hide each other's sequential runs.
    pub sequential_fraction_global: f64,
    /// Share of requests with 4 KiB aligned address and size (without flushes).
    pub aligned_4k_fraction: f64,
    /// Page writes per distinct page written. A request counts once for each page it touches, however little of the
    /// page. Zero if nothing was written.
    pub overwrite_ratio: f64,
    /// Last arrival minus first arrival, in seconds.
    pub duration_s: Option<f64>,
    /// Requests divided by duration.
    pub requests_per_s: Option<f64>,
    /// Volumes with at least one request.
    pub devices: u64,
    /// First arrival in nanoseconds, since 1970-01-01 UTC if the format has absolute times.
    pub first_arrival_ns: u64,
    /// Request sizes.
    pub sizes: SizeDistribution,
    /// Times between arrivals.
    pub inter_arrival: Option<InterArrival>,
    /// Gaps between arrivals, one entry for each threshold.
    pub idle: Vec<IdlePeriods>,
    /// Load of the busiest seconds.
    pub peaks: Option<Peaks>,
    /// Busiest 60 seconds, starting at a whole second after the first arrival.
    pub busiest_minute: Option<BusiestWindow>,
    /// Busiest 3,600 seconds, starting at a multiple of five minutes after the first arrival.
    pub busiest_hour: Option<BusiestWindow>,
    /// Spread of accesses over pages.
    pub skew: Skew,
    /// Spread of writes over pages.
    pub write_skew: Skew,
    /// Response times that the trace recorded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub measured: Option<MeasuredResponses>,
    /// Length of one interval of `load`, in seconds.
    pub load_interval_s: f64,
    /// Load over time; empty if the trace has no times.
    pub load: Vec<LoadInterval>,
    /// Length of one interval of `working_set`, in seconds.
    pub working_set_interval_s: f64,
    /// Working set over time; empty if the trace has no times.
    pub working_set: Vec<WorkingSetInterval>,
    /// Profile of each volume, in order of first appearance.
    pub volumes: Vec<VolumeProfile>,
}
