//! The sizes of requests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reads and writes by size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeDistribution {
    /// Mean size of reads in bytes; absent if there are none.
    pub read_mean_bytes: Option<f64>,
    /// Mean size of writes in bytes; absent if there are none.
    pub write_mean_bytes: Option<f64>,
    /// Median size of reads in bytes (nearest rank); absent if there are none.
    pub read_median_bytes: Option<u64>,
    /// Median size of writes in bytes (nearest rank); absent if there are none.
    pub write_median_bytes: Option<u64>,
    /// Size of the largest request in bytes.
    pub max_bytes: u64,
    /// Bins by powers of two, in rising order. Empty bins at both ends are left out.
    pub bins: Vec<SizeBin>,
    /// The most common exact sizes, most common first.
    pub common: Vec<CommonSize>,
}

/// Requests of `from_bytes <= size < to_bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeBin {
    /// Smallest size in the bin: zero or a power of two.
    pub from_bytes: u64,
    /// Smallest size beyond the bin.
    pub to_bytes: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
}

/// Requests of exactly one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommonSize {
    /// The size.
    pub bytes: u64,
    /// Reads of this size.
    pub reads: u64,
    /// Writes of this size.
    pub writes: u64,
}
