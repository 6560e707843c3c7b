//! Block mapping: whole blocks are mapped, and each page has a fixed offset in its block.

use esker_core::Ratio;
use esker_core::registry::{Accepted, Fallback, Parameter, ParameterSource};
use esker_nand::BlockIndex;
use esker_nand::state::{FlashState, OpSink};

use crate::blocks::{Associated, BlockMapped, BlockNeeds, BlockPool, ExtraBlocks, KeptBlock, PageAddress, Scheme};
use crate::{Cells, FtlEntry, FtlError, LayerCapability};

pub(crate) const ENTRY: FtlEntry = FtlEntry {
    name: "block",
    summary: "a map of blocks; rewriting a page copies its block",
    source: "Kim 2009, section 2.3.2, block-level FTL schemes",
    parameters: ParameterSource::Listed(&[Parameter {
        name: "open",
        meaning: "logical blocks of a pool that can be rewritten at the same time",
        value: Accepted::Count { default: Fallback::Value(1), least: 1, most: 1 << 20 },
    }]),
    capabilities: &[LayerCapability::Recover],
    build: |context, parameters| {
        let open = parameters.count("open") as u32;
        let needs = BlockNeeds {
            kind: "block",
            run: 1,
            share: Ratio::ZERO,
            least: open,
            purpose: "that are being rewritten (`ftl.open`)",
            free: 0,
        };
        let scheme = |pool: &BlockPool| Block { rewrites: Associated::new(pool.logical()), open };
        Ok(Box::new(BlockMapped::new(context, &needs, scheme)?))
    },
};

/// If the data block of a page is already programmed at or beyond the page's offset, the page starts a rewrite. A free
/// block becomes the data block, and takes copies of the pages before the offset, and then the page itself. Later pages
/// in ascending order go there too, and the pages between them are copied. The rewrite is closed, and the remaining
/// pages copied, when the block is written at a lower offset again or another rewrite needs its slot.
#[derive(Clone, Debug)]
struct Block {
    /// Logical blocks that are being rewritten, each with its old data block.
    rewrites: Associated<Rewrite>,
    open: u32,
}

#[derive(Clone, Copy, Debug)]
struct Rewrite {
    old_data: BlockIndex,
    /// Pages copied.
    copies: u32,
}

impl Block {
    /// Copies the pages of `at`'s logical block that come before `at`, from the first offset that `to` can still take.
    fn copy_before<S: OpSink>(at: PageAddress, to: BlockIndex, pool: &mut BlockPool, cells: &mut Cells<'_, S>) -> u32 {
        let mut copies = 0;
        for offset in cells.flash.written_in(to)..at.offset {
            let slot = at.slot - at.offset + offset;
            if pool.page(slot).is_some() {
                pool.copy(slot, to, offset, cells);
                copies += 1;
            }
        }
        copies
    }

    /// Copies the remaining pages, and erases the old data block.
    fn close<S: OpSink>(&mut self, block: u32, pool: &mut BlockPool, cells: &mut Cells<'_, S>) {
        let Some(Rewrite { old_data, copies }) = self.rewrites.remove(block) else { return };
        let data = pool.data(block).expect("a rewritten block has a data block");
        let last = pool.complete(block, data, copies, |lies_in| lies_in == old_data, cells);
        pool.erase(old_data, last, cells);
    }
}

impl Scheme for Block {
    fn place<S: OpSink>(
        &mut self,
        at: PageAddress,
        pool: &mut BlockPool,
        cells: &mut Cells<'_, S>,
    ) -> Result<(BlockIndex, u32), FtlError> {
        if let Some(data) = pool.in_place(at, cells.flash)? {
            if let Some(rewrite) = self.rewrites.get_mut(at.block) {
                rewrite.copies += Self::copy_before(at, data, pool, cells);
                self.rewrites.touch(at.block);
            }
            return Ok((data, at.offset));
        }
        self.close(at.block, pool, cells);
        if self.rewrites.len() == self.open {
            let oldest = self.rewrites.oldest().expect("there are some");
            self.close(oldest, pool, cells);
        }
        let old_data = pool.data(at.block).expect("it cannot take the page");
        let data = pool.take_for(at.block)?;
        let copies = Self::copy_before(at, data, pool, cells);
        pool.set_data(at.block, Some(data));
        self.rewrites.insert(at.block, Rewrite { old_data, copies });
        Ok((data, at.offset))
    }

    fn adopt<S: OpSink>(
        &mut self,
        kept: &[KeptBlock],
        pool: &mut BlockPool,
        cells: &mut Cells<'_, S>,
    ) -> Result<(), FtlError> {
        let beside = pool.assign_data(kept.iter().copied());
        let can_go_on = |beside: &ExtraBlocks| {
            let [block] = beside.blocks[..] else { return false };
            let old_data = pool.data(beside.logical);
            old_data.is_some() && pool.can_complete(beside.logical, block, |from| Some(from) == old_data, cells.flash)
        };
        let (rewrites, odd): (Vec<ExtraBlocks>, Vec<ExtraBlocks>) = beside.into_iter().partition(can_go_on);
        odd.iter().try_for_each(|beside| pool.gather_all(beside, cells))?;
        for ExtraBlocks { logical, blocks, .. } in rewrites {
            let old_data = pool.data(logical).expect("it was found");
            pool.set_data(logical, Some(blocks[0]));
            // The number of pages copied before the power failure is unknown.
            self.rewrites.insert(logical, Rewrite { old_data, copies: 0 });
            if self.rewrites.len() > self.open {
                let oldest = self.rewrites.oldest().expect("there are some");
                self.close(oldest, pool, cells);
            }
        }
        Ok(())
    }

    fn collect<S: OpSink>(&mut self, pool: &mut BlockPool, cells: &mut Cells<'_, S>) -> Result<bool, FtlError> {
        let Some(oldest) = self.rewrites.oldest() else { return Ok(false) };
        self.close(oldest, pool, cells);
        Ok(true)
    }

    fn unused(&self) -> u32 {
        self.open - self.rewrites.len()
    }

    fn map_bytes(&self, pool: &BlockPool) -> u64 {
        // A rewrite takes two entries: its logical block and the old data block.
        4 * (u64::from(pool.logical()) + 2 * u64::from(self.open))
    }

    fn memory_bytes(&self) -> usize {
        self.rewrites.memory_bytes()
    }

    fn update_blocks(&self) -> Vec<(BlockIndex, Option<u32>)> {
        self.rewrites.iter().map(|(block, rewrite)| (rewrite.old_data, Some(block))).collect()
    }

    fn check(&self, pool: &BlockPool, flash: &FlashState) {
        assert!(self.rewrites.len() <= self.open);
        for (block, rewrite) in self.rewrites.iter() {
            let data = pool.data(block).expect("a rewritten block has a data block");
            assert!(pool.can_complete(block, data, |from| from == rewrite.old_data, flash), "a page was left behind");
            assert!(
                pool.can_complete(block, rewrite.old_data, |_| false, flash),
                "a page of the old data block is out of place"
            );
        }
    }
}
