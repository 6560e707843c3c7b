//! The free extents of a device.

use esker_core::bits;

/// The free extents of a device, as a tree of bits: each word of a level has one bit in the next level, which is set if
/// any bit of the word is. All operations take a few steps, whatever the size.
///
/// Extents are grouped in windows of up to 64, each of which lies in one word. An extent without neighbors goes to the
/// start of a window that is completely free, so that the extents that follow it can lie beside it.
#[derive(Clone, Debug)]
pub(super) struct FreeSpace {
    free: Tree,
    /// For each word of `free`, whether it has a window that is completely free.
    windows: Tree,
    /// Number of extents in a window: a power of two up to 64.
    window: u32,
    size: u32,
    count: u32,
}

impl FreeSpace {
    /// Creates `size` free extents, in windows of `window` extents: a power of two up to 64 (asserted).
    pub(super) fn new(size: u32, window: u32) -> Self {
        assert!(window.is_power_of_two() && window <= 64, "a window lies in a word");
        let mut space = Self { free: Tree::default(), windows: Tree::default(), window, size: 0, count: 0 };
        space.grow(size);
        space
    }

    /// Adds free extents at the end, up to `size`, which must not be less than the present size (asserted).
    pub(super) fn grow(&mut self, size: u32) {
        assert!(size >= self.size, "a device does not shrink");
        self.free.resize(size as usize);
        self.windows.resize(bits::words(size as usize));
        for extent in self.size..size {
            self.free.set(extent as usize);
        }
        for word in self.size as usize / 64..bits::words(size as usize) {
            self.note_window(word);
        }
        self.count += size - self.size;
        self.size = size;
    }

    pub(super) fn size(&self) -> u32 {
        self.size
    }

    /// Number of free extents.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn is_free(&self, extent: u32) -> bool {
        extent < self.size && self.free.is_set(extent as usize)
    }

    /// Takes `extent`, which must be free (asserted).
    pub(super) fn take(&mut self, extent: u32) {
        assert!(self.is_free(extent), "an extent is taken twice");
        self.free.clear(extent as usize);
        self.note_window(extent as usize / 64);
        self.count -= 1;
    }

    /// Frees `extent`, which must not be free (asserted).
    pub(super) fn release(&mut self, extent: u32) {
        assert!(!self.is_free(extent), "an extent is freed twice");
        self.free.set(extent as usize);
        self.note_window(extent as usize / 64);
        self.count += 1;
    }

    /// Returns a good free extent for data without neighbors: the start of the first window that is completely free, or
    /// else the first free extent.
    pub(super) fn roomy(&self) -> Option<u32> {
        let Some(word) = self.windows.next(0) else {
            return self.free.next(0).map(|extent| extent as u32);
        };
        self.window_of(word).map(|offset| word as u32 * 64 + offset)
    }

    /// Returns the first extent at or after `from` that is not free.
    pub(super) fn next_used(&self, from: u32) -> Option<u32> {
        let word = |index: usize| !self.free.levels[0][index];
        bits::first_of(from.min(self.size) as usize..self.size as usize, word).map(|extent| extent as u32)
    }

    /// Returns the first completely free window in word `word`, as an offset in bits.
    fn window_of(&self, word: usize) -> Option<u32> {
        let bits = self.free.levels[0][word];
        let whole = u64::MAX >> (64 - self.window);
        (0..64 / self.window).map(|index| index * self.window).find(|offset| bits >> offset & whole == whole)
    }

    fn note_window(&mut self, word: usize) {
        match self.window_of(word) {
            Some(_) => self.windows.set(word),
            None => self.windows.clear(word),
        }
    }
}

/// A set of numbers as a tree of bits.
#[derive(Clone, Debug, Default)]
struct Tree {
    /// Level 0 has a bit for each number; each further level has a bit for each word below it, set if that word is not
    /// zero. The last level has one word.
    levels: Vec<Vec<u64>>,
}

impl Tree {
    /// Makes room for numbers below `count`.
    fn resize(&mut self, count: usize) {
        let (mut count, mut level) = (count, 0);
        loop {
            count = bits::words(count);
            if self.levels.len() == level {
                // The bits of the new level, from the level below, which was the last one until now.
                let below = level.checked_sub(1).map(|below| &self.levels[below]);
                let words: Vec<bool> = below.into_iter().flatten().map(|&word| word != 0).collect();
                let mut bits = vec![0; count.max(bits::words(words.len()))];
                (0..words.len()).filter(|&word| words[word]).for_each(|word| bits::set(&mut bits, word));
                self.levels.push(bits);
            }
            self.levels[level].resize(count, 0);
            level += 1;
            if count <= 1 && level >= self.levels.len() {
                return;
            }
        }
    }

    fn is_set(&self, number: usize) -> bool {
        bits::is_set(&self.levels[0], number)
    }

    fn set(&mut self, mut number: usize) {
        for level in &mut self.levels {
            let before = level[number / 64];
            bits::set(level, number);
            if before != 0 {
                return;
            }
            number /= 64;
        }
    }

    fn clear(&mut self, mut number: usize) {
        for level in &mut self.levels {
            bits::clear(level, number);
            number /= 64;
            if level[number] != 0 {
                return;
            }
        }
    }

    /// Returns the least number in the set at or after `from`.
    fn next(&self, from: usize) -> Option<usize> {
        let mut at = from;
        // Go up until a word has a number at or after `at`; then go down to the least number in it.
        for (height, level) in self.levels.iter().enumerate() {
            let word = at / 64;
            if word >= level.len() {
                return None;
            }
            let found = level[word] & u64::MAX << (at % 64);
            if found != 0 {
                let mut number = word * 64 + found.trailing_zeros() as usize;
                for below in self.levels[..height].iter().rev() {
                    number = number * 64 + below[number].trailing_zeros() as usize;
                }
                return Some(number);
            }
            at = word + 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use esker_core::Rng;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Compares the free space with a set of numbers, while the device grows.
        #[test]
        fn free_space_is_a_set_of_extents(
            seed: u64,
            window in 0u32..7,
            sizes in prop::collection::vec(0u32..9000, 1..4),
        ) {
            let window = 1 << window;
            let (mut space, mut model, mut rng) = (FreeSpace::new(1, window), BTreeSet::from([0]), Rng::new(seed));
            for grown in sizes {
                let size = space.size() + grown;
                model.extend(space.size()..size);
                space.grow(size);
                for _ in 0..200 {
                    let extent = rng.below(u64::from(size)) as u32;
                    prop_assert_eq!(space.is_free(extent), model.contains(&extent));
                    if model.remove(&extent) {
                        space.take(extent);
                    } else {
                        space.release(extent);
                        model.insert(extent);
                    }
                    let used = (extent..size).find(|extent| !model.contains(extent));
                    prop_assert_eq!((space.count(), space.next_used(extent)), (model.len() as u32, used));
                    let next = model.range(extent..).next().map(|&next| next as usize);
                    prop_assert_eq!(space.free.next(extent as usize), next);
                }
                // Takes most of it, in long runs.
                for _ in 0..40 {
                    let start = rng.below(u64::from(size)) as u32;
                    for extent in start..(start + 400).min(size) {
                        if model.remove(&extent) { space.take(extent); }
                    }
                    let whole = (0..size / window).map(|index| index * window);
                    let is_free = |start: &u32| (*start..start + window).all(|extent| model.contains(&extent));
                    let mut whole = whole.filter(is_free);
                    prop_assert_eq!(space.roomy(), whole.next().or(model.first().copied()));
                }
            }
        }
    }
}
