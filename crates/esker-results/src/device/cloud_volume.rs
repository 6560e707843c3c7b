//! Results of a cloud volume: its limits, what they held back, and its credits.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Results of a cloud volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CloudVolumeReport {
    /// Operations, as the volume counts them.
    pub operations: u64,
    /// Bytes, as the volume counts them.
    pub counted_bytes: u64,
    /// Requests that a limit held back, or that waited behind such a request.
    pub throttled_requests: u64,
    /// Time during which requests were held back.
    pub throttled_s: f64,
    /// Each limit by name: "operations" and "throughput" of the volume, "operation-credits" and "throughput-credits"
    /// for what it may do beyond its credits, "host-operations" and "host-throughput" of the instance.
    pub limits: BTreeMap<String, CloudLimitReport>,
    /// Credits by what they are for: "operations", "throughput". Empty for volumes without a burst.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub credits: BTreeMap<String, CreditReport>,
}

/// One limit of a cloud volume. "Tokens" are operations or bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CloudLimitReport {
    /// Tokens per second.
    pub tokens_per_s: f64,
    /// Tokens that it can save up.
    pub bucket_tokens: f64,
    /// Share of what it would have let through in the measured time, with what was saved up at its start.
    pub used: f64,
    /// Requests that it held back, not counting limits that would have held them back for a shorter time.
    pub throttled_requests: u64,
    /// Time during which it held requests back.
    pub throttled_s: f64,
}

/// Burst credits of a cloud volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreditReport {
    /// Credits in a full bucket: operations or bytes.
    pub capacity: f64,
    /// Credits gained per second.
    pub refill_per_s: f64,
    /// Operations or bytes per second while credits last.
    pub burst_per_s: f64,
    /// Smallest balance.
    pub least: f64,
    /// When a request first had to wait for credits, in seconds after the start of the run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_dry_s: Option<f64>,
    /// Balance at the end.
    pub end: f64,
    /// The balance over time, at even distances and at the end; at most 242 points.
    pub series: Vec<CreditPoint>,
}

/// A balance of credits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreditPoint {
    /// Seconds after the start of the run.
    pub at_s: f64,
    /// The balance: operations or bytes. Negative for a debt, which a single large request can leave.
    pub credits: f64,
}
