//! Which pool a logical page belongs to.

use esker_core::LogicalPage;
use esker_nand::{Divisor, Geometry};

use crate::FtlContext;

/// Spreads logical pages over pools, page by page: page n belongs to the pool whose turn n is.
#[derive(Clone, Debug)]
pub(crate) struct Striping {
    pools: Divisor,
    slots_per_pool: Divisor,
    turns: Vec<u32>,
    /// Per pool its turn.
    turn_of: Vec<u32>,
}

impl Striping {
    pub(crate) fn new(context: &FtlContext<'_>) -> Self {
        Self::padded(context, 1)
    }

    /// The same with the slots of a pool rounded up to a multiple of `unit`.
    pub(crate) fn padded(context: &FtlContext<'_>, unit: u32) -> Self {
        let geometry: &Geometry = context.geometry;
        let pools = context.space.pools;
        let turns = geometry.turns(0, pools, pools);
        let mut turn_of = vec![0; turns.len()];
        turns.iter().zip(0..).for_each(|(pool, turn)| turn_of[*pool as usize] = turn);
        let slots_per_pool = context.space.host_pages_per_pool().next_multiple_of(unit);
        Self { pools: Divisor::new(pools), slots_per_pool: Divisor::new(slots_per_pool), turns, turn_of }
    }

    /// Slots that [`Self::locate`] can answer: a pool's logical pages lie together, which keeps caches warm while one
    /// pool is filled.
    pub(crate) fn slots(&self) -> usize {
        self.turns.len() * self.slots_per_pool.get() as usize
    }

    /// How many pools there are.
    pub(crate) fn pools(&self) -> u32 {
        self.turns.len() as u32
    }

    /// Slots of one pool.
    pub(crate) fn slots_per_pool(&self) -> u32 {
        self.slots_per_pool.get()
    }

    /// Where the first `pages` logical pages are in the map: for each pool its first slot, and how many follow.
    pub(crate) fn first_slots(&self, pages: u32) -> impl Iterator<Item = (u32, u32)> {
        let (each, more) = self.pools.divide(pages);
        let mut counts = vec![each; self.turns.len()];
        self.turns[..more as usize].iter().for_each(|pool| counts[*pool as usize] += 1);
        (0..).step_by(self.slots_per_pool.get() as usize).zip(counts)
    }

    /// The pool of logical page `page`, and its slot in the map.
    #[inline(always)]
    pub(crate) fn locate(&self, page: u32) -> (u32, u32) {
        let (index, turn) = self.pools.divide(page);
        let pool = self.turns[turn as usize];
        (pool, pool * self.slots_per_pool.get() + index)
    }

    /// The logical page at `slot`: what [`Self::locate`] does, backwards.
    pub(crate) fn page_at(&self, slot: u32) -> LogicalPage {
        let (pool, index) = self.slots_per_pool.divide(slot);
        LogicalPage(index * self.pools.get() + self.turn_of[pool as usize])
    }
}
