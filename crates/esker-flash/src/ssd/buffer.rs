//! The drive's memory for data: takes writes, puts them together, answers reads. A state machine over logical pages that
//! knows nothing of time, requests and flash.

use std::hash::{BuildHasherDefault, Hasher};

use esker_core::{LogicalPage, StreamId, mix64};
use esker_ftl::Part;
use hashbrown::HashMap;

use super::departures::Departures;

const NOBODY: u32 = u32::MAX;

/// Which parts of a page are there: a bit per sector, or per group of sectors where a page has more than 64.
pub(super) type Coverage = u64;

/// Pages in memory. A page is *dirty* while the flash lacks what was written to it, and is then written out at some time;
/// others are *clean*, and make room, least recently used first.
#[derive(Debug)]
pub(super) struct Buffer {
    entries: Vec<Entry>,
    unused: Vec<u32>,
    of_page: HashMap<u32, u32, BuildHasherDefault<PageHasher>>,
    shape: BufferShape,
    whole: Coverage,
    /// Clean pages, leaving ones, and dirty ones by pool: see [`Entry::list`].
    lists: Vec<List>,
    /// Dirty pages of all pools.
    dirty: u32,
    departures: Departures,
    /// How often a page was used, of all.
    uses: u64,
    /// Dirty or leaving pages that a flush waits for.
    awaited: u32,
}

/// How large a buffer is, and where its pages go.
#[derive(Clone, Copy, Debug)]
pub(super) struct BufferShape {
    /// Pages that it has room for.
    pub(super) pages: u32,
    pub(super) sectors_per_page: u32,
    /// Pools of the array.
    pub(super) pools: u32,
    /// Pages that each pool may always have on their way to flash.
    pub(super) leaving_per_pool: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    page: u32,
    /// The pool that it is written to, once it was dirty.
    pool: u32,
    /// The stream that wrote it last.
    stream: StreamId,
    /// Its last use, by number.
    used: u64,
    covered: Coverage,
    state: State,
    /// While leaving: whether it was written again meanwhile.
    again: bool,
    /// While leaving: whether it was forgotten meanwhile.
    forgotten: bool,
    /// Whether a flush waits for it.
    awaited: bool,
    /// While leaving: whether a flush also waits for what was written to it meanwhile.
    awaited_again: bool,
    /// While leaving: flash operations under way.
    operations: u32,
    /// While the flash lacks something, the number of the first write that brought it.
    written: u64,
    /// While leaving and written again, the number of the first write since.
    written_again: u64,
    newer: u32,
    older: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Clean,
    Dirty,
    Leaving,
}

/// Places in [`Buffer::lists`].
const CLEAN: usize = 0;
const LEAVING: usize = 1;
/// The first pool's.
const DIRTY: usize = 2;

impl Entry {
    /// The list that it is in.
    fn list(&self) -> usize {
        match self.state {
            State::Clean => CLEAN,
            State::Leaving => LEAVING,
            State::Dirty => DIRTY + self.pool as usize,
        }
    }
}

/// Entries by recency.
#[derive(Clone, Copy, Debug)]
struct List {
    newest: u32,
    oldest: u32,
    length: u32,
}

impl List {
    const EMPTY: Self = Self { newest: NOBODY, oldest: NOBODY, length: 0 };
}

/// What became of a page that was to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It was there, dirty: one write to flash less.
    Coalesced,
    /// It is there now.
    Taken,
    /// There is no room: all pages are dirty.
    Full,
}

impl Buffer {
    /// An empty one.
    pub(super) fn new(shape: &BufferShape) -> Self {
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

    /// Pages that the flash lacks, those on their way included.
    pub(super) fn unwritten(&self) -> u32 {
        self.dirty + self.leaving()
    }
    /// Pages on their way to flash.
    pub(super) fn leaving(&self) -> u32 {
        self.lists[LEAVING].length
    }
    /// Whether a flush still waits.
    pub(super) fn is_awaited(&self) -> bool {
        self.awaited > 0
    }

    /// Whether all of `covered` of `page` is here.
    pub(super) fn read(&mut self, page: LogicalPage, covered: Coverage) -> bool {
        let Some(&entry) = self.of_page.get(&page.0) else { return false };
        self.touch(entry);
        covered & !self.entries[entry as usize].covered == 0
    }

    /// Whether something of `page` is here.
    pub(super) fn holds(&self, page: LogicalPage) -> bool {
        self.of_page.contains_key(&page.0)
    }

    /// Keeps a page that was read from flash, where a clean one can make room for it.
    pub(super) fn keep(&mut self, page: LogicalPage, covered: Coverage) {
        match self.of_page.get(&page.0) {
            Some(&entry) => self.entries[entry as usize].covered |= covered,
            None => {
                if let Some(entry) = self.take(page, covered) {
                    self.push(entry, State::Clean);
                }
            }
        }
    }

    /// Takes `covered` of `page`, which belongs to `pool`, as written in `stream` by the write with this number.
    pub(super) fn write(
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

    /// The dirty page that was used longest ago, of those whose pool has room, is on its way to flash from now on.
    /// `more` pages may be that beyond what pools have room for. Names the entry for [`Self::started`] and
    /// [`Self::ended`].
    pub(super) fn leave(&mut self, more: u64) -> Option<(u32, LogicalPage, Part, StreamId)> {
        let pool = self.departures.first(more)?;
        let index = self.lists[DIRTY + pool as usize].oldest;
        let newer = self.cut(index);
        self.dirty -= 1;
        let next = (newer != NOBODY).then(|| self.entries[newer as usize].used);
        self.link(index, State::Leaving);
        self.departures.began(pool, next);
        let entry = &mut self.entries[index as usize];
        (entry.again, entry.forgotten) = (false, false);
        let part = if entry.covered == self.whole { Part::Whole } else { Part::Some };
        Some((index, LogicalPage(entry.page), part, entry.stream))
    }

    /// So many flash operations bring the page of `entry` to flash.
    pub(super) fn started(&mut self, entry: u32, operations: u32) {
        self.entries[entry as usize].operations = operations;
    }

    /// One of them has ended. Says whether that was the last one.
    pub(super) fn ended(&mut self, index: u32) -> bool {
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

    /// Forgets `page`.
    pub(super) fn forget(&mut self, page: LogicalPage) {
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

    /// From now on a flush waits for every page that the flash lacks.
    pub(super) fn await_all(&mut self) {
        for list in LEAVING..self.lists.len() {
            let mut index = self.lists[list].newest;
            while index != NOBODY {
                let entry = &mut self.entries[index as usize];
                self.awaited += u32::from(!std::mem::replace(&mut entry.awaited, true));
                entry.awaited_again = entry.state == State::Leaving && entry.again;
                index = entry.older;
            }
        }
    }

    /// Power fails. Says of how many pages the flash lacks what writes with numbers below `number` brought.
    pub(super) fn unwritten_before(&self, number: u64) -> u64 {
        let mut count = 0;
        for list in LEAVING..self.lists.len() {
            let mut index = self.lists[list].newest;
            while index != NOBODY {
                let entry = &self.entries[index as usize];
                count += u64::from(!entry.forgotten && entry.written < number);
                index = entry.older;
            }
        }
        count
    }

    /// What was on its way to flash did not arrive.
    pub(super) fn turn_back(&mut self) {
        while self.lists[LEAVING].oldest != NOBODY {
            let index = self.lists[LEAVING].oldest;
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

    /// An entry for `page` in no list; `None` where nothing clean can make room.
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
            newer: NOBODY,
            older: NOBODY,
        };
        let index = match self.unused.pop() {
            Some(index) => index,
            None if (self.entries.len() as u32) < self.shape.pages => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
            None if self.lists[CLEAN].oldest != NOBODY => {
                let index = self.lists[CLEAN].oldest;
                self.unlink(index);
                self.of_page.remove(&self.entries[index as usize].page);
                index
            }
            None => return None,
        };
        self.entries[index as usize] = entry;
        self.of_page.insert(page.0, index);
        Some(index)
    }

    /// Makes `index` the newest of its list.
    fn touch(&mut self, index: u32) {
        let state = self.entries[index as usize].state;
        if state == State::Leaving {
            // It stays on its way.
            self.cut(index);
            self.link(index, state);
            return;
        }
        self.unlink(index);
        self.push(index, state);
    }

    /// Puts an entry that is in no list into that of `state`, where it is not leaving.
    fn push(&mut self, index: u32, state: State) {
        debug_assert!(state != State::Leaving, "pages leave one by one");
        let older = self.link(index, state);
        if state == State::Dirty {
            self.dirty += 1;
            if older == NOBODY {
                self.departures.set_next(self.entries[index as usize].pool, Some(self.uses));
            }
        }
    }

    /// Takes an entry out of its list.
    fn unlink(&mut self, index: u32) {
        let Entry { state, pool, older, .. } = self.entries[index as usize];
        let newer = self.cut(index);
        match state {
            State::Clean => {}
            State::Leaving => self.departures.ended(pool),
            State::Dirty => {
                self.dirty -= 1;
                if older == NOBODY {
                    let next = (newer != NOBODY).then(|| self.entries[newer as usize].used);
                    self.departures.set_next(pool, next);
                }
            }
        }
    }

    /// Makes an entry the newest of the list of `state`; returns the one before it.
    #[inline]
    fn link(&mut self, index: u32, state: State) -> u32 {
        self.uses += 1;
        let entry = &mut self.entries[index as usize];
        (entry.state, entry.used) = (state, self.uses);
        let list = &mut self.lists[entry.list()];
        let older = std::mem::replace(&mut list.newest, index);
        list.length += 1;
        (entry.newer, entry.older) = (NOBODY, older);
        match older {
            NOBODY => list.oldest = index,
            older => self.entries[older as usize].newer = index,
        }
        older
    }

    /// Cuts an entry out of its list; returns the one after it.
    #[inline]
    fn cut(&mut self, index: u32) -> u32 {
        let entry = &self.entries[index as usize];
        let (newer, older) = (entry.newer, entry.older);
        let list = &mut self.lists[entry.list()];
        list.length -= 1;
        match newer {
            NOBODY => list.newest = older,
            newer => self.entries[newer as usize].older = older,
        }
        match older {
            NOBODY => list.oldest = newer,
            older => self.entries[older as usize].newer = newer,
        }
        newer
    }
}

/// What to make of groups of sectors that a range covers in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    /// Left out: for what is there.
    Inward,
    /// Taken in: for what is asked for.
    Outward,
}

/// The coverage of sectors `from..to` of a page.
pub(super) fn coverage(from: u32, to: u32, sectors_per_page: u32, rounding: Rounding) -> Coverage {
    let group = sectors_per_page.div_ceil(64);
    let (first, end) = match rounding {
        Rounding::Inward => (from.div_ceil(group), to / group),
        Rounding::Outward => (from / group, to.div_ceil(group)),
    };
    match end.saturating_sub(first) {
        0 => 0,
        count => (u64::MAX >> (64 - count)) << first,
    }
}

/// The same on every machine. No adversary chooses page numbers.
#[derive(Clone, Copy, Debug, Default)]
struct PageHasher(u64);

impl Hasher for PageHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are u32");
    }
    fn write_u32(&mut self, page: u32) {
        self.0 = mix64(u64::from(page));
    }
}
