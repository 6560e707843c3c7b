//! How much is in use at a time, and how does the footprint grow?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of at most 128 equal intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkingSetInterval {
    /// Its begin, seconds after the first arrival.
    pub start_s: f64,
    /// Distinct 1 MiB areas read or written in it, times their size.
    pub area_bytes: u64,
    /// Distinct 4 KiB pages read or written from the trace's start to this interval's end, times their size.
    pub footprint_bytes: u64,
}
