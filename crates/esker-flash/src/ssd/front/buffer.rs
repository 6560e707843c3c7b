//! The drive's memory for data: it accepts writes, combines them and answers reads. It is a state machine over logical
//! pages, without any notion of time, requests or flash.

use std::hash::{BuildHasherDefault, Hasher};

use esker_core::{Linked, Links, List, LogicalPage, StreamId, mix64};
use esker_ftl::WriteExtent;
use esker_nand::memory::prefetch;
use hashbrown::HashMap;

use super::coverage::{Coverage, Rounding, coverage};
use super::departures::Departures;

/// Pages in memory. A page is *dirty* while flash lacks data written to it, and *leaving* while it is being written to
/// flash. Other pages are *clean*; they make room for new ones, least recently used first.
#[derive(Debug)]
pub(in crate::ssd) struct Buffer {
    entries: Vec<Entry>,
    unused: Vec<u32>,
    of_page: HashMap<u32, u32, BuildHasherDefault<PageHasher>>,
    shape: BufferShape,
    whole: Coverage,
    /// Lists of clean pages, of leaving pages, and of the dirty pages of each pool (see [`Entry::list`]). In each list,
    /// the least recently used page comes first.
    lists: Vec<List>,
    /// Number of dirty pages of all pools.
    dirty: u32,
    departures: Departures,
    /// Number of uses of all pages so far.
    uses: u64,
    /// Number of dirty or leaving pages that a flush waits for.
    awaited: u32,
}

/// The size of a buffer, and the shape of the array behind it.
#[derive(Clone, Copy, Debug)]
pub(in crate::ssd) struct BufferShape {
    /// Number of pages that the buffer has room for.
    pub(in crate::ssd) pages: u32,
    pub(in crate::ssd) sectors_per_page: u32,
    /// Number of pools of the array.
    pub(in crate::ssd) pools: u32,
    /// Number of pages that each pool may always have on their way to flash.
    pub(in crate::ssd) leaving_per_pool: u32,
}

/// A page in memory. Exactly fills a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Entry {
    page: u32,
    /// The pool to which the page is written, if it has been dirty.
    pool: u32,
    /// The stream that last wrote the page.
    stream: StreamId,
    /// The number of the page's last use.
    used: u64,
    covered: Coverage,
    state: State,
    /// While leaving: whether the page was written again in the meantime.
    again: bool,
    /// While leaving: whether the page was trimmed in the meantime.
    forgotten: bool,
    /// Whether a flush waits for the page.
    awaited: bool,
    /// While leaving: whether a flush also waits for data written to the page in the meantime.
    awaited_again: bool,
    /// While leaving: number of flash operations that have not ended.
    operations: u32,
    /// While flash lacks data of the page: the number of the first write that brought such data.
    written: u64,
    /// While leaving and written again: the number of the first write since the page left.
    written_again: u64,
    links: Links,
}

const _: () = assert!(size_of::<Entry>() == 64, "an entry is a cache line");

impl Linked for Entry {
    #[inline]
    fn links(&self) -> &Links {
        &self.links
    }
    #[inline]
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Clean,
    Dirty,
    Leaving,
}

/// Index of the list of clean pages in [`Buffer::lists`].
const CLEAN: usize = 0;
/// Index of the list of leaving pages.
const LEAVING: usize = 1;
/// Index of the list of dirty pages of the first pool; the lists of other pools follow.
const DIRTY: usize = 2;

impl Entry {
    /// Returns the index of the list that the entry is in.
    fn list(&self) -> usize {
        match self.state {
            State::Clean => CLEAN,
            State::Leaving => LEAVING,
            State::Dirty => DIRTY + self.pool as usize,
        }
    }
}

/// The result of a page write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ssd) enum Admission {
    /// The page was already in memory and dirty. This saves a write to flash.
    Coalesced,
    /// The page is in memory now.
    Taken,
    /// There is no room: all pages are dirty.
    Full,
}

impl Buffer {
    /// Creates an empty buffer.
    pub(in crate::ssd) fn new(shape: &BufferShape) -> Self {
        let sectors = shape.sectors_per_page;
        Self {
            entries: Vec::new(),
            unused: Vec::new(),
            of_page: HashMap::default(),
            shape: *shape,
            whole: coverage(0, sectors, sectors, Rounding::Inward),
            lists: vec![List::EMPTY; DIRTY + shape.pools as usize],
            dirty: 0,
            departures: Departures::new(shape.pools, shape.leaving_per_pool),
            uses: 0,
            awaited: 0,
        }
    }

    /// Returns the number of pages whose data flash lacks, including pages on their way.
    pub(in crate::ssd) fn unwritten(&self) -> u32 {
        self.dirty + self.leaving()
    }
    /// Returns the number of pages on their way to flash.
    pub(in crate::ssd) fn leaving(&self) -> u32 {
        self.lists[LEAVING].len()
    }
    /// Returns true if a flush still waits for pages.
    pub(in crate::ssd) fn is_awaited(&self) -> bool {
        self.awaited > 0
    }

    /// Returns true if all sectors `covered` of `page` are in memory.
    pub(in crate::ssd) fn read(&mut self, page: LogicalPage, covered: Coverage) -> bool {
        let Some(&entry) = self.of_page.get(&page.0) else { return false };
        self.touch(entry);
        self.has(page, covered)
    }

    /// Returns true if all sectors `covered` of `page` are in memory. That is no use of the page.
    pub(in crate::ssd) fn has(&self, page: LogicalPage, covered: Coverage) -> bool {
        self.of_page.get(&page.0).is_some_and(|&entry| covered & !self.entries[entry as usize].covered == 0)
    }

    /// Returns true if any data of `page` are in memory.
    pub(in crate::ssd) fn holds(&self, page: LogicalPage) -> bool {
        self.of_page.contains_key(&page.0)
    }

    /// Keeps a page that flash holds as well, if there is room or a clean page can make room.
    pub(in crate::ssd) fn keep(&mut self, page: LogicalPage, covered: Coverage) {
        match self.of_page.get(&page.0) {
            Some(&entry) => self.entries[entry as usize].covered |= covered,
            None => {
                if let Some(entry) = self.take(page, covered) {
                    self.push(entry, State::Clean);
                }
            }
        }
    }

    /// Like [`Self::keep`], with all sectors of the page.
    pub(in crate::ssd) fn keep_whole(&mut self, page: LogicalPage) {
        self.keep(page, self.whole);
    }

    /// Records that `stream` was the last to write `page`, if the page is in memory.
    pub(in crate::ssd) fn set_stream(&mut self, page: LogicalPage, stream: StreamId) {
        if let Some(&entry) = self.of_page.get(&page.0) {
            self.entries[entry as usize].stream = stream;
        }
    }

    /// Writes the sectors `covered` of `page`, which belongs to `pool`, for write number `number` of `stream`.
    pub(in crate::ssd) fn write(
        &mut self,
        page: LogicalPage,
        pool: u32,
        covered: Coverage,
        stream: StreamId,
        number: u64,
    ) -> Admission {
        if let Some(&index) = self.of_page.get(&page.0) {
            let entry = &mut self.entries[index as usize];
            entry.covered |= covered;
            entry.stream = stream;
            match entry.state {
                State::Leaving => {
                    let coalesced = std::mem::replace(&mut entry.again, true);
                    if !coalesced {
                        entry.written_again = number;
                    }
                    return if coalesced { Admission::Coalesced } else { Admission::Taken };
                }
                State::Dirty => {
                    self.touch(index);
                    return Admission::Coalesced;
                }
                State::Clean => {
                    (entry.written, entry.pool) = (number, pool);
                    self.unlink(index);
                    self.push(index, State::Dirty);
                    return Admission::Taken;
                }
            }
        }
        match self.take(page, covered) {
            None => Admission::Full,
            Some(index) => {
                let entry = &mut self.entries[index as usize];
                (entry.written, entry.pool, entry.stream) = (number, pool, stream);
                self.push(index, State::Dirty);
                Admission::Taken
            }
        }
    }

    /// Sends a dirty page to flash: the least recently used one whose pool may have one more on its way. Up to `more`
    /// pages may be on their way beyond that limit. Returns the entry, for [`Self::set_operations`] and
    /// [`Self::end_operation`], and what to write.
    pub(in crate::ssd) fn leave(&mut self, more: u64) -> Option<(u32, LogicalPage, WriteExtent, StreamId)> {
        let pool = self.departures.first(more)?;
        let index = self.lists[DIRTY + pool as usize].first().expect("the pool has something to write");
        let next = self.detach(index).map(|newer| self.entries[newer as usize].used);
        self.dirty -= 1;
        self.link(index, State::Leaving);
        self.departures.began(pool, next);
        let entry = &mut self.entries[index as usize];
        (entry.again, entry.forgotten) = (false, false);
        let extent = if entry.covered == self.whole { WriteExtent::Whole } else { WriteExtent::Partial };
        Some((index, LogicalPage(entry.page), extent, entry.stream))
    }

    /// Sets the number of flash operations that write the page of `entry`.
    pub(in crate::ssd) fn set_operations(&mut self, entry: u32, operations: u32) {
        self.entries[entry as usize].operations = operations;
    }

    /// Records the end of a flash operation of the entry `index`. Returns true if it was the last one.
    pub(in crate::ssd) fn end_operation(&mut self, index: u32) -> bool {
        let entry = &mut self.entries[index as usize];
        entry.operations -= 1;
        if entry.operations > 0 {
            return false;
        }
        let (again, forgotten) = (entry.again, entry.forgotten);
        let still_awaited = std::mem::take(&mut entry.awaited_again) && !forgotten;
        self.awaited -= u32::from(std::mem::replace(&mut entry.awaited, still_awaited) && !still_awaited);
        entry.written = entry.written_again;
        self.unlink(index);
        match (forgotten, again) {
            (true, _) => self.unused.push(index),
            (false, true) => self.push(index, State::Dirty),
            (false, false) => self.push(index, State::Clean),
        }
        true
    }

    /// Drops `page`, which was trimmed.
    pub(in crate::ssd) fn forget(&mut self, page: LogicalPage) {
        let Some(index) = self.of_page.remove(&page.0) else { return };
        let entry = &mut self.entries[index as usize];
        if entry.state == State::Leaving {
            entry.forgotten = true;
            return;
        }
        self.awaited -= u32::from(std::mem::take(&mut entry.awaited));
        self.unlink(index);
        self.unused.push(index);
    }

    /// Makes a flush wait for every page whose data flash lacks now.
    pub(in crate::ssd) fn await_all(&mut self) {
        for list in &self.lists[LEAVING..] {
            let mut next = list.first();
            while let Some(index) = next {
                let entry = &mut self.entries[index as usize];
                self.awaited += u32::from(!std::mem::replace(&mut entry.awaited, true));
                entry.awaited_again = entry.state == State::Leaving && entry.again;
                next = entry.links.next();
            }
        }
    }

    /// Returns the number of pages for which flash lacks data of a write with a number below `number`.
    pub(in crate::ssd) fn unwritten_before(&self, number: u64) -> u64 {
        let lost = |entry: &Entry| !entry.forgotten && entry.written < number;
        self.not_on_flash().filter(|entry| lost(entry)).count() as u64
    }

    /// Iterates over the pages whose data flash lacks.
    fn not_on_flash(&self) -> impl Iterator<Item = &Entry> {
        let lists = self.lists[LEAVING..].iter();
        lists.flat_map(|list| list.iter(&self.entries)).map(|index| &self.entries[index as usize])
    }

    /// Makes leaving pages dirty again, since a power failure kept them from reaching flash.
    pub(in crate::ssd) fn return_leaving_pages(&mut self) {
        while let Some(index) = self.lists[LEAVING].first() {
            let entry = &mut self.entries[index as usize];
            entry.operations = 0;
            let forgotten = entry.forgotten;
            self.unlink(index);
            match forgotten {
                true => self.unused.push(index),
                false => self.push(index, State::Dirty),
            }
        }
        self.entries.iter_mut().for_each(|entry| (entry.awaited, entry.awaited_again) = (false, false));
        self.awaited = 0;
    }

    /// Returns a new entry for `page` that is in no list, or `None` if there is neither room nor a clean page that
    /// could make room.
    fn take(&mut self, page: LogicalPage, covered: Coverage) -> Option<u32> {
        let entry = Entry {
            page: page.0,
            pool: 0,
            stream: StreamId::default(),
            used: 0,
            covered,
            state: State::Clean,
            again: false,
            forgotten: false,
            awaited: false,
            awaited_again: false,
            operations: 0,
            written: 0,
            written_again: 0,
            links: Links::NONE,
        };
        let index = match self.unused.pop() {
            Some(index) => index,
            None if (self.entries.len() as u32) < self.shape.pages => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
            None => {
                let index = self.lists[CLEAN].first()?;
                self.unlink(index);
                self.of_page.remove(&self.entries[index as usize].page);
                index
            }
        };
        self.entries[index as usize] = entry;
        self.of_page.insert(page.0, index);
        Some(index)
    }

    /// Makes `index` the most recently used entry of its list.
    fn touch(&mut self, index: u32) {
        let Entry { state, awaited, .. } = self.entries[index as usize];
        // However often a page is used for which a flush waits, its turn comes.
        if awaited && state == State::Dirty {
            return;
        }
        if state == State::Leaving {
            // The page stays on its way, so departures do not change.
            self.detach(index);
            self.link(index, state);
            return;
        }
        self.unlink(index);
        self.push(index, state);
    }

    /// Adds an entry that is in no list to the list of `state`, clean or dirty.
    fn push(&mut self, index: u32, state: State) {
        debug_assert!(state != State::Leaving, "pages leave one by one");
        let older = self.link(index, state);
        if state == State::Dirty {
            self.dirty += 1;
            if older.is_none() {
                self.departures.set_next(self.entries[index as usize].pool, Some(self.uses));
            }
        }
    }

    /// Removes an entry from its list, and updates counts and departures.
    fn unlink(&mut self, index: u32) {
        let Entry { state, pool, links, .. } = self.entries[index as usize];
        let newer = self.detach(index);
        match state {
            State::Clean => {}
            State::Leaving => self.departures.ended(pool),
            State::Dirty => {
                self.dirty -= 1;
                if links.previous().is_none() {
                    self.departures.set_next(pool, newer.map(|newer| self.entries[newer as usize].used));
                }
            }
        }
    }

    /// Appends an entry to the list of `state` as the most recently used one. Returns the entry before it.
    #[inline]
    fn link(&mut self, index: u32, state: State) -> Option<u32> {
        self.uses += 1;
        let entry = &mut self.entries[index as usize];
        (entry.state, entry.used) = (state, self.uses);
        let list = entry.list();
        self.lists[list].push_back(&mut self.entries, index)
    }

    /// Removes an entry from its list, and updates nothing else. Returns the entry after it.
    #[inline]
    fn detach(&mut self, index: u32) -> Option<u32> {
        let list = self.entries[index as usize].list();
        let newer = self.lists[list].remove(&mut self.entries, index)?;
        // Most lists are emptied from the front, so the entry after the next one is wanted soon.
        if let Some(after) = self.entries[newer as usize].links.next() {
            prefetch(&self.entries, after as usize);
        }
        Some(newer)
    }

    /// Asserts the invariants that hold between calls. Slow.
    pub(in crate::ssd) fn check(&self) {
        let (mut held, mut dirty) = (0, 0);
        for (number, list) in self.lists.iter().enumerate() {
            list.check(&self.entries);
            held += list.len() as usize;
            dirty += if number >= DIRTY { list.len() } else { 0 };
            let mut used = 0;
            for index in list.iter(&self.entries) {
                let entry = &self.entries[index as usize];
                assert_eq!(entry.list(), number, "page {} is in the wrong list", entry.page);
                assert!(entry.used > used, "page {} is older than the one before it", entry.page);
                used = entry.used;
                let found = self.of_page.get(&entry.page) == Some(&index);
                let forgotten = entry.state == State::Leaving && entry.forgotten;
                assert!(found != forgotten, "page {} is held but not found, or found but forgotten", entry.page);
            }
        }
        assert!(held <= self.shape.pages as usize, "{held} pages in a buffer of {}", self.shape.pages);
        assert_eq!(held + self.unused.len(), self.entries.len(), "an entry is neither in use nor unused");
        assert_eq!(dirty, self.dirty, "dirty pages were counted wrong");
        let awaited = self.not_on_flash().filter(|entry| entry.awaited).count();
        assert_eq!(awaited, self.awaited as usize, "a flush waits for another number of pages");
        let mut leaving = vec![0; self.shape.pools as usize];
        for index in self.lists[LEAVING].iter(&self.entries) {
            leaving[self.entries[index as usize].pool as usize] += 1;
        }
        self.departures.check(&leaving);
    }
}

/// Hashes page numbers in the same way on every machine. It need not resist chosen keys. Consecutive pages are mostly
/// written together, so [`NEIGHBOURS`] of them lie side by side in the map, which saves a cache miss for each.
#[derive(Clone, Copy, Debug, Default)]
struct PageHasher(u64);

/// Number of slots that a map probes at once.
const NEIGHBOURS: u64 = 16;

impl Hasher for PageHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are u32");
    }
    fn write_u32(&mut self, page: u32) {
        let page = u64::from(page);
        // The low bits choose the slot. Maps compare the top bits before they compare keys, so the top bits tell
        // neighbours apart.
        self.0 = ((mix64(page / NEIGHBOURS) & !(NEIGHBOURS - 1)) | (page % NEIGHBOURS)) ^ (page << 57);
    }
}
