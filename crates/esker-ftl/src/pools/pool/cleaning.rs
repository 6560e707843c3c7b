//! Cleaning of a pool, including wear-levelling.

use esker_core::{PhysicalPage, StreamId, bits};
use esker_nand::BlockIndex;
use esker_nand::state::{Cause, FlashState, OpSink};

use super::{COLD, Pool, Victim};
use crate::gc::{self, VictimAnswer};
use crate::numbers::PoolBlock;
use crate::pools::owned::{asked_stream, drop_unwanted, report_lost, valid_pages};
use crate::pools::wear::{BlockFate, Wear};
use crate::pools::{Content, PageMap};
use crate::{Cells, FtlError};

/// If the map has its own blocks, cleaning a data block may open two blocks before it frees one. If fewer blocks than
/// this are free, the victim is chosen by its gain, whatever the policy says.
const FREE_FOR_ANY_VICTIM: u32 = 3;

/// Takes `block`, which has just been erased, out of use.
#[cold]
fn retire<S: OpSink>(block: BlockIndex, cells: &mut Cells<'_, S>) {
    cells.flash.mark_bad(block);
    if let Some(owner) = &mut cells.owner {
        owner.retired();
    }
}

impl Pool {
    /// Copies the valid pages of one victim to the frontier of its part, updates the map, and erases the victim.
    /// Returns that frontier. With `certain`, takes a victim whose cleaning gains space, whatever the policy says.
    pub(super) fn clean<S: OpSink>(
        &mut self,
        certain: bool,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<usize, FtlError> {
        let victim = match self.under_cleaning {
            Some(victim) => victim.block,
            None => self.take_victim(certain, false, cells.flash, page_map).ok_or(FtlError::NoSpace)?.block,
        };
        let index = self.frontier_for(victim);
        self.clean_some(u32::MAX, cells, page_map)?;
        Ok(index)
    }

    /// Copies some pages of a victim, as many as its pace says, or erases it. Does nothing if cleaning gains no space.
    #[cold]
    pub(super) fn clean_gradually<S: OpSink>(
        &mut self,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<(), FtlError> {
        if let Some(victim) = self.gainful_victim(cells.flash, page_map) {
            self.clean_some(victim.pace, cells, page_map)?;
        }
        Ok(())
    }

    /// Does one step of cleaning ahead of need. Returns false if there was nothing to do.
    pub(in crate::pools) fn clean_ahead<S: OpSink>(
        &mut self,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<bool, FtlError> {
        let wanted = self.background > 0 && (self.free_blocks < self.background || self.under_cleaning.is_some());
        if !wanted || self.gainful_victim(cells.flash, page_map).is_none() {
            return Ok(false);
        }
        self.clean_some(1, cells, page_map)?;
        // The copy may have opened a block of the reserve. Writes could fill it before the victim is erased, and would
        // then find no free page, neither for data nor for copies.
        if self.free_blocks < self.reserve && self.under_cleaning.is_some() {
            self.clean_some(u32::MAX, cells, page_map)?;
        }
        Ok(true)
    }

    /// Returns the block under cleaning. If there is none, returns the next victim, if cleaning it gains space.
    fn gainful_victim(&mut self, flash: &FlashState, page_map: &impl PageMap) -> Option<Victim> {
        self.under_cleaning.or_else(|| self.take_victim(false, true, flash, page_map))
    }

    /// Chooses the next victim. With `gainful`, a victim whose cleaning gains no space stays closed.
    fn take_victim(
        &mut self,
        certain: bool,
        gainful: bool,
        flash: &FlashState,
        page_map: &impl PageMap,
    ) -> Option<Victim> {
        let map_first = self.map.as_ref().is_some_and(|map| map.in_use > map.allowance);
        let block = if certain || self.map.is_some() && self.free_blocks < FREE_FOR_ANY_VICTIM {
            self.take_most_certain(gainful, flash)
        } else if map_first {
            self.take_map(gainful, flash).or_else(|| self.take_data(gainful, flash))
        } else {
            self.take_data(gainful, flash).or_else(|| self.take_map(gainful, flash))
        }?;
        bits::clear(&mut self.closed, block.index());
        let index = self.numbers.on_device(block);
        // Prefetch all that the copies need before anything waits for it: the pages' owners are all over the map.
        flash.prefetch_owners(index);
        for page in valid_pages(flash, index) {
            page_map.prefetch(flash.owner(page));
        }
        let valid = flash.valid_in(index);
        let victim = Victim { block, valid, pace: pace(valid, self.data_pages_per_block), moved: 0 };
        self.under_cleaning = Some(victim);
        self.under_cleaning
    }

    /// Returns the frontier in the part of `block` that takes the content of `block`; for data, the frontier of the
    /// first kind.
    fn frontier_for(&self, block: PoolBlock) -> usize {
        if bits::is_set(&self.holds_map, block.index()) {
            return self.map_frontier_for(block);
        }
        self.frontier_of_part[self.numbers.part(block).index()] as usize
    }

    /// Returns the frontier of the part of `block` that takes pages of the map.
    fn map_frontier_for(&self, block: PoolBlock) -> usize {
        (self.first_map_frontier + self.frontier_of_part[self.numbers.part(block).index()]) as usize
    }

    /// Returns the kind of data of the page of `owner`, copied from `block`, if kinds are separate.
    #[inline]
    pub(super) fn kind_of_copy(&self, owner: u32, block: PoolBlock) -> usize {
        match &self.temperature {
            Some(temperature) if temperature.is_hot(owner) => 0,
            Some(_) => COLD,
            None => self.stream_of_block.get(block.index()).map_or(self.copied, |stream| usize::from(*stream)),
        }
    }

    /// Returns the frontier that takes the data page of `owner`, copied from `block`. `asked` is the stream that its
    /// [`PageOwner`](crate::PageOwner) asks for.
    #[inline]
    fn frontier_of_copy(&self, asked: Option<StreamId>, owner: u32, block: PoolBlock) -> usize {
        let kind = match asked {
            Some(stream) if self.streams > 1 => (u32::from(stream.0) % self.streams) as usize,
            _ => self.kind_of_copy(owner, block),
        };
        self.of_kind(kind, self.frontier_of_part[self.numbers.part(block).index()])
    }

    /// Copies at most `copies` valid pages of the block under cleaning to the frontier of its die. If none are left
    /// then, updates the map and erases the block.
    #[inline]
    fn clean_some<S: OpSink>(
        &mut self,
        mut copies: u32,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<(), FtlError> {
        let Victim { block: victim, valid: valid_before, .. } = self.under_cleaning.expect("a block is under cleaning");
        let map = bits::is_set(&self.holds_map, victim.index());
        let cause = if map { Cause::Mapping } else { Cause::Cleaning };
        let block = self.numbers.on_device(victim);
        let first_kind = self.frontier_for(victim);
        let separate = !map && self.apart;
        let first_page = cells.flash.geometry().first_page(block).0;
        for word in 0..cells.flash.words_per_block() {
            let mut valid = cells.flash.valid_word(block, word);
            while valid != 0 {
                if copies == 0 {
                    return Ok(());
                }
                let from = PhysicalPage(first_page + 64 * word as u32 + valid.trailing_zeros());
                valid &= valid - 1;
                if cells.owner.is_some() && self.drop_unwanted(from, cells, page_map) {
                    continue;
                }
                copies -= 1;
                let mut index = first_kind;
                if separate {
                    index = self.frontier_of_copy(asked_stream(from, cells, page_map), cells.flash.owner(from), victim);
                }
                if self.frontiers[index].room == 0 {
                    index = self.room_for_copy(index, cells)?;
                }
                let (owner, to) = cells.copy(from, self.take_room(index), cause);
                page_map.moved(owner, to, cells.flash);
                self.under_cleaning.iter_mut().for_each(|victim| victim.moved += u32::from(!map));
            }
        }
        if copies == 0 {
            return Ok(());
        }
        if !map {
            self.update_map(self.map_frontier_for(victim), cells, page_map)?;
        }
        if page_map.has_suspects() {
            report_lost(block, cells, page_map);
        }
        cells.erase(block, cause);
        page_map.erased(if map { Content::Map } else { Content::Data });
        if let (true, Some(map)) = (map, &mut self.map) {
            bits::clear(&mut self.holds_map, victim.index());
            map.in_use -= 1;
        }
        self.under_cleaning = None;
        match self.wear.as_mut().map_or(BlockFate::Free, |wear| wear.erased(victim, cells.flash)) {
            BlockFate::Retired => retire(block, cells),
            BlockFate::TakesColdData if !map => self.migrate((victim, valid_before), cells, page_map)?,
            BlockFate::TakesColdData | BlockFate::Free => self.free(victim),
        }
        Ok(())
    }

    /// Opens a block for frontier `index`, which is full. If no block is free, returns a frontier of another kind of
    /// data instead: one victim may need a block for each kind before it frees one, and its pages always fit into the
    /// room of all kinds together.
    #[cold]
    fn room_for_copy<S: OpSink>(&mut self, index: usize, cells: &mut Cells<'_, S>) -> Result<usize, FtlError> {
        if self.free_blocks == 0 && !self.is_map_frontier(index) {
            let other = self.frontiers[..self.first_map_frontier as usize].iter().position(|other| other.room > 0);
            return other.ok_or(FtlError::NoSpace);
        }
        self.open(index, cells)?;
        Ok(index)
    }

    /// See [`drop_unwanted`]. The block of `from` must not be in the victim policy or open.
    #[cold]
    fn drop_unwanted<S: OpSink>(
        &mut self,
        from: PhysicalPage,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> bool {
        let dropped = drop_unwanted(from, cells, page_map);
        self.dropped_pages += u64::from(dropped);
        dropped
    }

    /// Adds `block`, which is erased, to the free blocks.
    fn free(&mut self, block: PoolBlock) {
        self.free[self.numbers.part(block).index()].push_back(block);
        self.free_blocks += 1;
    }

    /// Returns a function that is true for blocks whose cleaning gains space.
    #[inline]
    fn gains<'a>(&self, flash: &'a FlashState) -> impl Fn(PoolBlock) -> bool + use<'a> {
        let (numbers, most) = (self.numbers, self.data_pages_per_block);
        move |block| flash.valid_in(numbers.on_device(block)) < most
    }

    /// Takes the policy's choice among data blocks; with `gainful`, only if cleaning it gains space.
    #[inline]
    fn take_data(&mut self, gainful: bool, flash: &FlashState) -> Option<PoolBlock> {
        if self.wear.is_some() {
            return self.take_unworn(gainful, flash);
        }
        let gains = self.gains(flash);
        gc::take_victim(&mut *self.victims, gainful, gains)
    }

    /// Takes a victim among the blocks of the map.
    fn take_map(&mut self, gainful: bool, flash: &FlashState) -> Option<PoolBlock> {
        let gains = self.gains(flash);
        gc::take_victim(&mut *self.map.as_mut()?.victims, gainful, gains)
    }

    /// Takes the policy's first choice among data blocks that the rate limit allows. If none is allowed, takes its
    /// first choice of all, as [`gc::take_victim`] would.
    fn take_unworn(&mut self, gainful: bool, flash: &FlashState) -> Option<PoolBlock> {
        let gains = self.gains(flash);
        let wear = self.wear.as_mut().expect("wear is counted");
        let decides_alone = self.victims.decides_alone();
        let (mut first, mut first_without_gain, mut spared) = (None, None, 0);
        let allowed = self.victims.take_where(&mut |block| {
            let gains = gains(block);
            if gains && wear.allows(block, flash) {
                return VictimAnswer::Take;
            }
            if !gains && !decides_alone {
                first_without_gain.get_or_insert(block);
                return VictimAnswer::Skip;
            }
            first.get_or_insert(block);
            spared += 1;
            // A block that gains no space is not a better victim for being less worn.
            if !gains || spared == Wear::draws_max() { VictimAnswer::Stop } else { VictimAnswer::Skip }
        });
        if allowed.is_some() {
            return allowed;
        }
        let first = first.or(first_without_gain).filter(|block| !gainful || gains(*block))?;
        self.victims.remove(first);
        Some(first)
    }

    /// Moves the data of the coldest block to `worn`, which is erased, and erases the coldest block instead. `worn` had
    /// `valid_before` valid pages when it was chosen.
    #[cold]
    fn migrate<S: OpSink>(
        &mut self,
        (worn, valid_before): (PoolBlock, u32),
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<(), FtlError> {
        let closed = |block: &PoolBlock| {
            bits::is_set(&self.closed, block.index()) && !bits::is_set(&self.holds_map, block.index())
        };
        let wear = self.wear.as_ref().expect("wear is counted");
        let Some(cold) = wear.coldest((worn, valid_before), self.numbers.all().filter(closed), cells.flash) else {
            self.free(worn);
            return Ok(());
        };
        self.victims.remove(cold);
        bits::clear(&mut self.closed, cold.index());
        let (from, to) = (self.numbers.on_device(cold), self.numbers.on_device(worn));
        if !self.stream_of_block.is_empty() {
            self.stream_of_block[worn.index()] = self.stream_of_block[cold.index()];
        }
        let pages: Vec<PhysicalPage> = valid_pages(cells.flash, from).collect();
        for page in pages {
            if cells.owner.is_some() && self.drop_unwanted(page, cells, page_map) {
                continue;
            }
            let (owner, page) = cells.copy(page, to, Cause::WearLevelling);
            page_map.moved(owner, page, cells.flash);
        }
        if self.summary && cells.flash.written_in(to) == self.data_pages_per_block {
            cells.program_summary(to);
        }
        self.close(worn, cells.flash.valid_in(to));
        if let Err(error) = self.update_map(self.map_frontier_for(cold), cells, page_map) {
            self.close(cold, cells.flash.valid_in(from));
            return Err(error);
        }
        if page_map.has_suspects() {
            report_lost(from, cells, page_map);
        }
        cells.erase(from, Cause::WearLevelling);
        page_map.erased(Content::Data);
        let wear = self.wear.as_mut().expect("wear is counted");
        wear.migrated();
        match wear.erased(cold, cells.flash) {
            BlockFate::Retired => retire(from, cells),
            _ => self.free(cold),
        }
        Ok(())
    }

    /// Writes the map pages whose entries changed because pages moved to frontier `index`.
    #[inline]
    fn update_map<S: OpSink>(
        &mut self,
        index: usize,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<(), FtlError> {
        while page_map.has_updates(self.index) {
            if self.frontiers[index].room == 0 {
                self.open(index, cells)?;
            }
            if let Some((block, valid)) = page_map.update(self.index, self.take_room(index), cells) {
                self.superseded(self.numbers.in_pool(block), valid);
            }
        }
        Ok(())
    }

    /// Takes the victim that needs the fewest pages before it frees some, whatever the policy says: a block without
    /// valid pages; or the map block that gains most, because it never needs a map update; or the data block with the
    /// fewest valid pages. Of equally good blocks, takes the lowest. With `gainful`, a victim that gains no space stays
    /// closed.
    fn take_most_certain(&mut self, gainful: bool, flash: &FlashState) -> Option<PoolBlock> {
        let gains = self.gains(flash);
        let rank = |block: &PoolBlock| {
            let valid = flash.valid_in(self.numbers.on_device(*block));
            let map = bits::is_set(&self.holds_map, block.index());
            (valid > 0, !(map && gains(*block)), valid, map)
        };
        let closed = self.numbers.all().filter(|block| bits::is_set(&self.closed, block.index()));
        let chosen = closed.min_by_key(rank).filter(|block| !gainful || gains(*block))?;
        self.policy_for(chosen).remove(chosen);
        Some(chosen)
    }
}

/// Returns the pages to copy per page written, for a victim with `valid` valid pages of `pages`.
pub(super) fn pace(valid: u32, pages: u32) -> u32 {
    valid.div_ceil((pages - valid).max(1)).max(1)
}
