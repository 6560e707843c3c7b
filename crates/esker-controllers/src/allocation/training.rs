//! Training on the flash: the cache runs with each size in turn, and measures how many lines cleaning finds valid.

use esker_core::Nanos;

use super::model::{TRAINED, Traffic};
use super::{Allocator, Phase, Wear, Window};
use esker_curves::MissRatioCurve;

/// Number of sizes at which the shapes of two curves are compared.
const COMPARED: u64 = 100;

/// Returns how much the shapes of two curves differ, on average over all sizes up to `largest`: in the share of the
/// largest size's hits that each size gets. First uses, which hit in no cache, are left out, because their number falls
/// while a workload stays the same.
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
pub(super) struct TrainingStep {
    /// Index in [`TRAINED`].
    index: usize,
    /// The wear in the middle of the step.
    pub(super) middle: Option<Wear>,
    /// The window before the training, and the over-provisioning then.
    window: Window,
    present: f64,
}

impl Allocator {
    /// Returns true if the cache has not been trained, or the curve of `window` differs much from that of the last
    /// training.
    pub(super) fn has_to_train(&self, window: &Window) -> bool {
        let differs = |trained: &MissRatioCurve| difference(trained, &window.curve, self.slots) > self.retrain;
        !self.is_trained || self.trained_on.as_ref().is_some_and(differs)
    }

    /// Begins a training after `window` if any step could pay off. Returns the over-provisioning to use now.
    pub(super) fn train(&mut self, now: Nanos, window: Window) -> f64 {
        (self.is_trained, self.trained_on) = (true, None);
        let present = self.now_left;
        let first = self.hopeful_step(0, &window, present);
        let chosen = self.decide(now, &window, first.is_some());
        first.map_or(chosen, |index| self.begin_step(index, window, present))
    }

    /// Returns the first step from `index` on that could pay off. A step cannot if its size costs more than the
    /// `present` over-provisioning even if cleaning found nothing valid. First uses, which miss with any size, are not
    /// counted: after the first window there are still many.
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
        self.phase = Phase::Training(TrainingStep { index, middle: None, window, present });
        f64::from(TRAINED[index]) / 100.0
    }

    /// Ends a step of the training: takes in the share that cleaning found valid, and begins the next step or decides.
    pub(super) fn end_step(&mut self, now: Nanos) -> f64 {
        let Phase::Training(TrainingStep { index, middle, window, present }) =
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
