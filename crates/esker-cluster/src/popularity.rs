//! How often objects are written, with older epochs counting less. Thesis, equations 4.7-4.9.

use crate::id::{ObjectId, SliceId};
use crate::shape::ClusterShape;

/// The popularity of every object: 4 bytes each.
#[derive(Clone, Debug)]
pub struct Popularity {
    shape: ClusterShape,
    objects: Vec<f32>,
}

/// The popularity of a slice, and how many of its objects are hot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SlicePopularity {
    /// `P_s`: decayed writes to all its objects.
    pub popularity: f32,
    /// Objects above the threshold.
    pub hot: u32,
    /// The other objects.
    pub cold: u32,
}

impl Popularity {
    /// No object was ever written.
    pub fn new(shape: ClusterShape) -> Self {
        Self { shape, objects: vec![0.0; shape.objects() as usize] }
    }

    /// Counts a write to an object.
    pub fn written(&mut self, object: ObjectId) {
        self.objects[object.0 as usize] += 1.0;
    }

    /// Begins an epoch. Equation 4.7, `p_i = sum of w_j / 2^(m - j)`: what was written before counts half from now on.
    pub fn begin_epoch(&mut self) {
        self.objects.iter_mut().for_each(|popularity| *popularity /= 2.0);
    }

    /// Returns the popularity of an object.
    pub fn of(&self, object: ObjectId) -> f32 {
        self.objects[object.0 as usize]
    }

    /// Returns the mean over all objects.
    pub fn mean(&self) -> f64 {
        self.objects.iter().map(|popularity| f64::from(*popularity)).sum::<f64>() / self.objects.len() as f64
    }

    /// Returns the popularity of each slice, equation 4.8, and its hot objects: those above `gamma` times the `mean` of
    /// all objects.
    pub fn slices(&self, gamma: f64) -> impl Iterator<Item = SlicePopularity> + '_ {
        let limit = (self.mean() * gamma) as f32;
        (0..self.shape.slices).map(move |slice| {
            let objects = self.shape.objects_of(SliceId(slice));
            let of_slice = &self.objects[objects.start.0 as usize..objects.end.0 as usize];
            let hot = of_slice.iter().filter(|popularity| **popularity > limit).count() as u32;
            let cold = self.shape.objects_per_slice - hot;
            SlicePopularity { popularity: of_slice.iter().sum(), hot, cold }
        })
    }
}

impl SlicePopularity {
    /// Equation 4.9: hot objects for each cold one. Infinite if none is cold.
    pub fn hot_per_cold(&self) -> f64 {
        f64::from(self.hot) / f64::from(self.cold)
    }

    /// The share of cold objects. Section 4.3 gets it from the ratio of equation 4.9, `1 / (epsilon + 1)`.
    pub fn cold_share(&self) -> f64 {
        1.0 / (self.hot_per_cold() + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use esker_core::Bytes;

    const SHAPE: ClusterShape =
        ClusterShape { slices: 2, objects_per_slice: 4, object: Bytes::kib(256), partitions: 1, replicas: 1 };

    #[test]
    fn older_epochs_count_half_as_much_each() {
        let mut popularity = Popularity::new(SHAPE);
        for writes in [8, 4, 6] {
            popularity.begin_epoch();
            (0..writes).for_each(|_| popularity.written(ObjectId(1)));
        }
        assert_eq!(popularity.of(ObjectId(1)), 8.0 / 4.0 + 4.0 / 2.0 + 6.0);
        assert_eq!(popularity.mean(), 10.0 / 8.0);
    }

    #[test]
    fn hot_objects_are_above_the_mean_of_the_cluster() {
        let mut popularity = Popularity::new(SHAPE);
        for (object, writes) in [(0, 9), (1, 3), (4, 4)] {
            (0..writes).for_each(|_| popularity.written(ObjectId(object)));
        }
        let slices: Vec<_> = popularity.slices(1.0).collect();
        assert_eq!(slices[0], SlicePopularity { popularity: 12.0, hot: 2, cold: 2 });
        assert_eq!(slices[1], SlicePopularity { popularity: 4.0, hot: 1, cold: 3 });
        assert_eq!((slices[0].hot_per_cold(), slices[1].cold_share()), (1.0, 0.75));
        assert_eq!(popularity.slices(2.0).map(|slice| slice.hot).collect::<Vec<_>>(), [1, 0], "4 is not above 4");
        assert_eq!(SlicePopularity { popularity: 1.0, hot: 4, cold: 0 }.cold_share(), 0.0);
    }
}
