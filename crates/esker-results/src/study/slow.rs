//! The slowest requests of a run, and where their time went.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Consecutive requests around the slowest one, up to those that ended soon after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlowStretch {
    /// Name of the candidate that served them.
    pub candidate: String,
    /// Whether it is the slowest of the busiest stretches: the rest of a large trace is not looked at for that.
    pub of_busiest: bool,
    /// Number of requests of the trace before these.
    pub first_request: u64,
    /// When the first of these requests arrived, in seconds after the start.
    pub start_s: f64,
    /// Index of the slowest one in `requests`.
    pub slowest: u32,
    /// The requests, in the order of their arrival.
    pub requests: Vec<SlowRequest>,
}

/// A request of such a stretch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlowRequest {
    /// "read", "write", "trim" or "flush".
    pub kind: String,
    /// Length in bytes.
    pub bytes: u64,
    /// Time of arrival after the first of these requests.
    pub arrival_us: f64,
    /// Response time.
    pub response_us: f64,
    /// Where this time went.
    pub parts: ResponseParts,
}

/// Where the time of a request went. Before the drive took it: to the queue. After that: to the work of the flash die
/// that did the last of the request's work. The parts add up to the response time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResponseParts {
    /// Waiting for a free slot in the drive's queue.
    pub queue_us: f64,
    /// The die worked for other requests.
    pub requests_us: f64,
    /// The die copied pages or erased a block to make space: cleaning, merges.
    pub cleaning_us: f64,
    /// The die read or wrote a part of the map.
    pub map_us: f64,
    /// The die levelled wear, or searched for its data after a power failure.
    pub upkeep_us: f64,
    /// The request's own operation waited for the bus.
    pub bus_us: f64,
    /// The request's own reads and programs, including their transfers over the bus.
    pub flash_us: f64,
    /// The rest: the link to the host, the write buffer, the decoder, or waiting for work on another die.
    pub other_us: f64,
}
