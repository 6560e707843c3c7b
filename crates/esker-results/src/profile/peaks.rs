//! The load of the busiest second, minute and hour.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Load of single seconds, counted from the first arrival. Seconds without arrivals count as zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Peaks {
    /// Reads and writes per second.
    pub requests_per_s: RatePeaks,
    /// Reads per second.
    pub read_requests_per_s: RatePeaks,
    /// Writes per second.
    pub write_requests_per_s: RatePeaks,
    /// Bytes read and written per second.
    pub bytes_per_s: RatePeaks,
    /// Bytes read per second.
    pub read_bytes_per_s: RatePeaks,
    /// Bytes written per second.
    pub write_bytes_per_s: RatePeaks,
}

/// Distribution of a quantity over the seconds of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RatePeaks {
    /// Median second (within 0.1 %).
    pub p50: f64,
    /// 95th percentile (within 0.1 %), used for sizing in Kim 2009, section 4.5.2.
    pub p95: f64,
    /// 99th percentile (within 0.1 %).
    pub p99: f64,
    /// Busiest second, exact.
    pub max: f64,
}

/// The window of a given length with the most requests; the earliest one of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BusiestWindow {
    /// Start of the window, in seconds after the first arrival.
    pub start_s: f64,
    /// Length of the window, also if the trace is shorter.
    pub length_s: f64,
    /// Requests of all kinds.
    pub requests: u64,
    /// Reads.
    pub read_requests: u64,
    /// Writes.
    pub write_requests: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
}
