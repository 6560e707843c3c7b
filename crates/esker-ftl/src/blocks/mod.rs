//! The common part of block-mapped layers, with or without log blocks: data blocks, free blocks, moving pages, merging.
//!
//! Logical blocks go to the pools in turn, channels first, as the page-mapped layer's pages do. Each pool is a
//! layer of its own, with its own data blocks, update blocks and free blocks, so that pools work at the same
//! time and no merge leaves its pool.
//!
//! A layer is a [`Scheme`]: it chooses the block that takes a page, and merges if no block can take it. This module
//! keeps the location of each page's valid data. That is an index of the simulator, not the controller's map: the
//! controller finds a page by its logical block, in the data block or in an update block that belongs to it. The check
//! of [`BlockMapped`] asserts that it could, and [`Scheme::map_bytes`] counts the memory of its tables.
//!
//! The spare area of each page holds its number within the pool, its sequence number, its version, and whether its
//! block is a shared log block. Recovery finds the role of each block from that (see [`recovery`]): a block whose pages
//! all belong to one logical block and lie at their offsets can be its data block, or complete it; any other is a log
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
use esker_results::Counters;

use crate::{BuildError, Cells, Ftl, FtlContext, FtlCounters, FtlError, WriteExtent};

pub(super) use associated::Associated;
pub(super) use log::SharedLog;
pub(super) use pool::BlockPool;
pub(super) use recovery::{ExtraBlocks, KeptBlock};
pub(super) use space::{BlockNeeds, LOG};

/// The address of a logical page within its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageAddress {
    /// Its logical block.
    pub(super) block: u32,
    /// Index of the page in that block.
    pub(super) offset: u32,
    /// Its number within the pool, as in spare areas.
    pub(super) slot: u32,
}

/// A block-mapping method for one pool.
pub(super) trait Scheme: Clone + fmt::Debug + Send + 'static {
    /// Announces that the next `pages` writes belong to one request.
    fn begin_request(&mut self, pages: u32) {
        let _ = pages;
    }

    /// Reads the map that is needed to find or write a page. Returns the last of these reads.
    #[inline]
    fn translate<S: OpSink>(&mut self, at: PageAddress, pool: &BlockPool, cells: &mut Cells<'_, S>) -> Option<OpIndex> {
        let _ = (at, pool, cells);
        None
    }

    /// Returns the block that takes the page `at` next, and the offset in it. Merges first if no block can take it.
    fn place<S: OpSink>(
        &mut self,
        at: PageAddress,
        pool: &mut BlockPool,
        cells: &mut Cells<'_, S>,
    ) -> Result<(BlockIndex, u32), FtlError>;

    /// Merges once, ahead of need. Returns false if that made no space.
    fn collect<S: OpSink>(&mut self, pool: &mut BlockPool, cells: &mut Cells<'_, S>) -> Result<bool, FtlError>;

    /// Returns true if programs may skip pages of a block.
    fn leaves_gaps(&self) -> bool {
        true
    }

    /// After a power failure and before anything else: takes over the blocks that hold data, in the order of opening.
    /// Merges those that have no role here.
    fn adopt<S: OpSink>(
        &mut self,
        kept: &[KeptBlock],
        pool: &mut BlockPool,
        cells: &mut Cells<'_, S>,
    ) -> Result<(), FtlError>;

    /// Returns how many blocks can still be taken for logical blocks that were never written.
    fn unwritten(&self, pool: &BlockPool) -> u32 {
        pool.absent()
    }

    /// Returns how many blocks can still be taken for updates before a merge is needed.
    fn unused(&self) -> u32;

    /// Returns the bytes of controller memory that its tables take.
    fn map_bytes(&self, pool: &BlockPool) -> u64;

    /// Returns the bytes of memory that the simulation takes.
    fn memory_bytes(&self) -> usize;

    /// Returns every block that is neither free nor a data block, and the one logical block whose pages it may hold
    /// (`None` if it may hold any).
    fn update_blocks(&self) -> Vec<(BlockIndex, Option<u32>)>;

    /// Asserts further invariants of the scheme that hold between calls.
    fn check(&self, pool: &BlockPool, flash: &FlashState);
}

/// A translation layer with one [`Scheme`] per pool.
#[derive(Clone, Debug)]
pub(super) struct BlockMapped<T> {
    /// Pages in a run of logical blocks, which stays together in a pool.
    run_pages: Divisor,
    pages_per_block: Divisor,
    pools: Divisor,
    turns: Vec<u32>,
    parts: Vec<(BlockPool, T)>,
    /// Idle time is used for merges if a pool has fewer unused update blocks than this.
    idle_below: u32,
}

impl<T: Scheme> BlockMapped<T> {
    /// A layer with blocks for `needs`, whose pools each get a scheme made by `scheme`.
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
            idle_below,
        })
    }

    #[inline]
    fn locate(&self, page: LogicalPage) -> (usize, PageAddress) {
        let (run, within) = self.run_pages.divide(page.0);
        let (index, turn) = self.pools.divide(run);
        let slot = index * self.run_pages.get() + within;
        let (block, offset) = self.pages_per_block.divide(slot);
        (self.turns[turn as usize] as usize, PageAddress { block, offset, slot })
    }

    #[inline]
    fn write_to<S: OpSink>(
        &mut self,
        page: LogicalPage,
        extent: WriteExtent,
        cells: &mut Cells<'_, S>,
    ) -> Result<(), FtlError> {
        let (index, at) = self.locate(page);
        let (pool, scheme) = &mut self.parts[index];
        let translated = scheme.translate(at, pool, cells);
        // Make space first: merging may move the very page that is about to be superseded.
        let (block, offset) = scheme.place(at, pool, cells)?;
        pool.program(at.slot, extent, block, offset, translated, cells);
        Ok(())
    }
}

/// Distance, in writes, at which the map entry of a coming write is prefetched.
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

    fn prefetch(&self, page: LogicalPage) {
        let (index, at) = self.locate(page);
        self.parts[index].0.prefetch(at);
    }

    fn prefetch_write(&self, page: LogicalPage, flash: &FlashState) {
        let (index, at) = self.locate(page);
        let pool = &self.parts[index].0;
        if let Some(data) = pool.data(at.block) {
            flash.prefetch_block(data);
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

    fn write(&mut self, page: LogicalPage, extent: WriteExtent, cells: &mut Cells<'_, OpList>) -> Result<(), FtlError> {
        self.write_to(page, extent, cells)
    }

    fn trim(&mut self, page: LogicalPage, cells: &mut Cells<'_, OpList>) {
        let (index, at) = self.locate(page);
        self.parts[index].0.forget(at.slot, cells.flash);
    }

    fn collect(&mut self, pool: u32, cells: &mut Cells<'_, OpList>) -> Result<bool, FtlError> {
        let (pool, scheme) = &mut self.parts[pool as usize];
        Ok(scheme.unused() < self.idle_below && scheme.collect(pool, cells)?)
    }

    fn write_untimed(&mut self, pages: &[LogicalPage], flash: &mut FlashState) -> Result<(), FtlError> {
        self.begin_request(1);
        for (index, page) in pages.iter().enumerate() {
            if let Some(ahead) = pages.get(index + AHEAD) {
                self.prefetch(*ahead);
            }
            self.write_to(*page, WriteExtent::Whole, &mut Cells::new(flash, &mut Silent))?;
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

    /// Counts whole blocks only: those of never-written logical blocks, and those left for updates.
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
        self.parts.iter().fold(FtlCounters::merging(), |sum, (pool, _)| sum.plus(&pool.counters))
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
