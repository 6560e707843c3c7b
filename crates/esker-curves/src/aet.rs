//! AET: computes the curve from reuse times alone (Hu, Wang, Li, Zhou, Luo, Ding, Jiang, Wang: "Kinetic modeling of
//! data eviction in cache", USENIX ATC 2016).
//!
//! The reuse time of an access is the number of accesses since the last one to the same object. P(t) is the share of
//! accesses with a reuse time longer than t; first uses count as infinite. An object that is not used again sinks
//! through the cache's list: t accesses after its last use it sinks at the speed P(t), because each access to an object
//! below it pushes it down. So it leaves a cache of c objects at the time T for which P(0) + ... + P(T - 1) = c, and
//! the miss ratio of this cache is P(T).
//!
//! This takes one look-up per access, instead of a look-up and a count of distances. It assumes that every stretch of
//! accesses is a fair sample of all: where the workload changes phase, the curve is wrong, and comparing seeds does not
//! reveal that.

use esker_core::IdMap;

use crate::{BATCH, MissRatioCurve};

/// Counts accesses by reuse time. Takes 21 to 43 bytes for each object, and less than a megabyte for the counts.
///
/// ```
/// use esker_curves::Aet;
/// let mut curve = Aet::default();
/// curve.push_all(&[1, 2, 3, 1, 2, 3, 1, 2, 3, 1]);
/// let curve = curve.finish();
/// assert_eq!((curve.miss_ratio_at(2), curve.miss_ratio_at(3)), (1.0, 0.3));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Aet {
    last_use: IdMap,
    /// Number of accesses by the [`bin`] of their reuse time.
    by_bin: Vec<u64>,
    accesses: u64,
}

/// Reuse times below twice this number are counted exactly, longer ones in this many bins for each power of two.
const BINS: u64 = 1 << 10;

/// Returns the bin of a reuse time, which is rounded to about 0.1 %.
#[inline]
fn bin(time: u64) -> usize {
    let dropped_bits = u64::from((u64::BITS - time.leading_zeros()).saturating_sub(BINS.trailing_zeros() + 1));
    (dropped_bits * BINS + (time >> dropped_bits)) as usize
}

/// Returns the shortest reuse time of a bin, and how many times the bin holds.
fn times(bin: usize) -> (u64, u64) {
    let bin = bin as u64;
    let dropped_bits = (bin / BINS).saturating_sub(1);
    ((bin - dropped_bits * BINS) << dropped_bits, 1 << dropped_bits)
}

impl Aet {
    /// Adds one access.
    #[inline]
    pub fn push(&mut self, id: u64) {
        if let Some(before) = self.last_use.replace(id, self.accesses) {
            let bin = bin(self.accesses - before);
            if bin >= self.by_bin.len() {
                self.by_bin.resize(bin + 1, 0);
            }
            self.by_bin[bin] += 1;
        }
        self.accesses += 1;
    }

    /// Adds accesses in their order. Faster than one by one.
    pub fn push_all(&mut self, ids: &[u64]) {
        for batch in ids.chunks(BATCH) {
            self.last_use.warm(batch.iter().copied());
            for &id in batch {
                self.push(id);
            }
        }
    }

    /// Returns the curve.
    pub fn finish(self) -> MissRatioCurve {
        let objects = self.last_use.len() as u64;
        let accesses = self.accesses as f64;
        // How far an object has sunk at `time`, in objects times accesses, and how many accesses still push it down.
        let (mut sunk, mut time, mut pushing) = (0.0, 0, self.accesses);
        let mut hits = Vec::new();
        for (bin, &count) in self.by_bin.iter().enumerate().filter(|(_, count)| **count > 0) {
            let (first, width) = times(bin);
            sunk += (first - time) as f64 * pushing as f64;
            // Reuse times are spread evenly over their bin.
            sunk += (width - 1) as f64 * (pushing as f64 - count as f64 / 2.0);
            time = first + width - 1;
            pushing -= count;
            // A cache of all objects hits every object that was used earlier.
            hits.push((((sunk / accesses).ceil() as u64).clamp(1, objects), count as f64));
        }
        MissRatioCurve::from_hits(self.accesses, objects, accesses, hits)
    }
}

#[cfg(test)]
mod tests {
    use esker_core::Rng;
    use proptest::prelude::*;

    use super::*;
    use crate::ExactCurve;

    fn curves(ids: &[u64]) -> (MissRatioCurve, MissRatioCurve) {
        let (mut exact, mut aet) = (ExactCurve::default(), Aet::default());
        exact.push_all(ids);
        aet.push_all(ids);
        (exact.finish(), aet.finish())
    }

    /// Returns workloads of three kinds, different for each seed: skewed, skewed with scans, and loops of several
    /// lengths one after the other.
    fn workload(kind: u32, seed: u64) -> Vec<u64> {
        let mut rng = Rng::new(seed);
        let mut ids = Vec::new();
        while ids.len() < 300_000 {
            let skewed = (rng.unit().powi(3) * 30_000.0) as u64;
            match kind {
                0 => ids.push(skewed),
                1 if rng.below(2_000) == 0 => ids.extend((0..1_000).map(|step| (skewed + step) % 30_000)),
                1 => ids.push(skewed),
                _ => {
                    let length = 1_000 + 2_000 * rng.below(4);
                    ids.extend((0..length).map(|step| length * 100_000 + step));
                }
            }
        }
        ids
    }

    /// Returns the mean absolute errors for ten seeds, in rising order.
    fn errors(kind: u32) -> Vec<f64> {
        let mut errors: Vec<f64> = (0..10)
            .map(|seed| {
                let (exact, aet) = curves(&workload(kind, seed));
                exact.mean_absolute_difference(&aet, 1_000)
            })
            .collect();
        errors.sort_by(f64::total_cmp);
        errors
    }

    #[test]
    fn it_comes_near_the_exact_curve() {
        // The bound of sampled curves, 0.02, for the median of ten seeds.
        for kind in 0..2 {
            let errors = errors(kind);
            assert!(errors[5] < 0.02 && errors[9] < 0.03, "workload {kind}: {errors:?}");
        }
    }

    #[test]
    fn it_is_off_where_no_stretch_is_a_sample_of_all() {
        let errors = errors(2);
        assert!(errors[0] > 0.03 && errors[9] < 0.1, "{errors:?}");
    }

    #[test]
    fn taking_reuse_times_for_distances_would_not() {
        let ids = workload(0, 1);
        let (exact, aet) = curves(&ids);
        let mut wrong = Aet::default();
        wrong.push_all(&ids);
        let hits = wrong.by_bin.iter().enumerate().filter(|(_, count)| **count > 0);
        let hits: Vec<(u64, f64)> = hits.map(|(bin, count)| (times(bin).0, *count as f64)).collect();
        let wrong = MissRatioCurve::from_hits(aet.accesses, aet.objects, aet.accesses as f64, hits);
        assert!(exact.mean_absolute_difference(&wrong, 1_000) > 0.05);
    }

    #[test]
    fn bins_are_side_by_side_and_hold_their_times() {
        let mut next = 0;
        for bin in 0..20_000 {
            let (first, width) = times(bin);
            assert_eq!(first, next, "bin {bin}");
            assert!([first, first + width - 1].iter().all(|time| super::bin(*time) == bin));
            next = first + width;
        }
    }

    proptest! {
        #[test]
        fn the_ends_of_the_curve_are_exact(ids in prop::collection::vec(0u64..60, 1..500)) {
            let (exact, aet) = curves(&ids);
            prop_assert_eq!((aet.accesses, aet.objects), (exact.accesses, exact.objects));
            prop_assert!((aet.miss_ratio_at(1) - exact.miss_ratio_at(1)).abs() < 1e-12);
            prop_assert!((aet.lowest_miss_ratio() - exact.lowest_miss_ratio()).abs() < 1e-12);
            prop_assert!((aet.miss_ratio_at(aet.objects) - exact.lowest_miss_ratio()).abs() < 1e-12);
            prop_assert!(aet.points.windows(2).all(|pair| pair[0].objects < pair[1].objects));
        }

        #[test]
        fn a_loop_falls_off_its_cliff(length in 1u64..3_000, rounds in 2u64..6) {
            let ids: Vec<u64> = (0..length * rounds).map(|access| access % length).collect();
            let (exact, aet) = curves(&ids);
            // Times from 2,048 on are rounded by up to 0.1 %.
            let near = length / 1_000 + 1;
            prop_assert_eq!(aet.miss_ratio_at(length), exact.miss_ratio_at(length));
            prop_assert_eq!(aet.miss_ratio_at((length - 1).saturating_sub(near)), 1.0);
        }
    }
}
