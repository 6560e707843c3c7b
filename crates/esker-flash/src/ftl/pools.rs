//! Allocation pools: free blocks, write frontiers, and cleaning (Agrawal 2008, section 3.1).

use std::collections::VecDeque;

use esker_core::PhysicalPage;

use crate::ftl::{FtlContext, FtlError};
use crate::gc::{self, PoolShape, VictimPolicy};
use crate::nand::{Cause, FlashState, OpSink};
use crate::{BlockIndex, Geometry, Placement, SsdError, WriteFrontiers};

/// All pools of a device. What the pages mean is the business of the translation layer above, which is told whenever a
/// page moves.
#[derive(Debug)]
pub struct Pools {
    pools: Vec<Pool>,
    blocks_per_pool: crate::divide::Divisor,
    summary: bool,
    /// The pool that may next clean ahead of need.
    ahead_turn: u32,
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
    /// The part whose blocks it prefers, counted within the pool.
    home: u32,
    /// `None` before the first write.
    block: Option<BlockIndex>,
    /// Data pages that it can still take.
    room: u32,
}

#[derive(Debug)]
struct Pool {
    first_block: u32,
    /// Parts are the pool's dies; or its planes, where each plane has a frontier.
    blocks_per_part: u32,
    data_pages_per_block: u32,
    reserve: u32,
    frontiers: Vec<Frontier>,
    /// Per part the frontier that takes what is copied from its blocks.
    frontier_of_part: Vec<u32>,
    /// The frontier of the next host write.
    turn: u32,
    /// Whether host writes go where the least work waits.
    least_loaded: bool,
    /// Free blocks per part; the one that was erased first is used first, so that all take turns.
    free: Vec<VecDeque<u32>>,
    free_blocks: u32,
    /// Whether a block is closed: full, and a candidate for cleaning.
    closed: Vec<u64>,
    victims: Box<dyn VictimPolicy>,
    /// The block that is being cleaned little by little.
    under_cleaning: Option<Victim>,
    /// Free blocks below which each write cleans a little; 0 for never.
    gradual: u32,
    /// Free blocks below which idle time is used for cleaning; 0 for never.
    background: u32,
}

/// A block under cleaning.
#[derive(Clone, Copy, Debug)]
struct Victim {
    /// Counted within the pool.
    block: u32,
    /// Pages copied per page written, so that the block is clean once the host has written as many pages as it gains.
    pace: u32,
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
            ahead_turn: 0,
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

    /// Does a step of cleaning ahead of need in the next pool that is to be cleaned in idle time: copies a page, or
    /// erases a block that has none left. Says whether there was anything to do.
    pub fn clean_ahead<S: OpSink>(
        &mut self,
        flash: &mut FlashState,
        sink: &mut S,
        owners: &mut impl Owners,
    ) -> Result<bool, FtlError> {
        for _ in 0..self.pools.len() {
            let turn = self.ahead_turn as usize;
            self.ahead_turn = if turn + 1 == self.pools.len() { 0 } else { turn as u32 + 1 };
            if self.pools[turn].clean_ahead(self.summary, flash, sink, owners)? {
                return Ok(true);
            }
        }
        Ok(false)
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
        let all_parts = match context.settings.write_frontiers {
            WriteFrontiers::Plane => geometry.planes(),
            WriteFrontiers::Die | WriteFrontiers::Pool => geometry.dies(),
        };
        let parts = (all_parts / space.pools).max(1);
        let blocks_per_part = space.blocks_per_pool / parts;
        let first_part = first_block / (geometry.blocks() / all_parts);
        let turns = geometry.turns(first_part, parts, all_parts).into_iter().map(|part| part - first_part);
        let frontiers: Vec<Frontier> =
            turns.take(space.frontiers as usize).map(|home| Frontier { home, block: None, room: 0 }).collect();
        let mut frontier_of_part = vec![0; parts as usize];
        if frontiers.len() > 1 {
            for (index, frontier) in frontiers.iter().enumerate() {
                frontier_of_part[frontier.home as usize] = index as u32;
            }
        }
        let free = (0..parts).map(|part| (part * blocks_per_part..(part + 1) * blocks_per_part).collect()).collect();
        Self {
            first_block,
            blocks_per_part,
            data_pages_per_block: space.data_pages_per_block,
            reserve: space.reserve,
            frontiers,
            frontier_of_part,
            least_loaded: context.settings.array.placement == Placement::LeastLoaded,
            turn: 0,
            free,
            free_blocks: space.blocks_per_pool,
            closed: vec![0; space.blocks_per_pool.div_ceil(64) as usize],
            victims,
            under_cleaning: None,
            gradual: space.gradual,
            background: space.background,
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
        if self.free_blocks < self.gradual {
            self.clean_gradually(summary, flash, sink, owners)?;
        }
        let turn = if self.least_loaded { self.least_loaded(flash) } else { self.turn as usize };
        self.turn = if turn + 1 == self.frontiers.len() { 0 } else { turn as u32 + 1 };
        let index =
            if self.frontiers[turn].room > 0 { turn } else { self.make_room(turn, summary, flash, sink, owners)? };
        let frontier = &mut self.frontiers[index];
        frontier.room -= 1;
        Ok(frontier.block.expect("a frontier with room has a block"))
    }

    /// The frontier whose die has the least work before it; among equals the next in turn.
    fn least_loaded(&self, flash: &FlashState) -> usize {
        let count = self.frontiers.len();
        let in_turn = (0..count).map(|step| (self.turn as usize + step) % count);
        let backlog = |index: &usize| {
            let frontier = &self.frontiers[*index];
            let home = BlockIndex(self.first_block + frontier.home * self.blocks_per_part);
            flash.backlog(frontier.block.filter(|_| frontier.room > 0).unwrap_or(home))
        };
        in_turn.min_by_key(backlog).expect("a pool has frontiers")
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
        let part = match self.free[frontier.home as usize].is_empty() {
            false => frontier.home as usize,
            // Among equals the first one, as for everything that results depend on.
            true => (0..self.free.len()).rev().max_by_key(|&part| self.free[part].len()).expect("a pool has parts"),
        };
        let block = self.free[part].pop_front().ok_or(FtlError::NoSpace)?;
        self.free_blocks -= 1;
        frontier.block = Some(BlockIndex(self.first_block + block));
        frontier.room = self.data_pages_per_block;
        Ok(())
    }

    /// Copies the valid pages of one victim to the frontier of its part, and erases it. Says which frontier that is.
    fn clean<S: OpSink>(
        &mut self,
        summary: bool,
        flash: &mut FlashState,
        sink: &mut S,
        owners: &mut impl Owners,
    ) -> Result<usize, FtlError> {
        let victim = match self.under_cleaning {
            Some(victim) => victim.block,
            None => self.take_victim(flash, owners)?.block,
        };
        self.clean_some(u32::MAX, summary, flash, sink, owners)?;
        Ok(self.frontier_for(victim))
    }

    /// Copies some pages of a victim, at its pace, or erases it, where that gains anything.
    #[cold]
    fn clean_gradually<S: OpSink>(
        &mut self,
        summary: bool,
        flash: &mut FlashState,
        sink: &mut S,
        owners: &mut impl Owners,
    ) -> Result<(), FtlError> {
        if let Some(victim) = self.gainful_victim(flash, owners) {
            self.clean_some(victim.pace, summary, flash, sink, owners)?;
        }
        Ok(())
    }

    fn clean_ahead<S: OpSink>(
        &mut self,
        summary: bool,
        flash: &mut FlashState,
        sink: &mut S,
        owners: &mut impl Owners,
    ) -> Result<bool, FtlError> {
        let wanted = self.background > 0 && (self.free_blocks < self.background || self.under_cleaning.is_some());
        if !wanted || self.gainful_victim(flash, owners).is_none() {
            return Ok(false);
        }
        self.clean_some(1, summary, flash, sink, owners)?;
        // The copy may have opened a block out of the reserve. Writes could fill it before the victim is erased, and would
        // then find neither a free page nor one to copy to.
        if self.free_blocks < self.reserve {
            self.clean_some(u32::MAX, summary, flash, sink, owners)?;
        }
        Ok(true)
    }

    /// The block under cleaning, or else a new one, if its cleaning makes space.
    fn gainful_victim(&mut self, flash: &FlashState, owners: &impl Owners) -> Option<Victim> {
        if self.under_cleaning.is_none() {
            let victim = self.take_victim(flash, owners).ok()?;
            let valid = flash.valid_in(BlockIndex(self.first_block + victim.block));
            if valid == self.data_pages_per_block {
                self.under_cleaning = None;
                self.closed[victim.block as usize / 64] |= 1 << (victim.block % 64);
                self.victims.closed(victim.block, valid);
            }
        }
        self.under_cleaning
    }

    /// Has the policy choose the block that is cleaned next.
    fn take_victim(&mut self, flash: &FlashState, owners: &impl Owners) -> Result<Victim, FtlError> {
        let block = self.victims.take().ok_or(FtlError::NoSpace)?;
        self.closed[block as usize / 64] &= !(1 << (block % 64));
        let index = BlockIndex(self.first_block + block);
        // Ask for all that the copies need before anything waits for it: the pages' owners are all over the map.
        flash.expect_owners(index);
        for page in valid_pages(flash, index) {
            owners.expect(flash.owner(page));
        }
        let valid = flash.valid_in(index);
        let gain = (self.data_pages_per_block - valid).max(1);
        let victim = Victim { block, pace: valid.div_ceil(gain).max(1) };
        self.under_cleaning = Some(victim);
        Ok(victim)
    }

    fn frontier_for(&self, block: u32) -> usize {
        self.frontier_of_part[(block / self.blocks_per_part) as usize] as usize
    }

    /// Copies at most `copies` valid pages of the block under cleaning to the frontier of its part. Erases it where no more
    /// are left.
    #[inline]
    fn clean_some<S: OpSink>(
        &mut self,
        mut copies: u32,
        summary: bool,
        flash: &mut FlashState,
        sink: &mut S,
        owners: &mut impl Owners,
    ) -> Result<(), FtlError> {
        let victim = self.under_cleaning.expect("a block is under cleaning").block;
        let block = BlockIndex(self.first_block + victim);
        let part = victim / self.blocks_per_part;
        let index = self.frontier_for(victim);
        let first_page = flash.geometry().first_page(block).0;
        for word in 0..flash.words_per_block() {
            let mut valid = flash.valid_word(block, word);
            while valid != 0 {
                if copies == 0 {
                    return Ok(());
                }
                copies -= 1;
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
        if copies > 0 {
            flash.erase(block, Cause::Cleaning, sink);
            self.free[part as usize].push_back(victim);
            self.free_blocks += 1;
            self.under_cleaning = None;
        }
        Ok(())
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
        for (part, blocks) in self.free.iter().enumerate() {
            for &block in blocks {
                assert_eq!(block / self.blocks_per_part, part as u32, "block {block} is on another part's free list");
                assert_eq!(flash.written_in(BlockIndex(self.first_block + block)), 0, "a free block is not erased");
            }
            free += blocks.len();
        }
        assert_eq!(free, self.free_blocks as usize, "free blocks were lost");
        let closed: u32 = self.closed.iter().map(|word| word.count_ones()).sum();
        let open = self.frontiers.iter().filter(|frontier| frontier.block.is_some()).count();
        let victims = usize::from(self.under_cleaning.is_some());
        assert_eq!(free + closed as usize + open + victims, self.blocks(), "a block is neither free, open nor closed");
        for frontier in &self.frontiers {
            if let Some(block) = frontier.block {
                assert_eq!(flash.written_in(block) + frontier.room, self.data_pages_per_block);
            }
        }
    }

    fn blocks(&self) -> usize {
        self.blocks_per_part as usize * self.free.len()
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
