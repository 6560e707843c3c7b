//! Fully associative sector translation (FAST): log blocks shared by all data blocks, and one for sequential writes.

use esker_core::registry::ParameterSource;
use esker_nand::BlockIndex;
use esker_nand::state::{FlashState, OpSink};

use crate::blocks::{BlockMapped, BlockNeeds, BlockPool, ExtraBlocks, KeptBlock, LOG, PageAddress, Scheme, SharedLog};
use crate::{Cells, FtlEntry, FtlError, LayerCapability};

pub(crate) const ENTRY: FtlEntry = FtlEntry {
    name: "fast",
    summary: "data blocks mapped by block, a sequential log block, and log blocks shared by all data blocks",
    source: "Kim 2009, sections 2.3.3 and 2.4, and table 3.1, after Lee et al. 2007 (FAST)",
    parameters: ParameterSource::Listed(&[LOG]),
    capabilities: &[LayerCapability::Recover],
    build: |context, parameters| {
        let share = parameters.share(LOG.name);
        let purpose = "log blocks (`ftl.log`, at least one sequential and one shared)";
        let needs = BlockNeeds { kind: "fast", run: 1, share, least: 2, purpose, free: 1 };
        let scheme = |pool: &BlockPool| Fast { sequential: None, shared: SharedLog::new(pool.updates() - 1, SHARED) };
        Ok(Box::new(BlockMapped::new(context, &needs, scheme)?))
    },
};

/// A page goes to its data block if that can be programmed at the page's offset. Otherwise, the first page of a logical
/// block opens the sequential log block (after the previous one was merged), and the pages that follow it without a gap
/// go there too. All other pages go to the shared log blocks, one after the other; when all of these are full, the
/// oldest is merged.
#[derive(Clone, Debug)]
struct Fast {
    sequential: Option<Sequential>,
    shared: SharedLog,
}

/// The role of shared log blocks, as written to spare areas.
const SHARED: u8 = 1;

#[derive(Clone, Copy, Debug)]
struct Sequential {
    /// The logical block whose pages it holds, starting with the first page.
    block: u32,
    log: BlockIndex,
}

impl Fast {
    /// Turns the sequential log block into a data block. Pages that were written to shared log blocks in the meantime
    /// stay there.
    fn merge_sequential<S: OpSink>(&mut self, pool: &mut BlockPool, cells: &mut Cells<'_, S>) -> bool {
        let Some(Sequential { block, log }) = self.sequential.take() else { return false };
        let data = pool.data(block).expect("a block has a data block before it has a log block");
        let last = pool.complete(block, log, 0, |from| from == data, cells);
        pool.erase(data, last, cells);
        true
    }

    /// Merges the oldest shared log block and erases it.
    fn merge_shared<S: OpSink>(&mut self, pool: &mut BlockPool, cells: &mut Cells<'_, S>) -> Result<(), FtlError> {
        let Self { sequential, shared } = self;
        shared.empty(0, pool, cells, |block, last, pool, cells| {
            // The pages of the logical block's sequential log block were gathered, too.
            if let Some(Sequential { log, .. }) = sequential.take_if(|sequential| sequential.block == block) {
                pool.erase(log, last, cells);
            }
        })
    }
}

impl Scheme for Fast {
    #[inline]
    fn place<S: OpSink>(
        &mut self,
        at: PageAddress,
        pool: &mut BlockPool,
        cells: &mut Cells<'_, S>,
    ) -> Result<(BlockIndex, u32), FtlError> {
        // The data block must not take pages that the sequential log block already holds: the two could not be merged.
        let mut in_place = true;
        if let Some(Sequential { log, .. }) = self.sequential.filter(|sequential| sequential.block == at.block) {
            let next = cells.flash.written_in(log);
            if at.offset == next {
                return Ok((log, next));
            }
            in_place = at.offset > next;
        }
        if in_place && let Some(data) = pool.in_place(at, cells.flash)? {
            return Ok((data, at.offset));
        }
        if at.offset == 0 {
            self.merge_sequential(pool, cells);
            let log = pool.take_for(at.block)?;
            self.sequential = Some(Sequential { block: at.block, log });
            return Ok((log, 0));
        }
        if let Some(room) = self.shared.room(pool, cells.flash) {
            return Ok(room);
        }
        if self.shared.unused() == 0 {
            self.merge_shared(pool, cells)?;
        }
        self.shared.open(pool, cells.flash)
    }

    fn adopt<S: OpSink>(
        &mut self,
        kept: &[KeptBlock],
        pool: &mut BlockPool,
        cells: &mut Cells<'_, S>,
    ) -> Result<(), FtlError> {
        self.shared.adopt(kept, pool, cells.flash);
        for beside in pool.assign_data(kept.iter().filter(|kept| kept.role != SHARED).copied()) {
            let ExtraBlocks { logical, ref blocks, .. } = beside;
            let data = pool.data(logical);
            if data.is_some()
                && blocks.len() == 1
                && pool.can_complete(logical, blocks[0], |from| Some(from) == data, cells.flash)
            {
                self.merge_sequential(pool, cells);
                self.sequential = Some(Sequential { block: logical, log: blocks[0] });
            } else {
                // A page of the sequential log block was lost, or trimmed pages came back.
                pool.gather_all(&beside, cells)?;
            }
        }
        Ok(())
    }

    fn collect<S: OpSink>(&mut self, pool: &mut BlockPool, cells: &mut Cells<'_, S>) -> Result<bool, FtlError> {
        // The open shared log block is not merged until it is full.
        let open = usize::from(self.shared.room(pool, cells.flash).is_some());
        if self.shared.blocks().len() > open {
            self.merge_shared(pool, cells)?;
            return Ok(true);
        }
        Ok(self.merge_sequential(pool, cells))
    }

    fn unused(&self) -> u32 {
        self.shared.unused()
    }

    fn map_bytes(&self, pool: &BlockPool) -> u64 {
        // Two entries for the sequential log block (logical and physical block), and one per page of a shared log
        // block.
        4 * (u64::from(pool.logical()) + 2 + u64::from(self.shared.most()) * (1 + u64::from(pool.pages())))
    }

    fn memory_bytes(&self) -> usize {
        self.shared.blocks().capacity() * size_of::<BlockIndex>()
    }

    fn update_blocks(&self) -> Vec<(BlockIndex, Option<u32>)> {
        let sequential = self.sequential.map(|sequential| (sequential.log, Some(sequential.block)));
        self.shared.blocks().iter().map(|block| (*block, None)).chain(sequential).collect()
    }

    fn check(&self, pool: &BlockPool, flash: &FlashState) {
        assert!(self.shared.blocks().len() <= self.shared.most() as usize);
        let blocks = self.shared.blocks();
        let full = blocks.iter().take(blocks.len().saturating_sub(1));
        assert!(
            full.into_iter().all(|block| flash.written_in(*block) >= pool.pages()),
            "two shared log blocks are open"
        );
        if let Some(Sequential { block, log }) = self.sequential {
            let data = pool.data(block).expect("a block has a data block before it has a log block");
            assert!(pool.can_complete(block, log, |from| from == data, flash), "the sequential log block is none");
        }
    }
}
