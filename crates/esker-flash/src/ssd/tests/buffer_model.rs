//! The write buffer compared with a model that keeps a version per page. The comparison also has to find the faults of
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
    /// What is written to a page on its way to flash is dropped.
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

/// A page in memory, as the model sees it.
#[derive(Clone, Debug, Default)]
struct Held {
    covered: u64,
    /// The number of the last write.
    version: u64,
    /// The number of the first write that flash lacks.
    first: u64,
    dirty: bool,
    used: u64,
}

/// A page on its way to flash, as the model sees it.
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
    /// Pages with the versions that a flush waits for.
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

    fn write(&mut self, page: u64, covered: u64, number: u64) -> Admission {
        if let Some(held) = self.held.get(&page) {
            let (was_dirty, leaving) = (held.dirty, self.is_leaving(page));
            let held = self.held.get_mut(&page).expect("it is held");
            held.covered |= covered;
            held.version = number;
            if !was_dirty {
                (held.dirty, held.first) = (true, number);
            }
            if !leaving {
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
}

macro_rules! ensure_eq {
    ($left:expr, $right:expr, $($what:tt)+) => {
        let (left, right) = ($left, $right);
        if left != right {
            return Err(format!("{}: {left:?}, expected {right:?}", format!($($what)+)));
        }
    };
}

/// Performs some hundred random operations on a buffer with this fault, and compares what it does with the model.
fn compare(seed: u64, fault: Fault) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    let (mut buffer, mut model) = (Buffer::new(&SHAPE), Model::default());
    let mut number = 0;
    for step in 0..400 {
        let page = rng.below(PAGES);
        let logical = LogicalPage(page as u32);
        match rng.below(12) {
            0..5 => {
                number += 1;
                let covered = if rng.below(2) == 0 { WHOLE } else { 1 << rng.below(8) };
                let expected = model.write(page, covered, number);
                let write = |buffer: &mut Buffer| {
                    buffer.write(logical, Model::pool(page) as u32, covered, StreamId::default(), number)
                };
                let admission = match (fault, expected) {
                    (Fault::DropsWritesToLeaving, Admission::Taken) if model.is_leaving(page) => Admission::Taken,
                    (Fault::DropsWithoutRoom, Admission::Full) => Admission::Taken,
                    _ => write(&mut buffer),
                };
                ensure_eq!(admission, expected, "step {step}, write of page {page}");
            }
            5 => {
                let asked = 1 << rng.below(8);
                let expected = model.held.get(&page).is_some_and(|held| held.covered & asked != 0);
                if model.held.contains_key(&page) {
                    model.touch(page);
                }
                let found = buffer.read(logical, asked) && fault != Fault::NeverHits;
                ensure_eq!(found, expected, "step {step}, read of page {page}");
            }
            6..9 => {
                let more = rng.below(3);
                if fault == Fault::SparesTheOldest
                    && let Some(oldest) = model.next(more)
                {
                    buffer.read(LogicalPage(oldest as u32), 0);
                }
                let expected = model.next(more);
                let left = buffer.leave(more);
                ensure_eq!(left.map(|(_, page, ..)| u64::from(page.0)), expected, "step {step}, page that leaves");
                let (Some((entry, ..)), Some(page)) = (left, expected) else { continue };
                let operations = 1 + rng.below(3);
                buffer.set_operations(entry, if fault == Fault::EndsEarly { 1 } else { operations as u32 });
                let held = model.held.get_mut(&page).expect("it leaves");
                held.dirty = false;
                let (version, first) = (held.version, held.first);
                model.leaving.insert(entry, Leaving { page, version, first, operations, forgotten: false });
                model.touch(page);
            }
            9 => {
                let under_way: Vec<u32> = model.leaving.keys().copied().collect();
                if under_way.is_empty() {
                    continue;
                }
                let entry = under_way[rng.below(under_way.len() as u64) as usize];
                let leaving = model.leaving.get_mut(&entry).expect("it is under way");
                leaving.operations -= 1;
                let last = leaving.operations == 0;
                if last {
                    let leaving = model.leaving.remove(&entry).expect("it is under way");
                    // An earlier copy of the page that was trimmed may still be on its way.
                    let others: Vec<_> = model.leaving.values().map(|other| (other.page, other.version)).collect();
                    model.awaited.retain(|(page, version)| {
                        *page != leaving.page || *version > leaving.version || others.contains(&(*page, *version))
                    });
                    if !leaving.forgotten {
                        model.flash.insert(leaving.page, leaving.version);
                        model.touch(leaving.page);
                    }
                }
                ensure_eq!(buffer.end_operation(entry), last, "step {step}, end of entry {entry}");
            }
            10 => {
                model.held.remove(&page);
                model.leaving.values_mut().filter(|leaving| leaving.page == page).for_each(|leaving| {
                    leaving.forgotten = true;
                });
                // A flush still waits for the copy on its way, whose entry stays in use until it arrives.
                let on_its_way: Vec<_> = model.leaving.values().map(|other| (other.page, other.version)).collect();
                model.awaited.retain(|(other, version)| {
                    let carries = |(leaving, carried): &(u64, u64)| leaving == other && carried >= version;
                    *other != page || on_its_way.iter().any(carries)
                });
                if fault != Fault::KeepsTrimmed {
                    buffer.forget(logical);
                }
            }
            _ => {
                let dirty = model.held.iter().filter(|(_, held)| held.dirty).map(|(page, held)| (*page, held.version));
                model.awaited = dirty.collect();
                let leaving = model.leaving.values().map(|leaving| (leaving.page, leaving.version));
                model.awaited.extend(leaving);
                if fault != Fault::FlushesAtOnce {
                    buffer.await_all();
                }
            }
        }
        ensure_eq!(buffer.unwritten() as usize, model.unwritten(), "step {step}, pages that flash lacks");
        ensure_eq!(buffer.leaving() as usize, model.leaving.len(), "step {step}, pages on their way");
        ensure_eq!(buffer.is_awaited(), !model.awaited.is_empty(), "step {step}, whether a flush waits");
        let some = rng.below(number + 2);
        ensure_eq!(buffer.unwritten_before(some), model.unwritten_before(some), "step {step}, writes before {some}");
        buffer.check();
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
