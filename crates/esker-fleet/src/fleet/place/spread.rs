//! How unevenly the slices of a server are written, kept up to date as they come and go.

use esker_cluster::{RATE_CLASSES, WriteSpread, rate_class};

/// Replicas on a server by how fast they are written. Weights of a class differ by less than a factor of two, so that
/// sums of them are exact, and what comes and goes again leaves nothing behind.
#[derive(Clone, Debug, Default)]
pub(super) struct SpreadCount {
    replicas: [u32; RATE_CLASSES],
    weights: [f64; RATE_CLASSES],
    changes: u32,
}

impl SpreadCount {
    pub(super) fn clear(&mut self) {
        *self = Self { changes: self.changes.wrapping_add(1), ..Self::default() };
    }

    /// Adds a replica with its weight. `mean` is the mean weight of all slices.
    pub(super) fn add(&mut self, weight: f32, mean: f64) {
        let class = rate_class(f64::from(weight), mean);
        self.replicas[class] += 1;
        self.weights[class] += f64::from(weight);
        self.changes = self.changes.wrapping_add(1);
    }

    /// Removes a replica that was added with this weight and mean.
    pub(super) fn remove(&mut self, weight: f32, mean: f64) {
        let class = rate_class(f64::from(weight), mean);
        self.replicas[class] -= 1;
        self.weights[class] -= f64::from(weight);
        self.changes = self.changes.wrapping_add(1);
    }

    /// Differs after each change from before.
    pub(super) fn changes(&self) -> u32 {
        self.changes
    }

    /// The spread of a server's pages. Each slice has `written_objects` that are written, and `never_written` others.
    pub(super) fn spread(&self, written_objects: f64, never_written: f64) -> WriteSpread {
        let mut spread = WriteSpread::NONE;
        for (class, (replicas, weights)) in self.replicas.iter().zip(&self.weights).enumerate() {
            let replicas = f64::from(*replicas);
            spread.add(class, replicas * written_objects, *weights);
            spread.add(0, replicas * never_written, 0.0);
        }
        spread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_is_as_if_it_had_never_come() {
        let weights = [0.1f32, 3.3, 7.0e-3, 1.0, 1.9999, 512.0];
        let mut count = SpreadCount::default();
        weights[..3].iter().for_each(|weight| count.add(*weight, 1.0));
        let before = count.clone();
        for _ in 0..1000 {
            weights[3..].iter().for_each(|weight| count.add(*weight, 1.0));
            weights[3..].iter().for_each(|weight| count.remove(*weight, 1.0));
        }
        assert_eq!((count.replicas, count.weights), (before.replicas, before.weights));
        assert_ne!(count.changes(), before.changes());
    }

    #[test]
    fn objects_that_are_never_written_are_the_slowest_class() {
        let mut count = SpreadCount::default();
        [4.0, 1.0, 1.0].iter().for_each(|weight| count.add(*weight, 1.0));
        let mut expected = WriteSpread::NONE;
        expected.add(0, 9.0, 0.0);
        expected.add(6, 2.0, 2.0);
        expected.add(8, 1.0, 4.0);
        assert_eq!(count.spread(1.0, 3.0), expected);
    }
}
