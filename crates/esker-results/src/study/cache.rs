//! The value of a cache.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Miss ratio of a least-recently-used cache of 4 KiB pages, against its size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MissRatioCurve {
    /// "exact", or "SHARDS" with its rate.
    pub method: String,
    /// Number of page accesses.
    pub accesses: u64,
    /// Number of distinct pages.
    pub pages: u64,
    /// The curve, by rising size.
    pub points: Vec<MissRatioPoint>,
    /// The smallest size with nine tenths of all hits that are possible.
    pub knee_bytes: u64,
    /// Miss ratio at the knee.
    pub knee_miss_ratio: f64,
}

/// One point of the curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MissRatioPoint {
    /// Cache size.
    pub bytes: u64,
    /// Share of page accesses that miss.
    pub miss_ratio: f64,
}
