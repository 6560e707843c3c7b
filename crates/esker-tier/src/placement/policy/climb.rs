//! Improves shares by trying: a little more for one device and less for another, kept where requests are answered
//! faster.

/// The first step, as a share of all requests, and the largest and the least one.
const STEP_FIRST: f64 = 0.1;
const STEP_MAX: f64 = 0.2;
const STEP_MIN: f64 = 0.02;
/// Batches of requests that measure the shares to begin with, and those of a trial at least and at most.
const BASE: usize = 32;
const TRIAL_MIN: usize = 8;
const TRIAL_MAX: usize = 128;
/// Standard errors of a difference after which a trial is good, or bad, before its last batch.
const GOOD: f64 = 3.0;
const BAD: f64 = 1.5;
/// What the last batch of a trial has to show.
const GAIN_MIN: f64 = 0.003;
/// At rest the mean response time is looked at in so many batches; if it has changed by this much, trying begins anew.
const WATCHED: usize = 512;
const CHANGED: f64 = 0.25;

/// Mean response times of batches.
#[derive(Clone, Debug, Default)]
struct Measured {
    count: f64,
    mean: f64,
    /// Sum of squared differences from the mean.
    squares: f64,
}

impl Measured {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        let difference = value - self.mean;
        self.mean += difference / self.count;
        self.squares += difference * (value - self.mean);
    }

    /// Variance of the mean.
    fn variance(&self) -> f64 {
        self.squares / (self.count * (self.count - 1.0)).max(1.0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Measures the shares to begin with.
    Base,
    /// Measures other shares.
    Trial,
    /// Nothing was better: watches.
    Rest,
}

/// Climbs from shares to better ones, until no step of 2 % of the requests is one.
#[derive(Debug)]
pub(super) struct Climb {
    stage: Stage,
    /// The best shares so far.
    shares: Vec<f64>,
    best: Measured,
    current: Measured,
    step: f64,
    /// The pair of devices, one of which gets more, by the number of the pair.
    direction: usize,
    /// Trials that were no better, one after the other.
    failures: usize,
}

impl Climb {
    pub(super) fn new(shares: &[f64]) -> Self {
        Self {
            stage: Stage::Base,
            shares: shares.to_vec(),
            best: Measured::default(),
            current: Measured::default(),
            step: STEP_FIRST,
            direction: 0,
            failures: 0,
        }
    }

    /// Takes the mean response time of a batch of requests. Returns the shares to go on with, if they change.
    pub(super) fn batch(&mut self, mean: f64) -> Option<Vec<f64>> {
        self.current.add(mean);
        let count = self.current.count as usize;
        match self.stage {
            Stage::Base if count >= BASE => {
                self.best = std::mem::take(&mut self.current);
                self.next_trial()
            }
            Stage::Trial if count >= TRIAL_MIN => {
                let gain = self.best.mean - self.current.mean;
                let error = (self.best.variance() + self.current.variance()).sqrt();
                let is_last = count >= TRIAL_MAX;
                if gain > GOOD * error || is_last && gain > GAIN_MIN * self.best.mean {
                    self.keep()
                } else if gain < -BAD * error || is_last {
                    self.failures += 1;
                    self.direction += 1;
                    self.next_trial()
                } else {
                    None
                }
            }
            Stage::Rest if count >= WATCHED => {
                let watched = std::mem::take(&mut self.current);
                if (watched.mean / self.best.mean - 1.0).abs() > CHANGED {
                    *self = Self::new(&self.shares);
                }
                None
            }
            _ => None,
        }
    }

    /// Keeps the shares of this trial, and goes on in the same direction.
    fn keep(&mut self) -> Option<Vec<f64>> {
        self.shares = self.tried().expect("they were tried");
        self.best = std::mem::take(&mut self.current);
        self.step = (self.step * 1.5).min(STEP_MAX);
        self.failures = 0;
        self.next_trial()
    }

    /// The shares with a step in this direction; `None` if there is nothing to take away.
    fn tried(&self) -> Option<Vec<f64>> {
        let devices = self.shares.len();
        let pair = self.direction % (devices * (devices - 1));
        let (to, from) = (pair / (devices - 1), pair % (devices - 1));
        let from = if from >= to { from + 1 } else { from };
        let step = self.step.min(self.shares[from] * 0.9);
        let mut shares = self.shares.clone();
        shares[to] += step;
        shares[from] -= step;
        (step >= STEP_MIN / 2.0).then_some(shares)
    }

    fn next_trial(&mut self) -> Option<Vec<f64>> {
        self.current = Measured::default();
        let directions = self.shares.len() * self.shares.len().saturating_sub(1);
        while self.step >= STEP_MIN && directions > 0 {
            while self.failures < directions {
                if let Some(shares) = self.tried() {
                    self.stage = Stage::Trial;
                    return Some(shares);
                }
                self.failures += 1;
                self.direction += 1;
            }
            self.failures = 0;
            self.step /= 2.0;
        }
        self.stage = Stage::Rest;
        Some(self.shares.clone())
    }
}

#[cfg(test)]
mod tests {
    use esker_core::Rng;

    use super::*;

    /// Climbs on a valley of response times with noise. Returns the shares in the end, and how many batches it took.
    fn climbed(start: &[f64], best: &[f64], noise: f64) -> (Vec<f64>, usize) {
        let mut climb = Climb::new(start);
        let (mut shares, mut rng) = (start.to_vec(), Rng::new(1));
        for batches in 0..20_000 {
            let away: f64 = shares.iter().zip(best).map(|(one, other)| (one - other).powi(2)).sum();
            let mean = 100.0 * (1.0 + 2.0 * away) * (1.0 + noise * (rng.unit() - 0.5));
            shares = climb.batch(mean).unwrap_or(shares);
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9 && shares.iter().all(|share| *share > 0.0));
            if climb.stage == Stage::Rest {
                return (shares, batches);
            }
        }
        panic!("it does not come to rest")
    }

    #[test]
    fn it_comes_to_rest_near_the_best_shares() {
        for (start, best) in [([0.9, 0.1], [0.6, 0.4]), ([0.5, 0.5], [0.98, 0.02]), ([0.5, 0.5], [0.5, 0.5])] {
            for noise in [0.0, 0.2] {
                let (shares, batches) = climbed(&start, &best, noise);
                assert!((shares[0] - best[0]).abs() < 0.06, "{start:?} to {best:?}, noise {noise}: {shares:?}");
                assert!(batches < 3000, "{batches}");
            }
        }
        let (shares, _) = climbed(&[0.8, 0.1, 0.1], &[0.4, 0.4, 0.2], 0.1);
        assert!((shares[0] - 0.4).abs() < 0.06 && (shares[1] - 0.4).abs() < 0.06, "{shares:?}");
    }

    #[test]
    fn a_change_of_the_response_times_makes_it_try_again() {
        let mut climb = Climb::new(&[0.5, 0.5]);
        while climb.stage != Stage::Rest {
            climb.batch(100.0);
        }
        (0..WATCHED).for_each(|_| drop(climb.batch(101.0)));
        assert_eq!(climb.stage, Stage::Rest);
        (0..WATCHED).for_each(|_| drop(climb.batch(200.0)));
        assert_eq!(climb.stage, Stage::Base);
    }
}
