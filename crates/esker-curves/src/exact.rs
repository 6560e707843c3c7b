//! The exact miss-ratio curve.

use crate::{BATCH, MissRatioCurve, StackDistances};

/// Counts accesses by stack distance.
///
/// ```
/// use esker_curves::ExactCurve;
/// let mut curve = ExactCurve::default();
/// curve.push_all(&[1, 2, 1, 2, 3, 1]);
/// let curve = curve.finish();
/// assert_eq!(curve.miss_ratio_at(1), 1.0);
/// assert_eq!(curve.miss_ratio_at(2), 4.0 / 6.0);
/// assert_eq!(curve.miss_ratio_at(3), 0.5);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ExactCurve {
    stack: StackDistances,
    by_distance: Vec<u64>,
    accesses: u64,
}

impl ExactCurve {
    /// Adds one access.
    #[inline]
    pub fn push(&mut self, id: u64) {
        self.accesses += 1;
        if let Some(distance) = self.stack.access(id) {
            if distance as usize >= self.by_distance.len() {
                // A distance is always less than the number of objects, so this never grows beyond that number.
                self.by_distance.resize((distance as usize + 1).max(self.stack.objects() as usize), 0);
            }
            self.by_distance[distance as usize] += 1;
        }
    }

    /// Adds accesses in their order. Faster than one by one.
    pub fn push_all(&mut self, ids: &[u64]) {
        for batch in ids.chunks(BATCH) {
            self.stack.warm(batch);
            for &id in batch {
                self.push(id);
            }
        }
    }

    /// Returns the curve.
    pub fn finish(self) -> MissRatioCurve {
        let hits = self.by_distance.iter().enumerate().filter(|(_, count)| **count > 0);
        let hits = hits.map(|(distance, &count)| (distance as u64 + 1, count as f64));
        MissRatioCurve::from_hits(self.accesses, self.stack.objects(), self.accesses as f64, hits)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the misses of a least-recently-used cache of `size` objects, by simulation.
    fn lru_misses(ids: &[u64], size: usize) -> u64 {
        let mut cached: Vec<u64> = Vec::new();
        let mut misses = 0;
        for &id in ids {
            match cached.iter().position(|&known| known == id) {
                Some(position) => drop(cached.remove(position)),
                None => misses += 1,
            }
            cached.insert(0, id);
            cached.truncate(size);
        }
        misses
    }

    proptest! {
        #[test]
        fn the_curve_is_that_of_real_caches_of_every_size(ids in prop::collection::vec(0u64..40, 1..300)) {
            let mut curve = ExactCurve::default();
            curve.push_all(&ids);
            let curve = curve.finish();
            for size in 0..45 {
                let expected = lru_misses(&ids, size) as f64 / ids.len() as f64;
                prop_assert!((curve.miss_ratio_at(size as u64) - expected).abs() < 1e-12, "size {size}");
            }
            prop_assert_eq!(curve.points[0].miss_ratio, 1.0);
            prop_assert!(curve.points.windows(2).all(|pair| pair[0].miss_ratio > pair[1].miss_ratio));
        }
    }
}
