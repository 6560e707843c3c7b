//! Assigns logical pages to pools.

use esker_core::LogicalPage;
use esker_nand::{Divisor, Geometry};

use crate::FtlContext;

/// Spreads logical pages over the pools in turn, page by page.
#[derive(Clone, Debug)]
pub(crate) struct Striping {
    pools: Divisor,
    slots_per_pool: Divisor,
    turns: Vec<u32>,
    /// The turn of each pool.
    turn_of: Vec<u32>,
}

impl Striping {
    pub(crate) fn new(context: &FtlContext<'_>) -> Self {
        Self::padded(context, 1)
    }

    /// A striping whose slots per pool are rounded up to a multiple of `unit`.
    pub(crate) fn padded(context: &FtlContext<'_>, unit: u32) -> Self {
        let geometry: &Geometry = context.geometry;
        let pools = context.space.pools;
        let turns = geometry.turns(0, pools, pools);
        let mut turn_of = vec![0; turns.len()];
        turns.iter().zip(0..).for_each(|(pool, turn)| turn_of[*pool as usize] = turn);
        let slots_per_pool = context.space.logical_pages_per_pool().next_multiple_of(unit);
        Self { pools: Divisor::new(pools), slots_per_pool: Divisor::new(slots_per_pool), turns, turn_of }
    }

    /// Returns the number of slots over all pools. The slots of a pool are consecutive, so that filling one pool stays
    /// within the processor's caches.
    pub(crate) fn slots(&self) -> usize {
        self.turns.len() * self.slots_per_pool.get() as usize
    }

    /// Returns the number of pools.
    pub(crate) fn pools(&self) -> u32 {
        self.turns.len() as u32
    }

    /// Returns the slots of one pool.
    pub(crate) fn slots_per_pool(&self) -> u32 {
        self.slots_per_pool.get()
    }

    /// Iterates over the pools, with the first slot of each and its number of slots among the first `pages` logical
    /// pages.
    pub(crate) fn first_slots(&self, pages: u32) -> impl Iterator<Item = (u32, u32)> {
        let (each, more) = self.pools.divide(pages);
        let mut counts = vec![each; self.turns.len()];
        self.turns[..more as usize].iter().for_each(|pool| counts[*pool as usize] += 1);
        (0..).step_by(self.slots_per_pool.get() as usize).zip(counts)
    }

    /// Returns the pool of logical page `page`, and its slot in the map.
    #[inline(always)]
    pub(crate) fn locate(&self, page: u32) -> (u32, u32) {
        let (index, turn) = self.pools.divide(page);
        let pool = self.turns[turn as usize];
        (pool, pool * self.slots_per_pool.get() + index)
    }

    /// Returns the logical page at `slot`; the inverse of [`Self::locate`].
    pub(crate) fn page_at(&self, slot: u32) -> LogicalPage {
        let (pool, index) = self.slots_per_pool.divide(slot);
        LogicalPage(index * self.pools.get() + self.turn_of[pool as usize])
    }
}
