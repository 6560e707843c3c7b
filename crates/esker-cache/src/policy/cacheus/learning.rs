//! How fast the weights change.

use esker_core::Rng;

const LEAST: f64 = 0.001;
const MOST: f64 = 1.0;

/// Number of consecutive bad periods after which learning begins again.
const PATIENCE: u32 = 10;

/// The learning rate of CACHEUS. It changes after each period, which has as many accesses as the cache has objects: up
/// if it and the hit ratio last changed in the same direction, down if they changed in opposite directions, at random
/// if the hit ratio fell although the rate had not changed. Hit ratios and changes are rounded to thousandths.
#[derive(Debug)]
pub(super) struct LearningRate {
    rate: f64,
    previous: f64,
    first: f64,
    period: u32,
    /// Accesses in the current period, and the number of hits among them.
    accesses: u32,
    hits: u32,
    hit_ratio_previous: f64,
    periods_without_hits: u32,
    periods_of_loss: u32,
}

impl LearningRate {
    pub(super) fn new(period: u32) -> Self {
        let rate = (2.0 * std::f64::consts::LN_2 / f64::from(period)).sqrt();
        Self {
            rate,
            previous: 0.0,
            first: rate.clamp(LEAST, MOST),
            period,
            accesses: 0,
            hits: 0,
            hit_ratio_previous: 0.0,
            periods_without_hits: 0,
            periods_of_loss: 0,
        }
    }

    pub(super) fn set_period(&mut self, period: u32) {
        self.period = period;
    }

    /// Returns the factor for the weight of an expert that evicted the wrong object.
    pub(super) fn penalty(&self) -> f64 {
        (-self.rate).exp()
    }

    pub(super) fn hit(&mut self) {
        self.hits += 1;
    }

    /// Records the beginning of an access.
    pub(super) fn access(&mut self, rng: &mut Rng) {
        self.accesses += 1;
        if self.accesses < self.period {
            return;
        }
        let hit_ratio = thousandths(f64::from(self.hits) / f64::from(self.period));
        let gain = thousandths(hit_ratio - self.hit_ratio_previous);
        let before = self.rate;
        let change = thousandths(before) - thousandths(self.previous);
        let step = (before * change).abs();
        if gain * change != 0.0 {
            let better = gain * change > 0.0;
            self.rate = if better { (before + step).min(MOST) } else { (before - step).max(LEAST) };
            (self.periods_without_hits, self.periods_of_loss) = (0, 0);
        } else if gain < 0.0 || gain == 0.0 && hit_ratio == 0.0 {
            self.lose(gain < 0.0, rng);
        }
        (self.previous, self.hit_ratio_previous) = (before, hit_ratio);
        (self.accesses, self.hits) = (0, 0);
    }

    /// Handles a period without hits, or with fewer hits than the one before although the rate did not change.
    fn lose(&mut self, fewer: bool, rng: &mut Rng) {
        self.periods_without_hits += 1;
        self.periods_of_loss += u32::from(fewer);
        if self.periods_without_hits >= PATIENCE {
            (self.rate, self.periods_without_hits) = (self.first, 0);
        } else if fewer && self.periods_of_loss >= PATIENCE {
            (self.rate, self.periods_of_loss) = (self.first, 0);
        } else if fewer {
            self.rate = match self.rate {
                MOST.. => 0.9,
                ..=LEAST => 0.005,
                rate if rng.chance(1, 2) => (rate * 1.25).min(MOST),
                rate => (rate * 0.75).max(LEAST),
            };
        }
    }
}

fn thousandths(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}
