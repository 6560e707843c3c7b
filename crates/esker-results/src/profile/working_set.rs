//! The working set over time, and the growth of the footprint.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The working set in one of at most 128 equal intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkingSetInterval {
    /// Start of the interval, in seconds after the first arrival.
    pub start_s: f64,
    /// Distinct 1 MiB areas read or written in the interval, times their size.
    pub area_bytes: u64,
    /// Distinct 4 KiB pages read or written from the start of the trace to the end of the interval, times their size.
    pub footprint_bytes: u64,
}
