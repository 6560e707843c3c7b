//! A table of the last use of each object.

use esker_core::mix64;

/// Maps an object to the time of its last use. Open addressing with linear probing, at most three quarters full.
#[derive(Clone, Debug, Default)]
pub(super) struct LastUse {
    entries: Vec<Entry>,
    used: usize,
}

/// 16 bytes, so that one look-up touches one cache line.
#[derive(Clone, Copy, Debug)]
struct Entry {
    id: u64,
    time: u64,
}

/// Marks a free entry; not a valid time.
const FREE: u64 = u64::MAX;

impl LastUse {
    /// How many objects are known.
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// Sets the time of the last use of `id` and returns the one before.
    #[inline]
    pub(super) fn replace(&mut self, id: u64, time: u64) -> Option<u64> {
        if self.used * 4 >= self.entries.len() * 3 {
            self.grow();
        }
        let mask = self.entries.len() - 1;
        let mut at = mix64(id) as usize & mask;
        loop {
            let entry = &mut self.entries[at];
            if entry.id == id && entry.time != FREE {
                return Some(std::mem::replace(&mut entry.time, time));
            }
            if entry.time == FREE {
                *entry = Entry { id, time };
                self.used += 1;
                return None;
            }
            at = (at + 1) & mask;
        }
    }

    /// Removes `id` and returns the time of its last use.
    pub(super) fn remove(&mut self, id: u64) -> Option<u64> {
        if self.entries.is_empty() {
            return None;
        }
        let mask = self.entries.len() - 1;
        let mut at = mix64(id) as usize & mask;
        while self.entries[at].id != id || self.entries[at].time == FREE {
            if self.entries[at].time == FREE {
                return None;
            }
            at = (at + 1) & mask;
        }
        let time = self.entries[at].time;
        // Entries that were displaced past this one move back, so that no search ends too early.
        let mut next = at;
        loop {
            next = (next + 1) & mask;
            let entry = self.entries[next];
            if entry.time == FREE {
                break;
            }
            let home = mix64(entry.id) as usize & mask;
            if next.wrapping_sub(home) & mask >= next.wrapping_sub(at) & mask {
                self.entries[at] = entry;
                at = next;
            }
        }
        self.entries[at].time = FREE;
        self.used -= 1;
        Some(time)
    }

    /// Fetches the entries of `ids` into the processor's cache. Their misses overlap here; one after another they would
    /// not.
    #[inline]
    pub(super) fn warm(&self, ids: &[u64]) {
        if self.entries.is_empty() {
            return;
        }
        let mask = self.entries.len() - 1;
        let sum = ids.iter().fold(0u64, |sum, &id| sum ^ self.entries[mix64(id) as usize & mask].time);
        std::hint::black_box(sum);
    }

    /// Changes every time to `change(time)`.
    pub(super) fn renumber(&mut self, change: impl Fn(u64) -> u64) {
        for entry in self.entries.iter_mut().filter(|entry| entry.time != FREE) {
            entry.time = change(entry.time);
        }
    }

    #[cold]
    fn grow(&mut self) {
        let capacity = (self.entries.len() * 2).max(1024);
        let old = std::mem::replace(&mut self.entries, vec![Entry { id: 0, time: FREE }; capacity]);
        for entry in old.into_iter().filter(|entry| entry.time != FREE) {
            let mut at = mix64(entry.id) as usize & (capacity - 1);
            while self.entries[at].time != FREE {
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
            let mut table = LastUse::default();
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
        let mut table = LastUse::default();
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
