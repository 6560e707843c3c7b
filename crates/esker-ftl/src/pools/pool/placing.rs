//! Placement: which block takes the next page.

use esker_core::bits;
use esker_nand::BlockIndex;
use esker_nand::state::{FlashState, OpSink};

use super::{COLD, Pool, Wear};
use crate::pools::PageMap;
use crate::{Cells, FtlError};

impl Pool {
    /// Returns the block for the page of `owner`, which the host writes in `stream`.
    #[inline]
    pub(in crate::pools) fn place<S: OpSink>(
        &mut self,
        owner: u32,
        stream: u32,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<BlockIndex, FtlError> {
        let cold = self.temperature.as_mut().is_some_and(|temperature| !temperature.written(owner));
        let kind = if cold { COLD } else { stream as usize };
        self.place_in(kind, cells, page_map)
    }

    /// See [`crate::Pools::place_copy`].
    pub(in crate::pools) fn place_copy<S: OpSink>(
        &mut self,
        owner: u32,
        at: BlockIndex,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<BlockIndex, FtlError> {
        let kind = if self.apart { self.kind_of_copy(owner, self.numbers.in_pool(at)) } else { 0 };
        self.place_in(kind, cells, page_map)
    }

    #[inline]
    fn place_in<S: OpSink>(
        &mut self,
        kind: usize,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<BlockIndex, FtlError> {
        if self.free_blocks < self.gradual {
            self.clean_gradually(cells, page_map)?;
        }
        let turn = if self.least_loaded { self.least_loaded(kind, cells.flash) } else { self.turns[kind] };
        self.turns[kind] = if turn + 1 == self.data_frontiers { 0 } else { turn + 1 };
        let turn = self.of_kind(kind, turn);
        let index = if self.frontiers[turn].room > 0 { turn } else { self.make_room(turn, cells, page_map)? };
        Ok(self.take_room(index))
    }

    /// Returns the index of frontier `index` of `kind`.
    #[inline(always)]
    pub(super) fn of_kind(&self, kind: usize, index: u32) -> usize {
        kind * self.data_frontiers as usize + index as usize
    }

    /// Returns the frontier of `kind` whose die has the least pending work; of equally good ones, the next in turn.
    fn least_loaded(&self, kind: usize, flash: &FlashState) -> u32 {
        let count = self.data_frontiers;
        let in_turn = (0..count).map(|step| (self.turns[kind] + step) % count);
        let backlog = |index: &u32| {
            let frontier = &self.frontiers[self.of_kind(kind, *index)];
            let home = self.numbers.on_device(self.numbers.first_of(frontier.home));
            flash.backlog(frontier.block.filter(|_| frontier.room > 0).unwrap_or(home))
        };
        in_turn.min_by_key(backlog).expect("a pool has frontiers")
    }

    /// Returns the block that takes the next page of the map.
    pub(in crate::pools) fn place_map<S: OpSink>(
        &mut self,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<BlockIndex, FtlError> {
        if self.free_blocks < self.gradual {
            self.clean_gradually(cells, page_map)?;
        }
        let turn = self.first_map_frontier + self.map_turn;
        self.map_turn = if self.map_turn + 1 == self.data_frontiers { 0 } else { self.map_turn + 1 };
        let mut index = turn as usize;
        if self.frontiers[index].room == 0 {
            index = self.make_room(index, cells, page_map)?;
        }
        Ok(self.take_room(index))
    }

    /// Takes one page of frontier `index`, which has room, and returns its block.
    #[inline(always)]
    pub(super) fn take_room(&mut self, index: usize) -> BlockIndex {
        let frontier = &mut self.frontiers[index];
        frontier.room -= 1;
        frontier.block.expect("a frontier with room has a block")
    }

    #[inline(always)]
    pub(super) fn is_map_frontier(&self, index: usize) -> bool {
        index as u32 >= self.first_map_frontier
    }

    /// Opens a block for frontier `index`, and cleans until the reserve is free again. Returns the frontier for the
    /// write: the one in the part of the last victim, of the same kind, so that its die does the cleaning first.
    #[cold]
    fn make_room<S: OpSink>(
        &mut self,
        index: usize,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<usize, FtlError> {
        let outcome = self.try_to_make_room(index, cells, page_map);
        let worn = self.wear.as_ref().is_some_and(Wear::has_retired_blocks);
        outcome.map_err(|error| if worn { FtlError::WornOut } else { error })
    }

    fn try_to_make_room<S: OpSink>(
        &mut self,
        mut index: usize,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<usize, FtlError> {
        // Some policies may pick blocks without a superseded page, which gain nothing, but hardly this often.
        let patience = self.blocks().min(64);
        let mut attempts = 64 * self.closed.len() * 64;
        let most = attempts;
        let map = self.is_map_frontier(index);
        if self.wear.as_ref().is_some_and(Wear::is_worn_out) {
            return Err(FtlError::WornOut);
        }
        while self.frontiers[index].room == 0 {
            // Blocks that went out of use one after the other may have taken the reserve. Pages that an owner drops
            // need no room.
            while self.free_blocks == 0 && cells.owner.is_some() {
                self.clean(false, cells, page_map)?;
                attempts = attempts.checked_sub(1).ok_or(FtlError::NoSpace)?;
            }
            self.open(index, cells)?;
            while self.free_blocks < self.reserve {
                // If each copy may need a map update, a policy that does not look for gain may lose space as fast as it
                // gains it.
                let certain = self.map.is_some() && most - attempts > patience;
                let cleaned = self.clean(certain, cells, page_map)?;
                if self.is_map_frontier(cleaned) == map {
                    index = self.beside(index, cleaned);
                }
                attempts = attempts.checked_sub(1).ok_or(FtlError::NoSpace)?;
            }
        }
        Ok(index)
    }

    /// Returns the frontier of the same kind as `index` in the part of frontier `cleaned`. If kinds are separate and
    /// cleaning gave room there only to another kind, returns `index`.
    #[inline]
    fn beside(&self, index: usize, cleaned: usize) -> usize {
        if !self.apart || self.is_map_frontier(index) {
            return cleaned;
        }
        let other = self.of_kind(index / self.data_frontiers as usize, cleaned as u32);
        if self.frontiers[other].room > 0 { other } else { index }
    }

    /// Closes the block of frontier `index`, which is full, and opens a free one.
    pub(super) fn open<S: OpSink>(&mut self, index: usize, cells: &mut Cells<'_, S>) -> Result<(), FtlError> {
        let single = self.data_frontiers == 1;
        let map = self.is_map_frontier(index);
        let frontier = &mut self.frontiers[index];
        debug_assert_eq!(frontier.room, 0);
        if let Some(full) = frontier.block.take() {
            if self.summary {
                cells.program_summary(full);
            }
            let local = self.numbers.in_pool(full);
            let valid = cells.flash.valid_in(full);
            self.close(local, valid);
            let frontier = &mut self.frontiers[index];
            if single {
                frontier.home = self.numbers.part_after(frontier.home);
            }
        }
        let frontier = &mut self.frontiers[index];
        let part = match self.free[frontier.home.index()].is_empty() {
            false => frontier.home.index(),
            // Of equally good parts the first: results must not depend on chance.
            true => (0..self.free.len()).rev().max_by_key(|&part| self.free[part].len()).expect("a pool has parts"),
        };
        let block = self.free[part].pop_front().ok_or(FtlError::NoSpace)?;
        self.free_blocks -= 1;
        frontier.block = Some(self.numbers.on_device(block));
        frontier.room = self.data_pages_per_block;
        if cells.flash.keeps_journal() {
            frontier.opened = cells.flash.next_sequence();
            self.record_oldest_open(cells.flash);
        }
        if let (false, Some(stream)) = (map, self.stream_of_block.get_mut(block.index())) {
            *stream = (index as u32 / self.data_frontiers) as u8;
        }
        if let (true, Some(map)) = (map, &mut self.map) {
            bits::set(&mut self.holds_map, block.index());
            map.in_use += 1;
        }
        Ok(())
    }

    /// See [`crate::Pools::write_updates`].
    pub(in crate::pools) fn write_updates<S: OpSink>(
        &mut self,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<(), FtlError> {
        while page_map.has_updates(self.index) {
            let mut index = self.first_map_frontier as usize;
            if self.frontiers[index].room == 0 {
                index = self.make_room(index, cells, page_map)?;
            }
            // Cleaning may have written the map pages already.
            if page_map.has_updates(self.index)
                && let Some((block, valid)) = page_map.update(self.index, self.take_room(index), cells)
            {
                self.superseded(self.numbers.in_pool(block), valid);
            }
        }
        Ok(())
    }
}
