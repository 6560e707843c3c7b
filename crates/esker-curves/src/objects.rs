//! The objects to which accesses refer.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Size of a page object.
pub const PAGE_BYTES: u64 = 4096;

/// Size of a sector object.
pub const SECTOR_BYTES: u64 = 512;

/// The objects of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CurveObjects {
    /// Pages of 4 KiB: a request is one access to each page it touches, in the order of addresses.
    #[default]
    Pages,
    /// Sectors of 512 bytes, likewise. The ARC paper's traces call them pages.
    Sectors,
    /// The first bytes of requests, whatever their sizes: much of the caching literature calls this an object. Two
    /// requests are for the same object if they begin at the same byte.
    StartBlock,
}

impl CurveObjects {
    /// Returns the size of an object in bytes, if all objects have the same size.
    pub fn bytes(self) -> Option<u64> {
        match self {
            Self::Pages => Some(PAGE_BYTES),
            Self::Sectors => Some(SECTOR_BYTES),
            Self::StartBlock => None,
        }
    }

    /// Returns the name of the objects, in the plural.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Pages => "4 KiB pages",
            Self::Sectors => "512 B sectors",
            Self::StartBlock => "start blocks",
        }
    }
}

/// Returns the numbers of the objects of `size` bytes that a range touches. To let several volumes share one address
/// space, map them densely first.
#[inline]
pub fn piece_ids(offset: u64, length: u64, size: u64) -> Range<u64> {
    if length == 0 { 0..0 } else { offset / size..offset.saturating_add(length - 1) / size + 1 }
}
