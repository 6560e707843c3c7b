//! A map from ids to numbers.

use crate::mix64;

/// Maps ids, which may be any numbers, to numbers below [`u64::MAX`]: an object to the time of its last use, or to a
/// number of its own. Open addressing with linear probing, at most three quarters full: 21 to 43 bytes an id.
///
/// ```
/// use esker_core::IdMap;
/// let mut last_use = IdMap::default();
/// assert_eq!(last_use.replace(7_000_000, 1), None);
/// assert_eq!(last_use.replace(7_000_000, 2), Some(1));
/// assert_eq!(last_use.get_or_insert(7_000_000, 3), 2);
/// assert_eq!((last_use.remove(7_000_000), last_use.len()), (Some(2), 0));
/// ```
#[derive(Clone, Debug, Default)]
pub struct IdMap {
    entries: Vec<Entry>,
    used: usize,
}

/// 16 bytes, so that one look-up touches one cache line.
#[derive(Clone, Copy, Debug)]
struct Entry {
    id: u64,
    number: u64,
}

/// Marks a free entry; not a valid number.
const FREE: u64 = u64::MAX;

impl IdMap {
    /// How many ids are known.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Whether no id is known.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Bytes of memory in use.
    pub fn memory_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
    }

    /// Sets the number of `id` and returns the one before.
    #[inline]
    pub fn replace(&mut self, id: u64, number: u64) -> Option<u64> {
        let entry = self.entry(id);
        if entry.number != FREE {
            return Some(std::mem::replace(&mut entry.number, number));
        }
        *entry = Entry { id, number };
        self.used += 1;
        None
    }

    /// Returns the number of `id`, which becomes `number` if the id is not known.
    #[inline]
    pub fn get_or_insert(&mut self, id: u64, number: u64) -> u64 {
        let entry = self.entry(id);
        if entry.number != FREE {
            return entry.number;
        }
        *entry = Entry { id, number };
        self.used += 1;
        number
    }

    /// The entry of `id`, or the free one where it belongs.
    #[inline]
    fn entry(&mut self, id: u64) -> &mut Entry {
        if self.used * 4 >= self.entries.len() * 3 {
            self.grow();
        }
        let mask = self.entries.len() - 1;
        let mut at = mix64(id) as usize & mask;
        while self.entries[at].id != id && self.entries[at].number != FREE {
            at = (at + 1) & mask;
        }
        &mut self.entries[at]
    }

    /// Returns the number of `id`, if it is known.
    #[inline]
    pub fn get(&self, id: u64) -> Option<u64> {
        self.find(id).map(|at| self.entries[at].number)
    }

    /// Where the entry of `id` is, if it is known.
    #[inline]
    fn find(&self, id: u64) -> Option<usize> {
        let mask = self.entries.len().checked_sub(1)?;
        let mut at = mix64(id) as usize & mask;
        while self.entries[at].number != FREE {
            if self.entries[at].id == id {
                return Some(at);
            }
            at = (at + 1) & mask;
        }
        None
    }

    /// Removes `id` and returns its number.
    pub fn remove(&mut self, id: u64) -> Option<u64> {
        let (mut at, mask) = (self.find(id)?, self.entries.len() - 1);
        let number = self.entries[at].number;
        // Entries that were displaced past this one move back, so that no search ends too early.
        let mut next = at;
        loop {
            next = (next + 1) & mask;
            let entry = self.entries[next];
            if entry.number == FREE {
                break;
            }
            let home = mix64(entry.id) as usize & mask;
            if next.wrapping_sub(home) & mask >= next.wrapping_sub(at) & mask {
                self.entries[at] = entry;
                at = next;
            }
        }
        self.entries[at].number = FREE;
        self.used -= 1;
        Some(number)
    }

    /// Fetches the entries of `ids` into the processor's cache. Their misses overlap here; one after another they would
    /// not.
    #[inline]
    pub fn warm(&self, ids: impl IntoIterator<Item = u64>) {
        if self.entries.is_empty() {
            return;
        }
        let mask = self.entries.len() - 1;
        let sum = ids.into_iter().fold(0u64, |sum, id| sum ^ self.entries[mix64(id) as usize & mask].number);
        std::hint::black_box(sum);
    }

    /// Changes every number to `change(number)`.
    pub fn renumber(&mut self, change: impl Fn(u64) -> u64) {
        for entry in self.entries.iter_mut().filter(|entry| entry.number != FREE) {
            entry.number = change(entry.number);
        }
    }

    #[cold]
    fn grow(&mut self) {
        let capacity = (self.entries.len() * 2).max(1024);
        let old = std::mem::replace(&mut self.entries, vec![Entry { id: 0, number: FREE }; capacity]);
        for entry in old.into_iter().filter(|entry| entry.number != FREE) {
            let mut at = mix64(entry.id) as usize & (capacity - 1);
            while self.entries[at].number != FREE {
                at = (at + 1) & (capacity - 1);
            }
            self.entries[at] = entry;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_map(steps in prop::collection::vec((0u64..40, any::<bool>()), 0..3000)) {
            let mut table = IdMap::default();
            let mut naive = BTreeMap::new();
            for (time, (id, remove)) in steps.into_iter().enumerate() {
                // Ids that share their low bits after mixing are rare; many steps over few ids wrap and chain.
                if remove {
                    prop_assert_eq!(table.remove(id), naive.remove(&id));
                } else {
                    prop_assert_eq!(table.replace(id, time as u64), naive.insert(id, time as u64));
                }
                prop_assert_eq!(table.len(), naive.len());
            }
        }
    }

    #[test]
    fn removal_keeps_crowded_chains_whole() {
        let mut table = IdMap::default();
        for id in 0..760 {
            table.replace(id, id);
        }
        assert_eq!(table.entries.len(), 1024);
        for id in (0..760).step_by(2) {
            assert_eq!(table.remove(id), Some(id));
        }
        for id in 0..760 {
            assert_eq!(table.remove(id), (id % 2 == 1).then_some(id), "{id}");
        }
        assert_eq!(table.len(), 0);
    }
}
