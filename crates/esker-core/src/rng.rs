//! Random numbers from a seed, the same on every machine.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

/// A seeded generator (xoshiro256++). Every distribution is defined here in integer steps, so that results do not
/// change with the versions of other crates.
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The generator for `seed`.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// An independent generator for the part of a run that is called `label`.
    pub fn derive(seed: u64, label: &str) -> Self {
        // FNV-1a: short, well known, and never to be changed.
        let hash = label
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Self::new(seed ^ hash)
    }

    /// 64 uniform bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0..bound` without bias (Lemire 2019); `bound` is at least 1.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "nothing lies below zero");
        let mut product = u128::from(self.next_u64()) * u128::from(bound);
        if (product as u64) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u64) < threshold {
                product = u128::from(self.next_u64()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }

    /// Uniform in `[0, 1)` with 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with probability `numerator / denominator`.
    pub fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }

    /// Exponentially distributed with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    /// Normally distributed with mean 0 and deviation 1 (the polar method of Marsaglia and Bray 1964).
    pub fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * square.ln() / square).sqrt();
            }
        }
    }
}

/// A bijection of 64-bit words in which every input bit affects every output bit (the finaliser of SplitMix64, Steele,
/// Lea and Flood 2014). For hashing, and for choosing samples by number.
#[inline]
pub const fn mix64(value: u64) -> u64 {
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

#[cfg(test)]
mod tests {
    use super::{Rng, mix64};

    #[test]
    fn every_input_bit_reaches_about_half_of_the_result() {
        for bit in 0..64 {
            let flipped: u32 =
                (0..64).map(|value| (mix64(value * 977) ^ mix64((value * 977) ^ (1 << bit))).count_ones()).sum();
            assert!((28 * 64..36 * 64).contains(&flipped), "bit {bit}: {flipped}");
        }
    }

    #[test]
    fn draws_are_the_same_for_good() {
        let mut rng = Rng::new(7);
        let first: Vec<u64> = (0..3).map(|_| rng.below(1000)).collect();
        let mut again = Rng::new(7);
        assert_eq!(first, (0..3).map(|_| again.below(1000)).collect::<Vec<_>>());
        assert_ne!(Rng::derive(7, "a").next_u64(), Rng::derive(7, "b").next_u64());
    }

    /// Moments of 100,000 draws within four standard errors.
    #[test]
    fn normal_draws_have_the_moments_of_the_normal_distribution() {
        let mut rng = Rng::new(3);
        let draws: Vec<f64> = (0..100_000).map(|_| rng.normal()).collect();
        let moment = |power| draws.iter().map(|draw| draw.powi(power)).sum::<f64>() / draws.len() as f64;
        for (power, expected, deviation) in
            [(1, 0.0, 1.0), (2, 1.0, 2f64.sqrt()), (3, 0.0, 15f64.sqrt()), (4, 3.0, 96f64.sqrt())]
        {
            let error = 4.0 * deviation / (draws.len() as f64).sqrt();
            assert!((moment(power) - expected).abs() < error, "moment {power}: {}", moment(power));
        }
    }

    #[test]
    fn below_is_uniform() {
        let mut rng = Rng::new(1);
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[rng.below(7) as usize] += 1;
        }
        assert!(counts.iter().all(|&count| (9_600..10_400).contains(&count)), "{counts:?}");
    }
}
