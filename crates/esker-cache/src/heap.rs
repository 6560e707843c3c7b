//! Objects ordered by a key that may change.

use crate::Access;

const NOWHERE: u32 = u32::MAX;

/// Children of a slot. Four keys lie side by side, so that each level costs one memory access.
const CHILDREN: usize = 4;

/// A heap of objects with the smallest key first. It tracks the position of each object, so that keys change and
/// objects leave in logarithmic time.
#[derive(Debug)]
pub(crate) struct Heap<K> {
    slots: Vec<(K, u32)>,
    /// The slot of each object.
    places: Vec<u32>,
}

impl<K: Copy + Ord> Heap<K> {
    /// Creates an empty heap for objects below `objects`, which usually holds at most `capacity` of them.
    pub(crate) fn new(objects: u32, capacity: u32) -> Self {
        Self { slots: Vec::with_capacity(capacity.min(objects) as usize), places: vec![NOWHERE; objects as usize] }
    }

    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.slots.len() as u32
    }

    #[inline]
    pub(crate) fn contains(&self, object: u32) -> bool {
        self.places[object as usize] != NOWHERE
    }

    /// Returns the key of `object`, if the heap contains it.
    #[inline]
    pub(crate) fn key(&self, object: u32) -> Option<K> {
        self.slots.get(self.places[object as usize] as usize).map(|(key, _)| *key)
    }

    /// Returns the object with the smallest key.
    #[inline]
    pub(crate) fn first(&self) -> Option<u32> {
        self.slots.first().map(|(_, object)| *object)
    }

    /// Adds `object` with this key, or changes its key if the heap contains it.
    #[inline]
    pub(crate) fn set(&mut self, object: u32, key: K) {
        let mut at = self.places[object as usize] as usize;
        if at == NOWHERE as usize {
            at = self.slots.len();
            self.slots.push((key, object));
        }
        self.settle(at, (key, object));
    }

    /// Removes `object`. Returns true if the heap contained it.
    pub(crate) fn remove(&mut self, object: u32) -> bool {
        let at = std::mem::replace(&mut self.places[object as usize], NOWHERE);
        if at == NOWHERE {
            return false;
        }
        if let Some(last) = self.slots.pop()
            && last.1 != object
        {
            self.settle(at as usize, last);
        }
        true
    }

    /// Loads the heap positions of these accesses' objects into the processor's cache.
    #[inline]
    pub(crate) fn warm(&self, accesses: &[Access]) {
        let sum = accesses.iter().fold(0, |sum, access| sum ^ self.places[access.object.index()]);
        std::hint::black_box(sum);
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<(K, u32)>() + self.places.capacity() * size_of::<u32>()
    }

    /// Moves `entry` to its place, beginning at slot `at`, which is free.
    fn settle(&mut self, mut at: usize, entry: (K, u32)) {
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            if self.slots[parent].0 <= entry.0 {
                break;
            }
            self.put(at, self.slots[parent]);
            at = parent;
        }
        loop {
            let children = CHILDREN * at + 1..(CHILDREN * (at + 1) + 1).min(self.slots.len());
            let smallest = children.min_by_key(|child| self.slots[*child].0);
            match smallest.filter(|child| self.slots[*child].0 < entry.0) {
                Some(child) => {
                    self.put(at, self.slots[child]);
                    at = child;
                }
                None => return self.put(at, entry),
            }
        }
    }

    #[inline]
    fn put(&mut self, at: usize, entry: (K, u32)) {
        self.slots[at] = entry;
        self.places[entry.1 as usize] = at as u32;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use esker_core::Rng;

    use super::Heap;

    #[test]
    fn it_does_what_a_sorted_set_does() {
        let mut rng = Rng::new(9);
        let mut heap = Heap::new(50, 10);
        let mut sorted: BTreeSet<(u64, u32)> = BTreeSet::new();
        for step in 0..20_000 {
            let object = rng.below(50) as u32;
            let before = sorted.iter().find(|(_, other)| *other == object).copied();
            assert_eq!(heap.contains(object), before.is_some());
            before.map(|before| sorted.remove(&before));
            if rng.chance(1, 3) {
                assert_eq!(heap.remove(object), before.is_some());
            } else {
                // All keys differ, so that the first one is unique.
                let key = rng.below(1000) * 100_000 + step;
                heap.set(object, key);
                sorted.insert((key, object));
            }
            assert_eq!(heap.first(), sorted.first().map(|(_, object)| *object));
            assert_eq!(heap.len() as usize, sorted.len());
        }
    }
}
