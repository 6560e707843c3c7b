//! What block-mapped layers share, with log blocks or without: the data blocks, the free blocks, moving pages, merging.
//!
//! Logical blocks go to the pools in turn, channels first, as the page-mapped layer's pages do. Each pool is a
//! layer of its own, with its own data blocks, update blocks and free blocks, so that pools work at the same
//! time and no merge leaves its pool.
//!
//! A layer is a [`Scheme`]: it says which block takes a page, and merges where there is none. Where the valid data of
//! each page lie is kept here, page by page. That is the simulator's index and not the controller's map: the controller
//! finds a page by its logical block, in the data block or in an update block that belongs to it. [`BlockMapped`]'s
//! check asserts that it could, and [`Scheme::map_bytes`] counts what its tables take.
//!
//! The spare area of each page says its number within the pool, its sequence number, its version, and whether its
//! block is a shared log block. That is enough to find every role again (see [`recovery`]): a block whose pages are
//! all of one logical block and at their offsets can be its data block, or complete it; any other one is a log
//! block, or belongs to a superblock.

mod associated;
mod log;
mod pool;
mod recovery;
mod space;
#[cfg(test)]
mod tests;

use std::fmt;

use esker_core::{LogicalPage, PhysicalPage};
use esker_nand::state::{Cause, FlashState, OpIndex, OpList, OpSink, Silent};
use esker_nand::{BlockIndex, Divisor};

use crate::{BuildError, Cells, Ftl, FtlContext, FtlCounters, FtlError, Part};

pub(super) use associated::Associated;
pub(super) use log::SharedLog;
pub(super) use pool::BlockPool;
pub(super) use recovery::{Beside, Kept};
pub(super) use space::{BlockNeeds, LOG};

/// A logical page within its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Its logical block.
    pub(super) block: u32,
    /// Which of that block's pages it is.
    pub(super) offset: u32,
    /// Its number within the pool: what stands in spare areas.
    pub(super) slot: u32,
}

/// A block-mapped layer at work in one pool.
pub(super) trait Scheme: fmt::Debug + Send + 'static {
    /// The next `pages` writes belong to one request.
    fn begin_request(&mut self, pages: u32) {
        let _ = pages;
    }

    /// Reads what is needed to find a page, or to write it; says the last read.
    #[inline]
    fn translate<S: OpSink>(&mut self, at: Place, pool: &BlockPool, cells: &mut Cells<'_, S>) -> Option<OpIndex> {
        let _ = (at, pool, cells);
        None
    }

    /// The block and the offset in it that take the page `at`, which is programmed next. Merges first where none can.
    fn place<S: OpSink>(
        &mut self,
        at: Place,
        pool: &mut BlockPool,
        cells: &mut Cells<'_, S>,
    ) -> Result<(BlockIndex, u32), FtlError>;

    /// Merges once though nothing forces it. Says whether that made space.
    fn collect<S: OpSink>(&mut self, pool: &mut BlockPool, cells: &mut Cells<'_, S>) -> Result<bool, FtlError>;

    /// Whether programs may skip pages of a block.
    fn leaves_gaps(&self) -> bool {
        true
    }

    /// Takes over, before anything else, what holds data after a power failure, the block that was opened first first.
    /// Merges what it has no role for.
    fn adopt<S: OpSink>(
        &mut self,
        kept: &[Kept],
        pool: &mut BlockPool,
        cells: &mut Cells<'_, S>,
    ) -> Result<(), FtlError>;

    /// Blocks that can still be taken for logical blocks that were never written.
    fn unwritten(&self, pool: &BlockPool) -> u32 {
        pool.absent()
    }

    /// Blocks that can still be taken for updates before something has to be merged.
    fn unused(&self) -> u32;

    /// Bytes of controller memory that its tables take.
    fn map_bytes(&self, pool: &BlockPool) -> u64;

    /// Bytes of memory that this takes.
    fn memory_bytes(&self) -> usize;

    /// Every block that is neither free nor a data block, with the one logical block whose pages it may hold, or `None`
    /// where it may hold any.
    fn update_blocks(&self) -> Vec<(BlockIndex, Option<u32>)>;

    /// Asserts what must hold between calls beside that.
    fn check(&self, pool: &BlockPool, flash: &FlashState);
}

/// A layer of schemes that work each in a pool of their own.
#[derive(Debug)]
pub(super) struct BlockMapped<T> {
    /// Pages of a run of logical blocks that stays together in a pool.
    run_pages: Divisor,
    pages_per_block: Divisor,
    pools: Divisor,
    turns: Vec<u32>,
    parts: Vec<(BlockPool, T)>,
    /// The pool that idle time is given to next.
    idle: usize,
    /// Idle time merges while fewer blocks than these are left for updates.
    idle_below: u32,
}

impl<T: Scheme> BlockMapped<T> {
    /// A layer that needs `needs`, with a scheme of `scheme` for each pool.
    pub(super) fn new(
        context: &FtlContext<'_>,
        needs: &BlockNeeds,
        scheme: impl Fn(&BlockPool) -> T,
    ) -> Result<Self, BuildError> {
        let space = context.space;
        let layout = needs.check(context)?;
        let background = context.settings.cleaning.background.map_or(0, |share| share.as_parts_per_billion());
        let idle_below = (u128::from(layout.updates) * u128::from(background)).div_ceil(1_000_000_000) as u32;
        let parts = (0..space.pools).map(|index| {
            let pool = BlockPool::new(context, index * space.blocks_per_pool, &layout);
            let scheme = scheme(&pool);
            (pool, scheme)
        });
        Ok(Self {
            run_pages: Divisor::new(needs.run * space.data_pages_per_block),
            pages_per_block: Divisor::new(space.data_pages_per_block),
            pools: Divisor::new(space.pools),
            turns: context.geometry.turns(0, space.pools, space.pools),
            parts: parts.collect(),
            idle: 0,
            idle_below,
        })
    }

    #[inline]
    fn locate(&self, page: LogicalPage) -> (usize, Place) {
        let (run, within) = self.run_pages.divide(page.0);
        let (index, turn) = self.pools.divide(run);
        let slot = index * self.run_pages.get() + within;
        let (block, offset) = self.pages_per_block.divide(slot);
        (self.turns[turn as usize] as usize, Place { block, offset, slot })
    }

    #[inline]
    fn write_to<S: OpSink>(&mut self, page: LogicalPage, part: Part, cells: &mut Cells<'_, S>) -> Result<(), FtlError> {
        let (index, at) = self.locate(page);
        let (pool, scheme) = &mut self.parts[index];
        let translated = scheme.translate(at, pool, cells);
        // Space first: merging may move the very page that is about to be superseded.
        let (block, offset) = scheme.place(at, pool, cells)?;
        pool.program(at.slot, part, block, offset, translated, cells);
        Ok(())
    }
}

/// How many writes ahead of its own the entry of a page is fetched, where the writes are known.
const AHEAD: usize = 16;

impl<T: Scheme> Ftl for BlockMapped<T> {
    #[inline]
    fn find(&self, page: LogicalPage) -> Option<PhysicalPage> {
        let (index, at) = self.locate(page);
        self.parts[index].0.page(at.slot)
    }

    fn pool_of(&self, page: LogicalPage) -> u32 {
        self.locate(page).0 as u32
    }

    fn expect(&self, page: LogicalPage) {
        let (index, at) = self.locate(page);
        self.parts[index].0.expect(at);
    }

    fn expect_write(&self, page: LogicalPage, flash: &FlashState) {
        let (index, at) = self.locate(page);
        let pool = &self.parts[index].0;
        if let Some(data) = pool.data(at.block) {
            flash.expect_block(data);
        }
    }

    fn begin_request(&mut self, pages: u32) {
        self.parts.iter_mut().for_each(|(_, scheme)| scheme.begin_request(pages));
    }

    fn read(&mut self, page: LogicalPage, cells: &mut Cells<'_, OpList>) {
        let (index, at) = self.locate(page);
        let (pool, scheme) = &mut self.parts[index];
        if let Some(page) = pool.page(at.slot) {
            let translated = scheme.translate(at, pool, cells);
            cells.read_after(page, Cause::Host, translated);
        }
    }

    fn write(&mut self, page: LogicalPage, part: Part, cells: &mut Cells<'_, OpList>) -> Result<(), FtlError> {
        self.write_to(page, part, cells)
    }

    fn trim(&mut self, page: LogicalPage, cells: &mut Cells<'_, OpList>) {
        let (index, at) = self.locate(page);
        self.parts[index].0.forget(at.slot, cells.flash);
    }

    fn collect(&mut self, cells: &mut Cells<'_, OpList>) -> Result<bool, FtlError> {
        for _ in 0..self.parts.len() {
            let (pool, scheme) = &mut self.parts[self.idle];
            self.idle = (self.idle + 1) % self.turns.len();
            if scheme.unused() < self.idle_below && scheme.collect(pool, cells)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn write_untimed(&mut self, pages: &[LogicalPage], flash: &mut FlashState) -> Result<(), FtlError> {
        self.begin_request(1);
        for (index, page) in pages.iter().enumerate() {
            if let Some(ahead) = pages.get(index + AHEAD) {
                self.expect(*ahead);
            }
            self.write_to(*page, Part::Whole, &mut Cells::new(flash, &mut Silent))?;
        }
        Ok(())
    }

    fn recover(&mut self, cells: &mut Cells<'_, OpList>) -> Result<(), FtlError> {
        for (pool, scheme) in &mut self.parts {
            let kept = pool.recover(scheme.leaves_gaps(), cells);
            scheme.adopt(&kept, pool, cells)?;
        }
        Ok(())
    }

    /// Whole blocks only: those never written, and those that are left for updates.
    fn writable_pages(&self) -> u64 {
        let blocks: u64 =
            self.parts.iter().map(|(pool, scheme)| u64::from(scheme.unwritten(pool) + scheme.unused())).sum();
        blocks * u64::from(self.pages_per_block.get())
    }

    fn memory_bytes(&self) -> usize {
        self.parts.iter().map(|(pool, scheme)| pool.memory_bytes() + scheme.memory_bytes()).sum()
    }

    fn map_bytes(&self) -> u64 {
        self.parts.iter().map(|(pool, scheme)| scheme.map_bytes(pool)).sum()
    }

    fn counters(&self) -> FtlCounters {
        let mut sum = FtlCounters::merging();
        self.parts.iter().for_each(|(pool, _)| sum.add(&pool.counters));
        sum
    }

    fn check(&self, flash: &FlashState) {
        let mut mapped = 0;
        for (pool, scheme) in &self.parts {
            mapped += pool.check(&scheme.update_blocks(), flash);
            scheme.check(pool, flash);
        }
        assert_eq!(mapped, flash.valid_pages(), "valid pages that nothing maps to");
    }
}
