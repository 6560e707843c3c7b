//! The load over time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The load in one of at most 512 equal intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadInterval {
    /// Start of the interval, in seconds after the first arrival.
    pub start_s: f64,
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
    /// Mean of the recorded response times of requests that arrived in the interval.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mean_response_us: Option<f64>,
}
