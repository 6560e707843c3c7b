//! One allocation pool.

mod cleaning;

use std::collections::VecDeque;

use super::Owners;
use super::temperature::Temperature;
use super::wear::{Wear, WearCounts};
use crate::ftl::{FoundBlock, FtlContext, FtlError};
use crate::gc::VictimPolicy;
use crate::nand::{FlashState, OpSink};
use crate::{BlockIndex, Placement, Separation, WriteFrontiers};

/// Kinds of data that are kept apart, at most.
const KINDS_MAX: usize = 2;
/// The second kind: what cleaning copies, or what was not written lately.
const COLD: usize = 1;

/// A block that takes writes.
#[derive(Clone, Copy, Debug)]
struct Frontier {
    /// The part whose blocks it prefers, counted within the pool.
    home: u32,
    /// `None` before the first write.
    block: Option<BlockIndex>,
    /// Data pages that it can still take.
    room: u32,
    /// The sequence number with which the block begins.
    opened: u64,
}

#[derive(Debug)]
pub(super) struct Pool {
    index: u32,
    first_block: u32,
    /// Parts are the pool's dies; or its planes, where each plane has a frontier.
    blocks_per_part: u32,
    data_pages_per_block: u32,
    reserve: u32,
    summary: bool,
    /// Those of data, where kinds are kept apart first those of one kind, then those of the other; behind them, where the layer
    /// keeps its map in blocks of its own, as many of the map as of one kind.
    frontiers: Vec<Frontier>,
    /// How many frontiers are for one kind of data.
    data_frontiers: u32,
    /// The first frontier of the map.
    first_map_frontier: u32,
    /// Per part the frontier of the first kind that takes what is copied from its blocks.
    frontier_of_part: Vec<u32>,
    /// Which pages go where.
    separation: Separation,
    /// What tells them apart, with [`Separation::HotCold`].
    temperature: Option<Temperature>,
    /// Per kind the frontier of the next host write, counted within the kind.
    turns: [u32; KINDS_MAX],
    /// Whether host writes go where the least work waits.
    least_loaded: bool,
    /// The frontier of the next write of the map.
    map_turn: u32,
    /// Free blocks per part; the one that was erased first is used first, so that all take turns.
    free: Vec<VecDeque<u32>>,
    free_blocks: u32,
    /// Whether a block is closed: full, and a candidate for cleaning.
    closed: Vec<u64>,
    /// Whether a block that is not free holds the map.
    holds_map: Vec<u64>,
    victims: Box<dyn VictimPolicy>,
    map: Option<MapBlocks>,
    /// The block that is being cleaned little by little.
    under_cleaning: Option<Victim>,
    /// Free blocks below which each write cleans a little; 0 for never.
    gradual: u32,
    /// Free blocks below which idle time is used for cleaning; 0 for never.
    background: u32,
    /// `None` where blocks are neither worn nor levelled.
    wear: Option<Wear>,
}

/// The blocks of a map that is kept in blocks of its own.
#[derive(Debug)]
pub(super) struct MapBlocks {
    /// The policy for these. Pages of the map are rewritten far more often than data: a policy that saw both would clean
    /// blocks of the map when they are worth as little as those of data, and do so again and again.
    pub(super) victims: Box<dyn VictimPolicy>,
    /// How many there may be before one of them is the next victim.
    pub(super) allowance: u32,
    /// How many there are.
    in_use: u32,
}

impl MapBlocks {
    pub(super) fn new(victims: Box<dyn VictimPolicy>, allowance: u32) -> Self {
        Self { victims, allowance, in_use: 0 }
    }
}

/// A block under cleaning.
#[derive(Clone, Copy, Debug)]
struct Victim {
    /// Counted within the pool.
    block: u32,
    /// Pages copied per page written, so that the block is clean once the host has written as many pages as it gains.
    pace: u32,
}

#[inline(always)]
fn bit(words: &[u64], index: u32) -> bool {
    words[index as usize / 64] >> (index % 64) & 1 == 1
}
#[inline(always)]
fn set(words: &mut [u64], index: u32) {
    words[index as usize / 64] |= 1 << (index % 64);
}
#[inline(always)]
fn clear(words: &mut [u64], index: u32) {
    words[index as usize / 64] &= !(1 << (index % 64));
}

impl Pool {
    /// Pool `index`, of erased blocks. With `map`, some will hold a map; `reserve` blocks are kept free.
    pub(super) fn new(
        index: u32,
        context: &FtlContext<'_>,
        map: Option<MapBlocks>,
        reserve: u32,
        victims: Box<dyn VictimPolicy>,
        seed: u64,
    ) -> Self {
        let (geometry, space) = (context.geometry, context.space);
        let first_block = index * space.blocks_per_pool;
        let all_parts = match context.settings.write_frontiers {
            WriteFrontiers::Plane => geometry.planes(),
            WriteFrontiers::Die | WriteFrontiers::Pool => geometry.dies(),
        };
        let parts = (all_parts / space.pools).max(1);
        let blocks_per_part = space.blocks_per_pool / parts;
        let first_part = first_block / (geometry.blocks() / all_parts);
        let turns: Vec<u32> =
            geometry.turns(first_part, parts, all_parts).into_iter().map(|part| part - first_part).collect();
        let data_frontiers = space.frontiers;
        let mut frontiers: Vec<Frontier> = turns
            .iter()
            .take(data_frontiers as usize)
            .map(|&home| Frontier { home, block: None, room: 0, opened: u64::MAX })
            .collect();
        let mut frontier_of_part = vec![0; parts as usize];
        if data_frontiers > 1 {
            for (index, frontier) in frontiers.iter().enumerate() {
                frontier_of_part[frontier.home as usize] = index as u32;
            }
        }
        for _ in 0..space.kinds - 1 + u32::from(map.is_some()) {
            for index in 0..data_frontiers as usize {
                // A single one begins on another die than that of the data.
                let home = if data_frontiers == 1 { turns[1 % turns.len()] } else { frontiers[index].home };
                frontiers.push(Frontier { home, block: None, room: 0, opened: u64::MAX });
            }
        }
        let wear = context.settings.wear.as_ref().map(|wear| {
            let (bad, spare) = (space.bad_blocks_per_pool, space.spare_blocks_per_pool());
            Wear::new(wear, first_block, space.blocks_per_pool, bad, spare, context.settings.endurance_cycles, seed)
        });
        let is_good = |block: &u32| wear.as_ref().is_none_or(|wear| !wear.is_bad(*block));
        let part_blocks = |part| part * blocks_per_part..(part + 1) * blocks_per_part;
        let free = (0..parts).map(|part| part_blocks(part).filter(is_good).collect()).collect();
        let ahead = |blocks: u32| if blocks == 0 { 0 } else { blocks.max(reserve + 1) };
        let words = space.blocks_per_pool.div_ceil(64) as usize;
        Self {
            index,
            first_block,
            blocks_per_part,
            data_pages_per_block: space.data_pages_per_block,
            reserve,
            summary: geometry.block_summary(),
            frontiers,
            data_frontiers,
            first_map_frontier: space.open_blocks(),
            frontier_of_part,
            separation: context.settings.cleaning.separate,
            temperature: Temperature::new(context.settings, space),
            turns: [0; KINDS_MAX],
            least_loaded: context.settings.array.placement == Placement::LeastLoaded,
            map_turn: 0,
            free,
            free_blocks: space.blocks_per_pool - wear.as_ref().map_or(0, Wear::bad_blocks),
            closed: vec![0; words],
            holds_map: vec![0; words],
            victims,
            map,
            under_cleaning: None,
            gradual: ahead(space.gradual),
            background: ahead(space.background),
            wear,
        }
    }

    /// The block that the page of `owner`, which the host writes, goes to.
    #[inline]
    pub(super) fn place<S: OpSink>(
        &mut self,
        owner: u32,
        flash: &mut FlashState,
        sink: &mut S,
        owners: &mut impl Owners,
    ) -> Result<BlockIndex, FtlError> {
        if self.free_blocks < self.gradual {
            self.clean_gradually(flash, sink, owners)?;
        }
        let cold = self.temperature.as_mut().is_some_and(|temperature| !temperature.written(owner));
        self.place_in(if cold { COLD } else { 0 }, flash, sink, owners)
    }

    /// The same for a page that the host does not write.
    pub(super) fn place_again<S: OpSink>(
        &mut self,
        owner: u32,
        flash: &mut FlashState,
        sink: &mut S,
        owners: &mut impl Owners,
    ) -> Result<BlockIndex, FtlError> {
        if self.free_blocks < self.gradual {
            self.clean_gradually(flash, sink, owners)?;
        }
        let kind = if self.separation == Separation::None { 0 } else { self.kind_of_copy(owner) };
        self.place_in(kind, flash, sink, owners)
    }

    #[inline]
    fn place_in<S: OpSink>(
        &mut self,
        kind: usize,
        flash: &mut FlashState,
        sink: &mut S,
        owners: &mut impl Owners,
    ) -> Result<BlockIndex, FtlError> {
        let turn = if self.least_loaded { self.least_loaded(kind, flash) } else { self.turns[kind] };
        self.turns[kind] = if turn + 1 == self.data_frontiers { 0 } else { turn + 1 };
        let turn = self.of_kind(kind, turn);
        let index = if self.frontiers[turn].room > 0 { turn } else { self.make_room(turn, flash, sink, owners)? };
        Ok(self.take_room(index))
    }

    /// Frontier `index` of `kind`.
    #[inline(always)]
    fn of_kind(&self, kind: usize, index: u32) -> usize {
        kind * self.data_frontiers as usize + index as usize
    }

    /// The frontier of `kind` whose die has the least work before it; among equals the next in turn.
    fn least_loaded(&self, kind: usize, flash: &FlashState) -> u32 {
        let count = self.data_frontiers;
        let in_turn = (0..count).map(|step| (self.turns[kind] + step) % count);
        let backlog = |index: &u32| {
            let frontier = &self.frontiers[self.of_kind(kind, *index)];
            let home = BlockIndex(self.first_block + frontier.home * self.blocks_per_part);
            flash.backlog(frontier.block.filter(|_| frontier.room > 0).unwrap_or(home))
        };
        in_turn.min_by_key(backlog).expect("a pool has frontiers")
    }

    /// The block that the next page of the map goes to.
    pub(super) fn place_map<S: OpSink>(
        &mut self,
        flash: &mut FlashState,
        sink: &mut S,
        owners: &mut impl Owners,
    ) -> Result<BlockIndex, FtlError> {
        if self.free_blocks < self.gradual {
            self.clean_gradually(flash, sink, owners)?;
        }
        let turn = self.first_map_frontier + self.map_turn;
        self.map_turn = if self.map_turn + 1 == self.data_frontiers { 0 } else { self.map_turn + 1 };
        let mut index = turn as usize;
        if self.frontiers[index].room == 0 {
            index = self.make_room(index, flash, sink, owners)?;
        }
        Ok(self.take_room(index))
    }

    /// One page of frontier `index`, which has room.
    #[inline(always)]
    fn take_room(&mut self, index: usize) -> BlockIndex {
        let frontier = &mut self.frontiers[index];
        frontier.room -= 1;
        frontier.block.expect("a frontier with room has a block")
    }

    #[inline(always)]
    fn is_map_frontier(&self, index: usize) -> bool {
        index as u32 >= self.first_map_frontier
    }

    /// Opens a block for frontier `index`, and cleans until the reserve is whole again. The write that asked goes where
    /// the last victim's pages of its kind went, so that the die does the cleaning first; says which frontier that is.
    #[cold]
    fn make_room<S: OpSink>(
        &mut self,
        index: usize,
        flash: &mut FlashState,
        sink: &mut S,
        owners: &mut impl Owners,
    ) -> Result<usize, FtlError> {
        let outcome = self.try_to_make_room(index, flash, sink, owners);
        let worn = self.wear.as_ref().is_some_and(Wear::has_retired_blocks);
        outcome.map_err(|error| if worn { FtlError::WornOut } else { error })
    }

    fn try_to_make_room<S: OpSink>(
        &mut self,
        mut index: usize,
        flash: &mut FlashState,
        sink: &mut S,
        owners: &mut impl Owners,
    ) -> Result<usize, FtlError> {
        // A policy may pick blocks without a superseded page, and gains nothing by them; but hardly this often.
        let patience = self.blocks().min(64);
        let mut attempts = 64 * self.closed.len() * 64;
        let most = attempts;
        let map = self.is_map_frontier(index);
        if self.wear.as_ref().is_some_and(Wear::is_worn_out) {
            return Err(FtlError::WornOut);
        }
        while self.frontiers[index].room == 0 {
            self.open(index, flash, sink)?;
            while self.free_blocks < self.reserve {
                // Where the map has to follow each copy, a policy that does not look for gain may lose as fast as it gains.
                let certain = self.map.is_some() && most - attempts > patience;
                let cleaned = self.clean(certain, flash, sink, owners)?;
                if self.is_map_frontier(cleaned) == map {
                    index = self.beside(index, cleaned);
                }
                attempts = attempts.checked_sub(1).ok_or(FtlError::NoSpace)?;
            }
        }
        Ok(index)
    }

    /// The frontier of the same kind as `index` that belongs to the part of `cleaned`. Where kinds are kept apart, cleaning may
    /// have given room to another kind there only; then it is `index`.
    #[inline]
    fn beside(&self, index: usize, cleaned: usize) -> usize {
        if self.separation == Separation::None || self.is_map_frontier(index) {
            return cleaned;
        }
        let other = self.of_kind(index / self.data_frontiers as usize, cleaned as u32);
        if self.frontiers[other].room > 0 { other } else { index }
    }

    /// Closes the block of frontier `index`, which is full, and opens a free one.
    fn open<S: OpSink>(&mut self, index: usize, flash: &mut FlashState, sink: &mut S) -> Result<(), FtlError> {
        let single = self.data_frontiers == 1;
        let map = self.is_map_frontier(index);
        let frontier = &mut self.frontiers[index];
        debug_assert_eq!(frontier.room, 0);
        if let Some(full) = frontier.block.take() {
            if self.summary {
                flash.program_summary(full, sink);
            }
            let local = full.0 - self.first_block;
            let valid = flash.valid_in(full);
            self.close(local, valid);
            let frontier = &mut self.frontiers[index];
            if single {
                frontier.home = if frontier.home + 1 == self.free.len() as u32 { 0 } else { frontier.home + 1 };
            }
        }
        let frontier = &mut self.frontiers[index];
        let part = match self.free[frontier.home as usize].is_empty() {
            false => frontier.home as usize,
            // Among equals the first one, as for everything that results depend on.
            true => (0..self.free.len()).rev().max_by_key(|&part| self.free[part].len()).expect("a pool has parts"),
        };
        let block = self.free[part].pop_front().ok_or(FtlError::NoSpace)?;
        self.free_blocks -= 1;
        frontier.block = Some(BlockIndex(self.first_block + block));
        frontier.room = self.data_pages_per_block;
        if flash.keeps_journal() {
            frontier.opened = flash.next_sequence();
            self.tell_oldest_open(flash);
        }
        if let (true, Some(map)) = (map, &mut self.map) {
            set(&mut self.holds_map, block);
            map.in_use += 1;
        }
        Ok(())
    }

    fn tell_oldest_open(&self, flash: &mut FlashState) {
        let data = &self.frontiers[..self.first_map_frontier as usize];
        let oldest = data.iter().map(|frontier| frontier.opened).min().unwrap_or(u64::MAX);
        flash.set_oldest_open(self.index, oldest);
    }

    /// See [`super::Pools::take_over`].
    pub(super) fn take_over(&mut self, found: &[FoundBlock], flash: &mut FlashState) {
        self.free.iter_mut().for_each(VecDeque::clear);
        self.free_blocks = 0;
        if let Some(wear) = &mut self.wear {
            wear.recover(flash);
        }
        // Policies may go by the order in which blocks were closed.
        let mut in_order: Vec<u32> = (0..found.len() as u32).collect();
        in_order.sort_by_key(|block| found[*block as usize].opened);
        let mut open = Vec::new();
        for block in in_order {
            let state = found[block as usize];
            if self.wear.as_ref().is_some_and(|wear| wear.is_bad(block)) {
                continue;
            }
            if state.programmed == 0 {
                self.free[(block / self.blocks_per_part) as usize].push_back(block);
                self.free_blocks += 1;
                continue;
            }
            if let (true, Some(map)) = (state.map, &mut self.map) {
                set(&mut self.holds_map, block);
                map.in_use += 1;
            }
            if state.full {
                let valid = flash.valid_in(BlockIndex(self.first_block + block));
                self.close(block, valid);
            } else {
                open.push(block);
            }
        }
        self.free.iter_mut().for_each(|blocks| blocks.make_contiguous().sort_unstable());
        // Those with most room are written on.
        open.sort_by_key(|block| (found[*block as usize].programmed, *block));
        for block in open {
            let state = found[block as usize];
            let home = block / self.blocks_per_part;
            let is_map = state.map;
            let vacant =
                |index: &usize| self.frontiers[*index].block.is_none() && self.is_map_frontier(*index) == is_map;
            let place = (0..self.frontiers.len()).filter(vacant).min_by_key(|i| self.frontiers[*i].home != home);
            let Some(index) = place else {
                let valid = flash.valid_in(BlockIndex(self.first_block + block));
                self.close(block, valid);
                continue;
            };
            let frontier = &mut self.frontiers[index];
            frontier.block = Some(BlockIndex(self.first_block + block));
            frontier.room = self.data_pages_per_block - state.programmed;
            frontier.opened = state.opened;
        }
        self.tell_oldest_open(flash);
    }

    /// See [`super::Pools::restore`].
    pub(super) fn restore<S: OpSink>(
        &mut self,
        flash: &mut FlashState,
        sink: &mut S,
        owners: &mut impl Owners,
    ) -> Result<(), FtlError> {
        let mut attempts = 64 * self.blocks();
        while self.free_blocks < self.reserve {
            self.clean(true, flash, sink, owners)?;
            attempts = attempts.checked_sub(1).ok_or(FtlError::NoSpace)?;
        }
        Ok(())
    }

    /// See [`super::Pools::write_updates`].
    pub(super) fn write_updates<S: OpSink>(
        &mut self,
        flash: &mut FlashState,
        sink: &mut S,
        owners: &mut impl Owners,
    ) -> Result<(), FtlError> {
        while owners.has_updates(self.index) {
            let mut index = self.first_map_frontier as usize;
            if self.frontiers[index].room == 0 {
                index = self.make_room(index, flash, sink, owners)?;
            }
            // Cleaning may have written them.
            if owners.has_updates(self.index)
                && let Some((block, valid)) = owners.update(self.index, self.take_room(index), flash, sink)
            {
                self.superseded(block.0 - self.first_block, valid);
            }
        }
        Ok(())
    }

    /// `block`, which has `valid` valid pages, takes no more writes.
    fn close(&mut self, block: u32, valid: u32) {
        set(&mut self.closed, block);
        self.policy_for(block).closed(block, valid);
    }

    /// The policy that chooses among blocks such as `block`.
    #[inline(always)]
    fn policy_for(&mut self, block: u32) -> &mut dyn VictimPolicy {
        match &mut self.map {
            Some(map) if bit(&self.holds_map, block) => &mut *map.victims,
            _ => &mut *self.victims,
        }
    }

    pub(super) fn wear(&self) -> WearCounts {
        self.wear.as_ref().map_or(WearCounts::default(), |wear| *wear.counts())
    }

    #[inline]
    pub(super) fn superseded(&mut self, local: u32, valid: u32) {
        if bit(&self.closed, local) {
            self.policy_for(local).superseded(local, valid);
        }
    }

    pub(super) fn writable_pages(&self) -> u64 {
        let data = &self.frontiers[..self.first_map_frontier as usize];
        let open: u64 = data.iter().map(|frontier| u64::from(frontier.room)).sum();
        // A block is opened while the free ones are not below the reserve afterwards.
        open + u64::from(self.free_blocks.saturating_sub(self.reserve)) * u64::from(self.data_pages_per_block)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let free: usize = self.free.iter().map(|blocks| blocks.capacity() * size_of::<u32>()).sum();
        let map = self.map.as_ref().map_or(0, |map| map.victims.memory_bytes());
        let wear = self.wear.as_ref().map_or(0, Wear::memory_bytes)
            + self.temperature.as_ref().map_or(0, Temperature::memory_bytes);
        free + size_of_val(&*self.closed) + size_of_val(&*self.holds_map) + self.victims.memory_bytes() + map + wear
    }

    pub(super) fn check(&self, flash: &FlashState) {
        let mut free = 0;
        for (part, blocks) in self.free.iter().enumerate() {
            for &block in blocks {
                assert_eq!(block / self.blocks_per_part, part as u32, "block {block} is on another part's free list");
                assert_eq!(flash.written_in(BlockIndex(self.first_block + block)), 0, "a free block is not erased");
                assert!(!bit(&self.holds_map, block), "a free block holds the map");
            }
            free += blocks.len();
        }
        assert_eq!(free, self.free_blocks as usize, "free blocks were lost");
        let closed: u32 = self.closed.iter().map(|word| word.count_ones()).sum();
        let open = self.frontiers.iter().filter(|frontier| frontier.block.is_some()).count();
        let victims = usize::from(self.under_cleaning.is_some());
        let bad = self.wear.as_ref().map_or(0, |wear| wear.bad_blocks() as usize);
        let counted = free + closed as usize + open + victims + bad;
        assert_eq!(counted, self.blocks(), "a block is neither free, open, closed nor bad");
        let hold_map: u32 = self.holds_map.iter().map(|word| word.count_ones()).sum();
        assert_eq!(hold_map, self.map.as_ref().map_or(0, |map| map.in_use), "blocks of the map are counted wrongly");
        for (index, frontier) in self.frontiers.iter().enumerate() {
            if let Some(block) = frontier.block {
                assert_eq!(flash.written_in(block) + frontier.room, self.data_pages_per_block);
                assert_eq!(bit(&self.holds_map, block.0 - self.first_block), self.is_map_frontier(index));
            }
        }
    }

    fn blocks(&self) -> usize {
        self.blocks_per_part as usize * self.free.len()
    }
}
