//! Timelines: single requests and their flash operations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Some requests of the measured phase, usually the first ones, and the flash operations during them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimelineReport {
    /// Number of requests of the measured phase before these.
    pub first_request: u64,
    /// Requests in the order in which the drive took them.
    pub requests: Vec<TimelineRequest>,
    /// Flash operations that ended before the last of those requests, in the order of their ends.
    pub operations: Vec<TimelineOperation>,
    /// Number of operations left out because there were too many.
    pub operations_left_out: u64,
}

/// A request of a timeline. Times are nanoseconds since the start of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimelineRequest {
    /// "read", "write", "write-zeroes", "trim" or "flush".
    pub kind: String,
    /// First byte.
    pub offset_bytes: u64,
    /// Length in bytes.
    pub length_bytes: u64,
    /// When the drive took the request.
    pub arrival_ns: u64,
    /// When its service began; absent if it did not end within the run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub start_ns: Option<u64>,
    /// When it ended; absent likewise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub end_ns: Option<u64>,
}

/// A flash operation of a timeline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimelineOperation {
    /// The die, counted over the drive.
    pub die: u32,
    /// The plane, counted within the die.
    pub plane: u32,
    /// Kind of operation, as in `StepReport`.
    pub kind: String,
    /// Cause, as in `StepReport`.
    pub cause: String,
    /// The request of the timeline that waits for the operation: its index in `requests`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub request: Option<u32>,
    /// When the die began: with cell work, or with asking for the bus.
    pub begin_ns: u64,
    /// When the operation ended.
    pub end_ns: u64,
    /// Time in between spent waiting for the bus.
    pub bus_wait_ns: u64,
}
