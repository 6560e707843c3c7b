//! What a power failure takes back.

use esker_core::PhysicalPage;

use super::{Block, FlashState, VALID, WRITTEN};
use crate::BlockIndex;
use crate::state::Cause;

impl FlashState {
    /// Nothing is known to be valid any more.
    pub(in crate::state) fn forget_validity(&mut self) {
        for record in self.records.chunks_exact_mut(self.words_per_record) {
            let block = Block::unpack(record[0]);
            record.fill(0);
            record[0] = Block { valid: 0, ..block }.pack();
        }
        self.copied_from = None;
    }

    /// `page`, which is programmed, holds data that were not superseded.
    pub fn set_valid(&mut self, page: PhysicalPage) {
        let (block, offset) = self.geometry.split_page(page);
        let record = self.record(block);
        let word = &mut self.records[record + 1 + offset as usize / 64];
        assert!(*word >> (offset % 64) & 1 == 0, "{page} was found twice");
        *word |= 1 << (offset % 64);
        self.records[record] += VALID;
    }

    /// `page` was not programmed after all.
    pub(in crate::state) fn undo_program(&mut self, page: PhysicalPage, cause: Cause) {
        let record = self.record(self.geometry.block_of(page));
        self.records[record] -= WRITTEN;
        self.counts.programs[cause as usize] -= 1;
    }

    /// `block` was not erased after all, and holds pages of `owners`, of which some were written; or its erase was
    /// begun, and what it holds cannot be read.
    pub(in crate::state) fn undo_erase(&mut self, block: BlockIndex, cause: Cause, held: Option<(&[u32], u16)>) {
        let record = self.record(block);
        let state = Block::unpack(self.records[record]);
        // Programs since were undone; what they had skipped is left.
        self.skipped -= u64::from(state.written);
        let Some((owners, written)) = held else {
            // It has to be erased again before it can be programmed. What it held was freed.
            let written = self.geometry.pages_per_block() as u16;
            self.records[record] = Block { written, ..state }.pack();
            self.skipped += u64::from(written);
            return;
        };
        self.records[record] = Block { written, erases: state.erases - 1, ..state }.pack();
        self.freed -= u64::from(written);
        self.counts.erases -= 1;
        self.counts.erases_for[cause as usize] -= 1;
        self.counts.erases_without_copies = self.counts.erases_without_copies.min(self.counts.erases);
        let first = self.geometry.first_page(block).0 as usize;
        self.owners[first..first + owners.len()].copy_from_slice(owners);
    }
    /// The next program of `block` goes to page `offset` at the earliest: behind what recovery found there, or, to
    /// leave pages unused until the next erase, beyond.
    #[inline]
    pub fn set_written(&mut self, block: BlockIndex, offset: u32) {
        let record = self.record(block);
        let state = Block::unpack(self.records[record]);
        self.records[record] = Block { written: offset as u16, ..state }.pack();
        self.skipped = self.skipped + u64::from(offset) - u64::from(state.written);
    }
}
