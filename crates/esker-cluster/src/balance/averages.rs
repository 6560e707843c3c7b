//! What slices are written, averaged over epochs.

use super::ClusterView;
use crate::id::SliceId;

/// The average of pages that are written to each slice in an epoch. An epoch counts less the longer it is ago.
#[derive(Debug)]
pub(super) struct Averages {
    /// Epochs that count.
    memory: f64,
    /// Epochs that were seen.
    epochs: u64,
    /// Pages of each slice; NaN while it has no replica.
    pages: Vec<f32>,
}

impl Averages {
    pub(super) fn over(epochs: u64) -> Self {
        Self { memory: epochs.max(1) as f64, epochs: 0, pages: Vec::new() }
    }

    /// Epochs that were seen.
    pub(super) fn epochs(&self) -> u64 {
        self.epochs
    }

    /// Takes an epoch into the averages, of which the first are even. A slice that is new begins with what the epoch
    /// wrote to it. An average over one epoch is what that wrote, without a rounding error. Returns the pages an epoch
    /// that each server is written by the averages of its slices.
    pub(super) fn take(&mut self, view: &ClusterView<'_>) -> Vec<f64> {
        self.epochs += 1;
        self.pages.resize(view.slices.len(), f32::NAN);
        let weight = (1.0 / (self.epochs as f64).min(self.memory)) as f32;
        let mut pages = vec![0.0; view.servers.len()];
        for (average, slice) in self.pages.iter_mut().zip(view.slices) {
            let is_new = average.is_nan() || weight == 1.0;
            *average = if is_new { slice.pages } else { *average + (slice.pages - *average) * weight };
            if slice.replicas == 0 {
                *average = f32::NAN;
            }
            slice.homes().iter().for_each(|home| pages[home.index()] += f64::from(*average));
        }
        pages
    }

    /// The average of a slice.
    pub(super) fn of(&self, slice: SliceId) -> f32 {
        self.pages[slice.index()]
    }
}
