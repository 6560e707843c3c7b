//! Sets the state of blocks directly, without operations.

use esker_core::PhysicalPage;

use super::{Block, FlashState};
use crate::BlockIndex;
use crate::state::Cause;

impl FlashState {
    /// Marks the first `written` pages of `block`, which is erased, as programmed, and those in `valid`, a bit per
    /// page, as valid. If `summary` is set, a block summary follows them. Owners are set by [`Self::set_owner`]. If a
    /// journal is kept, pages get consecutive sequence numbers from `sequence` on.
    pub fn set_block(
        &mut self,
        block: BlockIndex,
        written: u32,
        valid: &[u64],
        map: bool,
        summary: bool,
        sequence: u64,
    ) {
        let record = self.record(block);
        let state = Block::unpack(self.records[record]);
        assert_eq!(state.written, 0, "a block is given its pages once");
        let all = written + u32::from(summary);
        let count: u32 = valid.iter().map(|word| word.count_ones()).sum();
        self.records[record] = Block { valid: count as u16, written: all as u16, ..state }.pack();
        self.records[record + 1..record + 1 + valid.len()].copy_from_slice(valid);
        self.counts.programs[if map { Cause::Mapping } else { Cause::Host } as usize] += u64::from(written);
        self.counts.programs[Cause::Mapping as usize] += u64::from(summary);
        let first = self.geometry.first_page(block);
        if let Some(modes) = &mut self.modes {
            modes.set_tags(first.0, all, map);
        }
        if let Some(journal) = &mut self.journal {
            journal.record_programs(first, all, sequence);
        }
    }

    /// Sets the owner of the data in `page`.
    #[inline(always)]
    pub fn set_owner(&mut self, page: PhysicalPage, owner: u32) {
        self.owners[page.0 as usize] = owner;
    }
}
