//! What memory keeps of a directory that was looked into: where each name is, and which slots are free.
//!
//! A directory in the pool is a plain list of entries ([`crate::layout::name`]). The first access reads it and builds
//! this index; a million names cost about 20 MB.

use crate::layout::name::{SLOTS, Slot, read_slot, slots_said};
use crate::layout::{PAGE, name::SLOT};
use hashbrown::HashTable;
use std::hash::Hasher;

/// The most slots of one entry.
const SLOTS_MAX: usize = 5;

/// Something that a transaction does to a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NameChange {
    pub(crate) directory: u64,
    pub(crate) hash: u64,
    pub(crate) slot: u64,
    pub(crate) slots: u64,
    /// Whether the name comes or goes.
    pub(crate) is_new: bool,
}

/// A name's hash and its slot.
#[derive(Debug, Clone, Copy)]
struct Place {
    hash: u32,
    slot: u32,
}

/// The index of a directory.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    names: HashTable<Place>,
    /// Runs of free slots by their length, less one: the first slot of each.
    free: [Vec<u32>; SLOTS_MAX],
    /// The free slots at the end of the last page.
    tail: std::ops::Range<u64>,
}

/// The hash of a name. `identity` is random in each pool, so that nobody can make names that collide.
pub(crate) fn hash_of(identity: &[u8; 16], name: &[u8]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(identity);
    hasher.write(name);
    hasher.finish()
}

fn spread(place: &Place) -> u64 {
    // The table takes its group from the low bits and its tag from the high ones.
    u64::from(place.hash) | u64::from(place.hash) << 32
}

impl Directory {
    /// Slots that may hold the name with this hash.
    pub(crate) fn candidates(&self, hash: u64) -> impl Iterator<Item = u64> {
        let hash = hash as u32;
        let spread = spread(&Place { hash, slot: 0 });
        self.names.iter_hash(spread).filter(move |place| place.hash == hash).map(|place| u64::from(place.slot))
    }

    /// Adds the slots of page `page`, as `bytes` say. The first damaged slot is the error.
    pub(crate) fn add_page(&mut self, page: u64, bytes: &[u8; PAGE as usize], identity: &[u8; 16]) -> Result<(), u64> {
        let mut index = 0;
        while index < SLOTS {
            let slot = page * SLOTS + index;
            let rest = &bytes[(index * SLOT) as usize..];
            match read_slot(rest, slot) {
                Slot::Free => {
                    let length = (index..SLOTS)
                        .take_while(|&next| {
                            read_slot(&bytes[(next * SLOT) as usize..], page * SLOTS + next) == Slot::Free
                        })
                        .count() as u64;
                    self.add_free(slot, length);
                    index += length;
                }
                Slot::Entry(entry) => {
                    self.insert(hash_of(identity, entry.name), slot);
                    index += slots_said(rest);
                }
                Slot::Damaged => return Err(slot),
            }
        }
        Ok(())
    }

    fn insert(&mut self, hash: u64, slot: u64) {
        let place = Place { hash: hash as u32, slot: slot as u32 };
        self.names.insert_unique(spread(&place), place, spread);
    }

    /// Notes free slots from `slot` on.
    fn add_free(&mut self, slot: u64, length: u64) {
        let (mut slot, mut length) = (slot, length);
        while length > 0 {
            let piece = length.min(SLOTS_MAX as u64);
            self.free[piece as usize - 1].push(slot as u32);
            slot += piece;
            length -= piece;
        }
    }

    /// Takes `slots` free slots side by side.
    pub(crate) fn take(&mut self, slots: u64) -> Option<u64> {
        if let Some(slot) = self.free[slots as usize - 1].pop() {
            return Some(u64::from(slot));
        }
        if self.tail.end - self.tail.start >= slots {
            let slot = self.tail.start;
            self.tail.start += slots;
            return Some(slot);
        }
        let longer = (slots as usize..SLOTS_MAX).find(|&class| !self.free[class].is_empty())?;
        let slot = u64::from(self.free[longer].pop()?);
        self.add_free(slot + slots, longer as u64 + 1 - slots);
        Some(slot)
    }

    /// A new page, all free, is at the end of the directory.
    pub(crate) fn add_tail(&mut self, page: u64) {
        let left = std::mem::replace(&mut self.tail, page * SLOTS..(page + 1) * SLOTS);
        self.add_free(left.start, left.end - left.start);
    }

    /// The change is durable.
    pub(crate) fn commit(&mut self, change: &NameChange) {
        if change.is_new {
            return self.insert(change.hash, change.slot);
        }
        let hash = change.hash as u32;
        let found =
            self.names.find_entry(spread(&Place { hash, slot: 0 }), |place| u64::from(place.slot) == change.slot);
        if let Ok(found) = found {
            found.remove();
        }
        self.add_free(change.slot, change.slots);
    }

    /// The change did not happen.
    pub(crate) fn abort(&mut self, change: &NameChange) {
        if change.is_new {
            self.add_free(change.slot, change.slots);
        }
    }
}
