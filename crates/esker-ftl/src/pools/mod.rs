//! Allocation pools: free blocks, write frontiers, and cleaning (Agrawal 2008, section 3.1).

mod owned;
mod permutation;
mod pool;
mod steady;
mod striping;
mod temperature;
mod wear;

use esker_core::{LogicalPage, PhysicalPage, Unsupported};
use esker_nand::BlockIndex;
use esker_nand::state::{FlashState, OpSink};

use crate::PoolBlock;
use crate::gc::{self, PoolShape};
use crate::{BuildError, Cells, FoundBlock, FtlContext, FtlError};
use pool::Pool;

pub(super) use owned::{drop_unwanted, report_lost};
pub(super) use steady::{Contents, OwnerRun};
pub(super) use striping::Striping;
use temperature::Temperature;
pub(super) use temperature::check;
pub use wear::WearCounts;

/// All pools of a device. The translation layer above knows what the pages mean, and gets a call whenever a page moves.
#[derive(Clone, Debug)]
pub struct Pools {
    pools: Vec<Pool>,
    blocks_per_pool: esker_nand::Divisor,
}

/// How the blocks of a pool with a map are divided.
#[derive(Clone, Copy, Debug)]
pub struct MapSpace {
    /// Blocks that stay free.
    pub reserve: u32,
    /// Blocks that the map may take before they are cleaned.
    pub allowance: u32,
    /// Blocks that may go bad before data and map no longer fit.
    pub spare_blocks: u32,
}

/// The content of a block: either data or map pages, never both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Data of the host.
    Data,
    /// Pages of the translation layer's map.
    Map,
}

/// The map of a translation layer, as the pools see it: they report where cleaning moves pages. Each page has an owner,
/// whose number is in its spare area.
pub trait PageMap {
    /// Prefetches what a coming move of `owner`'s page needs into the processor's caches. A hint: affects speed only.
    fn prefetch(&self, owner: u32) {
        let _ = owner;
    }
    /// Called when the page of `owner` was moved to `to`.
    fn moved(&mut self, owner: u32, to: PhysicalPage, flash: &FlashState);
    /// Returns the logical page of `owner` if it may be dropped when its [`PageOwner`](crate::PageOwner) no longer
    /// needs it.
    fn droppable(&self, owner: u32, flash: &FlashState) -> Option<LogicalPage> {
        let _ = (owner, flash);
        None
    }
    /// Called when the page of `owner`, which is [droppable](Self::droppable), was dropped: it has no data from now on.
    fn dropped(&mut self, owner: u32, flash: &FlashState) {
        let _ = flash;
        unreachable!("the page of {owner} cannot be dropped");
    }

    /// Returns true if any page is suspected: superseded, but possible to revive until its block is erased.
    #[inline(always)]
    fn has_suspects(&self) -> bool {
        false
    }
    /// Called when the block with `page` is about to be erased; `page` belongs to `owner` and is not valid. If it was
    /// suspected there, forgets it and returns its logical page.
    fn lost(&mut self, owner: u32, page: PhysicalPage) -> Option<LogicalPage> {
        let _ = (owner, page);
        None
    }

    /// Returns true if pages of the map have to be written before the victim of `pool` is erased, because its pages
    /// moved.
    #[inline(always)]
    fn has_updates(&self, pool: u32) -> bool {
        let _ = pool;
        false
    }
    /// Writes one of these map pages to `block`, which has room. Returns the block with the superseded version, and its
    /// number of valid pages left.
    fn update<S: OpSink>(
        &mut self,
        pool: u32,
        block: BlockIndex,
        cells: &mut Cells<'_, S>,
    ) -> Option<(BlockIndex, u32)> {
        let _ = (pool, block, cells);
        None
    }
    /// Called when a victim that held `content` was erased.
    #[inline(always)]
    fn erased(&mut self, content: Content) {
        let _ = content;
    }
}

impl Pools {
    /// Pools of erased blocks, all of them for data.
    pub fn new(context: &FtlContext<'_>) -> Result<Self, BuildError> {
        Self::build(context, None)
    }

    /// Pools of erased blocks that also hold a map, in blocks of its own, with as many write frontiers for it as for
    /// data.
    pub fn with_map(context: &FtlContext<'_>, map_space: MapSpace) -> Result<Self, BuildError> {
        Self::build(context, Some(map_space))
    }

    fn build(context: &FtlContext<'_>, map_space: Option<MapSpace>) -> Result<Self, BuildError> {
        let space = context.space;
        let shape = PoolShape { blocks: space.blocks_per_pool, data_pages_per_block: space.data_pages_per_block };
        let pools = (0..space.pools)
            .map(|index| {
                // Each pool has its own random numbers, so that one pool never changes the results of another.
                let seed = context.seed ^ u64::from(index).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let victims = |seed| gc::build(&context.settings.cleaning.victim, &shape, seed);
                let map = match map_space {
                    Some(map_space) => Some((victims(!seed)?, map_space)),
                    None => None,
                };
                Ok(Pool::new(index, context, map, victims(seed)?, seed))
            })
            .collect::<Result<_, BuildError>>()?;
        Ok(Self { pools, blocks_per_pool: esker_nand::Divisor::new(space.blocks_per_pool) })
    }

    /// Returns a block of `pool` with room for the page of `owner`, which the host writes in `stream`; that is a number
    /// below the number of separate streams. Cleans first if fewer blocks are free than the reserve, and reports each
    /// copied page to `page_map`.
    #[inline]
    pub fn place<S: OpSink>(
        &mut self,
        pool: u32,
        owner: u32,
        stream: u32,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<BlockIndex, FtlError> {
        self.pools[pool as usize].place(owner, stream, cells, page_map)
    }

    /// Does the same as [`Self::place`] for a page of `owner` that the host does not write: it moves from block `at` to
    /// where cleaning would copy it.
    pub fn place_copy<S: OpSink>(
        &mut self,
        pool: u32,
        owner: u32,
        at: BlockIndex,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<BlockIndex, FtlError> {
        self.pools[pool as usize].place_copy(owner, at, cells, page_map)
    }

    /// Does the same as [`Self::place`] for a page of the map.
    pub fn place_map<S: OpSink>(
        &mut self,
        pool: u32,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<BlockIndex, FtlError> {
        self.pools[pool as usize].place_map(cells, page_map)
    }

    /// Records that a page of `block` was superseded; `valid` valid pages are left.
    #[inline]
    pub fn superseded(&mut self, block: BlockIndex, valid: u32) {
        let (pool, local) = self.blocks_per_pool.divide(block.0);
        self.pools[pool as usize].superseded(PoolBlock(local), valid);
    }

    /// Records that a superseded page of `block` is valid again; the block now has `valid` valid pages.
    pub fn revived(&mut self, block: BlockIndex, valid: u32) {
        let (pool, local) = self.blocks_per_pool.divide(block.0);
        self.pools[pool as usize].revived(PoolBlock(local), valid);
    }

    /// Stops or resumes the moves that only level wear, in all pools. A move is made within one call, so that none is
    /// ever half done.
    pub fn pause_levelling(&mut self, is_paused: bool) -> Result<(), Unsupported> {
        self.pools.iter_mut().try_for_each(|pool| pool.pause_levelling(is_paused))
    }

    /// Returns the counts of wear-levelling and of worn-out blocks.
    pub fn wear(&self) -> WearCounts {
        let mut sum = WearCounts::default();
        self.pools.iter().for_each(|pool| sum.add(&pool.wear()));
        sum
    }

    /// Returns how many pages were moved out of blocks under cleaning.
    pub fn half_cleaned(&self) -> u64 {
        self.pools.iter().map(Pool::half_cleaned).sum()
    }

    /// Does one step of idle-time cleaning in `pool`: copies a page, or erases a block without valid pages. Returns
    /// false if there was nothing to do.
    pub fn clean_ahead<S: OpSink>(
        &mut self,
        pool: u32,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<bool, FtlError> {
        self.pools[pool as usize].clean_ahead(cells, page_map)
    }

    /// Takes over all blocks after a power failure, as `found` describes them. The pools are new, and `flash` knows
    /// which pages are valid.
    ///
    /// Partly written blocks become the blocks of write frontiers and take further pages; if there are more than
    /// frontiers, the rest is closed.
    pub fn adopt_blocks(&mut self, found: &[FoundBlock], flash: &mut FlashState) {
        let size = self.blocks_per_pool.get() as usize;
        for (pool, found) in self.pools.iter_mut().zip(found.chunks_exact(size)) {
            pool.adopt_blocks(found, flash);
        }
    }

    /// Cleans after [`Self::adopt_blocks`] until each pool has its reserve.
    pub fn restore<S: OpSink>(
        &mut self,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<(), FtlError> {
        self.pools.iter_mut().try_for_each(|pool| pool.restore(cells, page_map))
    }

    /// Writes the map pages of `pool` that `page_map` has to update.
    pub fn write_updates<S: OpSink>(
        &mut self,
        pool: u32,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<(), FtlError> {
        self.pools[pool as usize].write_updates(cells, page_map)
    }

    /// Returns the number of pages that cleaning did not copy, because their owner no longer needed them.
    pub fn dropped_pages(&self) -> u64 {
        self.pools.iter().map(Pool::dropped_pages).sum()
    }

    /// Returns the number of pages that can be written before cleaning is needed.
    pub fn writable_pages(&self) -> u64 {
        self.pools.iter().map(Pool::writable_pages).sum()
    }

    /// Returns the bytes of memory in use.
    pub fn memory_bytes(&self) -> usize {
        self.pools.iter().map(Pool::memory_bytes).sum()
    }

    /// Asserts the invariants that hold between calls.
    pub fn check(&self, flash: &FlashState) {
        for pool in &self.pools {
            pool.check(flash);
        }
    }
}
