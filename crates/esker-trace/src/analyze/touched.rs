//! The pages that were touched, and how often. For each 1 MiB area (the records of Kim 2009, section 4.5.2) it keeps
//! one bit and two counters per 4 KiB page.

use std::collections::BTreeMap;

use super::area_set::{AREA_SHIFT, AreaSet};
use crate::{Operation, Record};

const PAGE_SHIFT: u32 = 12;
const PAGES_PER_AREA: usize = 256;
const PAGES_PER_GROUP: usize = 16;
const GROUPS_PER_AREA: usize = PAGES_PER_AREA / PAGES_PER_GROUP;
const NO_GROUP: u32 = u32::MAX;

/// How many records are looked ahead at a time.
pub(super) const WARM_BATCH: usize = 32;
/// With fewer areas than this, all of them stay in the processor's cache anyway.
const WARM_FROM: usize = 4096;

/// One bit per page of an area.
pub(super) type PageSet = [u64; 4];

/// The set of touched areas, with the accesses to each.
///
/// Takes 192 bytes per touched area, 64 bytes per 64 KiB of it, and the [`AreaSet`], which is enough by itself where no
/// accesses are counted.
#[derive(Clone, Debug, Default)]
pub struct TouchedAreas {
    set: AreaSet,
    /// The touched areas, in the order of their first access.
    areas: Vec<Area>,
    groups: Vec<Group>,
    /// Multiples of 65,536 by which the counters of busy pages have wrapped.
    wrapped: BTreeMap<(u32, Counter), u64>,
}

/// One touched area: three cache lines.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Area {
    pub(super) read: PageSet,
    pub(super) written: PageSet,
    groups: [u32; GROUPS_PER_AREA],
    /// The intervals of the working-set series in which the area was touched.
    pub(super) intervals: u128,
    pub(super) number: u64,
    pub(super) volume: u32,
}

/// Accesses to 16 neighbouring pages: one cache line.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
struct Group {
    all: [u16; PAGES_PER_GROUP],
    writes: [u16; PAGES_PER_GROUP],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Counter {
    All(u8),
    Writes(u8),
}

impl TouchedAreas {
    /// How many areas were touched.
    pub fn len(&self) -> usize {
        self.areas.len()
    }

    /// Whether no area was touched.
    pub fn is_empty(&self) -> bool {
        self.areas.is_empty()
    }

    /// Adds the areas of one read or write. Trims and flushes touch nothing.
    pub fn add(&mut self, record: &Record) {
        if matches!(record.operation, Operation::Read | Operation::Write) {
            self.push(record, 0);
        }
    }

    pub(super) fn areas(&self) -> &[Area] {
        &self.areas
    }

    /// Fetches what is needed to count these records into the processor's cache: first the index entries, then the
    /// areas, then the counters. Within each step the cache misses overlap; record by record they would come one after
    /// another.
    pub(super) fn warm(&self, records: &[Record]) {
        if self.areas.len() < WARM_FROM {
            return;
        }
        let mut known = [(NO_GROUP, 0); WARM_BATCH];
        for (known, record) in known.iter_mut().zip(records) {
            let page_in_area = (record.offset >> PAGE_SHIFT) as usize % PAGES_PER_AREA;
            *known = (self.set.find(record.volume.0, record.offset >> AREA_SHIFT), page_in_area);
        }
        let mut sum = 0;
        for (slot_or_group, page_in_area) in &mut known {
            let area = self.areas.get(*slot_or_group as usize);
            *slot_or_group = area.map_or(NO_GROUP, |area| {
                sum ^= area.number ^ area.read[*page_in_area / 64];
                area.groups[*page_in_area / PAGES_PER_GROUP]
            });
        }
        for (group, _) in known {
            sum ^= self.groups.get(group as usize).map_or(0, |group| u64::from(group.all[0]));
        }
        std::hint::black_box(sum);
    }

    /// Counts a read or write in interval `interval`. Returns how many pages it touched for the first time.
    pub(super) fn push(&mut self, record: &Record, interval: u32) -> u32 {
        if record.length == 0 {
            return 0;
        }
        let last_byte = record.offset.saturating_add(u64::from(record.length) - 1);
        let (first_page, last_page) = (record.offset >> PAGE_SHIFT, last_byte >> PAGE_SHIFT);
        let write = record.operation == Operation::Write;
        let mut new_pages = 0;
        for number in record.offset >> AREA_SHIFT..=last_byte >> AREA_SHIFT {
            let slot = self.slot_of(record.volume.0, number);
            let area_page = number * PAGES_PER_AREA as u64;
            let from = first_page.max(area_page) - area_page;
            let to = (last_page - area_page).min(PAGES_PER_AREA as u64 - 1);
            new_pages += self.touch(slot, from as usize, to as usize, write, interval);
        }
        new_pages
    }

    #[inline]
    fn slot_of(&mut self, volume: u32, number: u64) -> u32 {
        let slot = self.set.find_or_insert(volume, number);
        if slot as usize == self.areas.len() {
            self.areas.push(Area {
                number,
                volume,
                read: PageSet::default(),
                written: PageSet::default(),
                intervals: 0,
                groups: [NO_GROUP; GROUPS_PER_AREA],
            });
        }
        slot
    }

    /// Counts an access to pages `from..=to` of one area. Returns how many of them are new.
    #[inline]
    fn touch(&mut self, slot: u32, from: usize, to: usize, write: bool, interval: u32) -> u32 {
        let area = &mut self.areas[slot as usize];
        area.intervals |= 1 << interval;
        let mut new_pages = 0;
        for word in from / 64..=to / 64 {
            let mask = bits_between(from.saturating_sub(word * 64), (to - word * 64).min(63));
            new_pages += (mask & !(area.read[word] | area.written[word])).count_ones();
            if write {
                area.written[word] |= mask;
            } else {
                area.read[word] |= mask;
            }
        }
        for group_in_area in from / PAGES_PER_GROUP..=to / PAGES_PER_GROUP {
            let first_page = group_in_area * PAGES_PER_GROUP;
            let pages = from.max(first_page) - first_page..(to + 1 - first_page).min(PAGES_PER_GROUP);
            let mut index = area.groups[group_in_area];
            if index == NO_GROUP {
                index = self.groups.len() as u32;
                self.groups.push(Group::default());
                area.groups[group_in_area] = index;
            }
            let group = &mut self.groups[index as usize];
            if count(&mut group.all[pages.clone()]) {
                for page in pages.clone().filter(|&page| group.all[page] == 0) {
                    *self.wrapped.entry((index, Counter::All(page as u8))).or_default() += 1 << 16;
                }
            }
            if write && count(&mut group.writes[pages.clone()]) {
                for page in pages.filter(|&page| group.writes[page] == 0) {
                    *self.wrapped.entry((index, Counter::Writes(page as u8))).or_default() += 1 << 16;
                }
            }
        }
        new_pages
    }

    /// Calls `see` with (accesses, writes) of each touched page.
    pub(super) fn for_each_page(&self, mut see: impl FnMut(u64, u64)) {
        let wrapped = |key| if self.wrapped.is_empty() { 0 } else { self.wrapped.get(&key).copied().unwrap_or(0) };
        for (index, group) in self.groups.iter().enumerate() {
            for page in 0..PAGES_PER_GROUP {
                let all = u64::from(group.all[page]) + wrapped((index as u32, Counter::All(page as u8)));
                let writes = u64::from(group.writes[page]) + wrapped((index as u32, Counter::Writes(page as u8)));
                if all > 0 {
                    see(all, writes);
                }
            }
        }
    }

    /// Merges pairs of neighbouring intervals into one, `times` times.
    pub(super) fn merge_intervals(&mut self, times: u32) {
        for area in &mut self.areas {
            for _ in 0..times.min(u128::BITS) {
                area.intervals = merge_pairs(area.intervals);
            }
        }
    }
}

impl AsRef<AreaSet> for TouchedAreas {
    fn as_ref(&self) -> &AreaSet {
        &self.set
    }
}

/// Adds one to each counter. Returns whether any of them wrapped to zero.
#[inline]
fn count(counters: &mut [u16]) -> bool {
    let mut any_zero = false;
    for counter in counters {
        *counter = counter.wrapping_add(1);
        any_zero |= *counter == 0;
    }
    any_zero
}

/// A word with bits `from..=to` set.
#[inline]
fn bits_between(from: usize, to: usize) -> u64 {
    (u64::MAX << from) & (u64::MAX >> (63 - to))
}

/// Bit i of the result is bit 2i or bit 2i+1 of `bits`.
fn merge_pairs(bits: u128) -> u128 {
    const KEEP: [u128; 7] = [
        0x5555_5555_5555_5555_5555_5555_5555_5555,
        0x3333_3333_3333_3333_3333_3333_3333_3333,
        0x0f0f_0f0f_0f0f_0f0f_0f0f_0f0f_0f0f_0f0f,
        0x00ff_00ff_00ff_00ff_00ff_00ff_00ff_00ff,
        0x0000_ffff_0000_ffff_0000_ffff_0000_ffff,
        0x0000_0000_ffff_ffff_0000_0000_ffff_ffff,
        0x0000_0000_0000_0000_ffff_ffff_ffff_ffff,
    ];
    let mut packed = (bits | bits >> 1) & KEEP[0];
    for (step, keep) in KEEP.iter().enumerate().skip(1) {
        packed = (packed | packed >> (1 << (step - 1))) & keep;
    }
    packed
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use esker_core::Nanos;
    use proptest::prelude::*;

    use super::*;
    use crate::VolumeIndex;

    #[test]
    fn merging_intervals_ors_neighbours() {
        for bits in [0u128, 1, 2, 3, 1 << 127, 0xdead_beef_0123_4567_89ab_cdef_5555_aaaa, u128::MAX] {
            let expected =
                (0..64).fold(0u128, |sum, bit| if bits >> (2 * bit) & 3 != 0 { sum | 1 << bit } else { sum });
            assert_eq!(merge_pairs(bits), expected, "{bits:x}");
        }
    }

    #[test]
    fn counters_go_on_past_sixteen_bits() {
        let mut touched = TouchedAreas::default();
        let record = Record {
            at: Nanos::ZERO,
            offset: 8192,
            length: 8192,
            volume: VolumeIndex(0),
            operation: Operation::Write,
            response: None,
        };
        for _ in 0..200_000 {
            touched.add(&record);
        }
        touched.add(&Record { length: 1, operation: Operation::Read, ..record });
        let mut seen = Vec::new();
        touched.for_each_page(|all, writes| seen.push((all, writes)));
        assert_eq!(seen, [(200_001, 200_000), (200_000, 200_000)]);
    }

    proptest! {
        #[test]
        fn pages_and_counts_are_those_of_a_naive_map(
            requests in prop::collection::vec((0u32..3, 0u64..3_000_000, 0u32..2_500_000, any::<bool>()), 1..60),
        ) {
            let (mut touched, mut areas_alone) = (TouchedAreas::default(), AreaSet::default());
            let mut naive: BTreeMap<(u32, u64), (u64, u64)> = BTreeMap::new();
            for &(volume, offset, length, write) in &requests {
                let operation = if write { Operation::Write } else { Operation::Read };
                let record = Record {
                    at: Nanos::ZERO, offset, length, volume: VolumeIndex(volume), operation, response: None,
                };
                let mut new_pages = 0;
                if length > 0 {
                    for page in offset / 4096..=(offset + u64::from(length) - 1) / 4096 {
                        let entry = naive.entry((volume, page)).or_insert_with(|| { new_pages += 1; (0, 0) });
                        entry.0 += 1;
                        entry.1 += u64::from(write);
                    }
                }
                prop_assert_eq!(touched.push(&record, 0), new_pages);
                areas_alone.add(&record);
            }
            let mut counts = Vec::new();
            touched.for_each_page(|all, writes| counts.push((all, writes)));
            counts.sort_unstable();
            let mut expected: Vec<_> = naive.values().copied().collect();
            expected.sort_unstable();
            prop_assert_eq!(counts, expected);
            let areas: BTreeSet<(u32, u64)> = naive.keys().map(|&(volume, page)| (volume, page / 256)).collect();
            prop_assert_eq!(touched.as_ref().sorted(), areas.into_iter().collect::<Vec<_>>());
            prop_assert_eq!(areas_alone.sorted(), touched.as_ref().sorted());
            prop_assert_eq!(areas_alone.len(), touched.len());
            let bits = |set: &PageSet| set.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
            let read: u64 = touched.areas().iter().map(|area| bits(&area.read)).sum();
            prop_assert_eq!(read, naive.values().filter(|(all, writes)| all > writes).count() as u64);
            let written: u64 = touched.areas().iter().map(|area| bits(&area.written)).sum();
            prop_assert_eq!(written, naive.values().filter(|(_, writes)| *writes > 0).count() as u64);
        }
    }
}
