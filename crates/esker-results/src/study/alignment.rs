//! The cost of misaligned requests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A constant misalignment, its cost and its remedy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Misalignment {
    /// The volume.
    pub volume: String,
    /// Bytes to add to every address so that requests begin on 4 KiB boundaries.
    pub shift_bytes: i64,
    /// Share of aligned requests in the trace.
    pub aligned_before: f64,
    /// Share of aligned requests after the shift.
    pub aligned_after: f64,
    /// The command that shifts the trace.
    pub command: String,
    /// What the misalignment costs; absent if its simulation failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cost: Option<MisalignmentCost>,
}

/// What the misalignment costs on one design.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MisalignmentCost {
    /// Name of the candidate on which both were simulated.
    pub candidate: String,
    /// Result with the addresses of the trace.
    pub as_traced: AlignmentRun,
    /// Result with the shifted addresses.
    pub aligned: AlignmentRun,
}

/// Result of one of the two runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AlignmentRun {
    /// Mean response time.
    pub mean_us: f64,
    /// 99th percentile of the response time.
    pub p99_us: f64,
    /// Flash page reads for the host.
    pub page_reads: u64,
    /// Flash page programs of all causes.
    pub page_programs: u64,
}
