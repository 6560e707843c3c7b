//! What the parts of a cache did, and what was decided of them.

use esker_core::{Bytes, Nanos};

/// The parts of a cache that has some.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheParts<'a> {
    /// Whether they are those of volumes, by their number; else there are two: clean lines and dirty ones.
    pub is_by_volume: bool,
    /// Accesses: of each volume, or reads and writes.
    pub uses: &'a [PartUse],
    /// Lines that each part holds.
    pub held: Vec<u32>,
    /// Lines that are the share of each.
    pub shares: Vec<u32>,
    /// What was decided at the end of each window.
    pub decided: &'a [PartitionDecision],
    /// Bytes of the lines that the host uses in a window; `None` of parts whose shares are fixed.
    pub window: Option<Bytes>,
    /// Bytes of those that it has used in the window that has not ended.
    pub open: Bytes,
}

/// Accesses to lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartUse {
    /// Of lines that were held.
    pub hits: u64,
    /// Of all others.
    pub misses: u64,
}

/// What was decided at the end of a window, and from what.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionDecision {
    /// When.
    pub at: Nanos,
    /// The share of each part from then on: of volumes by their number, or of clean and dirty lines.
    pub shares: Vec<f64>,
    /// Share of each volume's accesses that miss with that; empty of clean and dirty lines.
    pub miss_ratios: Vec<f64>,
    /// What several splits between clean and dirty lines let expect; empty of volumes.
    pub splits: Vec<SplitCost>,
}

/// What a split between clean and dirty lines lets expect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SplitCost {
    /// Share of dirty lines.
    pub written_share: f64,
    /// Reads of the backing device for each access.
    pub backing_reads: f64,
    /// Lines that become dirty for each access: all are copied back one day.
    pub backing_writes: f64,
}
