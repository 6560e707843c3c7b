//! Which type's counts are split: the one whose splits have raised bounds most so far.

use super::model::CountRange;

/// What bounds rose by where the counts of a type were split, for each device that was then too few or too many.
#[derive(Clone, Copy, Default)]
struct Rise {
    sum: f64,
    number: u32,
}

impl Rise {
    fn mean(self) -> Option<f64> {
        (self.number > 0).then(|| self.sum / f64::from(self.number))
    }
}

/// Rises of each type where its counts became smaller, and where they became larger (Benichou 1971).
pub(super) struct Rises {
    smaller: Vec<Rise>,
    larger: Vec<Rise>,
}

impl Rises {
    pub(super) fn new(types: usize) -> Self {
        Self { smaller: vec![Rise::default(); types], larger: vec![Rise::default(); types] }
    }

    /// Learns from a part of a range by how much its bound is higher. `counts` are the fractional ones of the range.
    pub(super) fn learn(&mut self, counts: &[f64], part: &CountRange, higher: f64) {
        for (at, &count) in counts.iter().enumerate() {
            let (too_many, too_few) = (count - f64::from(part.max[at]), f64::from(part.min[at]) - count);
            if too_many > 1e-6 {
                add(&mut self.smaller[at], higher / too_many);
            } else if too_few > 1e-6 {
                add(&mut self.larger[at], higher / too_few);
            }
        }
    }

    /// How much a split of a type at this fractional count is likely to raise bounds; `cost` is that of a device, which
    /// stands for types that were not split yet.
    pub(super) fn score(&self, at: usize, count: f64, cost: f64) -> f64 {
        let (below, above) = (count - count.floor(), count.ceil() - count);
        let smaller = below * self.smaller[at].mean().unwrap_or(cost);
        let larger = above * self.larger[at].mean().unwrap_or(cost);
        smaller.max(1e-6 * cost) * larger.max(1e-6 * cost)
    }
}

fn add(rise: &mut Rise, higher: f64) {
    rise.sum += higher.max(0.0);
    rise.number += 1;
}
