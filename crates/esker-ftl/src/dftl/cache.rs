//! The cached mapping table: single map entries under segmented LRU.

use crate::roomy::Roomy;
use esker_core::{Linked, Links, List};
use esker_nand::memory::prefetch;

/// The bit of [`CachedEntry::page`] that marks an entry as changed since the map on flash was written.
const DIRTY: u32 = 1 << 31;
/// The bit of [`CachedEntry::slot`] that marks an entry of the protected segment.
const PROTECTED: u32 = 1 << 31;

/// A cached entry with its links in the list of its segment: 16 bytes.
#[derive(Clone, Copy, Debug)]
struct CachedEntry {
    slot: u32,
    /// As in the map: the physical page plus one, or zero.
    page: u32,
    links: Links,
}

impl Linked for CachedEntry {
    #[inline(always)]
    fn links(&self) -> &Links {
        &self.links
    }
    #[inline(always)]
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

/// Cached map entries, by index. The index of a slot's entry is in the map itself.
///
/// Segmented LRU (Karedla et al. 1994, which Kim 2009, section 3.3.2, names): a new entry enters the probationary
/// segment. A hit moves it to the head of the protected segment; if that is over its capacity, its last entry moves to
/// the head of the probationary segment. The last entry of the probationary segment is evicted.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    entries: Roomy<Vec<CachedEntry>>,
    /// Indices in `entries` that are free.
    vacant: Roomy<Vec<u32>>,
    capacity: u32,
    /// Entries above the capacity that were inserted when no other could be evicted.
    overdrawn: u32,
    protected_capacity: u32,
    /// The segments, from the least to the most recently used entry.
    probationary: List,
    protected: List,
}

impl Cache {
    /// Makes a cache of `capacity` entries (at least 1). At most `protected_capacity` of them are protected.
    pub(super) fn new(capacity: u32, protected_capacity: u32) -> Self {
        Self {
            entries: Roomy::default(),
            vacant: Roomy::default(),
            capacity,
            overdrawn: 0,
            protected_capacity,
            probationary: List::EMPTY,
            protected: List::EMPTY,
        }
    }

    pub(super) fn capacity(&self) -> u32 {
        self.capacity
    }
    pub(super) fn protected_capacity(&self) -> u32 {
        self.protected_capacity
    }
    pub(super) fn len(&self) -> u32 {
        self.probationary.len() + self.protected.len()
    }
    pub(super) fn is_full(&self) -> bool {
        self.len() >= self.capacity + self.overdrawn
    }
    #[inline(always)]
    pub(super) fn prefetch(&self, index: u32) {
        prefetch(&self.entries, index as usize);
    }
    /// Returns the slot of the entry at `index`.
    #[inline(always)]
    pub(super) fn slot(&self, index: u32) -> u32 {
        self.entries[index as usize].slot & !PROTECTED
    }
    /// Returns the physical page of the entry, encoded as in the map.
    #[inline(always)]
    pub(super) fn page(&self, index: u32) -> u32 {
        self.entries[index as usize].page & !DIRTY
    }
    #[inline(always)]
    pub(super) fn is_dirty(&self, index: u32) -> bool {
        self.entries[index as usize].page & DIRTY != 0
    }
    /// Sets the page of the entry, and marks it as changed since the map on flash was written.
    #[inline(always)]
    pub(super) fn change(&mut self, index: u32, page: u32) {
        self.entries[index as usize].page = page | DIRTY;
    }
    /// Marks the entry as equal to the map on flash.
    #[inline(always)]
    pub(super) fn clean(&mut self, index: u32) {
        self.entries[index as usize].page &= !DIRTY;
    }

    /// Returns the entry that is evicted next. The cache must not be empty.
    pub(super) fn victim(&self) -> u32 {
        self.probationary.first().or(self.protected.first()).expect("an entry is there to be evicted")
    }

    /// Prefetches the entry that is evicted after `index` into the processor's caches.
    #[inline(always)]
    pub(super) fn expect_after(&self, index: u32) {
        if let Some(next) = self.entries[index as usize].links.next() {
            prefetch(&self.entries, next as usize);
        }
    }

    /// Records a hit of the entry at `index`.
    #[inline]
    pub(super) fn touch(&mut self, index: u32) {
        if self.entries[index as usize].slot & PROTECTED != 0 {
            if self.protected.last() != Some(index) {
                self.unlink(index);
                self.link(index, true);
            }
            return;
        }
        self.unlink(index);
        self.link(index, self.protected_capacity > 0);
        if self.protected.len() > self.protected_capacity
            && let Some(demoted) = self.protected.first()
        {
            self.unlink(demoted);
            self.link(demoted, false);
        }
    }

    /// Inserts an entry for `slot`, which is not in the cache, and returns its index. Exceeds the capacity if there is
    /// no room.
    pub(super) fn insert(&mut self, slot: u32, page: u32) -> u32 {
        self.overdrawn += u32::from(self.is_full());
        let entry = CachedEntry { slot, page, links: Links::NONE };
        let index = match self.vacant.pop() {
            Some(index) => {
                self.entries[index as usize] = entry;
                index
            }
            None => {
                if self.entries.len() == self.entries.capacity() {
                    // Reserves little more than the cache will hold: besides the map, it takes most of this layer's
                    // memory.
                    let held = self.entries.len();
                    let room = (self.capacity as usize).saturating_sub(held);
                    self.entries.reserve_exact(room.clamp(16, held.max(64)));
                }
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        };
        self.link(index, false);
        index
    }

    /// Removes the entry at `index`.
    pub(super) fn remove(&mut self, index: u32) {
        self.unlink(index);
        self.vacant.push(index);
    }

    #[inline]
    fn link(&mut self, index: u32, protected: bool) {
        let entry = &mut self.entries[index as usize];
        entry.slot = entry.slot & !PROTECTED | if protected { PROTECTED } else { 0 };
        let segment = if protected { &mut self.protected } else { &mut self.probationary };
        segment.push_back(&mut self.entries, index);
    }

    #[inline]
    fn unlink(&mut self, index: u32) {
        let protected = self.entries[index as usize].slot & PROTECTED != 0;
        let segment = if protected { &mut self.protected } else { &mut self.probationary };
        segment.remove(&mut self.entries, index);
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<CachedEntry>() + self.vacant.capacity() * size_of::<u32>()
    }

    /// Asserts the invariants that hold between calls.
    pub(super) fn check(&self) {
        assert!(self.len() <= self.capacity + self.overdrawn, "the cache holds more than it has room for");
        assert!(self.protected.len() <= self.protected_capacity);
        assert_eq!(self.len() as usize + self.vacant.len(), self.entries.len(), "entries were lost");
        for (segment, protected) in [(self.probationary, false), (self.protected, true)] {
            segment.check(&self.entries);
            let in_it = |index: u32| (self.entries[index as usize].slot & PROTECTED != 0) == protected;
            assert!(segment.iter(&self.entries).all(in_it), "an entry is in the wrong segment");
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Cache;

    /// Plain segmented LRU for comparison. Segments are lists of slots, the most recently used first.
    #[derive(Default)]
    struct Plain {
        probationary: Vec<u32>,
        protected: Vec<u32>,
    }

    impl Plain {
        /// Returns the slot that was evicted.
        fn access(&mut self, slot: u32, capacity: usize, protected_capacity: usize) -> Option<u32> {
            let mut evicted = None;
            if let Some(place) = self.protected.iter().position(|&other| other == slot) {
                self.protected.remove(place);
                self.protected.insert(0, slot);
            } else if let Some(place) = self.probationary.iter().position(|&other| other == slot) {
                self.probationary.remove(place);
                self.protected.insert(0, slot);
                if self.protected.len() > protected_capacity {
                    self.probationary.insert(0, self.protected.pop().unwrap());
                }
            } else {
                if self.probationary.len() + self.protected.len() == capacity {
                    evicted = self.probationary.pop().or_else(|| self.protected.pop());
                }
                self.probationary.insert(0, slot);
            }
            evicted
        }
    }

    proptest! {
        #[test]
        fn it_evicts_like_segmented_lru(
            slots in prop::collection::vec(0u32..12, 1..300),
            capacity in 1u32..9,
            share in 0u32..9,
        ) {
            let protected = share.min(capacity);
            let mut cache = Cache::new(capacity, protected);
            let mut plain = Plain::default();
            let mut places = std::collections::BTreeMap::new();
            for slot in slots {
                let mut evicted = None;
                match places.get(&slot) {
                    Some(&index) => cache.touch(index),
                    None => {
                        if cache.is_full() {
                            let victim = cache.victim();
                            evicted = Some(cache.slot(victim));
                            places.remove(&cache.slot(victim));
                            cache.remove(victim);
                        }
                        places.insert(slot, cache.insert(slot, 0));
                    }
                }
                cache.check();
                prop_assert_eq!(evicted, plain.access(slot, capacity as usize, protected as usize));
                prop_assert_eq!(cache.len() as usize, places.len());
            }
        }
    }
}
