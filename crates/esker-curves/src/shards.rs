//! SHARDS: computes the curve from a sample of the objects (Waldspurger, Park, Garthwaite, Ahmad: "Efficient MRC
//! construction with SHARDS", FAST 2015).
//!
//! An object is in the sample if its hash is below a threshold, so either all of its accesses are sampled or none. In a
//! sample of rate R, distances are R times those in the trace, and each access stands for 1/R accesses.

use std::collections::{BTreeMap, BTreeSet};

use esker_core::mix64;

use crate::{BATCH, MissRatioCurve, StackDistances};

/// The size of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SampleSize {
    /// A fixed share of the objects (section 3.1 of the paper).
    Rate(f64),
    /// At most this many objects: the rate falls as more of them appear (section 3.2). This bounds the memory.
    Objects(usize),
}

/// Computes a miss-ratio curve from a sample.
///
/// The total is corrected as in the paper's SHARDS-adj (section 3.4). If the sample has more or fewer accesses than its
/// rate predicts, the difference is corrected at the smallest distance, because the popular objects that cause it are
/// there.
#[derive(Clone, Debug)]
pub struct Shards {
    size: SampleSize,
    /// Mixed into every id before hashing, so that different seeds give independent samples.
    salt: u64,
    /// Objects with smaller hashes are in the sample.
    threshold: u64,
    stack: StackDistances,
    /// Accesses by the scaled cache size that hits: `at_rate` at the present rate, `earlier` from before the rate last
    /// fell.
    at_rate: Vec<u64>,
    earlier: BTreeMap<u64, f64>,
    earlier_weight: f64,
    first_uses: u64,
    /// Sampled objects by hash; used only if their number is bounded.
    by_hash: BTreeSet<(u64, u64)>,
    accesses: u64,
}

impl Shards {
    /// Creates an empty sample that depends on `seed`.
    ///
    /// # Panics
    /// If the rate is not in `0 < rate <= 1`, or the sample is limited to no objects.
    pub fn new(size: SampleSize, seed: u64) -> Self {
        let threshold = match size {
            SampleSize::Rate(rate) => {
                assert!(rate > 0.0 && rate <= 1.0, "a sampling rate lies above 0 and up to 1, not at {rate}");
                // Saturates at 2^64 - 1 for rate 1: one hash in 2^64 is left out.
                (rate * 2f64.powi(64)) as u64
            }
            SampleSize::Objects(objects) => {
                assert!(objects > 0, "a sample has at least one object");
                u64::MAX
            }
        };
        Self {
            size,
            salt: mix64(seed ^ 0x5348_4152_4453),
            threshold,
            stack: StackDistances::default(),
            at_rate: Vec::new(),
            earlier: BTreeMap::new(),
            earlier_weight: 0.0,
            first_uses: 0,
            by_hash: BTreeSet::new(),
            accesses: 0,
        }
    }

    /// Returns the share of the objects that are sampled at present.
    pub fn rate(&self) -> f64 {
        self.threshold as f64 / 2f64.powi(64)
    }

    /// Returns the number of objects in the sample at present.
    #[cfg(test)]
    fn sampled_objects(&self) -> u64 {
        self.stack.objects()
    }

    /// Adds one access.
    #[inline]
    pub fn push(&mut self, id: u64) {
        self.accesses += 1;
        let hash = mix64(id.wrapping_add(self.salt));
        if hash < self.threshold {
            self.sample(id, hash);
        }
    }

    /// Adds accesses in their order. Faster than one by one.
    pub fn push_all(&mut self, ids: &[u64]) {
        let mut chosen = [0u64; BATCH];
        for batch in ids.chunks(BATCH) {
            // Without a branch: the processor could not predict it.
            let mut count = 0;
            for &id in batch {
                chosen[count] = id;
                count += usize::from(mix64(id.wrapping_add(self.salt)) < self.threshold);
            }
            self.accesses += batch.len() as u64;
            for &id in &chosen[..count] {
                let hash = mix64(id.wrapping_add(self.salt));
                // The threshold may have fallen within the batch.
                if hash < self.threshold {
                    self.sample(id, hash);
                }
            }
        }
    }

    fn sample(&mut self, id: u64, hash: u64) {
        match self.stack.access(id) {
            Some(distance) => {
                if distance as usize >= self.at_rate.len() {
                    self.at_rate.resize(distance as usize + 1, 0);
                }
                self.at_rate[distance as usize] += 1;
            }
            None => {
                self.first_uses += 1;
                if let SampleSize::Objects(objects_max) = self.size {
                    self.by_hash.insert((hash, id));
                    if self.by_hash.len() > objects_max {
                        self.lower_threshold();
                    }
                }
            }
        }
    }

    /// Drops the objects with the largest hash, and lowers the threshold to it.
    fn lower_threshold(&mut self) {
        self.settle();
        let &(largest, _) = self.by_hash.last().expect("there is more than one");
        while let Some(&(hash, id)) = self.by_hash.last()
            && hash >= largest
        {
            self.by_hash.pop_last();
            self.stack.remove(id);
        }
        self.threshold = largest;
    }

    /// Moves the counts at the present rate to `earlier`, scaled by that rate.
    fn settle(&mut self) {
        let weight = 1.0 / self.rate();
        for (distance, count) in self.at_rate.iter_mut().enumerate().filter(|(_, count)| **count > 0) {
            let size = scaled(distance as u64, weight);
            *self.earlier.entry(size).or_default() += *count as f64 * weight;
            self.earlier_weight += *count as f64 * weight;
            *count = 0;
        }
        self.earlier_weight += self.first_uses as f64 * weight;
        self.first_uses = 0;
    }

    /// Returns the curve.
    pub fn finish(mut self) -> MissRatioCurve {
        let objects = (self.stack.objects() as f64 / self.rate()).round() as u64;
        if self.earlier_weight == 0.0 && self.stack.objects() == 0 {
            // Without a sample only one thing is known: the first access missed.
            return MissRatioCurve::from_hits(self.accesses, objects, self.accesses as f64, []);
        }
        self.settle();
        let surplus = self.accesses as f64 - self.earlier_weight;
        *self.earlier.entry(scaled(0, 1.0 / self.rate())).or_default() += surplus;
        // Negative counts at small distances are subtracted from the next ones, so that the curve never rises.
        let mut debt = 0.0;
        let hits = std::mem::take(&mut self.earlier).into_iter().map(|(size, weight)| {
            let net = weight + debt;
            debt = net.min(0.0);
            (size, net.max(0.0))
        });
        MissRatioCurve::from_hits(self.accesses, objects, self.accesses as f64, hits)
    }
}

/// Returns the smallest cache size that hits at `distance` in the sample. It is rounded to about 0.1 %, which bounds
/// the number of different sizes.
fn scaled(distance: u64, weight: f64) -> u64 {
    let size = ((distance + 1) as f64 * weight).round() as u64;
    let dropped_bits = (u64::BITS - size.leading_zeros()).saturating_sub(11);
    size >> dropped_bits << dropped_bits
}

#[cfg(test)]
mod tests {
    use esker_core::Rng;
    use proptest::prelude::*;

    use super::*;
    use crate::ExactCurve;

    /// Returns skewed accesses to `objects` ids: the cube of a uniform number.
    fn skewed(objects: u64, accesses: usize, seed: u64) -> Vec<u64> {
        let mut rng = Rng::new(seed);
        (0..accesses).map(|_| (rng.unit().powi(3) * objects as f64) as u64).collect()
    }

    fn exact(ids: &[u64]) -> MissRatioCurve {
        let mut curve = ExactCurve::default();
        curve.push_all(ids);
        curve.finish()
    }

    fn sampled(ids: &[u64], size: SampleSize, seed: u64) -> MissRatioCurve {
        let mut shards = Shards::new(size, seed);
        shards.push_all(ids);
        shards.finish()
    }

    fn median_error(ids: &[u64], size: SampleSize) -> f64 {
        let exact = exact(ids);
        let mut errors: Vec<f64> =
            (0..9).map(|seed| exact.mean_absolute_difference(&sampled(ids, size, seed), 1_000)).collect();
        errors.sort_by(f64::total_cmp);
        errors[4]
    }

    #[test]
    fn samples_come_near_the_exact_curve() {
        let ids = skewed(200_000, 600_000, 1);
        let error = median_error(&ids, SampleSize::Rate(0.05));
        assert!(error < 0.01, "fixed rate: {error}");
        let error = median_error(&ids, SampleSize::Objects(8_192));
        assert!(error < 0.01, "fixed size: {error}");
    }

    #[test]
    fn a_bounded_sample_stays_bounded_and_estimates_the_objects() {
        let ids: Vec<u64> = (0..300_000).collect();
        let mut shards = Shards::new(SampleSize::Objects(1_000), 7);
        shards.push_all(&ids);
        assert!(shards.sampled_objects() <= 1_000);
        assert!((shards.rate() * 300.0 - 1.0).abs() < 0.2, "{}", shards.rate());
        let curve = shards.finish();
        assert!((curve.objects as f64 / 300_000.0 - 1.0).abs() < 0.1, "{}", curve.objects);
        assert!(curve.lowest_miss_ratio() > 0.9, "every access was a first use: {:?}", curve.points.last());
    }

    #[test]
    fn one_at_a_time_is_the_same_as_many() {
        let ids = skewed(5_000, 20_000, 3);
        for size in [SampleSize::Rate(0.2), SampleSize::Objects(300)] {
            let mut shards = Shards::new(size, 5);
            ids.iter().for_each(|&id| shards.push(id));
            assert_eq!(shards.finish(), sampled(&ids, size, 5));
            assert_ne!(sampled(&ids, size, 5), sampled(&ids, size, 6), "seeds give samples of their own");
        }
    }

    #[test]
    fn an_empty_sample_claims_nothing() {
        let curve = sampled(&[1, 2, 3], SampleSize::Rate(1e-9), 1);
        assert_eq!((curve.accesses, curve.lowest_miss_ratio()), (3, 1.0));
    }

    proptest! {
        #[test]
        fn a_sample_of_everything_is_exact(ids in prop::collection::vec(0u64..100, 1..400), seed: u64) {
            let expected = exact(&ids);
            for size in [SampleSize::Rate(1.0), SampleSize::Objects(100)] {
                let found = sampled(&ids, size, seed);
                prop_assert_eq!(found.objects, expected.objects);
                for objects in 0..110 {
                    let (found, expected) = (found.miss_ratio_at(objects), expected.miss_ratio_at(objects));
                    prop_assert!((found - expected).abs() < 1e-9, "{size:?} at {objects}: {found} {expected}");
                }
            }
        }

        #[test]
        fn any_sample_falls_from_one(
            ids in prop::collection::vec(0u64..3000, 1..800), seed: u64, objects in 1usize..50,
        ) {
            for size in [SampleSize::Rate(0.03), SampleSize::Objects(objects)] {
                let curve = sampled(&ids, size, seed);
                prop_assert!(curve.points.windows(2).all(|pair| pair[0].miss_ratio >= pair[1].miss_ratio));
                prop_assert!(curve.points.windows(2).all(|pair| pair[0].objects < pair[1].objects));
                prop_assert!(curve.points.iter().all(|point| (0.0..=1.0).contains(&point.miss_ratio)));
            }
        }
    }
}
