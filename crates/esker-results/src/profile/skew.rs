//! How unevenly are accesses spread over the pages?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Spread of accesses over the 4 KiB pages that got any. A request counts once for each page it touches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Skew {
    /// Pages that got at least one access.
    pub pages: u64,
    /// Accesses to them.
    pub accesses: u64,
    /// Most accesses of a single page.
    pub max_accesses: u64,
    /// Share of the accesses that go to the hottest 1, 5, 10, 20 and 50 % of the pages.
    pub top: Vec<TopShare>,
    /// From the hottest page to the coldest: share of the accesses that go to the hottest share of the pages. Between
    /// points it is straight where they are few, as they then are all that differ.
    pub lorenz: Vec<LorenzPoint>,
}

/// What the hottest pages get.
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
