//! Chooses the objects of a sample.

use esker_core::mix64;

/// A sample of the objects by their hashes, so that either all accesses to an object are kept or none (Waldspurger et
/// al., "Cache modeling and optimization using miniature simulations", ATC 2017).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Share of the objects to keep, above 0 and at most 1.
    pub rate: f64,
    /// Samples with different seeds are independent.
    pub seed: u64,
}

/// Chooses the objects of a [`Sample`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Sampler {
    salt: u64,
    /// Objects with smaller hashes are kept.
    threshold: u64,
}

impl Sampler {
    /// # Panics
    /// If the rate is not in `0 < rate <= 1`.
    pub(super) fn new(Sample { rate, seed }: Sample) -> Self {
        assert!(rate > 0.0 && rate <= 1.0, "a sampling rate lies above 0 and up to 1, not at {rate}");
        // The conversion saturates: at a rate of 1 every hash but the largest is below the threshold.
        Self { salt: mix64(seed ^ 0x4d49_4e49), threshold: (rate * 2f64.powi(64)) as u64 }
    }

    #[inline]
    pub(super) fn keeps(&self, id: u64) -> bool {
        mix64(id.wrapping_add(self.salt)) < self.threshold
    }
}
