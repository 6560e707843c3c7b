//! Compares the write buffer with a model that keeps a version per page. The comparison must also find the faults of
//! buffers that are faulty on purpose.

use std::collections::{BTreeMap, BTreeSet};

use esker_core::{LogicalPage, Rng, StreamId};

use crate::ssd::front::{Admission, Buffer, BufferShape};

const PAGES: u64 = 16;
const POOLS: u64 = 2;
const SHAPE: BufferShape = BufferShape { pages: 6, sectors_per_page: 8, pools: POOLS as u32, leaving_per_pool: 1 };
const WHOLE: u64 = 0xff;

/// The fault of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// Data written to a page on its way to flash are dropped.
    DropsWritesToLeaving,
    /// A page counts as written when the first of its operations has ended.
    EndsEarly,
    /// A flush waits for nothing.
    FlushesAtOnce,
    /// The page that leaves is not the least recently used one.
    SparesTheOldest,
    /// Trimmed pages stay.
    KeepsTrimmed,
    /// A write for which there is no room is dropped.
    DropsWithoutRoom,
    /// Reads never find anything.
    NeverHits,
}

const FAULTS: [Fault; 7] = [
    Fault::DropsWritesToLeaving,
    Fault::EndsEarly,
    Fault::FlushesAtOnce,
    Fault::SparesTheOldest,
    Fault::KeepsTrimmed,
    Fault::DropsWithoutRoom,
    Fault::NeverHits,
];

/// A page in memory, in the model.
#[derive(Clone, Debug, Default)]
struct Held {
    covered: u64,
    /// The number of the last write.
    version: u64,
    /// The number of the first write whose data flash lacks.
    first: u64,
    dirty: bool,
    used: u64,
}

/// A page on its way to flash, in the model.
#[derive(Clone, Debug)]
struct Leaving {
    page: u64,
    version: u64,
    first: u64,
    operations: u64,
    forgotten: bool,
}

/// A model of what a buffer promises, with a version for each page.
#[derive(Debug, Default)]
struct Model {
    held: BTreeMap<u64, Held>,
    leaving: BTreeMap<u32, Leaving>,
    flash: BTreeMap<u64, u64>,
    /// The pages that a flush waits for, with their versions.
    awaited: BTreeSet<(u64, u64)>,
    uses: u64,
}

impl Model {
    fn pool(page: u64) -> u64 {
        page % POOLS
    }
    fn is_leaving(&self, page: u64) -> bool {
        self.leaving.values().any(|leaving| leaving.page == page && !leaving.forgotten)
    }
    fn is_clean(&self, page: u64) -> bool {
        !self.held[&page].dirty && !self.is_leaving(page)
    }
    fn entries(&self) -> usize {
        self.held.len() + self.leaving.values().filter(|leaving| leaving.forgotten).count()
    }
    fn touch(&mut self, page: u64) {
        self.uses += 1;
        let uses = self.uses;
        self.held.get_mut(&page).expect("it is held").used = uses;
    }
    /// A page for which a flush waits keeps its turn, however often it is used.
    fn keeps_turn(&self, page: u64) -> bool {
        let Held { dirty, first, .. } = self.held[&page];
        let mut versions = self.awaited.range((page, first)..=(page, u64::MAX));
        dirty && !self.is_leaving(page) && versions.next().is_some()
    }

    fn write(&mut self, page: u64, covered: u64, number: u64) -> Admission {
        if let Some(held) = self.held.get(&page) {
            let (was_dirty, stays) = (held.dirty, self.is_leaving(page) || self.keeps_turn(page));
            let held = self.held.get_mut(&page).expect("it is held");
            held.covered |= covered;
            held.version = number;
            if !was_dirty {
                (held.dirty, held.first) = (true, number);
            }
            if !stays {
                self.touch(page);
            }
            return if was_dirty { Admission::Coalesced } else { Admission::Taken };
        }
        if self.entries() == SHAPE.pages as usize {
            let clean = self.held.keys().copied().filter(|page| self.is_clean(*page));
            let Some(oldest) = clean.min_by_key(|page| self.held[page].used) else { return Admission::Full };
            self.held.remove(&oldest);
        }
        self.held.insert(page, Held { covered, version: number, first: number, dirty: true, used: 0 });
        self.touch(page);
        Admission::Taken
    }

    /// Returns the page that leaves next.
    fn next(&self, more: u64) -> Option<u64> {
        let on_its_way = |pool: u64| {
            let pages = self.leaving.values().filter(|leaving| Self::pool(leaving.page) == pool);
            pages.count() as u64
        };
        let own = u64::from(SHAPE.leaving_per_pool);
        let beyond: u64 = (0..POOLS).map(|pool| on_its_way(pool).saturating_sub(own)).sum();
        let oldest = |has_room: bool| {
            let dirty = self.held.iter().filter(|(page, held)| held.dirty && !self.is_leaving(**page));
            let of_pools = dirty.filter(|(page, _)| (on_its_way(Self::pool(**page)) < own) == has_room);
            of_pools.min_by_key(|(_, held)| held.used).map(|(page, _)| *page)
        };
        oldest(true).or_else(|| oldest(false).filter(|_| beyond < more))
    }

    fn unwritten(&self) -> usize {
        let dirty = self.held.iter().filter(|(page, held)| held.dirty && !self.is_leaving(**page)).count();
        dirty + self.leaving.len()
    }

    fn unwritten_before(&self, number: u64) -> u64 {
        let dirty = self.held.iter().filter(|(page, held)| held.dirty && !self.is_leaving(**page));
        let dirty = dirty.filter(|(_, held)| held.first < number).count();
        let leaving = self.leaving.values().filter(|leaving| !leaving.forgotten && leaving.first < number).count();
        (dirty + leaving) as u64
    }

    /// Returns true if that was the last operation of the page.
    fn end_operation(&mut self, entry: u32) -> bool {
        let leaving = self.leaving.get_mut(&entry).expect("it is under way");
        leaving.operations -= 1;
        if leaving.operations > 0 {
            return false;
        }
        let leaving = self.leaving.remove(&entry).expect("it is under way");
        // An earlier copy of the page that was trimmed may still be on its way.
        let others: Vec<_> = self.leaving.values().map(|other| (other.page, other.version)).collect();
        self.awaited.retain(|(page, version)| {
            *page != leaving.page || *version > leaving.version || others.contains(&(*page, *version))
        });
        if !leaving.forgotten {
            self.flash.insert(leaving.page, leaving.version);
            self.touch(leaving.page);
        }
        true
    }

    fn trim(&mut self, page: u64) {
        self.held.remove(&page);
        let copies = self.leaving.values_mut().filter(|leaving| leaving.page == page);
        copies.for_each(|leaving| leaving.forgotten = true);
        // A flush still waits for the copy on its way, whose entry stays in use until it arrives.
        let on_its_way: Vec<_> = self.leaving.values().map(|other| (other.page, other.version)).collect();
        self.awaited.retain(|(other, version)| {
            let carries = |(leaving, carried): &(u64, u64)| leaving == other && carried >= version;
            *other != page || on_its_way.iter().any(carries)
        });
    }

    fn flush(&mut self) {
        let dirty = self.held.iter().filter(|(_, held)| held.dirty).map(|(page, held)| (*page, held.version));
        let leaving = self.leaving.values().map(|leaving| (leaving.page, leaving.version));
        self.awaited = dirty.chain(leaving).collect();
    }
}

macro_rules! ensure_eq {
    ($left:expr, $right:expr, $($what:tt)+) => {
        let (left, right) = ($left, $right);
        if left != right {
            return Err(format!("{}: {left:?}, expected {right:?}", format!($($what)+)));
        }
    };
}

/// A buffer, which may be faulty, and its model.
struct Comparison {
    fault: Fault,
    rng: Rng,
    buffer: Buffer,
    model: Model,
    /// The number of the last write.
    number: u64,
}

impl Comparison {
    fn write(&mut self, page: u64) -> Result<(), String> {
        self.number += 1;
        let covered = if self.rng.below(2) == 0 { WHOLE } else { 1 << self.rng.below(8) };
        let expected = self.model.write(page, covered, self.number);
        let admission = match (self.fault, expected) {
            (Fault::DropsWritesToLeaving, Admission::Taken) if self.model.is_leaving(page) => Admission::Taken,
            (Fault::DropsWithoutRoom, Admission::Full) => Admission::Taken,
            _ => {
                let (logical, pool) = (LogicalPage(page as u32), Model::pool(page) as u32);
                self.buffer.write(logical, pool, covered, StreamId::default(), self.number)
            }
        };
        ensure_eq!(admission, expected, "write of page {page}");
        Ok(())
    }

    fn read(&mut self, page: u64) -> Result<(), String> {
        let asked = 1 << self.rng.below(8);
        let expected = self.model.held.get(&page).is_some_and(|held| held.covered & asked != 0);
        if self.model.held.contains_key(&page) && !self.model.keeps_turn(page) {
            self.model.touch(page);
        }
        let found = self.buffer.read(LogicalPage(page as u32), asked) && self.fault != Fault::NeverHits;
        ensure_eq!(found, expected, "read of page {page}");
        Ok(())
    }

    /// Lets a page leave for flash.
    fn leave(&mut self) -> Result<(), String> {
        let more = self.rng.below(3);
        if self.fault == Fault::SparesTheOldest
            && let Some(oldest) = self.model.next(more)
        {
            self.buffer.read(LogicalPage(oldest as u32), 0);
        }
        let expected = self.model.next(more);
        let left = self.buffer.leave(more);
        ensure_eq!(left.map(|(_, page, ..)| u64::from(page.0)), expected, "page that leaves");
        let (Some((entry, ..)), Some(page)) = (left, expected) else { return Ok(()) };
        let operations = 1 + self.rng.below(3);
        self.buffer.set_operations(entry, if self.fault == Fault::EndsEarly { 1 } else { operations as u32 });
        let held = self.model.held.get_mut(&page).expect("it leaves");
        held.dirty = false;
        let (version, first) = (held.version, held.first);
        self.model.leaving.insert(entry, Leaving { page, version, first, operations, forgotten: false });
        self.model.touch(page);
        Ok(())
    }

    /// Ends a flash operation of a page on its way.
    fn end_operation(&mut self) -> Result<(), String> {
        let under_way: Vec<u32> = self.model.leaving.keys().copied().collect();
        if under_way.is_empty() {
            return Ok(());
        }
        let entry = under_way[self.rng.below(under_way.len() as u64) as usize];
        let last = self.model.end_operation(entry);
        ensure_eq!(self.buffer.end_operation(entry), last, "end of entry {entry}");
        Ok(())
    }

    fn trim(&mut self, page: u64) {
        self.model.trim(page);
        if self.fault != Fault::KeepsTrimmed {
            self.buffer.forget(LogicalPage(page as u32));
        }
    }

    fn flush(&mut self) {
        self.model.flush();
        if self.fault != Fault::FlushesAtOnce {
            self.buffer.await_all();
        }
    }

    /// Compares everything that a buffer can be asked at any time.
    fn check(&mut self) -> Result<(), String> {
        let Self { buffer, model, .. } = self;
        ensure_eq!(buffer.unwritten() as usize, model.unwritten(), "pages that flash lacks");
        ensure_eq!(buffer.leaving() as usize, model.leaving.len(), "pages on their way");
        ensure_eq!(buffer.is_awaited(), !model.awaited.is_empty(), "whether a flush waits");
        let some = self.rng.below(self.number + 2);
        ensure_eq!(buffer.unwritten_before(some), model.unwritten_before(some), "writes before {some}");
        buffer.check();
        Ok(())
    }
}

/// Performs some hundred random operations on a buffer with `fault`, and compares it with the model.
fn compare(seed: u64, fault: Fault) -> Result<(), String> {
    let (buffer, model) = (Buffer::new(&SHAPE), Model::default());
    let mut comparison = Comparison { fault, rng: Rng::new(seed), buffer, model, number: 0 };
    for step in 0..400 {
        let page = comparison.rng.below(PAGES);
        let done = match comparison.rng.below(12) {
            0..5 => comparison.write(page),
            5 => comparison.read(page),
            6..9 => comparison.leave(),
            9 => comparison.end_operation(),
            10 => {
                comparison.trim(page);
                Ok(())
            }
            _ => {
                comparison.flush();
                Ok(())
            }
        };
        done.and_then(|()| comparison.check()).map_err(|difference| format!("step {step}: {difference}"))?;
    }
    Ok(())
}

#[test]
fn a_buffer_does_what_its_model_does() {
    for seed in 0..400 {
        if let Err(difference) = compare(seed, Fault::None) {
            panic!("seed {seed}: {difference}");
        }
    }
}

#[test]
fn faulty_buffers_are_found() {
    for fault in FAULTS {
        // A fault may also violate an assertion of the buffer.
        let found = |seed| std::panic::catch_unwind(|| compare(seed, fault)).map_or(true, |result| result.is_err());
        assert!((0..20).any(found), "{fault:?} was not found");
    }
}
