//! Training on the flash: the cache is run with each size in turn, and what cleaning finds valid is noted.

use esker_core::Nanos;

use super::model::{TRAINED, Traffic};
use super::{Allocator, Phase, Wear, Window};
use crate::mrc::MissRatioCurve;

/// The shapes of curves are compared at so many sizes.
const COMPARED: u64 = 100;

/// How much the shapes of two curves differ, in the mean of all sizes up to `largest`: in the share that each size
/// gets of the hits of the largest. First uses, which hit in no cache, become fewer while a workload stays as it is.
fn difference(one: &MissRatioCurve, other: &MissRatioCurve, largest: u64) -> f64 {
    let got = |curve: &MissRatioCurve, size| {
        let possible = 1.0 - curve.miss_ratio_at(largest);
        if possible > 0.0 { (1.0 - curve.miss_ratio_at(size)) / possible } else { 0.0 }
    };
    let sizes = (1..=COMPARED).map(|step| (u128::from(largest) * u128::from(step) / u128::from(COMPARED)) as u64);
    sizes.map(|size| (got(one, size) - got(other, size)).abs()).sum::<f64>() / COMPARED as f64
}

/// A step of the training.
#[derive(Debug)]
pub(super) struct Step {
    /// Which of [`TRAINED`].
    index: usize,
    /// The wear in its middle.
    pub(super) middle: Option<Wear>,
    /// The window before the training, and its over-provisioning.
    window: Window,
    present: f64,
}

impl Allocator {
    /// Whether the cache has not been trained, or its curve differs from the one after that.
    pub(super) fn has_to_train(&self, window: &Window) -> bool {
        let differs = |trained: &MissRatioCurve| difference(trained, &window.curve, self.slots) > self.retrain;
        !self.is_trained || self.trained_on.as_ref().is_some_and(differs)
    }

    /// Begins a training after `window`, if any step is worth its while. Returns the over-provisioning.
    pub(super) fn train(&mut self, now: Nanos, window: Window) -> f64 {
        (self.is_trained, self.trained_on) = (true, None);
        let present = self.now_left;
        let first = self.hopeful_step(0, &window, present);
        let chosen = self.decide(now, &window, first.is_some());
        first.map_or(chosen, |index| self.begin_step(index, window, present))
    }

    /// The first step from `index` on that could be worth its while: what costs more than the `present`
    /// over-provisioning even if cleaning found nothing valid is left out. First uses, which miss with any size, are
    /// not counted: after the first window they are still many.
    fn hopeful_step(&self, index: usize, window: &Window, present: f64) -> Option<usize> {
        let latency = |over_provisioning: f64, valid: f64| {
            let miss_ratio = self.miss_ratio(over_provisioning, window) - window.curve.lowest_miss_ratio();
            let traffic = Traffic { writes: window.writes, miss_ratio, evicting: 1.0, valid };
            self.costs.latency(&traffic, self.copying_back)
        };
        let worst = latency(present, self.valid.at(present));
        let is_hopeful =
            |&step: &usize| self.erases_per_day.is_some() || latency(f64::from(TRAINED[step]) / 100.0, 0.0) < worst;
        (index..TRAINED.len()).find(is_hopeful)
    }

    fn begin_step(&mut self, index: usize, window: Window, present: f64) -> f64 {
        self.written = 0;
        self.phase = Phase::Training(Step { index, middle: None, window, present });
        f64::from(TRAINED[index]) / 100.0
    }

    /// Ends a step of the training: notes what cleaning found valid, and goes on with the next one.
    pub(super) fn end_step(&mut self, now: Nanos) -> f64 {
        let Phase::Training(Step { index, middle, window, present }) =
            std::mem::replace(&mut self.phase, Phase::Serving)
        else {
            unreachable!("it is trained")
        };
        if let Some(valid) = self.found_since(middle.expect("a step has a middle")) {
            self.valid.measured(f64::from(TRAINED[index]) / 100.0, valid);
        }
        if let Some(next) = self.hopeful_step(index + 1, &window, present) {
            return self.begin_step(next, window, present);
        }
        let chosen = self.decide(now, &window, false);
        self.take_window(now);
        chosen
    }
}
