//! A fixed shuffle of any number of places, without a table.

use esker_core::mix64;

/// A bijection of `0..count`: it scatters popular ranks over the address space. A Feistel network over the next even
/// number of bits, repeated until the result is in range (at most four times on average).
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    count: u64,
    half_bits: u32,
    seed: u64,
}

const ROUNDS: u64 = 4;

impl Permutation {
    /// A permutation of `0..count`, chosen by `seed`. `count` is at least 1 (asserted).
    pub fn new(count: u64, seed: u64) -> Self {
        assert!(count > 0, "nothing cannot be permuted");
        let bits = u64::BITS - (count - 1).leading_zeros();
        Self { count, half_bits: bits.div_ceil(2).max(1), seed }
    }

    /// The image of `index`, which is below `count` (asserted).
    #[inline]
    pub fn apply(&self, index: u64) -> u64 {
        assert!(index < self.count, "{index} is not below {}", self.count);
        let mut place = index;
        loop {
            place = self.step(place);
            if place < self.count {
                return place;
            }
        }
    }

    fn step(&self, value: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for round in 0..ROUNDS {
            let mixed = mix64(right ^ self.seed.wrapping_add(round.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            (left, right) = (right, left ^ mixed & mask);
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_place_is_taken_once(count in 1u64..5_000, seed: u64) {
            let permutation = Permutation::new(count, seed);
            let mut taken = vec![false; count as usize];
            for index in 0..count {
                let place = permutation.apply(index);
                prop_assert!(place < count && !std::mem::replace(&mut taken[place as usize], true));
            }
        }
    }

    #[test]
    fn neighbours_are_scattered() {
        let permutation = Permutation::new(1 << 30, 5);
        let places: Vec<u64> = (0..1000).map(|index| permutation.apply(index)).collect();
        let mean = places.iter().sum::<u64>() / 1000;
        assert!((mean as f64 / f64::from(1 << 29) - 1.0).abs() < 0.1, "{mean}");
        let near = places.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < 1 << 20).count();
        assert!(near < 10, "{near} of 999 neighbours stay within a thousandth");
        // The largest domain works, too.
        let all = Permutation::new(u64::MAX, 1);
        assert_ne!(all.apply(1), all.apply(2));
    }
}
