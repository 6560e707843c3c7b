//! Miss-ratio curves: miss ratio against cache size.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Miss ratio of a least-recently-used cache against the number of objects it holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MissRatioCurve {
    /// Number of accesses.
    pub accesses: u64,
    /// Number of distinct objects; an estimate for a sampled curve.
    pub objects: u64,
    /// Points by rising size, one wherever the miss ratio falls; it stays the same until the next point. The first
    /// point has size zero and ratio one. The first use of an object always misses.
    pub points: Vec<CurvePoint>,
}

/// One step of a miss-ratio curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CurvePoint {
    /// Size of the cache in objects.
    pub objects: u64,
    /// Share of all accesses that miss.
    pub miss_ratio: f64,
}

impl MissRatioCurve {
    /// Builds a curve from hits, each as `(smallest size that hits, weight in accesses)`, by rising size.
    pub(crate) fn from_hits(
        accesses: u64,
        objects: u64,
        total_weight: f64,
        hits: impl IntoIterator<Item = (u64, f64)>,
    ) -> Self {
        let mut points = vec![CurvePoint { objects: 0, miss_ratio: if accesses > 0 { 1.0 } else { 0.0 } }];
        let mut hit = 0.0;
        for (size, weight) in hits {
            hit += weight;
            let miss_ratio = ((total_weight - hit) / total_weight).clamp(0.0, 1.0);
            match points.last_mut() {
                Some(last) if last.objects == size => last.miss_ratio = miss_ratio,
                _ => points.push(CurvePoint { objects: size, miss_ratio }),
            }
        }
        Self { accesses, objects, points }
    }

    /// Returns the miss ratio of a cache of `objects` objects.
    pub fn miss_ratio_at(&self, objects: u64) -> f64 {
        let after = self.points.partition_point(|point| point.objects <= objects);
        self.points[after.saturating_sub(1)].miss_ratio
    }

    /// Returns the miss ratio of a cache that never evicts: the share of first uses.
    pub fn lowest_miss_ratio(&self) -> f64 {
        self.points.last().map_or(0.0, |point| point.miss_ratio)
    }

    /// Returns the smallest cache that gets at least `share` of all possible hits. With 0.9 this is the knee of the
    /// curve: a larger cache helps little.
    pub fn smallest_with_share_of_hits(&self, share: f64) -> CurvePoint {
        let all_hits = 1.0 - self.lowest_miss_ratio();
        let wanted = 1.0 - share * all_hits;
        // The tolerance covers rounding errors of floating-point sums.
        let first = self.points.iter().find(|point| point.miss_ratio <= wanted + 1e-12);
        *first.or(self.points.last()).expect("a curve has at least one point")
    }

    /// Returns a curve of at most `points_max` points with the shape of this one. The points are spread evenly over
    /// size and miss ratio, so that neither cliffs nor plateaus are lost. The first and the last point are kept.
    pub fn thinned(&self, points_max: usize) -> Self {
        let points_max = points_max.max(2);
        if self.points.len() <= points_max {
            return self.clone();
        }
        let (first, last) = (self.points[0], self.points[self.points.len() - 1]);
        let width = (last.objects - first.objects) as f64;
        let height = first.miss_ratio - last.miss_ratio;
        // Distance along both axes. It rises from point to point, to at most 2.
        let way = |point: &CurvePoint| {
            (point.objects - first.objects) as f64 / width + (first.miss_ratio - point.miss_ratio) / height
        };
        let mut points: Vec<CurvePoint> = Vec::with_capacity(points_max);
        for step in 0..points_max {
            let goal = 2.0 * step as f64 / (points_max - 1) as f64;
            let index = self.points.partition_point(|point| way(point) < goal - 1e-12).min(self.points.len() - 1);
            if points.last() != Some(&self.points[index]) {
                points.push(self.points[index]);
            }
        }
        if points.last() != Some(&last) {
            points.pop();
            points.push(last);
        }
        Self { points, ..*self }
    }

    /// Returns the curve of the accesses after those of `before`, which is the curve of the first part of the same
    /// accesses. It is the curve of a cache that was warm when they began. Its `objects` counts all accesses.
    pub fn since(&self, before: &Self) -> Self {
        let accesses = self.accesses.saturating_sub(before.accesses);
        let hits = |curve: &Self, objects| curve.accesses as f64 * (1.0 - curve.miss_ratio_at(objects));
        let mut least = 1.0;
        let miss_ratio = |objects| {
            let later = hits(self, objects) - hits(before, objects);
            // Sampled curves are estimates, so their difference need not fall with the size.
            least = (1.0 - later / accesses.max(1) as f64).clamp(0.0, least);
            least
        };
        let sizes = self.points.iter().map(|point| point.objects);
        let ratios: Vec<f64> = sizes.clone().map(miss_ratio).collect();
        let points = sizes.zip(ratios).map(|(objects, miss_ratio)| CurvePoint { objects, miss_ratio }).collect();
        Self { accesses, objects: self.objects, points }
    }

    /// Returns the mean absolute difference of two curves at `samples` sizes, spread evenly up to the larger number of
    /// objects: the usual measure of a sampled curve's error.
    pub fn mean_absolute_difference(&self, other: &Self, samples: u64) -> f64 {
        let largest = self.objects.max(other.objects);
        let sizes = (1..=samples).map(|sample| (u128::from(largest) * u128::from(sample) / u128::from(samples)) as u64);
        sizes.map(|size| (self.miss_ratio_at(size) - other.miss_ratio_at(size)).abs()).sum::<f64>() / samples as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve() -> MissRatioCurve {
        MissRatioCurve::from_hits(10, 5, 10.0, [(1, 2.0), (3, 1.0), (5, 2.0)])
    }

    #[test]
    fn the_ratio_stays_until_the_next_step() {
        let ratios: Vec<f64> = (0..7).map(|size| curve().miss_ratio_at(size)).collect();
        assert_eq!(ratios, [1.0, 0.8, 0.8, 0.7, 0.7, 0.5, 0.5]);
        assert_eq!(curve().lowest_miss_ratio(), 0.5);
    }

    #[test]
    fn the_knee_has_its_share_of_hits() {
        assert_eq!(curve().smallest_with_share_of_hits(0.9).objects, 5);
        assert_eq!(curve().smallest_with_share_of_hits(0.6).objects, 3);
        assert_eq!(curve().smallest_with_share_of_hits(0.0).objects, 0);
        let empty = MissRatioCurve::from_hits(0, 0, 0.0, []);
        assert_eq!(empty.smallest_with_share_of_hits(0.9), CurvePoint { objects: 0, miss_ratio: 0.0 });
    }

    /// The later accesses of a warm cache, counted by hand from the exact curve's hits.
    #[test]
    fn later_accesses_are_told_from_earlier_ones() {
        use crate::{CurveBuilder, CurveSettings};
        let mut builder = CurveBuilder::new(&CurveSettings::default());
        (0..10).for_each(|id| builder.access(id));
        let before = builder.so_far();
        // Five of the ten objects are used again: each needs ten slots. Two objects are new.
        (0..5).chain(20..22).for_each(|id| builder.access(id));
        let later = builder.so_far().since(&before);
        assert_eq!((later.accesses, later.objects), (7, 12));
        let missed = [0, 9, 10, 100].map(|slots| (later.miss_ratio_at(slots) * 7.0).round());
        assert_eq!(missed, [7.0, 7.0, 2.0, 2.0]);
        let none = builder.so_far().since(&builder.so_far());
        assert_eq!((none.accesses, none.miss_ratio_at(5)), (0, 1.0));
    }

    #[test]
    fn thinning_keeps_ends_and_order() {
        let hits = (1..=10_000u64).map(|size| (size, if size == 7_000 { 10_000.0 } else { 1.0 }));
        let full = MissRatioCurve::from_hits(30_000, 10_000, 30_000.0, hits);
        let thin = full.thinned(100);
        assert!(thin.points.len() <= 100 && thin.points.len() > 50, "{}", thin.points.len());
        assert_eq!(thin.points.first(), full.points.first());
        assert_eq!(thin.points.last(), full.points.last());
        assert!(thin.points.windows(2).all(|pair| pair[0].objects < pair[1].objects));
        // The cliff is still in its place.
        assert!((thin.miss_ratio_at(7_000) - full.miss_ratio_at(7_000)).abs() < 0.02);
        assert!(full.mean_absolute_difference(&thin, 1_000) < 0.02);
        assert_eq!(curve().thinned(10), curve());
    }
}
