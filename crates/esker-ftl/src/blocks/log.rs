//! Log blocks that take pages of any logical block.

use std::collections::VecDeque;

use esker_core::PhysicalPage;
use esker_nand::BlockIndex;
use esker_nand::state::{FlashState, OpSink};

use super::pool::LastCopy;
use super::{BlockPool, KeptBlock};
use crate::roomy::Roomy;
use crate::{Cells, FtlError};

/// While a log block is emptied, the distance in pages at which the map of a logical block is prefetched.
const FAR: u32 = 8;
/// Distance in pages at which spare areas of its data block are prefetched.
const NEAR: u32 = 4;

/// Log blocks in the order of opening. The last one takes the next page.
#[derive(Clone, Debug)]
pub(crate) struct SharedLog {
    blocks: Roomy<VecDeque<BlockIndex>>,
    most: u32,
    role: u8,
}

impl SharedLog {
    /// Makes a log of at most `most` blocks. Their spare areas hold `role`, which is not 0 and unique within the pool.
    pub(crate) fn new(most: u32, role: u8) -> Self {
        Self { blocks: Roomy(VecDeque::with_capacity(most as usize)), most, role }
    }

    /// After a power failure, takes over the blocks in `kept` that have this log's role. Only the one that was opened
    /// last takes further pages.
    pub(crate) fn adopt(&mut self, kept: &[KeptBlock], pool: &BlockPool, flash: &mut FlashState) {
        self.blocks.extend(kept.iter().filter(|kept| kept.role == self.role).map(|kept| kept.block));
        assert!(self.blocks.len() <= self.most as usize, "more log blocks were open than there are");
        for block in self.blocks.iter().rev().skip(1) {
            pool.close(*block, flash);
        }
    }

    /// Returns the blocks in the order of opening.
    pub(crate) fn blocks(&self) -> &VecDeque<BlockIndex> {
        &self.blocks
    }
    /// Returns how many blocks can be opened before one has to be emptied.
    pub(crate) fn unused(&self) -> u32 {
        self.most - self.blocks.len() as u32
    }
    /// Returns the maximum number of blocks.
    pub(crate) fn most(&self) -> u32 {
        self.most
    }

    /// Returns the block that takes the next page and the offset in it; `None` if no open block has room.
    #[inline]
    pub(crate) fn room(&self, pool: &BlockPool, flash: &FlashState) -> Option<(BlockIndex, u32)> {
        let open = *self.blocks.back()?;
        let written = flash.written_in(open);
        (written < pool.pages()).then_some((open, written))
    }

    /// Opens a block.
    pub(crate) fn open(&mut self, pool: &mut BlockPool, flash: &mut FlashState) -> Result<(BlockIndex, u32), FtlError> {
        debug_assert!(self.unused() > 0);
        let block = pool.take_next()?;
        flash.open_as(block, self.role);
        self.blocks.push_back(block);
        Ok((block, 0))
    }

    /// Returns the number of logical blocks with valid data in block `index`, counted in the order of opening.
    pub(crate) fn data_blocks(&self, index: usize, pool: &BlockPool, flash: &FlashState) -> usize {
        let block = self.blocks[index];
        let first = flash.geometry().first_page(block).0;
        let valid = (first..first + pool.pages()).map(PhysicalPage).filter(|page| flash.is_valid(*page));
        let mut data_blocks: Vec<u32> = valid.map(|page| pool.block_of_slot(flash.owner(page))).collect();
        data_blocks.sort_unstable();
        data_blocks.dedup();
        data_blocks.len()
    }

    /// Empties block `index`, counted in the order of opening, and removes it: gathers every logical block with valid
    /// data in it, then erases it. Calls `gathered` for each logical block.
    pub(crate) fn empty<S: OpSink>(
        &mut self,
        index: usize,
        pool: &mut BlockPool,
        cells: &mut Cells<'_, S>,
        mut gathered: impl FnMut(u32, Option<LastCopy>, &mut BlockPool, &mut Cells<'_, S>),
    ) -> Result<(), FtlError> {
        let victim = self.blocks.remove(index).expect("there is such a block");
        let mut data_blocks = 0;
        let mut last = None;
        let first = cells.flash.geometry().first_page(victim).0;
        // Gathering a logical block moves all its pages out of the victim.
        let logical_block = |offset: u32, pool: &BlockPool, flash: &FlashState| {
            let is_valid =
                offset < pool.pages() && flash.valid_word(victim, offset as usize / 64) >> (offset % 64) & 1 == 1;
            is_valid.then(|| pool.block_of_slot(flash.owner(PhysicalPage(first + offset))))
        };
        for offset in 0..pool.pages() {
            if let Some(far) = logical_block(offset + FAR, pool, cells.flash) {
                pool.expect_map(far);
            }
            if let Some(near) = logical_block(offset + NEAR, pool, cells.flash) {
                pool.expect_data(near, cells.flash);
            }
            let Some(block) = logical_block(offset, pool, cells.flash) else { continue };
            let gather = pool.gather(block, cells)?;
            gathered(block, gather, pool, cells);
            // On the victim's own die, operations run in this order anyway.
            last = gather.filter(|gather| gather.leaves(victim, cells.flash)).or(last);
            data_blocks += 1;
        }
        pool.erase(victim, last, cells);
        pool.counters.gathered(data_blocks);
        Ok(())
    }
}
