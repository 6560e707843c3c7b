//! The map, what of it is cached, and where its pages lie.

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
/// The bit of a map entry that is cached; the others say where.
const CACHED: u32 = 1 << 31;
/// The bit of an owner that is a translation page; the others say which.
pub(super) const TRANSLATION: u32 = 1 << 31;

/// A map entry: the physical page plus one.
#[inline(always)]
pub(super) fn entry(page: PhysicalPage) -> u32 {
    page.0 + 1
}

/// The physical page of a map entry that is not cached.
#[inline(always)]
pub(super) fn page_of(entry: u32) -> Option<PhysicalPage> {
    entry.checked_sub(1).map(PhysicalPage)
}

/// What a spare area says of a page with these contents.
#[inline(always)]
fn translation_owner(page: u32) -> u32 {
    TRANSLATION | page
}

/// The global mapping table, the cached mapping table, and the global translation directory of Kim 2009, section 3.3.2.
///
/// The global mapping table is on flash. Its translation pages have no content here: an entry that is not cached is the
/// same in the map below as on flash, and what flash says of a cached one matters only after a power failure.
#[derive(Debug)]
pub(super) struct Tables {
    /// Which slot of the map a logical page has.
    pub(super) striping: Striping,
    /// Per slot its [`entry`], or where it is cached.
    pub(super) map: Vec<u32>,
    pub(super) cache: Cache,
    /// Per translation page, its [`entry`].
    directory: Vec<u32>,
    /// Entries of a translation page, as a power of two.
    entries_shift: u32,
    translation_pages_per_pool: Divisor,
    /// Per pool what its translation pages still have to be told.
    updates: Vec<Updates>,
    /// Per pool, while a journal is kept, changes of cached entries: slot, [`entry`], and a sequence
    /// number with which, or later, the block begins that has the data. Those that were saved or changed
    /// again are dropped when they come up.
    unsaved: Vec<VecDeque<(u32, u32, u64)>>,
    /// Per pool the same sequence number for what recovery found and did not save yet; [`u64::MAX`] for nothing.
    pub(super) recovering: Vec<u64>,
    pub(super) counts: MappingCounts,
}

/// Translation pages with entries of pages that cleaning moved, and that were not cached then. They are written before
/// the block is erased from which the pages come; until then the controller knows better than flash.
#[derive(Clone, Debug)]
struct Updates {
    pages: Vec<u32>,
    /// While a journal is kept, a sequence number with which, or later, the blocks begin that the pages moved to.
    since: u64,
    /// Whether `pages` is in descending order and without duplicates.
    sorted: bool,
}

impl Default for Updates {
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
            updates: vec![Updates::default(); striping.pools() as usize],
            unsaved: vec![VecDeque::new(); striping.pools() as usize],
            recovering: vec![u64::MAX; striping.pools() as usize],
            counts: MappingCounts::default(),
            striping,
        }
    }

    pub(super) fn translation_pages(&self) -> u32 {
        self.directory.len() as u32
    }
    /// The translation page that has the entry of `slot`.
    #[inline(always)]
    pub(super) fn translation_page_of(&self, slot: u32) -> u32 {
        slot >> self.entries_shift
    }
    /// The pool that translation page `page` belongs to.
    #[inline(always)]
    pub(super) fn pool_of(&self, page: u32) -> u32 {
        self.translation_pages_per_pool.quotient(page)
    }
    /// Where translation page `page` lies; `None` where it was never written.
    #[inline(always)]
    pub(super) fn located(&self, page: u32) -> Option<PhysicalPage> {
        page_of(self.directory[page as usize])
    }
    /// Where the entry of `slot` is cached.
    #[inline(always)]
    pub(super) fn cached(&self, slot: u32) -> Option<u32> {
        let entry = self.map[slot as usize];
        (entry & CACHED != 0).then_some(entry & !CACHED)
    }
    /// Where the data of `slot` lie.
    #[inline(always)]
    pub(super) fn find(&self, slot: u32) -> Option<PhysicalPage> {
        page_of(self.cached(slot).map_or_else(|| self.map[slot as usize], |index| self.cache.page(index)))
    }

    #[inline(always)]
    pub(super) fn expect(&self, slot: u32) {
        prefetch(&self.map, slot as usize);
    }
    #[inline(always)]
    pub(super) fn expect_write(&self, slot: u32, flash: &FlashState) {
        match self.cached(slot) {
            Some(index) => self.cache.expect(index),
            None => {
                if let Some(old) = page_of(self.map[slot as usize]) {
                    flash.expect_block(flash.geometry().block_of(old));
                }
            }
        }
    }

    /// Caches the entry of `slot`, which is not cached; there is room. Says where it is.
    pub(super) fn bring(&mut self, slot: u32) -> u32 {
        let index = self.cache.insert(slot, self.map[slot as usize]);
        self.map[slot as usize] = CACHED | index;
        index
    }

    /// Has the cache forget the entry at `index`, which is clean.
    pub(super) fn forget(&mut self, index: u32) {
        debug_assert!(!self.cache.is_dirty(index));
        self.map[self.cache.slot(index) as usize] = self.cache.page(index);
        self.cache.remove(index);
        if self.cache.len() > 0 {
            // What the next eviction will need.
            let next = self.cache.victim();
            prefetch(&self.map, self.cache.slot(next) as usize);
            self.cache.expect_after(next);
        }
    }

    /// The entry at `index` says `page` from now on.
    #[inline(always)]
    pub(super) fn change(&mut self, index: u32, page: u32, flash: &FlashState) {
        self.cache.change(index, page);
        if flash.keeps_journal() {
            let pool = self.pool_of(self.translation_page_of(self.cache.slot(index)));
            self.change_before(index, page, pool as usize, flash.oldest_open(pool));
        }
    }

    /// The entry at `index` says `page` from now on, where a journal is kept, for data in a block of `pool` that begins
    /// with sequence number `since` or later.
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

    /// What translation page `page` holds when it is written now; `old` is where it was before.
    fn content(&mut self, page: u32, old: Option<PhysicalPage>, flash: &FlashState) -> MapPage {
        let first = (page << self.entries_shift) as usize;
        let before = old.and_then(|old| flash.map_page(old)).map(|content| &*content.entries);
        let entries = (0..1usize << self.entries_shift).map(|place| {
            let entry = self.map[first + place];
            match entry & CACHED {
                0 => entry,
                // Lazy copying: a change that is not to be saved stays out.
                _ if self.cache.is_dirty(entry & !CACHED) => before.map_or(NO_PAGE, |before| before[place]),
                _ => self.cache.page(entry & !CACHED),
            }
        });
        let entries = entries.collect();
        MapPage { entries, saved_before: self.saved_before(self.pool_of(page), flash) }
    }

    /// Translation page `page` was found at `at` with `entries`.
    pub(super) fn restore_page(&mut self, page: u32, at: PhysicalPage, entries: &[u32]) {
        self.directory[page as usize] = entry(at);
        let first = (page << self.entries_shift) as usize;
        self.map[first..first + entries.len()].copy_from_slice(entries);
    }

    /// The map and the directory, where nothing is cached.
    pub(super) fn places(&mut self) -> (&mut [u32], &mut [u32]) {
        debug_assert_eq!(self.cache.len(), 0);
        (&mut self.map, &mut self.directory)
    }

    /// Every translation page that is on flash has, where a journal is kept, the content that it would have if it was
    /// written now.
    pub(super) fn write_contents(&mut self, flash: &mut FlashState) {
        let pages = if flash.keeps_journal() { self.translation_pages() } else { 0 };
        for page in 0..pages {
            if let Some(at) = self.located(page) {
                let content = self.content(page, None, flash);
                flash.set_map_page(at, content);
            }
        }
    }

    /// Translation page `page` has to be written.
    pub(super) fn want_update(&mut self, page: u32) {
        let updates = &mut self.updates[self.translation_pages_per_pool.quotient(page) as usize];
        updates.pages.push(page);
        updates.sorted = false;
    }

    /// The map says `entry` of `slot` from now on, for which cleaning is the reason.
    #[inline(always)]
    fn place(&mut self, slot: u32, entry: u32, flash: &FlashState) {
        match self.cached(slot) {
            // Lazy copying: flash learns of it when the entry is evicted.
            Some(index) => self.change(index, entry, flash),
            None => {
                self.map[slot as usize] = entry;
                let page = self.translation_page_of(slot);
                self.want_update(page);
                if flash.keeps_journal() {
                    let pool = self.pool_of(page);
                    let updates = &mut self.updates[pool as usize];
                    updates.since = updates.since.min(flash.oldest_open(pool));
                }
            }
        }
    }

    /// All cached entries of translation page `page` go into its next version.
    pub(super) fn clean_all_of(&mut self, page: u32) {
        let first = (page << self.entries_shift) as usize;
        for entry in &self.map[first..first + (1 << self.entries_shift)] {
            if entry & CACHED != 0 {
                self.cache.clean(entry & !CACHED);
            }
        }
    }

    /// Reads translation page `page`, where it exists, and writes it anew to `block`. Says which block holds a
    /// superseded page now, and how many valid ones that has left.
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

    /// Asserts what must hold between calls.
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
    fn expect(&self, owner: u32) {
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

    /// While a journal is kept, a page whose place flash does not know is kept: its translation page may speak of
    /// one that was superseded long ago and holds data of another by now.
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
            // Batch update: a translation page is written once, however many of its pages have moved.
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
