//! The skew: how unevenly accesses are spread over the pages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Spread of accesses over the 4 KiB pages with at least one access. A request counts once for each page it touches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Skew {
    /// Pages with at least one access.
    pub pages: u64,
    /// Accesses to these pages.
    pub accesses: u64,
    /// Accesses to the hottest page.
    pub max_accesses: u64,
    /// Share of the accesses that go to the hottest 1, 5, 10, 20 and 50 % of the pages.
    pub top: Vec<TopShare>,
    /// Lorenz curve, from the hottest page to the coldest: the share of accesses to the hottest share of pages. If
    /// there are few points they are all that differ, and the curve is straight between them.
    pub lorenz: Vec<LorenzPoint>,
}

/// Accesses to the hottest pages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TopShare {
    /// Share of the pages, hottest first.
    pub page_share: f64,
    /// Share of the accesses that go to them.
    pub access_share: f64,
}

/// One point of a Lorenz curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LorenzPoint {
    /// Share of the pages, hottest first.
    pub page_share: f64,
    /// Share of the accesses that go to them.
    pub access_share: f64,
}
