//! Bits in words of 64: bit `i` is bit `i % 64` of word `i / 64`.

use std::ops::Range;

/// Words that `count` bits take.
#[inline]
pub const fn words(count: usize) -> usize {
    count.div_ceil(64)
}

/// Whether bit `index` is set. Panics where there is none.
#[inline(always)]
pub fn is_set(words: &[u64], index: usize) -> bool {
    words[index / 64] >> (index % 64) & 1 == 1
}

/// Sets bit `index`. Panics where there is none.
#[inline(always)]
pub fn set(words: &mut [u64], index: usize) {
    words[index / 64] |= 1 << (index % 64);
}

/// Clears bit `index`. Panics where there is none.
#[inline(always)]
pub fn clear(words: &mut [u64], index: usize) {
    words[index / 64] &= !(1 << (index % 64));
}

/// The bits of `range` that lie in one word: the word's index, and a mask of the bits.
#[inline]
fn masks(range: Range<usize>) -> impl Iterator<Item = (usize, u64)> {
    let Range { start, end } = range;
    (start / 64..end.div_ceil(64)).map(move |word| {
        let low = start.max(word * 64) - word * 64;
        let high = end.min(word * 64 + 64) - word * 64;
        (word, u64::MAX >> (64 - (high - low)) << low)
    })
}

/// Whether all bits of `range` are set. True for an empty range. Panics where there are none.
#[inline]
pub fn all_set(words: &[u64], range: Range<usize>) -> bool {
    range.is_empty() || masks(range).all(|(word, mask)| words[word] & mask == mask)
}

/// Whether no bit of `range` is set. True for an empty range. Panics where there are none.
#[inline]
pub fn none_set(words: &[u64], range: Range<usize>) -> bool {
    range.is_empty() || masks(range).all(|(word, mask)| words[word] & mask == 0)
}

/// Sets all bits of `range`. Panics where there are none.
pub fn set_all(words: &mut [u64], range: Range<usize>) {
    if !range.is_empty() {
        masks(range).for_each(|(word, mask)| words[word] |= mask);
    }
}

/// Clears all bits of `range`. Panics where there are none.
pub fn clear_all(words: &mut [u64], range: Range<usize>) {
    if !range.is_empty() {
        masks(range).for_each(|(word, mask)| words[word] &= !mask);
    }
}

/// The first bit of `range` for which `word`, a function from a word's index to its bits, has a one.
#[inline]
pub fn first_of(range: Range<usize>, word: impl Fn(usize) -> u64) -> Option<usize> {
    if range.is_empty() {
        return None;
    }
    masks(range).find_map(|(index, mask)| {
        let found = word(index) & mask;
        (found != 0).then(|| index * 64 + found.trailing_zeros() as usize)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Rng;

    #[test]
    fn bits_are_a_set_of_numbers() {
        const COUNT: usize = 130;
        let (mut bits, mut model, mut rng) = (vec![0; words(COUNT)], BTreeSet::new(), Rng::new(1));
        assert_eq!(bits.len(), 3);
        for _ in 0..2000 {
            let index = rng.below(COUNT as u64) as usize;
            if rng.chance(1, 2) {
                set(&mut bits, index);
                model.insert(index);
            } else {
                clear(&mut bits, index);
                model.remove(&index);
            }
        }
        let found: Vec<usize> = (0..COUNT).filter(|&index| is_set(&bits, index)).collect();
        assert_eq!(found, model.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn ranges_of_bits_are_those_of_single_bits() {
        const COUNT: usize = 200;
        let (mut bits, mut model, mut rng) = (vec![0; words(COUNT)], vec![false; COUNT], Rng::new(2));
        for _ in 0..5000 {
            let start = rng.below(COUNT as u64 + 1) as usize;
            let longest = 1 << rng.below(8);
            let length = rng.below(longest) as usize;
            let range = start..(start + length).min(COUNT);
            assert_eq!(all_set(&bits, range.clone()), model[range.clone()].iter().all(|&bit| bit));
            assert_eq!(none_set(&bits, range.clone()), model[range.clone()].iter().all(|&bit| !bit));
            let first = range.clone().find(|&bit| !model[bit]);
            assert_eq!(first_of(range.clone(), |word| !bits[word]), first);
            let value = rng.chance(1, 2);
            if value {
                set_all(&mut bits, range.clone())
            } else {
                clear_all(&mut bits, range.clone())
            }
            model[range].fill(value);
        }
        assert!((0..COUNT).all(|bit| is_set(&bits, bit) == model[bit]));
    }
}
