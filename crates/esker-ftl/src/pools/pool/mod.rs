//! One allocation pool.

mod cleaning;
mod placing;
mod recovery;
mod steady;
#[cfg(test)]
mod tests;

use esker_core::{Unsupported, bits};
use std::collections::VecDeque;

use esker_nand::BlockIndex;
use esker_nand::state::FlashState;

use super::MapSpace;
use super::temperature::Temperature;
use super::wear::{NO_MOVES, Wear, WearCounts};
use crate::gc::VictimPolicy;
use crate::numbers::{PoolBlock, PoolBlocks, PoolPart};
use crate::roomy::Roomy;
use crate::{FtlContext, STREAMS_MAX, Separation, WriteFrontiers};

/// The most kinds of data that can be separate: the host's streams, and the pages that cleaning copies.
const KINDS_MAX: usize = STREAMS_MAX as usize + 1;
/// The second kind, if kinds are separated by temperature: pages that were not written recently.
const COLD: usize = 1;

/// An open block that takes writes.
#[derive(Clone, Copy, Debug)]
struct Frontier {
    /// The part whose blocks it prefers.
    home: PoolPart,
    /// `None` before the first write.
    block: Option<BlockIndex>,
    /// Data pages that it can still take.
    room: u32,
    /// The sequence number with which the block begins.
    opened: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Pool {
    index: u32,
    /// The parts of a pool are its dies, or its planes if each plane has a frontier.
    numbers: PoolBlocks,
    data_pages_per_block: u32,
    reserve: u32,
    summary: bool,
    /// First the frontiers of the first kind of data, then those of the next. If the map has its own blocks, its
    /// frontiers come last, as many as for one kind of data.
    frontiers: Vec<Frontier>,
    /// Number of frontiers for each kind of data.
    data_frontiers: u32,
    /// Index of the first frontier of the map.
    first_map_frontier: u32,
    /// For each part, the frontier of the first kind that takes copies from its blocks.
    frontier_of_part: Vec<u32>,
    /// Whether there are several kinds of data.
    apart: bool,
    /// Number of the host's streams among the kinds.
    streams: u32,
    /// The kind of the pages that cleaning copies, unless it depends on the page.
    copied: usize,
    /// For each block, the stream that was last written to it, if copies stay with their stream; lost in a power
    /// failure. Empty otherwise.
    stream_of_block: Vec<u8>,
    /// Tells hot from cold pages, with [`Separation::HotCold`].
    temperature: Option<Temperature>,
    /// For each kind, the frontier of the next host write, counted within the kind.
    turns: [u32; KINDS_MAX],
    /// Whether host writes go to the frontier with the least pending work.
    least_loaded: bool,
    /// The frontier of the next write of the map.
    map_turn: u32,
    /// Free blocks of each part. The block that was erased first is used first, so that all take turns.
    free: Vec<Roomy<VecDeque<PoolBlock>>>,
    free_blocks: u32,
    /// Bit set of closed blocks: full, and candidates for cleaning.
    closed: Vec<u64>,
    /// Bit set of blocks that hold the map; free blocks are not in it.
    holds_map: Vec<u64>,
    victims: Box<dyn VictimPolicy>,
    map: Option<MapBlocks>,
    /// The block that is being cleaned step by step.
    under_cleaning: Option<Victim>,
    /// If fewer blocks than this are free, each write cleans a little; 0 turns this off.
    gradual: u32,
    /// If fewer blocks than this are free, idle time is used for cleaning; 0 turns this off.
    background: u32,
    /// `None` without settings of wear.
    wear: Option<Wear>,
    /// Pages that cleaning did not copy, because their owner no longer needed them.
    dropped_pages: u64,
}

/// The blocks of a map that has its own blocks.
#[derive(Clone, Debug)]
struct MapBlocks {
    /// The victim policy for map blocks. Map pages are rewritten far more often than data. A single policy would clean
    /// a map block as soon as it gains as little as data blocks do, again and again.
    victims: Box<dyn VictimPolicy>,
    /// Number of map blocks above which one of them is the next victim.
    allowance: u32,
    /// Number of map blocks.
    in_use: u32,
}

/// A block under cleaning.
#[derive(Clone, Copy, Debug)]
struct Victim {
    block: PoolBlock,
    /// Valid pages when it was chosen.
    valid: u32,
    /// Pages copied per page written, so that the block is clean by the time the host has written as many pages as
    /// cleaning it gains.
    pace: u32,
    /// Data pages moved out of it so far.
    moved: u32,
}

impl Pool {
    /// Makes pool `index` of erased blocks. With `map`, some blocks will hold a map, and that policy chooses victims
    /// among them.
    pub(super) fn new(
        index: u32,
        context: &FtlContext<'_>,
        map: Option<(Box<dyn VictimPolicy>, MapSpace)>,
        victims: Box<dyn VictimPolicy>,
        seed: u64,
    ) -> Self {
        let (geometry, space) = (context.geometry, context.space);
        let (reserve, spare) = match &map {
            Some((_, map_space)) => (map_space.reserve, map_space.spare_blocks),
            None => (space.reserve, space.spare_blocks_per_pool()),
        };
        let first_block = index * space.blocks_per_pool;
        let all_parts = match context.settings.write_frontiers {
            WriteFrontiers::Plane => geometry.planes(),
            WriteFrontiers::Die | WriteFrontiers::Pool => geometry.dies(),
        };
        let parts = (all_parts / space.pools).max(1);
        let numbers = PoolBlocks::new(first_block, space.blocks_per_pool, parts);
        let first_part = first_block / (geometry.blocks() / all_parts);
        let turns = geometry.turns(first_part, parts, all_parts).into_iter();
        let turns: Vec<PoolPart> = turns.map(|part| PoolPart(part - first_part)).collect();
        let data_frontiers = space.frontiers;
        let mut frontiers: Vec<Frontier> = turns
            .iter()
            .take(data_frontiers as usize)
            .map(|&home| Frontier { home, block: None, room: 0, opened: u64::MAX })
            .collect();
        let mut frontier_of_part = vec![0; parts as usize];
        if data_frontiers > 1 {
            for (index, frontier) in frontiers.iter().enumerate() {
                frontier_of_part[frontier.home.index()] = index as u32;
            }
        }
        for _ in 0..space.kinds - 1 + u32::from(map.is_some()) {
            for index in 0..data_frontiers as usize {
                // A single map frontier begins on another die than the data frontier.
                let home = if data_frontiers == 1 { turns[1 % turns.len()] } else { frontiers[index].home };
                frontiers.push(Frontier { home, block: None, room: 0, opened: u64::MAX });
            }
        }
        let wear = context.settings.wear.as_ref().map(|wear| {
            Wear::new(wear, numbers, space.bad_blocks_per_pool, spare, context.settings.endurance_cycles, seed)
        });
        let is_good = |block: &PoolBlock| wear.as_ref().is_none_or(|wear| !wear.is_bad(*block));
        let free = numbers.parts().map(|part| numbers.of_part(part).filter(is_good).collect()).collect();
        let ahead = |blocks: u32| if blocks == 0 { 0 } else { blocks.max(reserve + 1) };
        let words = space.blocks_per_pool.div_ceil(64) as usize;
        let streams_stay = context.settings.streams > 1 && context.settings.cleaning.separate == Separation::None;
        Self {
            index,
            numbers,
            data_pages_per_block: space.data_pages_per_block,
            reserve,
            summary: geometry.block_summary(),
            frontiers,
            data_frontiers,
            first_map_frontier: space.open_blocks(),
            frontier_of_part,
            apart: space.kinds > 1,
            streams: context.settings.streams,
            copied: space.kinds as usize - 1,
            stream_of_block: vec![0; if streams_stay { space.blocks_per_pool as usize } else { 0 }],
            temperature: Temperature::new(context.settings, space),
            turns: [0; KINDS_MAX],
            least_loaded: context.settings.least_loaded,
            map_turn: 0,
            free,
            free_blocks: space.blocks_per_pool - wear.as_ref().map_or(0, Wear::bad_blocks),
            closed: vec![0; words],
            holds_map: vec![0; words],
            victims,
            map: map.map(|(victims, space)| MapBlocks { victims, allowance: space.allowance, in_use: 0 }),
            under_cleaning: None,
            gradual: ahead(space.gradual),
            background: ahead(space.background),
            wear,
            dropped_pages: 0,
        }
    }

    /// Closes `block`, which has `valid` valid pages: it takes no more writes.
    fn close(&mut self, block: PoolBlock, valid: u32) {
        bits::set(&mut self.closed, block.index());
        self.policy_for(block).closed(block, valid);
    }

    /// Returns the policy for blocks with the content of `block`.
    #[inline(always)]
    fn policy_for(&mut self, block: PoolBlock) -> &mut dyn VictimPolicy {
        match &mut self.map {
            Some(map) if bits::is_set(&self.holds_map, block.index()) => &mut *map.victims,
            _ => &mut *self.victims,
        }
    }

    /// See [`Wear::pause`].
    pub(super) fn pause_levelling(&mut self, is_paused: bool) -> Result<(), Unsupported> {
        self.wear.as_mut().ok_or(Unsupported(NO_MOVES))?.pause(is_paused)
    }

    pub(super) fn wear(&self) -> WearCounts {
        self.wear.as_ref().map_or(WearCounts::default(), |wear| *wear.counts())
    }

    #[inline]
    pub(super) fn superseded(&mut self, local: PoolBlock, valid: u32) {
        if bits::is_set(&self.closed, local.index()) {
            self.policy_for(local).superseded(local, valid);
        }
    }

    pub(super) fn revived(&mut self, local: PoolBlock, valid: u32) {
        if bits::is_set(&self.closed, local.index()) {
            self.policy_for(local).revived(local, valid);
        }
    }

    pub(super) fn dropped_pages(&self) -> u64 {
        self.dropped_pages
    }

    pub(super) fn writable_pages(&self) -> u64 {
        let data = &self.frontiers[..self.first_map_frontier as usize];
        let open: u64 = data.iter().map(|frontier| u64::from(frontier.room)).sum();
        // A block may be opened if at least `reserve` blocks stay free.
        open + u64::from(self.free_blocks.saturating_sub(self.reserve)) * u64::from(self.data_pages_per_block)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let free: usize = self.free.iter().map(|blocks| blocks.capacity() * size_of::<PoolBlock>()).sum();
        let map = self.map.as_ref().map_or(0, |map| map.victims.memory_bytes());
        let wear = self.wear.as_ref().map_or(0, Wear::memory_bytes)
            + self.temperature.as_ref().map_or(0, Temperature::memory_bytes)
            + self.stream_of_block.len();
        free + size_of_val(&*self.closed) + size_of_val(&*self.holds_map) + self.victims.memory_bytes() + map + wear
    }

    pub(super) fn check(&self, flash: &FlashState) {
        let mut free = 0;
        for (part, blocks) in self.numbers.parts().zip(&self.free) {
            for &block in blocks {
                assert_eq!(self.numbers.part(block), part, "{block:?} is on another part's free list");
                assert_eq!(flash.written_in(self.numbers.on_device(block)), 0, "a free block is not erased");
                assert!(!bits::is_set(&self.holds_map, block.index()), "a free block holds the map");
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
                assert_eq!(
                    bits::is_set(&self.holds_map, self.numbers.in_pool(block).index()),
                    self.is_map_frontier(index)
                );
            }
        }
    }

    /// Returns how many data pages were moved out of the block under cleaning.
    pub(super) fn half_cleaned(&self) -> u64 {
        self.under_cleaning.map_or(0, |victim| u64::from(victim.moved))
    }

    fn blocks(&self) -> usize {
        self.numbers.count() as usize
    }
}
