//! Bits in words of 64: bit `i` is bit `i % 64` of word `i / 64`.

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
}
