//! A design of flash and disks as one volume.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a hybrid is run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hybrid {
    /// The policy that chooses where extents go, such as "migration".
    pub policy: String,
    /// Why this one: a sentence. Empty if there was no choice.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub because: String,
    /// What the policies did that were compared.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub compared: Option<PoliciesCompared>,
    /// Bytes of an extent, which is moved as a whole.
    pub extent_bytes: u64,
    /// Places that stay free, so that extents can move. The volume has the capacity of all devices without them.
    pub reserve_bytes: u64,
}

/// Placement policies, each replayed on the same pair of products.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoliciesCompared {
    /// The flash and the disks on which they were replayed.
    pub on: String,
    /// Number of requests that were replayed. The last quarter of them counts.
    pub requests: u64,
    /// What each of them did.
    pub policies: Vec<PolicyReplay>,
}

/// What a placement policy did in the last quarter of the replayed requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyReplay {
    /// Name of the policy.
    pub policy: String,
    /// 99th percentile of response times in microseconds; absent if the policy cannot keep up.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p99_us: Option<f64>,
    /// Whether it can be judged: it had settled, or moved on as before.
    pub may_be_judged: bool,
    /// Bytes of whole pages that were written to the flash, moved extents included.
    pub flash_bytes: u64,
    /// Bytes of extents that were moved.
    pub moved_bytes: u64,
}
