//! What an access is to.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Size of a page object.
pub const PAGE_BYTES: u64 = 4096;

/// What a cache would hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CurveObjects {
    /// Pages of 4 KiB: a request is one access to each page it touches, in the order of addresses.
    #[default]
    Pages,
    /// The requests' first bytes, sizes ignored: what much of the caching literature means by an object. Two requests are
    /// for the same object if they begin at the same byte.
    StartBlock,
}

/// The pages that a range touches. Several volumes share one address space if they are mapped densely first.
#[inline]
pub fn page_ids(offset: u64, length: u64) -> Range<u64> {
    if length == 0 { 0..0 } else { offset / PAGE_BYTES..offset.saturating_add(length - 1) / PAGE_BYTES + 1 }
}
