//! How long did the traced system take?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::LatencySummary;

/// Response times that the trace itself recorded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasuredResponses {
    /// Requests that have one.
    pub requests: u64,
    /// All of them.
    pub all: LatencySummary,
    /// Reads.
    pub read: LatencySummary,
    /// Writes.
    pub write: LatencySummary,
    /// Requests that arrived in the busiest hour.
    pub busiest_hour: LatencySummary,
}
