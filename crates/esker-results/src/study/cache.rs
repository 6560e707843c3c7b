//! What a cache would be worth.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Miss ratio of a cache of fixed 4 KiB pages, least recently used out first, against its size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MissRatioCurve {
    /// "exact", or "SHARDS" with its rate.
    pub method: String,
    /// Page accesses.
    pub accesses: u64,
    /// Distinct pages.
    pub pages: u64,
    /// The curve, by rising size.
    pub points: Vec<MissRatioPoint>,
    /// The smallest size after which nine tenths of all hits that any size can give are had.
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
