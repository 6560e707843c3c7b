//! Undoes operations at a power failure.

use esker_core::PhysicalPage;

use super::{Block, FlashState, VALID, WRITTEN};
use crate::BlockIndex;
use crate::state::Cause;

impl FlashState {
    /// Marks all pages as invalid: after a power failure, no page is known to be valid.
    pub(in crate::state) fn forget_validity(&mut self) {
        for record in self.records.chunks_exact_mut(self.words_per_record) {
            let block = Block::unpack(record[0]);
            record.fill(0);
            record[0] = Block { valid: 0, ..block }.pack();
        }
    }

    /// Marks `page`, which is programmed, as valid.
    pub fn set_valid(&mut self, page: PhysicalPage) {
        let (block, offset) = self.geometry.split_page(page);
        let record = self.record(block);
        let word = &mut self.records[record + 1 + offset as usize / 64];
        assert!(*word >> (offset % 64) & 1 == 0, "{page} was found twice");
        *word |= 1 << (offset % 64);
        self.records[record] += VALID;
    }

    /// Undoes the program of `page`.
    pub(in crate::state) fn undo_program(&mut self, page: PhysicalPage, cause: Cause) {
        let record = self.record(self.geometry.block_of(page));
        self.records[record] -= WRITTEN;
        if let Some(modes) = &mut self.modes {
            modes.undo_program(page, cause);
        }
        self.counts.programs[cause as usize] -= 1;
    }

    /// Undoes the erase of `block`, which held pages of `owners`, the given number of them written, and from which
    /// pages may have been copied. With `None`, the erase was interrupted, and the block is unreadable.
    pub(in crate::state) fn undo_erase(&mut self, block: BlockIndex, cause: Cause, held: Option<(&[u32], u16, bool)>) {
        let record = self.record(block);
        let state = Block::unpack(self.records[record]);
        // Programs since the erase were already undone. `written` now counts only pages that were skipped.
        self.skipped -= u64::from(state.written);
        let Some((owners, written, copied)) = held else {
            // The block has to be erased again before it can be programmed. Its content was already counted as freed.
            let written = self.geometry.pages_per_block() as u16;
            self.records[record] = Block { written, ..state }.pack();
            self.skipped += u64::from(written);
            return;
        };
        self.records[record] = Block { written, erases: state.erases - 1, copied, ..state }.pack();
        self.freed -= u64::from(written);
        self.counts.erases -= 1;
        self.counts.erases_for[cause as usize] -= 1;
        self.counts.erases_without_copies -= u64::from(!copied);
        let first = self.geometry.first_page(block).0 as usize;
        self.owners[first..first + owners.len()].copy_from_slice(owners);
    }
    /// Sets the lowest page `offset` of `block` for its next program: right after the pages that recovery found, or
    /// higher to leave pages unused until the next erase.
    #[inline]
    pub fn set_written(&mut self, block: BlockIndex, offset: u32) {
        let record = self.record(block);
        let state = Block::unpack(self.records[record]);
        self.records[record] = Block { written: offset as u16, ..state }.pack();
        self.skipped = self.skipped + u64::from(offset) - u64::from(state.written);
    }
}
