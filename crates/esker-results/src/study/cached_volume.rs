//! A design of flash as a cache before disks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a cache before disks is run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CachedVolume {
    /// The replacement policy, such as "lru".
    pub policy: String,
    /// Why this one: a sentence.
    pub because: String,
    /// What the policies miss that were compared. Empty where the flash holds all that the trace touches.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub compared: Vec<PolicyMisses>,
    /// The admission policy: "none" if all lines that miss enter.
    pub admission: String,
    /// Why this one: a sentence.
    pub admission_because: String,
    /// What the admission policies do that were compared. Empty where the flash holds all that the trace touches.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub admissions_compared: Vec<AdmissionWrites>,
    /// "write-through" or "write-back".
    pub write: String,
    /// Whether each line is on two flash drives.
    pub mirrored: bool,
    /// Bytes of a line, which is cached as a whole.
    pub line_bytes: u64,
    /// Bytes of lines that the flash of one copy may hold.
    pub cache_bytes: u64,
    /// Memory of the host that the cache takes for one copy, with LRU.
    pub memory_bytes: u64,
}

/// What a policy misses on the trace, from samples of the lines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyMisses {
    /// Name of the policy.
    pub policy: String,
    /// Misses over accesses: the mean of the samples.
    pub miss_ratio: f64,
    /// By how much that is more than the least.
    pub more: f64,
    /// A difference up to this is noise.
    pub noise: f64,
}

/// What a cache with an admission policy does on the trace, from samples of the lines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdmissionWrites {
    /// Name of the admission policy.
    pub admission: String,
    /// Accesses that wait for the disks over all: reads that miss, and with write-back writes that are refused. The
    /// mean of the samples.
    pub slow_ratio: f64,
    /// By how much that is more than if everything enters.
    pub more: f64,
    /// A difference up to this is noise.
    pub noise: f64,
    /// Bytes written to the flash for each access of the trace.
    pub written_bytes_per_access: f64,
}
