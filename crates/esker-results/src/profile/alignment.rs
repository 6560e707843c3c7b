//! Misalignment: would requests be aligned to 4 KiB if all addresses moved by a few sectors?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A constant misalignment of one volume.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Misalignment {
    /// Bytes to add to every address (512 to 3,584) so that most requests begin on a 4 KiB boundary.
    pub shift_bytes: u64,
    /// Share of requests with 4 KiB aligned address and size, as traced.
    pub aligned_before: f64,
    /// Share of requests with 4 KiB aligned address and size, after the shift.
    pub aligned_after: f64,
    /// Share of requests whose size is whole pages: a shift cannot align more.
    pub alignable: f64,
}
