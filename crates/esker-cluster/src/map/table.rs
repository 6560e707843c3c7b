//! Sorted tables that waste little memory: at most a quarter, and 16 entries.

use esker_core::bits;

use crate::id::ServerId;

/// Entries by which a table grows at least.
const STEP: usize = 8;

/// Returns the most entries that a table of `len` entries has memory for.
pub(super) const fn capacity_at_most(len: usize) -> usize {
    len + len / 4 + 2 * STEP
}

/// Makes room for one more entry of `stride` values in a vector that holds whole entries.
fn grow<T>(values: &mut Vec<T>, stride: usize) {
    if values.len() + stride > values.capacity() {
        let entries = values.len() / stride;
        values.reserve_exact((entries / 8).max(STEP) * stride);
    }
}

/// Gives back memory after entries have left.
fn shrink<T>(values: &mut Vec<T>, stride: usize) {
    let entries = values.len() / stride;
    if values.capacity() > capacity_at_most(entries) * stride {
        values.shrink_to((entries + entries / 8 + STEP) * stride);
    }
}

/// A sorted list of keys, each with one value.
#[derive(Clone, Debug)]
pub(super) struct SortedTable<K, V> {
    keys: Vec<K>,
    values: Vec<V>,
}

impl<K, V> Default for SortedTable<K, V> {
    fn default() -> Self {
        Self { keys: Vec::new(), values: Vec::new() }
    }
}

impl<K: Ord + Copy, V: Copy> SortedTable<K, V> {
    pub(super) fn get(&self, key: K) -> Option<V> {
        self.keys.binary_search(&key).ok().map(|at| self.values[at])
    }

    pub(super) fn insert(&mut self, key: K, value: V) {
        match self.keys.binary_search(&key) {
            Ok(at) => self.values[at] = value,
            Err(at) => {
                grow(&mut self.keys, 1);
                grow(&mut self.values, 1);
                self.keys.insert(at, key);
                self.values.insert(at, value);
            }
        }
    }

    pub(super) fn remove(&mut self, key: K) -> Option<V> {
        let at = self.keys.binary_search(&key).ok()?;
        self.keys.remove(at);
        let value = self.values.remove(at);
        self.shrink();
        Some(value)
    }

    /// Adds entries, which come by rising key, or changes them. It is one step: to insert them one by one shifts what
    /// is behind each.
    pub(super) fn insert_all(&mut self, entries: impl ExactSizeIterator<Item = (K, V)>) {
        let most = self.len() + entries.len();
        let (mut keys, mut values) = (Vec::with_capacity(most), Vec::with_capacity(most));
        let mut at = 0;
        for (key, value) in entries {
            let before = at + self.keys[at..].partition_point(|other| *other < key);
            keys.extend_from_slice(&self.keys[at..before]);
            values.extend_from_slice(&self.values[at..before]);
            at = before + usize::from(self.keys.get(before) == Some(&key));
            keys.push(key);
            values.push(value);
        }
        keys.extend_from_slice(&self.keys[at..]);
        values.extend_from_slice(&self.values[at..]);
        (self.keys, self.values) = (keys, values);
        self.shrink();
    }

    /// Removes all entries but those with these keys, in one step.
    pub(super) fn retain(&mut self, keep: impl Fn(K) -> bool) {
        let mut kept = 0;
        for at in 0..self.len() {
            if keep(self.keys[at]) {
                (self.keys[kept], self.values[kept]) = (self.keys[at], self.values[at]);
                kept += 1;
            }
        }
        self.keys.truncate(kept);
        self.values.truncate(kept);
        self.shrink();
    }

    fn shrink(&mut self) {
        shrink(&mut self.keys, 1);
        shrink(&mut self.values, 1);
    }

    pub(super) fn keys(&self) -> &[K] {
        &self.keys
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.keys.capacity() * size_of::<K>() + self.values.capacity() * size_of::<V>()
    }

    /// The most bytes that `len` entries take.
    pub(super) const fn bytes_at_most(len: usize) -> usize {
        capacity_at_most(len) * (size_of::<K>() + size_of::<V>())
    }
}

/// Source and destination of a replica in motion. The greatest number stands for no server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    source: ServerId,
    destination: ServerId,
}

const NOWHERE: ServerId = ServerId(u16::MAX);

impl Ends {
    pub(super) fn new(source: Option<ServerId>, destination: Option<ServerId>) -> Self {
        Self { source: source.unwrap_or(NOWHERE), destination: destination.unwrap_or(NOWHERE) }
    }

    pub(super) fn source(self) -> Option<ServerId> {
        (self.source != NOWHERE).then_some(self.source)
    }

    pub(super) fn destination(self) -> Option<ServerId> {
        (self.destination != NOWHERE).then_some(self.destination)
    }
}

/// Replicas in motion, each with a bit per object that says whether it has moved.
#[derive(Clone, Debug)]
pub(super) struct MotionTable {
    ends: SortedTable<u32, Ends>,
    /// `words` of each entry, in the order of the keys.
    moved: Vec<u64>,
    objects: usize,
}

impl MotionTable {
    pub(super) fn new(objects: usize) -> Self {
        Self { ends: SortedTable::default(), moved: Vec::new(), objects }
    }

    fn words(&self) -> usize {
        bits::words(self.objects)
    }

    pub(super) fn ends(&self, key: u32) -> Option<Ends> {
        self.ends.get(key)
    }

    /// Returns the bits of an entry, which has to exist.
    pub(super) fn moved(&self, key: u32) -> &[u64] {
        let at = self.position(key);
        &self.moved[at..at + self.words()]
    }

    pub(super) fn moved_mut(&mut self, key: u32) -> &mut [u64] {
        let (at, words) = (self.position(key), self.words());
        &mut self.moved[at..at + words]
    }

    fn position(&self, key: u32) -> usize {
        let at = self.ends.keys().binary_search(&key).expect("the replica is in motion");
        at * self.words()
    }

    /// Adds an entry, or changes the ends of the existing one, whose bits stay as they are.
    pub(super) fn insert(&mut self, key: u32, ends: Ends) {
        let words = self.words();
        if let Err(at) = self.ends.keys().binary_search(&key) {
            grow(&mut self.moved, words);
            self.moved.splice(at * words..at * words, std::iter::repeat_n(0, words));
        }
        self.ends.insert(key, ends);
    }

    pub(super) fn remove(&mut self, key: u32) -> Option<Ends> {
        let at = self.ends.keys().binary_search(&key).ok()?;
        let words = self.words();
        self.moved.drain(at * words..(at + 1) * words);
        shrink(&mut self.moved, words);
        self.ends.remove(key)
    }

    pub(super) fn keys(&self) -> &[u32] {
        self.ends.keys()
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.ends.bytes() + self.moved.capacity() * size_of::<u64>()
    }

    /// The most bytes that `len` entries with `objects` bits each take.
    pub(super) const fn bytes_at_most(len: usize, objects: usize) -> usize {
        let bits = capacity_at_most(len) * bits::words(objects) * size_of::<u64>();
        SortedTable::<u32, Ends>::bytes_at_most(len) + bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_their_bits_while_others_come_and_go() {
        let mut table = MotionTable::new(70);
        for key in [5, 1, 9, 3, 7] {
            table.insert(key, Ends::new(Some(ServerId(1)), None));
            bits::set(table.moved_mut(key), key as usize * 7);
        }
        table.remove(3);
        table.insert(4, Ends::new(None, Some(ServerId(2))));
        for key in [1, 5, 7, 9] {
            assert!((0..70).all(|bit| bits::is_set(table.moved(key), bit) == (bit == key as usize * 7)), "{key}");
        }
        assert!(bits::none_set(table.moved(4), 0..70));
        assert_eq!(table.keys(), [1, 4, 5, 7, 9]);
    }

    #[test]
    fn many_entries_come_and_go_as_single_ones_do() {
        let (mut one, mut many) = (SortedTable::default(), SortedTable::default());
        for (step, count, kept) in [(7, 100, 3), (3, 200, 2), (1, 1000, 50), (11, 0, 1), (5, 400, 2000)] {
            let entries = || (0..count).map(|at: u32| (at * step, at + step));
            entries().for_each(|(key, value)| one.insert(key, value));
            many.insert_all(entries());
            assert_eq!((&one.keys, &one.values), (&many.keys, &many.values));
            for key in one.keys.clone() {
                if key % kept == 0 {
                    one.remove(key);
                }
            }
            many.retain(|key| key % kept != 0);
            assert_eq!((&one.keys, &one.values), (&many.keys, &many.values));
            assert!(many.bytes() <= SortedTable::<u32, u32>::bytes_at_most(many.len()));
        }
    }

    #[test]
    fn memory_stays_within_its_bound() {
        let mut table = MotionTable::new(200);
        let mut inserted = 0;
        for (from, to) in [(0, 3000), (3000, 100), (100, 900), (900, 0)] {
            let mut len: usize = from;
            while len != to {
                if to > from {
                    table.insert(inserted * 7919 % 1_000_003, Ends::new(None, None));
                    inserted += 1;
                } else {
                    table.remove(table.keys()[len / 2]);
                }
                len = if to > from { len + 1 } else { len - 1 };
                assert_eq!(table.len(), len);
                assert!(table.bytes() <= MotionTable::bytes_at_most(len, 200), "{len}: {}", table.bytes());
            }
        }
    }
}
