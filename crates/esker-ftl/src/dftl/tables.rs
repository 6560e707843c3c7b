//! The map, the cached part of it, and the location of its translation pages.

use std::collections::VecDeque;

use esker_core::{LogicalPage, PhysicalPage};
use esker_nand::memory::{prefetch, zeroed};
use esker_nand::state::{FlashState, MapPage, OpSink};
use esker_nand::{BlockIndex, Divisor};
use esker_results::MappingCounts;

use super::cache::Cache;
use crate::Cells;
use crate::pools::{Content, PageMap, Striping};

/// The map entry of a page without data.
pub(super) const NO_PAGE: u32 = 0;
/// Marks a map entry as cached; the other bits are its index in the cache.
const CACHED: u32 = 1 << 31;
/// Marks an owner as a translation page; the other bits are its number.
pub(super) const TRANSLATION: u32 = 1 << 31;

/// Encodes a map entry: the physical page plus one.
#[inline(always)]
pub(super) fn entry(page: PhysicalPage) -> u32 {
    page.0 + 1
}

/// Decodes a map entry that is not cached.
#[inline(always)]
pub(super) fn page_of(entry: u32) -> Option<PhysicalPage> {
    entry.checked_sub(1).map(PhysicalPage)
}

/// Returns the owner in the spare area of translation page `page`.
#[inline(always)]
fn translation_owner(page: u32) -> u32 {
    TRANSLATION | page
}

/// The global mapping table, the cached mapping table, and the global translation directory of Kim 2009, section 3.3.2.
///
/// The global mapping table is on flash. Its content is not stored a second time: an entry that is not cached is the
/// same in `map` below, and the flash version of a cached entry matters only after a power failure.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    /// Maps logical pages to slots of the map.
    pub(super) striping: Striping,
    /// For each slot, its [`entry`], or its index in the cache.
    pub(super) map: Vec<u32>,
    pub(super) cache: Cache,
    /// For each translation page, its [`entry`].
    directory: Vec<u32>,
    /// Entries of a translation page, as a power of two.
    entries_shift: u32,
    translation_pages_per_pool: Divisor,
    /// For each pool, translation pages to be rewritten because of cleaning.
    updates: Vec<PendingUpdates>,
    /// For each pool, while a journal is kept, changes of cached entries: slot, [`entry`], and a lower bound of the
    /// sequence number with which the block of the data begins. Changes that were saved or superseded are dropped when
    /// they reach the front.
    unsaved: Vec<VecDeque<(u32, u32, u64)>>,
    /// For each pool, a lower bound of that sequence number for entries that recovery found and has not saved yet;
    /// [`u64::MAX`] if there are none.
    pub(super) recovering: Vec<u64>,
    pub(super) counts: MappingCounts,
}

/// Translation pages with changed entries: cleaning moved data pages whose entries were not cached. They are written
/// before the victim is erased; until then the map in memory is newer than flash.
#[derive(Clone, Debug)]
struct PendingUpdates {
    pages: Vec<u32>,
    /// While a journal is kept, a lower bound of the sequence numbers with which the destination blocks begin.
    since: u64,
    /// Whether `pages` is in descending order and without duplicates.
    sorted: bool,
}

impl Default for PendingUpdates {
    fn default() -> Self {
        Self { pages: Vec::new(), since: u64::MAX, sorted: true }
    }
}

impl Tables {
    pub(super) fn new(striping: Striping, entries_per_page: u32, cache: Cache) -> Self {
        debug_assert!(entries_per_page.is_power_of_two());
        Self {
            map: zeroed(striping.slots()),
            cache,
            directory: zeroed(striping.slots() / entries_per_page as usize),
            entries_shift: entries_per_page.trailing_zeros(),
            translation_pages_per_pool: Divisor::new(striping.slots_per_pool() / entries_per_page),
            updates: vec![PendingUpdates::default(); striping.pools() as usize],
            unsaved: vec![VecDeque::new(); striping.pools() as usize],
            recovering: vec![u64::MAX; striping.pools() as usize],
            counts: MappingCounts::default(),
            striping,
        }
    }

    pub(super) fn translation_pages(&self) -> u32 {
        self.directory.len() as u32
    }
    /// Returns the translation page with the entry of `slot`.
    #[inline(always)]
    pub(super) fn translation_page_of(&self, slot: u32) -> u32 {
        slot >> self.entries_shift
    }
    /// Returns the pool of translation page `page`.
    #[inline(always)]
    pub(super) fn pool_of(&self, page: u32) -> u32 {
        self.translation_pages_per_pool.quotient(page)
    }
    /// Returns the location of translation page `page`; `None` if it was never written.
    #[inline(always)]
    pub(super) fn located(&self, page: u32) -> Option<PhysicalPage> {
        page_of(self.directory[page as usize])
    }
    /// Returns the index in the cache of the entry of `slot`.
    #[inline(always)]
    pub(super) fn cached(&self, slot: u32) -> Option<u32> {
        let entry = self.map[slot as usize];
        (entry & CACHED != 0).then_some(entry & !CACHED)
    }
    /// Returns the location of the data of `slot`.
    #[inline(always)]
    pub(super) fn find(&self, slot: u32) -> Option<PhysicalPage> {
        page_of(self.cached(slot).map_or_else(|| self.map[slot as usize], |index| self.cache.page(index)))
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, slot: u32) {
        prefetch(&self.map, slot as usize);
    }
    #[inline(always)]
    pub(super) fn prefetch_write(&self, slot: u32, flash: &FlashState) {
        match self.cached(slot) {
            Some(index) => self.cache.prefetch(index),
            None => {
                if let Some(old) = page_of(self.map[slot as usize]) {
                    flash.prefetch_block(flash.geometry().block_of(old));
                }
            }
        }
    }

    /// Loads the entry of `slot`, which is not cached, into the cache, which has room. Returns its index.
    pub(super) fn load(&mut self, slot: u32) -> u32 {
        let index = self.cache.insert(slot, self.map[slot as usize]);
        self.map[slot as usize] = CACHED | index;
        index
    }

    /// Removes the entry at `index`, which is clean, from the cache.
    pub(super) fn forget(&mut self, index: u32) {
        debug_assert!(!self.cache.is_dirty(index));
        self.map[self.cache.slot(index) as usize] = self.cache.page(index);
        self.cache.remove(index);
        if self.cache.len() > 0 {
            // Prefetches what the next eviction needs.
            let next = self.cache.victim();
            prefetch(&self.map, self.cache.slot(next) as usize);
            self.cache.expect_after(next);
        }
    }

    /// Sets the page of the cached entry at `index`.
    #[inline(always)]
    pub(super) fn change(&mut self, index: u32, page: u32, flash: &FlashState) {
        self.cache.change(index, page);
        if flash.keeps_journal() {
            let pool = self.pool_of(self.translation_page_of(self.cache.slot(index)));
            self.change_before(index, page, pool as usize, flash.oldest_open(pool));
        }
    }

    /// Sets the page of the cached entry at `index` while a journal is kept. The data are in a block of `pool` that
    /// begins with sequence number `since` or a later one.
    pub(super) fn change_before(&mut self, index: u32, page: u32, pool: usize, since: u64) {
        self.cache.change(index, page);
        self.unsaved[pool].push_back((self.cache.slot(index), page, since));
        if self.unsaved[pool].len() > 4 * self.cache.capacity() as usize + 1024 {
            let mut all = std::mem::take(&mut self.unsaved[pool]);
            all.retain(|&(slot, page, _)| self.is_unsaved(slot, page));
            self.unsaved[pool] = all;
        }
    }

    fn is_unsaved(&self, slot: u32, page: u32) -> bool {
        self.cached(slot).is_some_and(|index| self.cache.is_dirty(index) && self.cache.page(index) == page)
    }

    /// See [`MapPage::saved_before`].
    fn saved_before(&mut self, pool: u32, flash: &FlashState) -> u64 {
        let index = pool as usize;
        while let Some(&(slot, page, since)) = self.unsaved[index].front() {
            if self.is_unsaved(slot, page) {
                return since.min(self.updates[index].since).min(self.recovering[index]).min(flash.oldest_open(pool));
            }
            self.unsaved[index].pop_front();
        }
        self.updates[index].since.min(self.recovering[index]).min(flash.oldest_open(pool))
    }

    /// Returns the content with which translation page `page` would be written now. `old` is its old location.
    fn content(&mut self, page: u32, old: Option<PhysicalPage>, flash: &FlashState) -> MapPage {
        let first = (page << self.entries_shift) as usize;
        let before = old.and_then(|old| flash.map_page(old)).map(|content| &*content.entries);
        let entries = (0..1usize << self.entries_shift).map(|place| {
            let entry = self.map[first + place];
            match entry & CACHED {
                0 => entry,
                // Lazy copying: a cached change that is not being saved is left out.
                _ if self.cache.is_dirty(entry & !CACHED) => before.map_or(NO_PAGE, |before| before[place]),
                _ => self.cache.page(entry & !CACHED),
            }
        });
        let entries = entries.collect();
        MapPage { entries, saved_before: self.saved_before(self.pool_of(page), flash) }
    }

    /// Sets the location and the entries of translation page `page`, found by recovery.
    pub(super) fn restore_page(&mut self, page: u32, at: PhysicalPage, entries: &[u32]) {
        self.directory[page as usize] = entry(at);
        let first = (page << self.entries_shift) as usize;
        self.map[first..first + entries.len()].copy_from_slice(entries);
    }

    /// Returns the map and the directory. Nothing must be cached.
    pub(super) fn map_and_directory(&mut self) -> (&mut [u32], &mut [u32]) {
        debug_assert_eq!(self.cache.len(), 0);
        (&mut self.map, &mut self.directory)
    }

    /// If a journal is kept, gives every translation page on flash the content with which it would be written now.
    pub(super) fn write_contents(&mut self, flash: &mut FlashState) {
        let pages = if flash.keeps_journal() { self.translation_pages() } else { 0 };
        for page in 0..pages {
            if let Some(at) = self.located(page) {
                let content = self.content(page, None, flash);
                flash.set_map_page(at, content);
            }
        }
    }

    /// Marks translation page `page` for rewriting.
    pub(super) fn mark_for_rewrite(&mut self, page: u32) {
        let updates = &mut self.updates[self.translation_pages_per_pool.quotient(page) as usize];
        updates.pages.push(page);
        updates.sorted = false;
    }

    /// Sets the map entry of `slot` because cleaning moved or dropped its page.
    #[inline(always)]
    fn place(&mut self, slot: u32, entry: u32, flash: &FlashState) {
        match self.cached(slot) {
            // Lazy copying: flash is updated when the entry is evicted.
            Some(index) => self.change(index, entry, flash),
            None => {
                self.map[slot as usize] = entry;
                let page = self.translation_page_of(slot);
                self.mark_for_rewrite(page);
                if flash.keeps_journal() {
                    let pool = self.pool_of(page);
                    let updates = &mut self.updates[pool as usize];
                    updates.since = updates.since.min(flash.oldest_open(pool));
                }
            }
        }
    }

    /// Marks all cached entries of translation page `page` as clean, so that its next version includes them.
    pub(super) fn clean_all_of(&mut self, page: u32) {
        let first = (page << self.entries_shift) as usize;
        for entry in &self.map[first..first + (1 << self.entries_shift)] {
            if entry & CACHED != 0 {
                self.cache.clean(entry & !CACHED);
            }
        }
    }

    /// Reads translation page `page`, if it exists, and writes a new version to `block`. Returns the block with the
    /// superseded version, and its number of valid pages left.
    pub(super) fn rewrite<S: OpSink>(
        &mut self,
        page: u32,
        block: BlockIndex,
        awaited: bool,
        cells: &mut Cells<'_, S>,
    ) -> Option<(BlockIndex, u32)> {
        let old = self.located(page);
        let read = old.map(|old| cells.read_map(old, awaited));
        let at = cells.program_map(block, translation_owner(page), read, awaited);
        if cells.flash.keeps_journal() {
            let content = self.content(page, old, cells.flash);
            cells.flash.set_map_page(at, content);
            old.into_iter().for_each(|old| cells.flash.forget_map_page(old));
        }
        self.directory[page as usize] = entry(at);
        old.map(|old| cells.flash.supersede(old))
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.map) + size_of_val(&*self.directory) + self.cache.memory_bytes()
    }

    /// Asserts the invariants that hold between calls.
    pub(super) fn check(&self, flash: &FlashState) {
        self.cache.check();
        let (mut mapped, mut cached) = (0, 0);
        for slot in 0..self.map.len() as u32 {
            if let Some(index) = self.cached(slot) {
                assert_eq!(self.cache.slot(index), slot, "slot {slot} is cached as another");
                cached += 1;
            } else if self.map[slot as usize] != NO_PAGE {
                let page = self.translation_page_of(slot);
                assert!(self.located(page).is_some(), "slot {slot} is known, and neither cached nor on flash");
            }
            let Some(at) = self.find(slot) else { continue };
            assert!(flash.is_valid(at), "slot {slot} maps to {at}, which holds no valid data");
            assert_eq!(flash.owner(at), slot, "slot {slot} maps to data of another");
            mapped += 1;
        }
        assert_eq!(cached, self.cache.len(), "entries are cached that the map does not know of");
        for page in 0..self.translation_pages() {
            let Some(at) = self.located(page) else { continue };
            assert!(flash.is_valid(at), "translation page {page} is at {at}, which holds nothing valid");
            assert_eq!(flash.owner(at), translation_owner(page), "translation page {page} is taken for another");
            mapped += 1;
        }
        assert_eq!(mapped, flash.valid_pages(), "valid pages that nothing maps to");
    }
}

impl PageMap for Tables {
    #[inline(always)]
    fn prefetch(&self, owner: u32) {
        if owner & TRANSLATION == 0 {
            prefetch(&self.map, owner as usize);
        }
    }

    #[inline(always)]
    fn moved(&mut self, owner: u32, to: PhysicalPage, flash: &FlashState) {
        if owner & TRANSLATION != 0 {
            self.directory[(owner & !TRANSLATION) as usize] = entry(to);
            self.counts.cleaning_map_reads += 1;
            self.counts.cleaning_map_writes += 1;
            return;
        }
        self.counts.cleaning_data_reads += 1;
        self.counts.cleaning_data_writes += 1;
        self.place(owner, entry(to), flash);
    }

    /// While a journal is kept, a page whose location is not saved on flash cannot be dropped: its translation page may
    /// point to a flash page that was superseded long ago and holds data of another page now.
    fn droppable(&self, owner: u32, flash: &FlashState) -> Option<LogicalPage> {
        let unknown = || flash.keeps_journal() && self.cached(owner).is_some_and(|index| self.cache.is_dirty(index));
        let is_data = owner & TRANSLATION == 0;
        (is_data && !unknown()).then(|| self.striping.page_at(owner))
    }

    fn dropped(&mut self, owner: u32, flash: &FlashState) {
        self.place(owner, NO_PAGE, flash);
    }

    #[inline(always)]
    fn has_updates(&self, pool: u32) -> bool {
        !self.updates[pool as usize].pages.is_empty()
    }

    fn update<S: OpSink>(
        &mut self,
        pool: u32,
        block: BlockIndex,
        cells: &mut Cells<'_, S>,
    ) -> Option<(BlockIndex, u32)> {
        let updates = &mut self.updates[pool as usize];
        if !updates.sorted {
            // Batch update: a translation page is written once, however many of its data pages have moved.
            updates.pages.sort_unstable_by(|one, other| other.cmp(one));
            updates.pages.dedup();
            updates.sorted = true;
        }
        let page = updates.pages.pop()?;
        if updates.pages.is_empty() {
            updates.since = u64::MAX;
        }
        if self.located(page).is_some() {
            self.counts.update_reads += 1;
        }
        self.counts.update_writes += 1;
        self.rewrite(page, block, false, cells)
    }

    fn erased(&mut self, content: Content) {
        match content {
            Content::Data => self.counts.data_erases += 1,
            Content::Map => self.counts.map_erases += 1,
        }
    }
}
