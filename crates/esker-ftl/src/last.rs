//! Locality-aware sector translation (LAST): separate log blocks for sequential, hot and cold writes.

use esker_core::Ratio;
use esker_core::registry::{Accepted, Fallback, Parameter, ParameterSource};
use esker_nand::BlockIndex;
use esker_nand::state::{FlashState, OpSink};

use crate::blocks::{Associated, BlockMapped, BlockNeeds, BlockPool, KeptBlock, LOG, PageAddress, Scheme, SharedLog};
use crate::{Cells, FtlEntry, FtlError, LayerCapability};

pub(crate) const ENTRY: FtlEntry = FtlEntry {
    name: "last",
    summary: "data blocks mapped by block, and separate log blocks for sequential, hot and cold writes",
    source: "Kim 2009, section 2.4 and table 3.1, after Lee et al. 2008 (LAST)",
    parameters: ParameterSource::Listed(&[
        LOG,
        Parameter {
            name: "sequential",
            meaning: "share of the log blocks for sequential writes (m of M)",
            value: Accepted::Share { default: Ratio::percent(25), least: Ratio::ZERO, most: Ratio::ONE },
        },
        Parameter {
            name: "hot",
            meaning: "share of the other log blocks for hot pages",
            value: Accepted::Share { default: Ratio::percent(50), least: Ratio::ZERO, most: Ratio::ONE },
        },
        Parameter {
            name: "sequential_pages",
            meaning: "a write of at least this many pages is sequential",
            value: Accepted::Count { default: Fallback::Value(4), least: 1, most: 1 << 30 },
        },
        Parameter {
            name: "hot_window",
            meaning: "a page is hot if its data lie in a hot or cold log block that was opened no longer ago than so many of \
                      them, as a share",
            value: Accepted::Share { default: Ratio::ONE, least: Ratio::ZERO, most: Ratio::percent(100_000) },
        },
        Parameter {
            name: "candidates",
            meaning: "the log block that is emptied is the one with the fewest data blocks among so many oldest ones",
            value: Accepted::Count { default: Fallback::Value(8), least: 1, most: 1 << 20 },
        },
    ]),
    capabilities: &[LayerCapability::Recover],
    build: |context, parameters| {
        let share = parameters.share(LOG.name);
        let sequential = parameters.share("sequential");
        let hot = parameters.share("hot");
        let sequential_pages = parameters.count("sequential_pages") as u32;
        let window = parameters.share("hot_window");
        let candidates = parameters.count("candidates") as usize;
        let purpose = "log blocks (`ftl.log`, at least one each for sequential, hot and cold writes)";
        let needs = BlockNeeds { kind: "last", run: 1, share, least: 3, purpose, free: 1 };
        let scheme = |pool: &BlockPool| {
            // Each kind of log has at least one block.
            let all = pool.updates();
            let most_sequential = (sequential.of(u64::from(all)) as u32).clamp(1, all - 2);
            let shared = all - most_sequential;
            let most_hot = (hot.of(u64::from(shared)) as u32).clamp(1, shared - 1);
            Last {
                sequential: Associated::new(pool.logical()),
                most_sequential,
                sequential_pages,
                request_pages: 1,
                hot: SharedLog::new(most_hot, HOT),
                cold: SharedLog::new(shared - most_hot, COLD),
                opened: vec![0; pool.blocks() as usize],
                opens: 0,
                window: window.of(u64::from(shared)),
                candidates,
            }
        };
        Ok(Box::new(BlockMapped::new(context, &needs, scheme)?))
    },
};

/// A page goes to its data block if that can be programmed at the page's offset. Otherwise, pages of large writes go to
/// their offsets in a sequential log block of their logical block, and pages of small writes to the shared log blocks
/// for hot or for cold pages.
#[derive(Clone, Debug)]
struct Last {
    sequential: Associated<BlockIndex>,
    most_sequential: u32,
    sequential_pages: u32,
    request_pages: u32,
    hot: SharedLog,
    cold: SharedLog,
    /// For each block of the pool, the number of its last opening as a shared log block; zero if it is none.
    opened: Vec<u64>,
    /// Number of openings of shared log blocks.
    opens: u64,
    /// After it was written, a page stays hot for this many openings of shared log blocks.
    window: u64,
    candidates: usize,
}

/// The role of shared log blocks for hot pages, as written to spare areas.
const HOT: u8 = 1;
/// The role of shared log blocks for cold pages, as written to spare areas.
const COLD: u8 = 2;

impl Last {
    /// Turns the sequential log block of `block` into a data block. Pages in shared log blocks stay there if possible.
    fn merge_sequential<S: OpSink>(
        &mut self,
        block: u32,
        pool: &mut BlockPool,
        cells: &mut Cells<'_, S>,
    ) -> Result<(), FtlError> {
        let log = self.sequential.remove(block).expect("it has a sequential log block");
        pool.merge_log(block, log, cells)
    }

    /// Returns true if page `slot` was recently written to a shared log block.
    fn is_hot(&self, slot: u32, pool: &BlockPool, flash: &FlashState) -> bool {
        let opened = pool.block_of(slot, flash).map_or(0, |block| self.opened[pool.local(block).index()]);
        opened > 0 && self.opens - opened <= self.window
    }

    /// Merges a shared log block: a dead one if there is one; otherwise, among the `candidates` oldest, the one with
    /// the fewest data blocks.
    fn merge_shared<S: OpSink>(
        &mut self,
        hot: bool,
        pool: &mut BlockPool,
        cells: &mut Cells<'_, S>,
    ) -> Result<(), FtlError> {
        let Self { sequential, opened, candidates, .. } = self;
        let log = if hot { &mut self.hot } else { &mut self.cold };
        let dead = log.blocks().iter().position(|block| cells.flash.valid_in(*block) == 0);
        let oldest =
            || (0..log.blocks().len().min(*candidates)).min_by_key(|&index| log.data_blocks(index, pool, cells.flash));
        let index = dead.or_else(oldest).expect("all log blocks are in use");
        opened[pool.local(log.blocks()[index]).index()] = 0;
        log.empty(index, pool, cells, |block, last, pool, cells| {
            // The pages of the logical block's sequential log block were gathered, too.
            if let Some(log) = sequential.remove(block) {
                pool.erase(log, last, cells);
            }
        })
    }
}

impl Scheme for Last {
    fn begin_request(&mut self, pages: u32) {
        self.request_pages = pages;
    }

    fn place<S: OpSink>(
        &mut self,
        at: PageAddress,
        pool: &mut BlockPool,
        cells: &mut Cells<'_, S>,
    ) -> Result<(BlockIndex, u32), FtlError> {
        let large = self.request_pages >= self.sequential_pages;
        let log = self.sequential.get(at.block).copied();
        let written = log.map_or(0, |log| cells.flash.written_in(log));
        if let Some(log) = log
            && (at.offset == written || large && at.offset > written)
        {
            self.sequential.touch(at.block);
            return Ok((log, at.offset));
        }
        // The data block must not take pages that the sequential log block already holds: the two could not be merged.
        if at.offset >= written
            && let Some(data) = pool.in_place(at, cells.flash)?
        {
            return Ok((data, at.offset));
        }
        if large {
            if log.is_some() {
                self.merge_sequential(at.block, pool, cells)?;
            } else if self.sequential.len() == self.most_sequential {
                let oldest = self.sequential.oldest().expect("there are some");
                self.merge_sequential(oldest, pool, cells)?;
            }
            if let Some(data) = pool.in_place(at, cells.flash)? {
                return Ok((data, at.offset));
            }
            let log = pool.take_for(at.block)?;
            self.sequential.insert(at.block, log);
            return Ok((log, at.offset));
        }
        let hot = self.is_hot(at.slot, pool, cells.flash);
        let part = if hot { &self.hot } else { &self.cold };
        if let Some(room) = part.room(pool, cells.flash) {
            return Ok(room);
        }
        if part.unused() == 0 {
            self.merge_shared(hot, pool, cells)?;
        }
        let (block, offset) = if hot { &mut self.hot } else { &mut self.cold }.open(pool, cells.flash)?;
        self.opens += 1;
        self.opened[pool.local(block).index()] = self.opens;
        Ok((block, offset))
    }

    fn adopt<S: OpSink>(
        &mut self,
        kept: &[KeptBlock],
        pool: &mut BlockPool,
        cells: &mut Cells<'_, S>,
    ) -> Result<(), FtlError> {
        let is_shared = |kept: &&KeptBlock| matches!(kept.role, HOT | COLD);
        self.hot.adopt(kept, pool, cells.flash);
        self.cold.adopt(kept, pool, cells.flash);
        for shared in kept.iter().filter(is_shared) {
            self.opens += 1;
            self.opened[pool.local(shared.block).index()] = self.opens;
        }
        for beside in pool.assign_data(kept.iter().filter(|kept| !is_shared(kept)).copied()) {
            if pool.data(beside.logical).is_none() || beside.blocks.len() > 1 {
                pool.gather_all(&beside, cells)?;
                continue;
            }
            self.sequential.insert(beside.logical, beside.blocks[0]);
            if self.sequential.len() > self.most_sequential {
                let oldest = self.sequential.oldest().expect("there are some");
                self.merge_sequential(oldest, pool, cells)?;
            }
        }
        Ok(())
    }

    fn collect<S: OpSink>(&mut self, pool: &mut BlockPool, cells: &mut Cells<'_, S>) -> Result<bool, FtlError> {
        // An open log block is not merged until it is full.
        for hot in [true, false] {
            let part = if hot { &self.hot } else { &self.cold };
            if part.unused() == 0 && part.room(pool, cells.flash).is_none() {
                self.merge_shared(hot, pool, cells)?;
                return Ok(true);
            }
        }
        let Some(oldest) = self.sequential.oldest() else { return Ok(false) };
        self.merge_sequential(oldest, pool, cells)?;
        Ok(true)
    }

    fn unused(&self) -> u32 {
        self.hot.unused() + self.cold.unused() + self.most_sequential - self.sequential.len()
    }

    fn map_bytes(&self, pool: &BlockPool) -> u64 {
        // Two entries per sequential log block (logical and physical block), and one per page of a shared log block.
        let shared = u64::from(self.hot.most() + self.cold.most());
        let sequential = u64::from(self.most_sequential);
        4 * (u64::from(pool.logical()) + 2 * sequential + shared * (1 + u64::from(pool.pages())))
    }

    fn memory_bytes(&self) -> usize {
        let shared = self.hot.blocks().capacity() + self.cold.blocks().capacity();
        self.sequential.memory_bytes() + shared * size_of::<BlockIndex>() + size_of_val(&*self.opened)
    }

    fn update_blocks(&self) -> Vec<(BlockIndex, Option<u32>)> {
        let shared = self.hot.blocks().iter().chain(self.cold.blocks()).map(|block| (*block, None));
        shared.chain(self.sequential.iter().map(|(block, log)| (*log, Some(block)))).collect()
    }

    fn check(&self, pool: &BlockPool, flash: &FlashState) {
        assert!(self.sequential.len() <= self.most_sequential);
        for (block, log) in self.sequential.iter() {
            assert!(pool.data(block).is_some(), "a log block without a data block");
            assert!(
                pool.can_complete(block, *log, |_| false, flash),
                "a page of a sequential log block is out of place"
            );
        }
        let shared: Vec<usize> =
            self.hot.blocks().iter().chain(self.cold.blocks()).map(|block| pool.local(*block).index()).collect();
        for (block, opened) in self.opened.iter().enumerate() {
            assert_eq!(shared.contains(&block), *opened > 0, "block {block} is a shared log block in one list only");
        }
    }
}
