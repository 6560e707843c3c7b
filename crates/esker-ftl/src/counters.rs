//! Counts of translation layers beyond page operations.

use std::collections::BTreeMap;

use esker_results::{Counters, MappingCounts, MergeCounts};

/// Counts of a translation layer since it was built.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FtlCounters {
    /// Merges by kind. `None` for layers that map single pages, where every victim of cleaning is a merge: a switch
    /// merge if it held no valid page, else a partial one.
    pub merges: Option<MergeCounts>,
    /// Full merges by the number of data blocks that took part (Kim 2009, figure 3.10).
    pub full_merge_data_blocks: BTreeMap<u32, u64>,
    /// Log blocks that were erased without a merge, because all their pages had been superseded.
    pub dead_log_blocks: u64,
    /// Pages that cleaning did not copy, because their owner no longer needed them.
    pub dropped_pages: u64,
    /// Suspected pages that were revived.
    pub revived_pages: u64,
    /// Suspected pages that were erased with their blocks.
    pub erased_suspects: u64,
    /// Counts of the map on flash, for layers that keep one.
    pub mapping: Option<MappingCounts>,
}

impl FtlCounters {
    /// Returns zero counts for a layer that merges.
    pub(crate) fn merging() -> Self {
        Self { merges: Some(MergeCounts::default()), ..Self::default() }
    }

    /// Counts a merge in which `copies` pages were copied to a block that became a data block.
    pub(crate) fn completed(&mut self, copies: u32) {
        let merges = self.merges.get_or_insert_default();
        *(if copies == 0 { &mut merges.switch } else { &mut merges.partial }) += 1;
    }

    /// Counts a merge that gathered the pages of `data_blocks` data blocks in other blocks. Zero means that the log
    /// block was dead.
    pub(crate) fn gathered(&mut self, data_blocks: u32) {
        if data_blocks == 0 {
            self.dead_log_blocks += 1;
            return;
        }
        self.merges.get_or_insert_default().full += 1;
        *self.full_merge_data_blocks.entry(data_blocks).or_default() += 1;
    }
}

impl Counters for FtlCounters {
    fn each_with(&self, other: &Self, of: fn(u64, u64) -> u64) -> Self {
        Self {
            merges: self.merges.each_with(&other.merges, of),
            full_merge_data_blocks: self.full_merge_data_blocks.each_with(&other.full_merge_data_blocks, of),
            dead_log_blocks: of(self.dead_log_blocks, other.dead_log_blocks),
            dropped_pages: of(self.dropped_pages, other.dropped_pages),
            revived_pages: of(self.revived_pages, other.revived_pages),
            erased_suspects: of(self.erased_suspects, other.erased_suspects),
            mapping: self.mapping.each_with(&other.mapping, of),
        }
    }
}
