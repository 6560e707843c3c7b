//! Synthetic accesses with a given LRU curve.

use esker_core::Rng;

use crate::ObjectId;

/// Accesses whose stack distances are drawn from a distribution. The stack distance of an access is the number of other
/// objects accessed since the last access to its object. LRU hits if it is below the size of the cache, so the
/// distribution is the LRU curve. Nothing else makes an object likely to be accessed, so policies that count accesses
/// have no more information than LRU.
///
/// The curve is H(c) = H (1 - exp(-(c / s)^k)): concave above an inflection, like the curves of disks behind a cache in
/// memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ByDistance {
    /// Number of objects. The curve is approximate until all of them have been accessed: an access further back than
    /// all accesses so far goes to a new object.
    pub objects: u32,
    /// H: the share of accesses that are not the first to their object.
    pub hit_ratio_max: f64,
    /// s: the size, in objects, at which LRU reaches 1 - 1/e of H.
    pub scale: f64,
    /// k: how steeply the curve rises there.
    pub shape: f64,
}

impl ByDistance {
    /// Returns the share of accesses that LRU with `objects` objects hits, once all objects have been accessed.
    pub fn lru_hit_ratio(&self, objects: f64) -> f64 {
        self.hit_ratio_max * (1.0 - (-(objects / self.scale).powf(self.shape)).exp())
    }

    /// Returns `count` accesses, drawn with `seed`.
    pub fn accesses(&self, count: usize, seed: u64) -> Vec<ObjectId> {
        let mut rng = Rng::derive(seed, "stack distances");
        // The object accessed last is at the end.
        let mut stack: Vec<u32> = Vec::with_capacity(self.objects as usize);
        let mut draw = || {
            let share = rng.below(1 << 53) as f64 / (1u64 << 53) as f64 / self.hit_ratio_max;
            let distance =
                if share < 1.0 { self.scale * (-(1.0 - share).ln()).powf(1.0 / self.shape) } else { f64::MAX };
            let held = stack.len();
            let object = match distance < held as f64 {
                true => stack.remove(held - 1 - distance as usize),
                false if held < self.objects as usize => held as u32,
                false => stack.remove(0),
            };
            stack.push(object);
            ObjectId(object)
        };
        (0..count).map(|_| draw()).collect()
    }
}

#[cfg(test)]
mod tests {
    use esker_core::registry::Choice;

    use super::*;
    use crate::{Access, AccessKind, NEVER, Shape, build, simulate};

    #[test]
    fn lru_hits_what_the_curve_says() {
        let by_distance = ByDistance { objects: 2_000, hit_ratio_max: 0.9, scale: 500.0, shape: 2.5 };
        let accesses: Vec<Access> = by_distance
            .accesses(200_000, 3)
            .into_iter()
            .map(|object| Access { object, bytes: 1, kind: AccessKind::Read, next_use: NEVER })
            .collect();
        for capacity in [100, 300, 500, 1_000] {
            let shape = Shape { capacity, objects: 2_000, seed: 1 };
            let mut lru = build(&Choice::named("lru"), &shape).unwrap();
            let measured = 1.0 - simulate(&mut *lru, &accesses).miss_ratio();
            let curve = by_distance.lru_hit_ratio(f64::from(capacity));
            assert!((measured - curve).abs() < 0.01, "{capacity}: {measured:.4} instead of {curve:.4}");
        }
    }
}
