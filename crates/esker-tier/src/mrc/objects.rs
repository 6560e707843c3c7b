//! What an access is to.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Size of a page object.
pub const PAGE_BYTES: u64 = 4096;

/// Size of a sector object.
pub const SECTOR_BYTES: u64 = 512;

/// What a cache would hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CurveObjects {
    /// Pages of 4 KiB: a request is one access to each page it touches, in the order of addresses.
    #[default]
    Pages,
    /// Sectors of 512 bytes, likewise: the pages of the ARC paper's traces.
    Sectors,
    /// The requests' first bytes, sizes ignored: what much of the caching literature means by an object. Two requests
    /// are for the same object if they begin at the same byte.
    StartBlock,
}

impl CurveObjects {
    /// Bytes of an object, where all have the same size.
    pub fn bytes(self) -> Option<u64> {
        match self {
            Self::Pages => Some(PAGE_BYTES),
            Self::Sectors => Some(SECTOR_BYTES),
            Self::StartBlock => None,
        }
    }

    /// What they are called, in the plural.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Pages => "4 KiB pages",
            Self::Sectors => "512 B sectors",
            Self::StartBlock => "start blocks",
        }
    }
}

/// The pieces of `size` bytes that a range touches. Several volumes share one address space if they are mapped densely
/// first.
#[inline]
pub fn piece_ids(offset: u64, length: u64, size: u64) -> Range<u64> {
    if length == 0 { 0..0 } else { offset / size..offset.saturating_add(length - 1) / size + 1 }
}
