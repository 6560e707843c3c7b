//! The blocks of one pool: data blocks, free blocks, and the copies that merges consist of.

use std::collections::VecDeque;

use esker_core::PhysicalPage;
use esker_nand::BlockIndex;
use esker_nand::memory::{prefetch, zeroed};
use esker_nand::state::{Cause, FlashState, OpIndex, OpSink};

use super::PageAddress;
use super::space::Layout;
use crate::numbers::{PoolBlock, PoolBlocks, PoolPart};
use crate::roomy::Roomy;
use crate::{Cells, FtlContext, FtlCounters, FtlError, WriteExtent, WriteFrontiers};

/// The last copy that has to end before a block is erased.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastCopy {
    op: OpIndex,
    to: BlockIndex,
}

impl LastCopy {
    /// Returns true if the copy went to another die than the one of `block`.
    pub(super) fn leaves(&self, block: BlockIndex, flash: &FlashState) -> bool {
        flash.geometry().die_of(self.to) != flash.geometry().die_of(block)
    }
}

/// Consecutive pages of a logical block whose data lie side by side in one block.
#[derive(Clone, Copy, Debug)]
struct PageRun {
    from: PhysicalPage,
    /// Number of pages, at least one.
    count: u32,
}

/// The data blocks and free blocks of one pool.
#[derive(Clone, Debug)]
pub(crate) struct BlockPool {
    /// The parts of a pool are its dies, or its planes if pages stay within a plane.
    numbers: PoolBlocks,
    pages: u32,
    summary: bool,
    updates: u32,
    /// For each page of the pool's logical blocks, the physical page plus one; zero if it has no data.
    map: Vec<u32>,
    /// For each logical block, its data block plus one; zero if it has none.
    data: Vec<u32>,
    /// Number of logical blocks without a data block.
    absent: u32,
    /// The pool's parts in the order in which they take turns.
    turns: Vec<PoolPart>,
    /// The part that gives the next update block, if that belongs to no logical block.
    turn: usize,
    /// Free blocks of each part. The block that was erased first is used first, so that all take turns.
    free: Vec<Roomy<VecDeque<PoolBlock>>>,
    /// Counts of merges.
    pub(crate) counters: FtlCounters,
}

impl BlockPool {
    pub(super) fn new(context: &FtlContext<'_>, first_block: u32, layout: &Layout) -> Self {
        let (geometry, space) = (context.geometry, context.space);
        let all_parts = match context.settings.write_frontiers {
            WriteFrontiers::Plane => geometry.planes(),
            WriteFrontiers::Die | WriteFrontiers::Pool => geometry.dies(),
        };
        // A pool is at least a plane, or several whole dies.
        let parts = (all_parts / space.pools).max(1);
        let numbers = PoolBlocks::new(first_block, space.blocks_per_pool, parts);
        let first_part = first_block / (geometry.blocks() / all_parts);
        let turns = geometry.turns(first_part, parts, all_parts).into_iter();
        let pages = space.data_pages_per_block;
        Self {
            numbers,
            pages,
            summary: geometry.block_summary(),
            updates: layout.updates,
            map: zeroed(layout.logical as usize * pages as usize),
            data: zeroed(layout.logical as usize),
            absent: layout.logical,
            turns: turns.map(|part| PoolPart(part - first_part)).collect(),
            turn: 0,
            free: numbers.parts().map(|part| numbers.of_part(part).collect()).collect(),
            counters: FtlCounters::merging(),
        }
    }

    /// Returns the number of data pages of a block.
    #[inline(always)]
    pub(crate) fn pages(&self) -> u32 {
        self.pages
    }
    /// Returns the number of logical blocks.
    pub(crate) fn logical(&self) -> u32 {
        self.data.len() as u32
    }
    /// Returns the number of blocks that may take updates at the same time.
    pub(crate) fn updates(&self) -> u32 {
        self.updates
    }
    /// Returns the number of logical blocks without a data block.
    pub(crate) fn absent(&self) -> u32 {
        self.absent
    }
    /// Returns the number of all blocks.
    pub(crate) fn blocks(&self) -> u32 {
        self.numbers.count()
    }
    /// Returns the index of `block` within the pool.
    #[inline(always)]
    pub(crate) fn local(&self, block: BlockIndex) -> PoolBlock {
        self.numbers.in_pool(block)
    }

    /// Returns the logical block of page `slot`.
    #[inline(always)]
    pub(crate) fn block_of_slot(&self, slot: u32) -> u32 {
        slot / self.pages
    }
    /// Returns the physical page with the data of page `slot`.
    #[inline(always)]
    pub(crate) fn page(&self, slot: u32) -> Option<PhysicalPage> {
        self.map[slot as usize].checked_sub(1).map(PhysicalPage)
    }
    /// Returns the block with the data of page `slot`.
    #[inline]
    pub(crate) fn block_of(&self, slot: u32, flash: &FlashState) -> Option<BlockIndex> {
        self.page(slot).map(|page| flash.geometry().block_of(page))
    }
    /// Returns the data block of logical block `block`.
    #[inline(always)]
    pub(crate) fn data(&self, block: u32) -> Option<BlockIndex> {
        self.data[block as usize].checked_sub(1).map(BlockIndex)
    }
    /// Returns the number of pages of all logical blocks.
    pub(super) fn slots(&self) -> usize {
        self.map.len()
    }
    /// Iterates over all blocks.
    pub(super) fn all(&self) -> impl Iterator<Item = BlockIndex> + use<> {
        let numbers = self.numbers;
        numbers.all().map(move |block| numbers.on_device(block))
    }
    /// Sets the physical page with the data of page `slot`.
    pub(super) fn set_page(&mut self, slot: u32, page: PhysicalPage) {
        self.map[slot as usize] = page.0 + 1;
    }
    /// Marks as valid all pages that the map points to, after a power failure.
    pub(super) fn mark_valid(&self, flash: &mut FlashState) {
        let mapped = (0..self.map.len() as u32).filter_map(|slot| self.page(slot));
        mapped.for_each(|page| flash.set_valid(page));
    }
    /// Replaces the free blocks, which are all blocks in a new pool.
    pub(super) fn adopt_free_blocks(&mut self, free: impl Iterator<Item = BlockIndex>, flash: &mut FlashState) {
        self.free.iter_mut().for_each(|blocks| blocks.clear());
        for block in free {
            flash.set_written(block, 0);
            flash.open_as(block, 0);
            self.put_back(block);
        }
    }
    fn put_back(&mut self, block: BlockIndex) {
        let local = self.local(block);
        self.free[self.numbers.part(local).index()].push_back(local);
    }
    /// Prefetches the map entries of a page into the processor's caches.
    pub(super) fn prefetch(&self, at: PageAddress) {
        prefetch(&self.map, at.slot as usize);
        prefetch(&self.data, at.block as usize);
    }

    /// Prefetches the map entries of all pages of logical block `block` into the processor's caches.
    pub(super) fn expect_map(&self, block: u32) {
        prefetch(&self.data, block as usize);
        for offset in (0..self.pages).step_by(16) {
            prefetch(&self.map, (block * self.pages + offset) as usize);
        }
    }
    /// Prefetches the spare areas of the data block of `block` into the processor's caches.
    pub(super) fn expect_data(&self, block: u32, flash: &FlashState) {
        if let Some(data) = self.data(block) {
            flash.prefetch_block(data);
            flash.prefetch_owners(data);
        }
    }

    /// Makes `data` the data block of `block`.
    pub(crate) fn set_data(&mut self, block: u32, data: Option<BlockIndex>) {
        let entry = &mut self.data[block as usize];
        self.absent += u32::from(*entry != 0 && data.is_none());
        self.absent -= u32::from(*entry == 0 && data.is_some());
        *entry = data.map_or(0, |data| data.0 + 1);
    }

    /// Returns the data block of `block`, and takes a free one if it has none.
    pub(crate) fn data_or_new(&mut self, block: u32) -> Result<BlockIndex, FtlError> {
        if let Some(data) = self.data(block) {
            return Ok(data);
        }
        let data = self.take_for(block)?;
        self.set_data(block, Some(data));
        Ok(data)
    }

    /// Returns the data block of `at`'s logical block if it can be programmed at `at`'s offset. Takes a free block if
    /// there is no data block.
    #[inline]
    pub(crate) fn in_place(&mut self, at: PageAddress, flash: &FlashState) -> Result<Option<BlockIndex>, FtlError> {
        let data = self.data_or_new(at.block)?;
        Ok((at.offset >= flash.written_in(data)).then_some(data))
    }

    /// Takes a free block for logical block `block`. If possible, all its blocks lie in one part, so that merging it
    /// leaves the other parts alone.
    pub(crate) fn take_for(&mut self, block: u32) -> Result<BlockIndex, FtlError> {
        self.take(self.turns[block as usize % self.turns.len()])
    }

    /// Takes a free block that belongs to no logical block, from the next part in turn.
    pub(crate) fn take_next(&mut self) -> Result<BlockIndex, FtlError> {
        self.turn = (self.turn + 1) % self.turns.len();
        self.take(self.turns[self.turn])
    }

    fn take(&mut self, part: PoolPart) -> Result<BlockIndex, FtlError> {
        let part = match self.free[part.index()].is_empty() {
            false => part.index(),
            // Of equally good parts the first: results must not depend on chance.
            true => (0..self.free.len()).rev().max_by_key(|&part| self.free[part].len()).expect("a pool has parts"),
        };
        let block = self.free[part].pop_front().ok_or(FtlError::NoSpace)?;
        Ok(self.numbers.on_device(block))
    }

    /// Erases `block`, which holds nothing valid, after the last copy that may have come from it.
    pub(crate) fn erase<S: OpSink>(&mut self, block: BlockIndex, last: Option<LastCopy>, cells: &mut Cells<'_, S>) {
        // On one die, operations run in this order anyway.
        let after = last.filter(|last| last.leaves(block, cells.flash)).map(|last| last.op);
        cells.erase_after(block, Cause::Cleaning, after);
        self.put_back(block);
    }

    /// Leaves the rest of `block` unused until its next erase.
    pub(crate) fn close(&self, block: BlockIndex, flash: &mut FlashState) {
        if flash.written_in(block) < self.pages {
            flash.set_written(block, self.pages);
        }
    }

    /// Programs page `slot` at `offset` of `block`, once `translated` has ended.
    #[inline]
    pub(super) fn program<S: OpSink>(
        &mut self,
        slot: u32,
        extent: WriteExtent,
        block: BlockIndex,
        offset: u32,
        translated: Option<OpIndex>,
        cells: &mut Cells<'_, S>,
    ) {
        let old = self.page(slot);
        let read = match (extent, old) {
            (WriteExtent::Partial, Some(old)) => Some(cells.read_after(old, Cause::Host, translated)),
            _ => translated,
        };
        let page = cells.program_at(block, offset, slot, read);
        self.map[slot as usize] = page.0 + 1;
        if let Some(old) = old {
            cells.flash.supersede(old);
        }
        self.summarise(block, cells);
    }

    /// Unmaps page `slot`.
    pub(super) fn forget(&mut self, slot: u32, flash: &mut FlashState) {
        if let Some(old) = self.page(slot) {
            self.map[slot as usize] = 0;
            flash.supersede(old);
        }
    }

    /// Copies page `slot`, which has data, to `offset` of `block`.
    #[inline]
    pub(crate) fn copy<S: OpSink>(
        &mut self,
        slot: u32,
        block: BlockIndex,
        offset: u32,
        cells: &mut Cells<'_, S>,
    ) -> LastCopy {
        let from = PhysicalPage(self.map[slot as usize] - 1);
        self.copy_run(slot, PageRun { from, count: 1 }, block, offset, cells)
    }

    /// Copies the pages of `run`, the first of which is `slot`, to `block` from `offset` on.
    #[inline]
    fn copy_run<S: OpSink>(
        &mut self,
        slot: u32,
        run: PageRun,
        block: BlockIndex,
        offset: u32,
        cells: &mut Cells<'_, S>,
    ) -> LastCopy {
        let (op, to) = match run {
            PageRun { from, count: 1 } => cells.copy_at(from, block, offset, Cause::Cleaning),
            PageRun { from, count } => cells.copy_run(from, count, block, offset, Cause::Cleaning),
        };
        for (entry, page) in self.map[slot as usize..(slot + run.count) as usize].iter_mut().zip(to.0 + 1..) {
            *entry = page;
        }
        self.summarise(block, cells);
        LastCopy { op, to: block }
    }

    /// Returns where the data of page `slot` are, and how many of the `most` pages from `slot` on lie side by side
    /// there.
    #[inline]
    fn run_at(&self, slot: u32, most: u32, flash: &FlashState) -> Option<PageRun> {
        let from = self.page(slot)?;
        let (_, offset) = flash.geometry().split_page(from);
        let most = most.min(flash.geometry().pages_per_block() - offset);
        let entries = &self.map[slot as usize..(slot + most) as usize];
        let count = entries.iter().zip(from.0 + 1..).take_while(|(entry, page)| **entry == *page).count();
        Some(PageRun { from, count: count as u32 })
    }

    /// Programs the summary of `block`, if it is full and blocks have summaries.
    #[inline(always)]
    fn summarise<S: OpSink>(&self, block: BlockIndex, cells: &mut Cells<'_, S>) {
        if self.summary && cells.flash.written_in(block) == self.pages {
            cells.program_summary(block);
        }
    }

    /// Gathers all data of logical block `block` in a free block, which becomes its data block, and erases the old data
    /// block. This is a full merge without the erases of update blocks.
    pub(crate) fn gather<S: OpSink>(
        &mut self,
        block: u32,
        cells: &mut Cells<'_, S>,
    ) -> Result<Option<LastCopy>, FtlError> {
        let former = self.data(block);
        let mut data = None;
        let mut last = None;
        let mut offset = 0;
        while offset < self.pages {
            let slot = block * self.pages + offset;
            let Some(run) = self.run_at(slot, self.pages - offset, cells.flash) else {
                offset += 1;
                continue;
            };
            let to = match data {
                Some(to) => to,
                None => *data.insert(self.take_for(block)?),
            };
            last = Some(self.copy_run(slot, run, to, offset, cells));
            offset += run.count;
        }
        if let Some(former) = former {
            self.erase(former, last, cells);
        }
        self.set_data(block, data);
        Ok(last)
    }

    /// Merges the data block of logical block `block` with its log block `log`. If the log block holds each page at its
    /// offset, it is completed; otherwise the newest pages are gathered in a new block.
    pub(crate) fn merge_log<S: OpSink>(
        &mut self,
        block: u32,
        log: BlockIndex,
        cells: &mut Cells<'_, S>,
    ) -> Result<(), FtlError> {
        let data = self.data(block).expect("a block has a data block before it has a log block");
        if self.can_complete(block, log, |from| from == data, cells.flash) {
            let last = self.complete(block, log, 0, |from| from == data, cells);
            self.erase(data, last, cells);
        } else {
            let last = self.gather(block, cells)?;
            self.erase(log, last, cells);
            self.counters.gathered(1);
        }
        Ok(())
    }

    /// Returns true if `update`, which holds only pages of logical block `block`, can become its data block once the
    /// pages in blocks for which `from` is true were copied to it: its own pages are at their offsets, and the others
    /// come after them.
    pub(crate) fn can_complete(
        &self,
        block: u32,
        update: BlockIndex,
        from: impl Fn(BlockIndex) -> bool,
        flash: &FlashState,
    ) -> bool {
        let written = flash.written_in(update);
        (0..self.pages).all(|offset| {
            let Some(page) = self.page(block * self.pages + offset) else { return true };
            let (lies_in, at) = flash.geometry().split_page(page);
            if lies_in == update { at == offset } else { offset >= written || !from(lies_in) }
        })
    }

    /// Copies the pages of logical block `block` that lie in blocks for which `from` is true to their offsets in
    /// `update`, which becomes the data block. `copies` pages were copied to it already. Counts a switch merge if no
    /// page was copied in all, else a partial merge. Does not erase the other blocks.
    pub(crate) fn complete<S: OpSink>(
        &mut self,
        block: u32,
        update: BlockIndex,
        mut copies: u32,
        from: impl Fn(BlockIndex) -> bool,
        cells: &mut Cells<'_, S>,
    ) -> Option<LastCopy> {
        let mut last = None;
        let mut offset = cells.flash.written_in(update).min(self.pages);
        while offset < self.pages {
            let slot = block * self.pages + offset;
            let run = self.run_at(slot, self.pages - offset, cells.flash);
            offset += run.map_or(1, |run| run.count);
            if let Some(run) = run.filter(|run| from(cells.flash.geometry().block_of(run.from))) {
                last = Some(self.copy_run(slot, run, update, offset - run.count, cells));
                copies += run.count;
            }
        }
        self.set_data(block, Some(update));
        self.counters.completed(copies);
        last
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let free: usize = self.free.iter().map(|blocks| blocks.capacity() * size_of::<PoolBlock>()).sum();
        size_of_val(&*self.map) + size_of_val(&*self.data) + free
    }

    /// Asserts that every block has one role, and that every page lies where the controller would look for it. Returns
    /// the number of pages with data.
    pub(super) fn check(&self, updates: &[(BlockIndex, Option<u32>)], flash: &FlashState) -> u64 {
        const UNSEEN: u32 = u32::MAX;
        const SHARED: u32 = u32::MAX - 1;
        const FREE: u32 = u32::MAX - 2;
        const DATA: u32 = 1 << 31;
        let mut roles = vec![UNSEEN; self.blocks() as usize];
        let mut give = |local: PoolBlock, role: u32| {
            assert_eq!(roles[local.index()], UNSEEN, "{local:?} has two roles");
            roles[local.index()] = role;
        };
        for (part, blocks) in self.numbers.parts().zip(&self.free) {
            for &block in blocks {
                assert_eq!(self.numbers.part(block), part, "{block:?} is on another part's free list");
                assert_eq!(flash.written_in(self.numbers.on_device(block)), 0, "a free block is not erased");
                give(block, FREE);
            }
        }
        let mut absent = 0;
        for block in 0..self.logical() {
            match self.data(block) {
                Some(data) => give(self.local(data), DATA | block),
                None => absent += 1,
            }
        }
        assert_eq!(absent, self.absent, "data blocks are counted wrongly");
        for (update, owner) in updates {
            give(self.local(*update), owner.unwrap_or(SHARED));
        }
        assert!(!roles.contains(&UNSEEN), "a block was lost");
        let mut mapped = 0;
        for slot in 0..self.map.len() as u32 {
            let Some(page) = self.page(slot) else { continue };
            assert!(flash.is_valid(page), "slot {slot} maps to {page}, which holds no valid data");
            assert_eq!(flash.owner(page), slot, "slot {slot} maps to data of another");
            let (lies_in, at) = flash.geometry().split_page(page);
            let (block, offset) = (slot / self.pages, slot % self.pages);
            match roles[self.local(lies_in).index()] {
                SHARED => {}
                role if role == DATA | block => assert_eq!(at, offset, "a page of a data block is out of place"),
                role => assert_eq!(role, block, "slot {slot} lies in a block of another logical block"),
            }
            mapped += 1;
        }
        mapped
    }
}
