//! What is known of blocks that are being emptied.

use std::collections::BTreeMap;

/// The largest block that can be held back, as a power of two of pages: a run.
pub(super) const ORDER_MAX: u32 = 9;

/// Blocks of one size, and which of their pages are free.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(super) order: u32,
    /// By the first page of the block: a bit for each free page.
    pub(super) blocks: BTreeMap<u64, [u64; 8]>,
    pub(super) free: u64,
}

impl Held {
    /// Whether no block is held back.
    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Free pages of all blocks.
    pub(super) fn free_pages(&self) -> u64 {
        self.free
    }

    /// The first page of the block with `page`, if it is held back.
    pub(super) fn block_of(&self, page: u64) -> Option<u64> {
        let start = page >> self.order << self.order;
        self.blocks.contains_key(&start).then_some(start)
    }
}
