//! Profiles of single volumes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Misalignment;

/// One volume with at least one request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VolumeProfile {
    /// Name of the volume in the trace.
    pub name: String,
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
    /// Mean size of reads and writes; zero if there are none.
    pub mean_size_bytes: f64,
    /// Distinct 4 KiB pages read or written.
    pub pages_4k: u64,
    /// Size of these pages in bytes.
    pub footprint_bytes: u64,
    /// Number of touched 1 MiB areas, times their size: the volume's part of a dense address space.
    pub active_bytes: u64,
    /// First byte read or written.
    pub lowest_byte: u64,
    /// First byte after everything that was read or written.
    pub highest_byte: u64,
    /// Share of requests that start exactly where the previous one on this volume ended.
    pub sequential_fraction: f64,
    /// Share of requests with 4 KiB aligned address and size.
    pub aligned_4k_fraction: f64,
    /// A constant misalignment: at least half of the requests have whole pages as size, one shift aligns at least 80 %
    /// of those, and less than 20 % of them were aligned.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub misalignment: Option<Misalignment>,
    /// First arrival, in seconds after the first arrival of the trace.
    pub first_s: f64,
    /// Last arrival, in seconds after the first arrival of the trace.
    pub last_s: f64,
}
