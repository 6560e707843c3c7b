//! Allocation pools: free blocks, write frontiers, and cleaning (Agrawal 2008, section 3.1).

use std::collections::VecDeque;

use esker_core::PhysicalPage;

use crate::ftl::{FtlContext, FtlError};
use crate::gc::{self, PoolShape, VictimPolicy};
use crate::nand::{Cause, FlashState, OpSink};
use crate::{BlockIndex, Geometry, SsdError};

/// All pools of a device. What the pages mean is the business of the translation layer above, which is told whenever a
/// page moves.
#[derive(Debug)]
pub struct Pools {
    pools: Vec<Pool>,
    blocks_per_pool: crate::divide::Divisor,
    summary: bool,
}

/// Those whose pages cleaning moves: the map of a translation layer.
pub trait Owners {
    /// The page of `owner`, as written into its spare area, will move soon: whatever that takes may be fetched into the
    /// processor's caches. Nothing but speed depends on it.
    fn expect(&self, owner: u32) {
        let _ = owner;
    }
    /// The page of `owner` is now at `to`.
    fn moved(&mut self, owner: u32, to: PhysicalPage);
}

/// A block that takes writes.
#[derive(Clone, Copy, Debug)]
struct Frontier {
    /// The die whose blocks it prefers, counted within the pool.
    home: u32,
    /// `None` before the first write.
    block: Option<BlockIndex>,
    /// Data pages that it can still take.
    room: u32,
}

#[derive(Debug)]
struct Pool {
    first_block: u32,
    blocks_per_die: u32,
    data_pages_per_block: u32,
    reserve: u32,
    frontiers: Vec<Frontier>,
    /// Per die the frontier that takes what is copied from its blocks.
    frontier_of_die: Vec<u32>,
    /// The frontier of the next host write.
    turn: u32,
    /// Free blocks per die; the one that was erased first is used first, so that all take turns.
    free: Vec<VecDeque<u32>>,
    free_blocks: u32,
    /// Whether a block is closed: full, and a candidate for cleaning.
    closed: Vec<u64>,
    victims: Box<dyn VictimPolicy>,
}

impl Pools {
    /// Pools of erased blocks.
    pub fn new(context: &FtlContext<'_>) -> Result<Self, SsdError> {
        let (geometry, space) = (context.geometry, context.space);
        let shape = PoolShape { blocks: space.blocks_per_pool, data_pages_per_block: space.data_pages_per_block };
        let pools = (0..space.pools)
            .map(|index| {
                // Pools draw from generators of their own, so that what one does never changes another.
                let seed = context.seed ^ u64::from(index).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let victims = gc::build(&context.settings.cleaning.victim, &shape, seed)?;
                Ok(Pool::new(index * space.blocks_per_pool, context, victims))
            })
            .collect::<Result<_, SsdError>>()?;
        Ok(Self {
            pools,
            blocks_per_pool: crate::divide::Divisor::new(space.blocks_per_pool),
            summary: geometry.block_summary(),
        })
    }

    /// The block that the next page written to `pool` goes to, with room for it. Cleans first where the free blocks fell
    /// below the reserve; `owners` are told where each copied page is now.
    #[inline]
    pub fn place<S: OpSink>(
        &mut self,
        pool: u32,
        flash: &mut FlashState,
        sink: &mut S,
        owners: &mut impl Owners,
    ) -> Result<BlockIndex, FtlError> {
        self.pools[pool as usize].place(self.summary, flash, sink, owners)
    }

    /// A page of `block` was superseded; `valid` are left.
    #[inline]
    pub fn superseded(&mut self, block: BlockIndex, valid: u32) {
        let (pool, local) = self.blocks_per_pool.divide(block.0);
        self.pools[pool as usize].superseded(local, valid);
    }

    /// Cleans one block of `pool`. Says whether that made space.
    pub fn clean<S: OpSink>(
        &mut self,
        pool: u32,
        flash: &mut FlashState,
        sink: &mut S,
        owners: &mut impl Owners,
    ) -> Result<bool, FtlError> {
        let pool = &mut self.pools[pool as usize];
        let before = pool.writable_pages();
        pool.clean(self.summary, flash, sink, owners)?;
        Ok(pool.writable_pages() > before)
    }

    /// The pool with the fewest free blocks: where cleaning ahead of need pays first.
    pub fn neediest(&self) -> u32 {
        let (index, _) =
            self.pools.iter().enumerate().min_by_key(|(_, pool)| pool.free_blocks).expect("there is a pool");
        index as u32
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

impl Pool {
    fn new(first_block: u32, context: &FtlContext<'_>, victims: Box<dyn VictimPolicy>) -> Self {
        let (geometry, space) = (context.geometry, context.space);
        let first_die = geometry.die_of(BlockIndex(first_block)).0;
        let dies = (space.blocks_per_pool / geometry.blocks_per_die()).max(1);
        let blocks_per_die = space.blocks_per_pool / dies;
        let turns: Vec<u32> =
            geometry.turns(first_die, dies, geometry.dies()).into_iter().map(|die| die - first_die).collect();
        let frontiers: Vec<Frontier> =
            turns.iter().take(space.frontiers as usize).map(|&home| Frontier { home, block: None, room: 0 }).collect();
        let mut frontier_of_die = vec![0; dies as usize];
        for (index, frontier) in frontiers.iter().enumerate() {
            frontier_of_die[frontier.home as usize] = index as u32;
        }
        let free = (0..dies).map(|die| (die * blocks_per_die..(die + 1) * blocks_per_die).collect()).collect();
        Self {
            first_block,
            blocks_per_die,
            data_pages_per_block: space.data_pages_per_block,
            reserve: space.reserve,
            frontiers: if space.frontiers == 1 { frontiers[..1].to_vec() } else { frontiers },
            frontier_of_die: if space.frontiers == 1 { vec![0; dies as usize] } else { frontier_of_die },
            turn: 0,
            free,
            free_blocks: space.blocks_per_pool,
            closed: vec![0; space.blocks_per_pool.div_ceil(64) as usize],
            victims,
        }
    }

    #[inline]
    fn place<S: OpSink>(
        &mut self,
        summary: bool,
        flash: &mut FlashState,
        sink: &mut S,
        owners: &mut impl Owners,
    ) -> Result<BlockIndex, FtlError> {
        let turn = self.turn as usize;
        self.turn = if turn + 1 == self.frontiers.len() { 0 } else { turn as u32 + 1 };
        let index =
            if self.frontiers[turn].room > 0 { turn } else { self.make_room(turn, summary, flash, sink, owners)? };
        let frontier = &mut self.frontiers[index];
        frontier.room -= 1;
        Ok(frontier.block.expect("a frontier with room has a block"))
    }

    /// Opens a block for frontier `index`, and cleans until the reserve is whole again. The write that asked goes where
    /// the last victim's pages went, so that the die does the cleaning first; says which frontier that is.
    #[cold]
    fn make_room<S: OpSink>(
        &mut self,
        mut index: usize,
        summary: bool,
        flash: &mut FlashState,
        sink: &mut S,
        owners: &mut impl Owners,
    ) -> Result<usize, FtlError> {
        // A policy may pick blocks without a superseded page, and gains nothing by them; but hardly this often.
        let mut attempts = 64 * self.closed.len() * 64;
        while self.frontiers[index].room == 0 {
            self.open(index, summary, flash, sink)?;
            while self.free_blocks < self.reserve {
                index = self.clean(summary, flash, sink, owners)?;
                attempts = attempts.checked_sub(1).ok_or(FtlError::NoSpace)?;
            }
        }
        Ok(index)
    }

    /// Closes the block of frontier `index`, which is full, and opens a free one.
    fn open<S: OpSink>(
        &mut self,
        index: usize,
        summary: bool,
        flash: &mut FlashState,
        sink: &mut S,
    ) -> Result<(), FtlError> {
        let single = self.frontiers.len() == 1;
        let frontier = &mut self.frontiers[index];
        debug_assert_eq!(frontier.room, 0);
        if let Some(full) = frontier.block.take() {
            if summary {
                flash.program_summary(full, sink);
            }
            let local = full.0 - self.first_block;
            self.closed[local as usize / 64] |= 1 << (local % 64);
            self.victims.closed(local, flash.valid_in(full));
            if single {
                frontier.home = if frontier.home + 1 == self.free.len() as u32 { 0 } else { frontier.home + 1 };
            }
        }
        let die = match self.free[frontier.home as usize].is_empty() {
            false => frontier.home as usize,
            // Among equals the first one, as for everything that results depend on.
            true => (0..self.free.len()).rev().max_by_key(|&die| self.free[die].len()).expect("a pool has dies"),
        };
        let block = self.free[die].pop_front().ok_or(FtlError::NoSpace)?;
        self.free_blocks -= 1;
        frontier.block = Some(BlockIndex(self.first_block + block));
        frontier.room = self.data_pages_per_block;
        Ok(())
    }

    /// Copies the valid pages of one victim to the frontier of its die, and erases it. Says which frontier that is.
    fn clean<S: OpSink>(
        &mut self,
        summary: bool,
        flash: &mut FlashState,
        sink: &mut S,
        owners: &mut impl Owners,
    ) -> Result<usize, FtlError> {
        let victim = self.victims.take().ok_or(FtlError::NoSpace)?;
        self.closed[victim as usize / 64] &= !(1 << (victim % 64));
        let block = BlockIndex(self.first_block + victim);
        let die = victim / self.blocks_per_die;
        let index = self.frontier_of_die[die as usize] as usize;
        let first_page = flash.geometry().first_page(block).0;
        // Ask for all that the copies need before anything waits for it: the pages' owners are all over the map.
        flash.expect_owners(block);
        for page in valid_pages(flash, block) {
            owners.expect(flash.owner(page));
        }
        for word in 0..flash.words_per_block() {
            let mut valid = flash.valid_word(block, word);
            while valid != 0 {
                let from = PhysicalPage(first_page + 64 * word as u32 + valid.trailing_zeros());
                valid &= valid - 1;
                if self.frontiers[index].room == 0 {
                    self.open(index, summary, flash, sink)?;
                }
                let frontier = &mut self.frontiers[index];
                frontier.room -= 1;
                let (owner, to) = flash.copy(from, frontier.block.expect("it was opened"), Cause::Cleaning, sink);
                owners.moved(owner, to);
            }
        }
        flash.erase(block, Cause::Cleaning, sink);
        self.free[die as usize].push_back(victim);
        self.free_blocks += 1;
        Ok(index)
    }

    #[inline]
    fn superseded(&mut self, local: u32, valid: u32) {
        if self.closed[local as usize / 64] >> (local % 64) & 1 == 1 {
            self.victims.superseded(local, valid);
        }
    }

    fn writable_pages(&self) -> u64 {
        let open: u64 = self.frontiers.iter().map(|frontier| u64::from(frontier.room)).sum();
        // A block is opened while the free ones are not below the reserve afterwards.
        open + u64::from(self.free_blocks.saturating_sub(self.reserve)) * u64::from(self.data_pages_per_block)
    }

    fn memory_bytes(&self) -> usize {
        let free: usize = self.free.iter().map(|blocks| blocks.capacity() * size_of::<u32>()).sum();
        free + size_of_val(&*self.closed) + self.victims.memory_bytes()
    }

    fn check(&self, flash: &FlashState) {
        let mut free = 0;
        for (die, blocks) in self.free.iter().enumerate() {
            for &block in blocks {
                assert_eq!(block / self.blocks_per_die, die as u32, "block {block} is on another die's free list");
                assert_eq!(flash.written_in(BlockIndex(self.first_block + block)), 0, "a free block is not erased");
            }
            free += blocks.len();
        }
        assert_eq!(free, self.free_blocks as usize, "free blocks were lost");
        let closed: u32 = self.closed.iter().map(|word| word.count_ones()).sum();
        let open = self.frontiers.iter().filter(|frontier| frontier.block.is_some()).count();
        assert_eq!(free + closed as usize + open, self.blocks(), "a block is neither free, open nor closed");
        for frontier in &self.frontiers {
            if let Some(block) = frontier.block {
                assert_eq!(flash.written_in(block) + frontier.room, self.data_pages_per_block);
            }
        }
    }

    fn blocks(&self) -> usize {
        self.blocks_per_die as usize * self.free.len()
    }
}

/// The valid pages of `block`.
fn valid_pages(flash: &FlashState, block: BlockIndex) -> impl Iterator<Item = PhysicalPage> {
    let first_page = flash.geometry().first_page(block).0;
    (0..flash.words_per_block()).flat_map(move |word| {
        let mut valid = flash.valid_word(block, word);
        std::iter::from_fn(move || {
            let offset = valid.trailing_zeros();
            (valid != 0).then(|| {
                valid &= valid - 1;
                PhysicalPage(first_page + 64 * word as u32 + offset)
            })
        })
    })
}

/// Spreads logical pages over pools, page by page: page n belongs to the pool whose turn n is.
#[derive(Clone, Debug)]
pub(super) struct Striping {
    pools: crate::divide::Divisor,
    slots_per_pool: u32,
    turns: Vec<u32>,
}

impl Striping {
    pub(super) fn new(context: &FtlContext<'_>) -> Self {
        let geometry: &Geometry = context.geometry;
        let pools = context.space.pools;
        Self {
            pools: crate::divide::Divisor::new(pools),
            slots_per_pool: context.space.host_pages_per_pool(),
            turns: geometry.turns(0, pools, pools),
        }
    }

    /// Slots that [`Self::locate`] can answer: a pool's logical pages lie together, which keeps caches warm while one
    /// pool is filled.
    pub(super) fn slots(&self) -> usize {
        self.turns.len() * self.slots_per_pool as usize
    }

    /// The pool of logical page `page`, and its slot in the map.
    #[inline(always)]
    pub(super) fn locate(&self, page: u32) -> (u32, u32) {
        let (index, turn) = self.pools.divide(page);
        let pool = self.turns[turn as usize];
        (pool, pool * self.slots_per_pool + index)
    }
}
