//! Synthetic accesses to objects, each of which comes again at intervals of its own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use esker_core::Rng;

use crate::ObjectId;

/// Accesses to objects that differ in how often they are accessed, each at more or less regular intervals (independent
/// renewal processes). Disks behind a cache in memory see such accesses: recently accessed data are still in memory, so
/// hardly anything comes again at once.
///
/// Unlike with [`crate::ByDistance`], some objects stay more popular than others. So policies that remember how often
/// an object was accessed can gain something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ByInterval {
    /// Number of objects.
    pub objects: u32,
    /// How much the objects differ: the standard deviation of the logarithm of their mean intervals, which are drawn
    /// from a log-normal distribution. At 0, all objects are accessed equally often.
    pub spread: f64,
    /// How regular the intervals of one object are: the shape of their gamma distribution, at least 1. At 1, each
    /// access is independent of earlier ones. The larger the value, the closer each object comes to a fixed period.
    pub regularity: f64,
}

/// Number of ticks in a mean interval of 1. Whole ticks order the accesses in the same way on every machine.
const TICKS: f64 = (1u64 << 32) as f64;

impl ByInterval {
    /// Returns `count` accesses, drawn with `seed`. They begin in a stationary state: the first access of each object
    /// is as far away as at any later moment.
    ///
    /// # Panics
    /// If there are no objects, or `regularity` is below 1.
    pub fn accesses(&self, count: usize, seed: u64) -> Vec<ObjectId> {
        assert!(self.objects > 0 && self.regularity >= 1.0, "{self:?} has no intervals");
        let mut rng = Rng::derive(seed, "intervals");
        let means: Vec<f64> = (0..self.objects).map(|_| (self.spread * rng.normal()).exp() * TICKS).collect();
        let mut next: BinaryHeap<Reverse<(u64, u32)>> = means
            .iter()
            .zip(0..)
            .map(|(mean, object)| {
                // A random moment is more likely to lie in a long interval, and lies anywhere in it.
                let around = gamma(&mut rng, self.regularity + 1.0) / self.regularity;
                Reverse(((around * rng.unit() * mean) as u64, object))
            })
            .collect();
        let mut draw = || {
            let Reverse((at, object)) = next.pop().expect("there are objects");
            let interval = gamma(&mut rng, self.regularity) / self.regularity * means[object as usize];
            next.push(Reverse((at + interval as u64, object)));
            ObjectId(object)
        };
        (0..count).map(|_| draw()).collect()
    }
}

/// Draws from the gamma distribution of this shape, which is at least 1, and of scale 1 (Marsaglia and Tsang 2000).
fn gamma(rng: &mut Rng, shape: f64) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = rng.normal();
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && (1.0 - rng.unit()).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use esker_core::registry::Choice;

    use super::*;
    use crate::{Access, AccessKind, NEVER, Shape, build, simulate};

    fn hit_ratio(policy: &str, capacity: u32, objects: &[ObjectId]) -> f64 {
        let of = |object| Access { object, bytes: 1, kind: AccessKind::Read, next_use: NEVER };
        let accesses: Vec<Access> = objects.iter().copied().map(of).collect();
        let mut policy = build(&Choice::named(policy), &Shape { capacity, objects: 2_000, seed: 1 }).unwrap();
        1.0 - simulate(&mut *policy, &accesses).miss_ratio()
    }

    /// Each interval of equal objects is the sum of two exponential ones, with mean 1. A cache that reaches back by t
    /// holds a share 1 - (1 + t) exp(-2 t) of the objects, and a share 1 - (1 + 2 t) exp(-2 t) of the accesses hit.
    #[test]
    fn lru_hits_what_the_intervals_say() {
        let by_interval = ByInterval { objects: 2_000, spread: 0.0, regularity: 2.0 };
        let objects = by_interval.accesses(400_000, 3);
        for t in [0.2, 0.5, 1.0] {
            let (held, hits) = (1.0 - (1.0 + t) * f64::exp(-2.0 * t), 1.0 - (1.0 + 2.0 * t) * f64::exp(-2.0 * t));
            let measured = hit_ratio("lru", (held * 2_000.0) as u32, &objects);
            assert!((measured - hits).abs() < 0.01, "{t}: {measured:.4} instead of {hits:.4}");
        }
    }

    #[test]
    fn policies_that_count_gain_on_unlike_objects_alone() {
        let gain = |spread| {
            let objects = ByInterval { objects: 2_000, spread, regularity: 1.0 }.accesses(200_000, 3);
            hit_ratio("lfu", 500, &objects) - hit_ratio("lru", 500, &objects)
        };
        assert!(gain(0.0).abs() < 0.02 && gain(0.8) > 0.05, "{} {}", gain(0.0), gain(0.8));
    }

    #[test]
    fn the_first_accesses_are_like_later_ones() {
        let objects = ByInterval { objects: 2_000, spread: 0.8, regularity: 3.0 }.accesses(200_000, 3);
        // The number of objects accessed in a window of 1,000 is the same at the beginning as on average.
        let distinct = |window: &[ObjectId]| {
            let mut ids: Vec<u32> = window.iter().map(|object| object.0).collect();
            ids.sort_unstable();
            ids.dedup();
            ids.len() as f64
        };
        let windows: Vec<f64> = objects.chunks(1_000).map(distinct).collect();
        let mean = windows.iter().sum::<f64>() / windows.len() as f64;
        assert!((windows[0] / mean - 1.0).abs() < 0.05, "{} instead of {mean}", windows[0]);
    }
}
