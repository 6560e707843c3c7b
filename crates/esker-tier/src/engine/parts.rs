//! Reports on the parts of a cache that is divided into parts.

use esker_core::{Bytes, Nanos};

/// The parts of a cache: one part per volume, or one for clean and one for dirty lines.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheParts<'a> {
    /// True if there is a part for each volume, by the volume's number. False if there are two parts: clean lines, then
    /// dirty lines.
    pub is_by_volume: bool,
    /// Accesses by volume; or reads, then writes.
    pub uses: &'a [PartUse],
    /// Number of lines in each part.
    pub held: Vec<u32>,
    /// Number of lines to which each part is entitled.
    pub shares: Vec<u32>,
    /// The decision at the end of each window.
    pub decided: &'a [PartitionDecision],
    /// Length of a window: bytes of the lines that the host uses in it. `None` if the shares are fixed.
    pub window: Option<Bytes>,
    /// How much of the current window has passed, in the same bytes.
    pub open: Bytes,
}

/// Accesses to lines, by their outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartUse {
    /// Accesses to lines in the cache.
    pub hits: u64,
    /// Accesses to all other lines.
    pub misses: u64,
}

/// The decision at the end of a window, and what it is based on.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionDecision {
    /// Time of the decision.
    pub at: Nanos,
    /// The share of each part from then on: of volumes by number, or of clean lines and then dirty lines.
    pub shares: Vec<f64>,
    /// Share of each volume's accesses that is expected to miss with these shares; empty for clean and dirty lines.
    pub miss_ratios: Vec<f64>,
    /// The expected cost of several splits between clean and dirty lines; empty for volumes.
    pub splits: Vec<SplitCost>,
}

/// The expected cost of a split between clean and dirty lines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SplitCost {
    /// Share of the cache for dirty lines.
    pub written_share: f64,
    /// Expected reads of the backing device per access.
    pub backing_reads: f64,
    /// Expected lines that become dirty per access. Each of them has to be copied back eventually.
    pub backing_writes: f64,
}
