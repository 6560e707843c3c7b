//! Counts of a drive's translation layer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Counters;

/// Merges of block- and log-mapped translation layers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MergeCounts {
    /// An update block became the data block as it was (page-mapped: a victim without valid pages was erased).
    pub switch: u64,
    /// An update block was completed with copies (page-mapped: a victim with valid pages was cleaned).
    pub partial: u64,
    /// Data were gathered from several blocks. With shared log blocks, one per log block that was emptied, however many
    /// data blocks took part.
    pub full: u64,
}

impl Counters for MergeCounts {
    fn each_with(&self, other: &Self, of: fn(u64, u64) -> u64) -> Self {
        Self {
            switch: of(self.switch, other.switch),
            partial: of(self.partial, other.partial),
            full: of(self.full, other.full),
        }
    }
}

/// Counts of a translation layer with its map on flash. The counts of page operations are (1) to (8) of Kim 2009, table
/// 3.4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MappingCounts {
    /// Number of entries that fit into the cache of the map.
    pub cache_entries: u64,
    /// Bytes of controller memory for these entries.
    pub cache_bytes: u64,
    /// Bytes of controller memory for the directory of translation pages.
    pub directory_bytes: u64,
    /// Pages of the whole map on flash.
    pub translation_pages: u64,
    /// Map entries that host requests needed. None is needed if nothing was ever written near a page.
    pub lookups: u64,
    /// Lookups whose entry was cached.
    pub hits: u64,
    /// Entries that left the cache.
    pub evictions: u64,
    /// Evicted entries that had to be written back.
    pub dirty_evictions: u64,
    /// (1) Data pages read while cleaning.
    pub cleaning_data_reads: u64,
    /// (2) Translation pages read because their block was cleaned.
    pub cleaning_map_reads: u64,
    /// (3) Translation pages read for host requests: for missing entries, and to write evicted ones back.
    pub translation_reads: u64,
    /// (4) Translation pages read because data pages had moved while cleaning.
    pub update_reads: u64,
    /// (5) Data pages written while cleaning.
    pub cleaning_data_writes: u64,
    /// (6) Translation pages written because their block was cleaned.
    pub cleaning_map_writes: u64,
    /// (7) Translation pages written for host requests: evicted entries.
    pub translation_writes: u64,
    /// (8) Translation pages written because data pages had moved while cleaning.
    pub update_writes: u64,
    /// Erased blocks that held data.
    pub data_erases: u64,
    /// Erased blocks that held translation pages.
    pub map_erases: u64,
}

impl MappingCounts {
    /// Share of the lookups that were hits; `None` without lookups.
    pub fn hit_ratio(&self) -> Option<f64> {
        (self.lookups > 0).then(|| self.hits as f64 / self.lookups as f64)
    }
}

impl Counters for MappingCounts {
    fn each_with(&self, other: &Self, of: fn(u64, u64) -> u64) -> Self {
        Self {
            cache_entries: self.cache_entries,
            cache_bytes: self.cache_bytes,
            directory_bytes: self.directory_bytes,
            translation_pages: self.translation_pages,
            lookups: of(self.lookups, other.lookups),
            hits: of(self.hits, other.hits),
            evictions: of(self.evictions, other.evictions),
            dirty_evictions: of(self.dirty_evictions, other.dirty_evictions),
            cleaning_data_reads: of(self.cleaning_data_reads, other.cleaning_data_reads),
            cleaning_map_reads: of(self.cleaning_map_reads, other.cleaning_map_reads),
            translation_reads: of(self.translation_reads, other.translation_reads),
            update_reads: of(self.update_reads, other.update_reads),
            cleaning_data_writes: of(self.cleaning_data_writes, other.cleaning_data_writes),
            cleaning_map_writes: of(self.cleaning_map_writes, other.cleaning_map_writes),
            translation_writes: of(self.translation_writes, other.translation_writes),
            update_writes: of(self.update_writes, other.update_writes),
            data_erases: of(self.data_erases, other.data_erases),
            map_erases: of(self.map_erases, other.map_erases),
        }
    }
}
