//! Response times of the traced system.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::LatencySummary;

/// Response times that the trace recorded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasuredResponses {
    /// Number of requests with a response time.
    pub requests: u64,
    /// Response times of all these requests.
    pub all: LatencySummary,
    /// Response times of reads.
    pub read: LatencySummary,
    /// Response times of writes.
    pub write: LatencySummary,
    /// Response times of requests that arrived in the busiest hour.
    pub busiest_hour: LatencySummary,
}
