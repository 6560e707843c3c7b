//! Allocation pools: free blocks, write frontiers, and cleaning (Agrawal 2008, section 3.1).

mod permutation;
mod pool;
mod steady;
mod striping;
mod temperature;
mod wear;

use esker_core::{LogicalPage, PhysicalPage};
use esker_nand::BlockIndex;
use esker_nand::state::{FlashState, OpSink};

use crate::PoolBlock;
use crate::gc::{self, PoolShape};
use crate::{BuildError, Cells, FoundBlock, FtlContext, FtlError};
use pool::{MapBlocks, Pool};

pub(super) use steady::{Contents, Run};
pub(super) use striping::Striping;
use temperature::Temperature;
pub(super) use temperature::check;
pub use wear::WearCounts;

/// All pools of a device. What the pages mean is the business of the translation layer above, which is told whenever a
/// page moves.
#[derive(Debug)]
pub struct Pools {
    pools: Vec<Pool>,
    blocks_per_pool: esker_nand::Divisor,
    /// The pool that may next clean ahead of need.
    ahead_turn: u32,
}

/// What a block holds. No block holds both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// The host's data.
    Data,
    /// Pages of a translation layer's map.
    Map,
}

/// The map of a translation layer, which is told where cleaning moves pages. Each page has an owner: the number in its
/// spare area.
pub trait PageMap {
    /// The page of `owner`, as written into its spare area, will move soon: whatever that takes may be fetched into the
    /// processor's caches. Nothing but speed depends on it.
    fn expect(&self, owner: u32) {
        let _ = owner;
    }
    /// The page of `owner` is now at `to`.
    fn moved(&mut self, owner: u32, to: PhysicalPage, flash: &FlashState);
    /// Which page of the host that of `owner` is, where it may be dropped if the host does not want it.
    fn droppable(&self, owner: u32, flash: &FlashState) -> Option<LogicalPage> {
        let _ = (owner, flash);
        None
    }
    /// The page of `owner`, which is [droppable](Self::droppable), has no data any more.
    fn dropped(&mut self, owner: u32, flash: &FlashState) {
        let _ = flash;
        unreachable!("the page of {owner} cannot be dropped");
    }

    /// Whether pages of the map have to be written before the victim of `pool`, whose pages have moved, is erased.
    #[inline(always)]
    fn has_updates(&self, pool: u32) -> bool {
        let _ = pool;
        false
    }
    /// Writes one of those to `block`, which has room. Says which block holds a superseded page now, and how many valid
    /// ones it has left.
    fn update<S: OpSink>(
        &mut self,
        pool: u32,
        block: BlockIndex,
        cells: &mut Cells<'_, S>,
    ) -> Option<(BlockIndex, u32)> {
        let _ = (pool, block, cells);
        None
    }
    /// The victim, which held `content`, was erased.
    #[inline(always)]
    fn erased(&mut self, content: Content) {
        let _ = content;
    }
}

impl Pools {
    /// Pools of erased blocks, all for data.
    pub fn new(context: &FtlContext<'_>) -> Result<Self, BuildError> {
        Self::build(context, None, context.space.reserve)
    }

    /// Pools of erased blocks that also hold a map, in blocks of its own: with as many write frontiers for
    /// it as for data. `reserve` blocks of a pool are kept free. Its map may take `allowance` blocks
    /// before it has to be cleaned itself.
    pub fn with_map(context: &FtlContext<'_>, reserve: u32, allowance: u32) -> Result<Self, BuildError> {
        Self::build(context, Some(allowance), reserve)
    }

    fn build(context: &FtlContext<'_>, allowance: Option<u32>, reserve: u32) -> Result<Self, BuildError> {
        let space = context.space;
        let shape = PoolShape { blocks: space.blocks_per_pool, data_pages_per_block: space.data_pages_per_block };
        let pools = (0..space.pools)
            .map(|index| {
                // Pools draw from generators of their own, so that what one does never changes another.
                let seed = context.seed ^ u64::from(index).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let victims = |seed| gc::build(&context.settings.cleaning.victim, &shape, seed);
                let map = match allowance {
                    Some(allowance) => Some(MapBlocks::new(victims(!seed)?, allowance)),
                    None => None,
                };
                let victims = victims(seed)?;
                Ok(Pool::new(index, context, map, reserve, victims, seed))
            })
            .collect::<Result<_, BuildError>>()?;
        Ok(Self { pools, blocks_per_pool: esker_nand::Divisor::new(space.blocks_per_pool), ahead_turn: 0 })
    }

    /// The block that the page of `owner`, which the host writes to `pool`, goes to, with room for it: one of those of
    /// `stream`, counted among the streams that are kept apart. Cleans first where the free blocks fell below the
    /// reserve; `page_map` is told where each copied page is now.
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

    /// The same for a page of `owner` that the host does not write, and that goes from block `at` to where cleaning
    /// would copy it.
    pub fn place_again<S: OpSink>(
        &mut self,
        pool: u32,
        owner: u32,
        at: BlockIndex,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<BlockIndex, FtlError> {
        self.pools[pool as usize].place_again(owner, at, cells, page_map)
    }

    /// The same for a page of the map.
    pub fn place_map<S: OpSink>(
        &mut self,
        pool: u32,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<BlockIndex, FtlError> {
        self.pools[pool as usize].place_map(cells, page_map)
    }

    /// A page of `block` was superseded; `valid` are left.
    #[inline]
    pub fn superseded(&mut self, block: BlockIndex, valid: u32) {
        let (pool, local) = self.blocks_per_pool.divide(block.0);
        self.pools[pool as usize].superseded(PoolBlock(local), valid);
    }

    /// What wear-levelling did and what wore out.
    pub fn wear(&self) -> WearCounts {
        let mut sum = WearCounts::default();
        self.pools.iter().for_each(|pool| sum.add(&pool.wear()));
        sum
    }

    /// Does a step of cleaning ahead of need in the next pool that is to be cleaned in idle time: copies a page, or
    /// erases a block that has none left. Says whether there was anything to do.
    pub fn clean_ahead<S: OpSink>(
        &mut self,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<bool, FtlError> {
        for _ in 0..self.pools.len() {
            let turn = self.ahead_turn as usize;
            self.ahead_turn = if turn + 1 == self.pools.len() { 0 } else { turn as u32 + 1 };
            if self.pools[turn].clean_ahead(cells, page_map)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes over the blocks as a power failure left them; `found` has all of them. The pools are fresh, and
    /// `flash` knows which pages are valid.
    ///
    /// A block that was being written is written on behind its last page, as far as there are frontiers for such
    /// blocks; others are closed as they are.
    pub fn take_over(&mut self, found: &[FoundBlock], flash: &mut FlashState) {
        let size = self.blocks_per_pool.get() as usize;
        for (pool, found) in self.pools.iter_mut().zip(found.chunks_exact(size)) {
            pool.take_over(found, flash);
        }
    }

    /// Cleans after [`Self::take_over`] until each pool has its reserve.
    pub fn restore<S: OpSink>(
        &mut self,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<(), FtlError> {
        self.pools.iter_mut().try_for_each(|pool| pool.restore(cells, page_map))
    }

    /// Has the map pages of `pool` written that `page_map` has to update.
    pub fn write_updates<S: OpSink>(
        &mut self,
        pool: u32,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<(), FtlError> {
        self.pools[pool as usize].write_updates(cells, page_map)
    }

    /// Pages that were not copied, since their owner did not want them any more.
    pub fn dropped_pages(&self) -> u64 {
        self.pools.iter().map(Pool::dropped_pages).sum()
    }

    /// Pages that can be written before anything has to be cleaned.
    pub fn writable_pages(&self) -> u64 {
        self.pools.iter().map(Pool::writable_pages).sum()
    }

    /// Bytes of memory that this takes.
    pub fn memory_bytes(&self) -> usize {
        self.pools.iter().map(Pool::memory_bytes).sum()
    }

    /// Asserts what must hold between calls.
    pub fn check(&self, flash: &FlashState) {
        for pool in &self.pools {
            pool.check(flash);
        }
    }
}
