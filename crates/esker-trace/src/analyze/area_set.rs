//! Which areas of 1 MiB were touched.

use esker_core::mix64;

use crate::{Operation, Record};

/// Size of one area: Kim's record, "set by considering the read-ahead effect" of disks (section 4.5.2).
pub const AREA_BYTES: u64 = 1 << AREA_SHIFT;
pub(super) const AREA_SHIFT: u32 = 20;

/// The set of touched areas: what a [`crate::DenseMap`] is made of. Takes 32 to 64 bytes per area.
///
/// Areas are numbered in the order of their first access, in slots. Open addressing with linear probing, at most half
/// full. The areas are listed by address alone, so that no result depends on the order of hashes.
///
/// ```
/// use esker_trace::{AreaSet, Operation, Record, VolumeIndex};
/// # use esker_core::Nanos;
/// let mut touched = AreaSet::default();
/// let (at, volume, operation) = (Nanos::ZERO, VolumeIndex(0), Operation::Read);
/// touched.add(&Record { at, offset: (6 << 20) - 512, length: 1024, volume, operation, response: None });
/// assert_eq!(touched.sorted(), [(0, 5), (0, 6)]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct AreaSet {
    entries: Vec<Entry>,
    used: u32,
    /// The area that each volume touched last: most requests fall close to the one before.
    recent: Vec<(u64, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    number: u64,
    volume: u32,
    slot: u32,
}

/// The slot of a free entry.
const FREE: u32 = u32::MAX;
const EMPTY: Entry = Entry { number: 0, volume: 0, slot: FREE };

impl AreaSet {
    /// How many areas were touched.
    pub fn len(&self) -> usize {
        self.used as usize
    }

    /// Whether no area was touched.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// The areas as (volume, area number), by volume and address.
    pub fn sorted(&self) -> Vec<(u32, u64)> {
        let used = self.entries.iter().filter(|entry| entry.slot != FREE);
        let mut all = Vec::with_capacity(self.len());
        all.extend(used.map(|entry| (entry.volume, entry.number)));
        all.sort_unstable();
        all
    }

    /// Adds the areas of one read or write. Trims and flushes touch nothing.
    #[inline]
    pub fn add(&mut self, record: &Record) {
        if record.length > 0 && matches!(record.operation, Operation::Read | Operation::Write) {
            let last_byte = record.offset.saturating_add(u64::from(record.length) - 1);
            for number in record.offset >> AREA_SHIFT..=last_byte >> AREA_SHIFT {
                self.find_or_insert(record.volume.0, number);
            }
        }
    }

    /// The slot of an area, or `u32::MAX` if it is not known.
    #[inline]
    pub(super) fn find(&self, volume: u32, number: u64) -> u32 {
        if self.entries.is_empty() {
            return FREE;
        }
        self.entries[self.place(volume, number)].slot
    }

    /// The slot of an area, which is the next one if the area is new.
    #[inline]
    pub(super) fn find_or_insert(&mut self, volume: u32, number: u64) -> u32 {
        if self.recent.len() <= volume as usize {
            self.recent.resize(volume as usize + 1, (u64::MAX, 0));
        }
        let (recent, slot) = self.recent[volume as usize];
        if recent == number {
            return slot;
        }
        if self.len() * 2 >= self.entries.len() {
            self.grow();
        }
        let place = self.place(volume, number);
        if self.entries[place].slot == FREE {
            self.entries[place] = Entry { number, volume, slot: self.used };
            self.used += 1;
        }
        let slot = self.entries[place].slot;
        self.recent[volume as usize] = (number, slot);
        slot
    }

    /// The place of an area among the entries, or the free one where it belongs.
    #[inline]
    fn place(&self, volume: u32, number: u64) -> usize {
        let mask = self.entries.len() - 1;
        let mut at = hash(volume, number) as usize & mask;
        loop {
            let entry = self.entries[at];
            if entry.slot == FREE || entry.number == number && entry.volume == volume {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let capacity = (self.entries.len() * 2).max(1024);
        let old = std::mem::replace(&mut self.entries, vec![EMPTY; capacity]);
        for entry in old.into_iter().filter(|entry| entry.slot != FREE) {
            let place = self.place(entry.volume, entry.number);
            self.entries[place] = entry;
        }
    }
}

impl AsRef<Self> for AreaSet {
    fn as_ref(&self) -> &Self {
        self
    }
}

#[inline]
fn hash(volume: u32, number: u64) -> u64 {
    mix64(number ^ u64::from(volume) << 44)
}
