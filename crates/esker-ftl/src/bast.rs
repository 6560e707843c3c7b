//! Block-associative sector translation (BAST): each data block may have a log block of its own.

use esker_core::registry::{Accepted, Parameter, ParameterSource};
use esker_nand::BlockIndex;
use esker_nand::state::{FlashState, OpSink};

use crate::blocks::{Associated, BlockMapped, BlockNeeds, BlockPool, ExtraBlocks, KeptBlock, LOG, PageAddress, Scheme};
use crate::{Cells, FtlEntry, FtlError, LayerCapability};

pub(crate) const ENTRY: FtlEntry = FtlEntry {
    name: "bast",
    summary: "data blocks mapped by block, and a log block for each of the few that were rewritten",
    source: "Kim 2009, sections 2.3.3 and 2.4, and table 3.1, after Kim et al. 2002 (BAST)",
    parameters: ParameterSource::Listed(&[
        LOG,
        Parameter {
            name: "eviction",
            meaning: "the log block that is merged when none is free: `lru`, that of the data block written longest ago, or `fifo`, the oldest",
            value: Accepted::OneOf(&["lru", "fifo"]),
        },
    ]),
    capabilities: &[LayerCapability::Recover],
    build: |context, parameters| {
        let share = parameters.share(LOG.name);
        let lru = parameters.name("eviction") == "lru";
        let needs = BlockNeeds { kind: "bast", run: 1, share, least: 1, purpose: "log blocks (`ftl.log`)", free: 1 };
        let scheme = |pool: &BlockPool| Bast { logs: Associated::new(pool.logical()), most: pool.updates(), lru };
        Ok(Box::new(BlockMapped::new(context, &needs, scheme)?))
    },
};

/// A page goes to its data block if that can be programmed at the page's offset; otherwise to the next page of its log
/// block. A full log block is merged. If a new log block is needed and all are in use, one of another data block is
/// merged.
#[derive(Clone, Debug)]
struct Bast {
    logs: Associated<BlockIndex>,
    most: u32,
    lru: bool,
}

impl Bast {
    fn merge<S: OpSink>(&mut self, block: u32, pool: &mut BlockPool, cells: &mut Cells<'_, S>) -> Result<(), FtlError> {
        let log = self.logs.remove(block).expect("it has a log block");
        pool.merge_log(block, log, cells)
    }
}

impl Scheme for Bast {
    #[inline]
    fn place<S: OpSink>(
        &mut self,
        at: PageAddress,
        pool: &mut BlockPool,
        cells: &mut Cells<'_, S>,
    ) -> Result<(BlockIndex, u32), FtlError> {
        if let Some(data) = pool.in_place(at, cells.flash)? {
            return Ok((data, at.offset));
        }
        if let Some(&log) = self.logs.get(at.block) {
            let written = cells.flash.written_in(log);
            if written < pool.pages() {
                if self.lru {
                    self.logs.touch(at.block);
                }
                return Ok((log, written));
            }
            self.merge(at.block, pool, cells)?;
            if let Some(data) = pool.in_place(at, cells.flash)? {
                return Ok((data, at.offset));
            }
        } else if self.logs.len() == self.most {
            let oldest = self.logs.oldest().expect("there are some");
            self.merge(oldest, pool, cells)?;
        }
        let log = pool.take_for(at.block)?;
        self.logs.insert(at.block, log);
        Ok((log, 0))
    }

    fn adopt<S: OpSink>(
        &mut self,
        kept: &[KeptBlock],
        pool: &mut BlockPool,
        cells: &mut Cells<'_, S>,
    ) -> Result<(), FtlError> {
        let (logs, odd): (Vec<ExtraBlocks>, Vec<ExtraBlocks>) =
            pool.assign_data(kept.iter().copied()).into_iter().partition(|beside| beside.blocks.len() == 1);
        odd.iter().try_for_each(|beside| pool.gather_all(beside, cells))?;
        for log in logs {
            // A data block without valid pages was erased.
            pool.data_or_new(log.logical)?;
            self.logs.insert(log.logical, log.blocks[0]);
            if self.logs.len() > self.most {
                let oldest = self.logs.oldest().expect("there are some");
                self.merge(oldest, pool, cells)?;
            }
        }
        Ok(())
    }

    fn collect<S: OpSink>(&mut self, pool: &mut BlockPool, cells: &mut Cells<'_, S>) -> Result<bool, FtlError> {
        let Some(oldest) = self.logs.oldest() else { return Ok(false) };
        self.merge(oldest, pool, cells)?;
        Ok(true)
    }

    fn unused(&self) -> u32 {
        self.most - self.logs.len()
    }

    fn map_bytes(&self, pool: &BlockPool) -> u64 {
        // Two entries per log block (logical and physical block), and one per page.
        4 * (u64::from(pool.logical()) + u64::from(self.most) * (2 + u64::from(pool.pages())))
    }

    fn memory_bytes(&self) -> usize {
        self.logs.memory_bytes()
    }

    fn update_blocks(&self) -> Vec<(BlockIndex, Option<u32>)> {
        self.logs.iter().map(|(block, log)| (*log, Some(block))).collect()
    }

    fn check(&self, pool: &BlockPool, _: &FlashState) {
        assert!(self.logs.len() <= self.most);
        assert!(self.logs.iter().all(|(block, _)| pool.data(block).is_some()), "a log block without a data block");
    }
}
