//! Superblocks: groups of consecutive logical blocks. A page may lie anywhere in the blocks of its superblock.

use esker_core::PhysicalPage;
use esker_core::registry::{Accepted, Fallback, Parameter, ParameterSource};
use esker_nand::BlockIndex;
use esker_nand::state::{Cause, FlashState, OpIndex, OpSink};

use crate::blocks::{Associated, BlockMapped, BlockNeeds, BlockPool, KeptBlock, LOG, PageAddress, Scheme};
use crate::roomy::Roomy;
use crate::{Cells, FtlEntry, FtlError, LayerCapability};

pub(crate) const ENTRY: FtlEntry = FtlEntry {
    name: "superblock",
    summary: "a map of superblocks of a few logical blocks; within one, a map of pages in spare areas",
    source: "Kim 2009, section 2.4 and table 3.1, after Kang et al. 2006 (SuperBlock FTL)",
    parameters: ParameterSource::Listed(&[
        Parameter {
            name: "blocks",
            meaning: "logical blocks of a superblock (S)",
            value: Accepted::Count { default: Fallback::Value(8), least: 1, most: 1 << 16 },
        },
        Parameter {
            meaning: "update blocks of all superblocks together, as a share of the logical blocks, rounded up",
            ..LOG
        },
        Parameter {
            name: "cached",
            meaning: "superblocks of a pool whose maps are in memory; the map of another is read from spare areas first",
            value: Accepted::Count { default: Fallback::Value(16), least: 0, most: 1 << 30 },
        },
        Parameter {
            name: "map_reads",
            meaning: "spare areas that are read to find a page whose superblock's map is not in memory (middle directory, table)",
            value: Accepted::Count { default: Fallback::Value(2), least: 0, most: 64 },
        },
    ]),
    capabilities: &[LayerCapability::Recover],
    build: |context, parameters| {
        let size = parameters.count("blocks") as u32;
        let share = parameters.share(LOG.name);
        let cached = parameters.count("cached") as u32;
        let map_reads = parameters.count("map_reads") as u32;
        let purpose = "update blocks (`ftl.log`)";
        let needs = BlockNeeds { kind: "superblock", run: size, share, least: 1, purpose, free: 1 };
        let scheme = |pool: &BlockPool| {
            let superblocks = pool.logical() / size;
            Superblock {
                size,
                blocks: vec![Roomy::default(); superblocks as usize],
                grown: Associated::new(superblocks),
                unused: pool.updates(),
                cache: Associated::new(superblocks),
                cached,
                map_reads,
            }
        };
        Ok(Box::new(BlockMapped::new(context, &needs, scheme)?))
    },
};

/// A superblock has up to S blocks for its data and, while the pool has spare blocks, more for updates. Pages are
/// appended to its last block. If no update block is left, one superblock gives its update blocks back: the one that
/// needs another, if it has any; otherwise the one that took its last update block longest ago. It gathers the pages of
/// the blocks with the fewest valid pages until it has S blocks again.
#[derive(Clone, Debug)]
struct Superblock {
    size: u32,
    /// Blocks of each superblock. The last one takes the next page.
    blocks: Vec<Roomy<Vec<BlockIndex>>>,
    /// Superblocks with update blocks, ordered by when they last took one.
    grown: Associated<()>,
    unused: u32,
    /// Superblocks whose maps are cached in memory.
    cache: Associated<()>,
    cached: u32,
    map_reads: u32,
}

impl Superblock {
    /// Returns the block of superblock `index` that takes the next page and the offset in it; `None` if no block has
    /// room.
    fn room(&self, index: u32, pool: &BlockPool, flash: &FlashState) -> Option<(BlockIndex, u32)> {
        let open = *self.blocks[index as usize].last()?;
        let written = flash.written_in(open);
        (written < pool.pages()).then_some((open, written))
    }

    /// Reduces superblock `index` to S blocks.
    fn reclaim<S: OpSink>(
        &mut self,
        index: u32,
        pool: &mut BlockPool,
        cells: &mut Cells<'_, S>,
    ) -> Result<(), FtlError> {
        self.grown.remove(index);
        self.unused += self.excess(index);
        self.shrink(index, pool, cells)
    }

    /// Returns how many blocks superblock `index` has in excess of S.
    fn excess(&self, index: u32) -> u32 {
        (self.blocks[index as usize].len() as u32).saturating_sub(self.size)
    }

    fn shrink<S: OpSink>(
        &mut self,
        index: u32,
        pool: &mut BlockPool,
        cells: &mut Cells<'_, S>,
    ) -> Result<(), FtlError> {
        let size = self.size as usize;
        let (mut copies, mut victims) = (0, 0);
        while self.blocks[index as usize].len() > size {
            let blocks = &self.blocks[index as usize];
            let open = self.room(index, pool, cells.flash).map(|(block, _)| block);
            // The block with room takes the copies. It is a candidate itself only if it has nothing valid to copy.
            let candidates =
                (0..blocks.len()).filter(|&at| Some(blocks[at]) != open || cells.flash.valid_in(blocks[at]) == 0);
            let at =
                candidates.min_by_key(|&at| cells.flash.valid_in(blocks[at])).expect("a superblock has full blocks");
            let victim = self.blocks[index as usize].remove(at);
            let valid = cells.flash.valid_in(victim);
            assert!(valid < pool.pages(), "a superblock has more pages than its logical blocks");
            let first = cells.flash.geometry().first_page(victim).0;
            let mut last = None;
            for word in 0..cells.flash.words_per_block() {
                let mut bits = cells.flash.valid_word(victim, word);
                while bits != 0 {
                    let page = PhysicalPage(first + 64 * word as u32 + bits.trailing_zeros());
                    bits &= bits - 1;
                    let (to, offset) = match self.room(index, pool, cells.flash) {
                        Some(room) => room,
                        None => {
                            let block = pool.take_next()?;
                            self.blocks[index as usize].push(block);
                            (block, 0)
                        }
                    };
                    last = Some(pool.copy(cells.flash.owner(page), to, offset, cells));
                }
            }
            pool.erase(victim, last, cells);
            copies += valid;
            victims += u32::from(valid > 0);
        }
        match victims {
            0 | 1 => pool.counters.completed(copies),
            _ => pool.counters.gathered(victims),
        }
        Ok(())
    }
}

impl Scheme for Superblock {
    fn translate<S: OpSink>(&mut self, at: PageAddress, pool: &BlockPool, cells: &mut Cells<'_, S>) -> Option<OpIndex> {
        let index = at.block / self.size;
        if self.cache.get(index).is_some() {
            self.cache.touch(index);
            return None;
        }
        let mut read = None;
        // The map of a superblock that was never written is empty.
        if let Some(latest) = self.blocks[index as usize].last() {
            let written = cells.flash.written_in(*latest).clamp(1, pool.pages());
            let page = PhysicalPage(cells.flash.geometry().first_page(*latest).0 + written - 1);
            for _ in 0..self.map_reads {
                read = Some(cells.read_spare(page, Cause::Mapping));
            }
        }
        if self.cached > 0 {
            if self.cache.len() == self.cached {
                let oldest = self.cache.oldest().expect("there are some");
                self.cache.remove(oldest);
            }
            self.cache.insert(index, ());
        }
        read
    }

    fn place<S: OpSink>(
        &mut self,
        at: PageAddress,
        pool: &mut BlockPool,
        cells: &mut Cells<'_, S>,
    ) -> Result<(BlockIndex, u32), FtlError> {
        let index = at.block / self.size;
        if let Some(room) = self.room(index, pool, cells.flash) {
            return Ok(room);
        }
        if self.blocks[index as usize].len() >= self.size as usize {
            if self.unused == 0 {
                let own = self.grown.get(index).map(|()| index);
                let victim = own.or_else(|| self.grown.oldest()).expect("update blocks are in use");
                self.reclaim(victim, pool, cells)?;
                if let Some(room) = self.room(index, pool, cells.flash) {
                    return Ok(room);
                }
            }
            self.unused -= 1;
            match self.grown.get(index) {
                Some(()) => self.grown.touch(index),
                None => self.grown.insert(index, ()),
            }
        }
        let block = pool.take_next()?;
        self.blocks[index as usize].push(block);
        Ok((block, 0))
    }

    fn leaves_gaps(&self) -> bool {
        false
    }

    fn adopt<S: OpSink>(
        &mut self,
        kept: &[KeptBlock],
        pool: &mut BlockPool,
        cells: &mut Cells<'_, S>,
    ) -> Result<(), FtlError> {
        let mut latest = vec![0; self.blocks.len()];
        for kept in kept {
            let index = (kept.logical / self.size) as usize;
            // Only the block that was opened last takes further pages.
            if let Some(before) = self.blocks[index].last() {
                pool.close(*before, cells.flash);
            }
            self.blocks[index].push(kept.block);
            latest[index] = kept.latest;
        }
        let mut grown: Vec<u32> = (0..self.blocks.len() as u32).filter(|index| self.excess(*index) > 0).collect();
        grown.sort_by_key(|index| latest[*index as usize]);
        for index in grown {
            let excess = self.excess(index);
            if excess > self.unused {
                self.shrink(index, pool, cells)?;
            } else {
                self.unused -= excess;
                self.grown.insert(index, ());
            }
        }
        Ok(())
    }

    fn collect<S: OpSink>(&mut self, pool: &mut BlockPool, cells: &mut Cells<'_, S>) -> Result<bool, FtlError> {
        let Some(oldest) = self.grown.oldest() else { return Ok(false) };
        self.reclaim(oldest, pool, cells)?;
        Ok(true)
    }

    fn unused(&self) -> u32 {
        self.unused
    }

    fn unwritten(&self, _: &BlockPool) -> u32 {
        self.blocks.iter().map(|blocks| self.size.saturating_sub(blocks.len() as u32)).sum()
    }

    fn map_bytes(&self, pool: &BlockPool) -> u64 {
        let cached = u64::from(self.cached).min(self.blocks.len() as u64);
        let cached_pages = cached * u64::from(self.size) * u64::from(pool.pages());
        4 * (u64::from(pool.logical()) + u64::from(pool.updates()) + cached_pages)
    }

    fn memory_bytes(&self) -> usize {
        let lists = self.blocks.iter().map(|blocks| blocks.capacity() * size_of::<BlockIndex>()).sum::<usize>();
        lists + size_of_val(&*self.blocks) + self.grown.memory_bytes() + self.cache.memory_bytes()
    }

    fn update_blocks(&self) -> Vec<(BlockIndex, Option<u32>)> {
        // The blocks of one superblock are checked below.
        self.blocks.iter().flatten().map(|block| (*block, None)).collect()
    }

    fn check(&self, pool: &BlockPool, flash: &FlashState) {
        let mut excess = 0;
        for (index, blocks) in self.blocks.iter().enumerate() {
            let more = self.excess(index as u32);
            assert_eq!(self.grown.get(index as u32).is_some(), more > 0, "superblock {index} is listed wrongly");
            excess += more;
            for (at, block) in blocks.iter().enumerate() {
                assert!(at + 1 == blocks.len() || flash.written_in(*block) >= pool.pages(), "two blocks have room");
                let first = flash.geometry().first_page(*block).0;
                for page in (first..first + pool.pages()).map(PhysicalPage).filter(|page| flash.is_valid(*page)) {
                    let of = pool.block_of_slot(flash.owner(page)) / self.size;
                    assert_eq!(of as usize, index, "{page} belongs to another superblock");
                }
            }
        }
        assert_eq!(excess + self.unused, pool.updates(), "update blocks are counted wrongly");
        assert!(self.cache.len() <= self.cached);
    }
}
