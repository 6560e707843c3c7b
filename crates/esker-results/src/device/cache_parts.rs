//! Results of a flash cache in parts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the parts of a flash cache hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CachePartKind {
    /// There are two: clean lines, and dirty ones.
    #[default]
    Access,
    /// A part holds the lines of a volume, in the order of the streams' numbers.
    Volume,
}

/// The parts of a flash cache, and how their shares were chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CachePartition {
    /// What the parts hold.
    pub by: CachePartKind,
    /// The parts at the end.
    pub parts: Vec<CachePart>,
    /// Bytes of the lines that the host uses in a window; absent of parts whose shares are fixed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub window_bytes: Option<u64>,
    /// Bytes of the lines that it had used at the end of the run in the window that had not ended.
    pub open_window_bytes: u64,
    /// What was decided at the end of each window, from the beginning of the run.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub windows: Vec<CachePartitionWindow>,
}

/// A part of a flash cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CachePart {
    /// Lines that are its share.
    pub share_lines: u64,
    /// Lines that it holds.
    pub held_lines: u64,
    /// Accesses that found their line in the cache: of the volume; of clean and dirty lines, those of reads and those
    /// of writes.
    pub hits: u64,
    /// All other accesses.
    pub misses: u64,
    /// Hits, as a part of both.
    pub hit_ratio: f64,
}

/// What was decided at the end of a window of a cache in parts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CachePartitionWindow {
    /// When the window ended, in seconds.
    pub ends_s: f64,
    /// The share of each part from then on.
    pub shares: Vec<f64>,
    /// Share of each volume's accesses that were expected to miss with it; empty of clean and dirty lines.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub miss_ratios: Vec<f64>,
    /// What several splits between clean and dirty lines let expect; empty of volumes.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub splits: Vec<CacheSplitCost>,
}

/// What a split between clean and dirty lines lets expect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheSplitCost {
    /// Share of dirty lines.
    pub written_share: f64,
    /// Reads of the backing device for each access of the host.
    pub backing_reads_per_access: f64,
    /// Lines that become dirty for each access of the host: all are copied back one day.
    pub backing_writes_per_access: f64,
}
