//! Improves shares by trial: first some promising shares, then a little more for one device and less for another.
//! Shares with which requests are answered faster are kept.

/// The first step, as a share of all requests, the largest, and the smallest one.
const STEP_FIRST: f64 = 0.1;
const STEP_MAX: f64 = 0.2;
const STEP_MIN: f64 = 0.02;
/// Number of batches that measure the shares in the beginning, and the least and most batches of a trial.
const BASE: usize = 32;
const TRIAL_MIN: usize = 8;
const TRIAL_MAX: usize = 128;
/// By how many standard errors a trial has to differ to be judged good or bad before its last batch, and to be good
/// after it.
const GOOD: f64 = 3.0;
const BAD: f64 = 1.5;
const GOOD_AT_LAST: f64 = 1.5;
/// A gain below this share of the mean response time is not worth a change.
const GAIN_MIN: f64 = 0.003;
/// At rest, the mean response time is checked every `WATCHED` batches; if it has changed by more than the share
/// `CHANGED`, the search begins anew.
const WATCHED: usize = 512;
const CHANGED: f64 = 0.25;
/// At any time, the search begins anew once this many batches in a row took more than `SUDDENLY` times as long as the
/// best shares did, or less than that part of it. A trial ends before that.
const SUDDEN: usize = 2 * TRIAL_MIN;
const SUDDENLY: f64 = 2.0;

/// Statistics of the mean response times of batches.
#[derive(Clone, Debug, Default)]
struct BatchMeans {
    count: f64,
    mean: f64,
    /// Sum of the squared differences from the mean.
    squares: f64,
}

impl BatchMeans {
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
enum ClimbStage {
    /// Measures the best shares so far, until they have this many batches.
    Base(usize),
    /// Measures other shares.
    Trial,
    /// Nothing was better: only watches.
    Rest,
}

/// Climbs from shares to better ones, until no step of at least 2 % of the requests improves them.
#[derive(Debug)]
pub(super) struct Climb {
    stage: ClimbStage,
    /// The best shares so far, and their response times.
    shares: Vec<f64>,
    best: BatchMeans,
    /// The shares of the present trial, and their response times.
    trial: Option<Vec<f64>>,
    tried: BatchMeans,
    /// Shares to try before any step.
    promising: Option<Vec<f64>>,
    step: f64,
    /// The number of the pair of devices, one of which gives to the other.
    direction: usize,
    /// Number of trials in a row that were no better.
    failures: usize,
    /// Numbers of batches in a row that were far slower, and far faster, than the best shares were.
    sudden: [usize; 2],
    lost: bool,
}

impl Climb {
    /// Creates a search that starts at `shares` and tries the `promising` ones first.
    pub(super) fn new(shares: &[f64], promising: Vec<f64>) -> Self {
        let differs = shares.iter().zip(&promising).any(|(one, other)| (one - other).abs() > STEP_MIN);
        Self {
            stage: ClimbStage::Base(BASE),
            shares: shares.to_vec(),
            best: BatchMeans::default(),
            trial: None,
            tried: BatchMeans::default(),
            promising: differs.then_some(promising),
            step: STEP_FIRST,
            direction: 0,
            failures: 0,
            sudden: [0, 0],
            lost: false,
        }
    }

    /// Returns true if response times have changed so much that the search should begin anew.
    pub(super) fn has_lost_its_way(&self) -> bool {
        self.lost
    }

    /// Takes the mean response time of a batch of requests. Returns new shares if they change.
    pub(super) fn batch(&mut self, mean: f64) -> Option<Vec<f64>> {
        let changes = [mean > SUDDENLY * self.best.mean, mean * SUDDENLY < self.best.mean];
        for (sudden, has_changed) in self.sudden.iter_mut().zip(changes) {
            *sudden = if has_changed && !matches!(self.stage, ClimbStage::Base(_)) { *sudden + 1 } else { 0 };
        }
        if self.sudden.contains(&SUDDEN) {
            self.lost = true;
            return None;
        }
        match self.stage {
            ClimbStage::Base(goal) => {
                self.best.add(mean);
                if self.best.count < goal as f64 {
                    return None;
                }
                match &self.trial {
                    Some(trial) => {
                        self.stage = ClimbStage::Trial;
                        Some(trial.clone())
                    }
                    None => self.next_trial(),
                }
            }
            ClimbStage::Trial => {
                self.tried.add(mean);
                self.judge()
            }
            ClimbStage::Rest => {
                self.tried.add(mean);
                if self.tried.count >= WATCHED as f64 {
                    let watched = std::mem::take(&mut self.tried);
                    self.lost = (watched.mean / self.best.mean - 1.0).abs() > CHANGED;
                }
                None
            }
        }
    }

    /// Ends the trial if it can be judged. If it cannot, and has twice as many batches as the best shares, those are
    /// measured again first.
    fn judge(&mut self) -> Option<Vec<f64>> {
        let count = self.tried.count as usize;
        if count < TRIAL_MIN {
            return None;
        }
        let gain = self.best.mean - self.tried.mean;
        let error = (self.best.variance() + self.tried.variance()).sqrt();
        let is_last = count >= TRIAL_MAX;
        if gain > GOOD * error || is_last && gain > (GOOD_AT_LAST * error).max(GAIN_MIN * self.best.mean) {
            self.keep()
        } else if gain < -BAD * error || is_last {
            self.failures += 1;
            self.direction += 1;
            self.next_trial()
        } else if count as f64 >= 2.0 * self.best.count {
            self.stage = ClimbStage::Base(count);
            Some(self.shares.clone())
        } else {
            None
        }
    }

    /// Keeps the shares of this trial, and continues in the same direction.
    fn keep(&mut self) -> Option<Vec<f64>> {
        self.shares = self.trial.take().expect("they were tried");
        self.best = std::mem::take(&mut self.tried);
        self.step = (self.step * 1.5).min(STEP_MAX);
        self.failures = 0;
        self.next_trial()
    }

    /// Returns the shares after a step in this direction; `None` if there is too little to take away.
    fn next_step(&self) -> Option<Vec<f64>> {
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
        self.tried = BatchMeans::default();
        self.trial = self.promising.take().or_else(|| self.next_of_all_steps());
        self.stage = if self.trial.is_some() { ClimbStage::Trial } else { ClimbStage::Rest };
        Some(self.trial.clone().unwrap_or_else(|| self.shares.clone()))
    }

    /// Returns the next step that can be taken, with smaller steps if necessary; `None` if all were tried.
    fn next_of_all_steps(&mut self) -> Option<Vec<f64>> {
        let directions = self.shares.len() * self.shares.len().saturating_sub(1);
        while self.step >= STEP_MIN && directions > 0 {
            while self.failures < directions {
                let step = self.next_step();
                if step.is_some() {
                    return step;
                }
                self.failures += 1;
                self.direction += 1;
            }
            self.failures = 0;
            self.step /= 2.0;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use esker_core::Rng;

    use super::*;

    /// Climbs in a valley of response times with noise. Returns the final shares, and the number of batches.
    fn climbed(start: &[f64], best: &[f64], noise: f64) -> (Vec<f64>, usize) {
        let mut climb = Climb::new(start, start.to_vec());
        let (mut shares, mut rng) = (start.to_vec(), Rng::new(1));
        for batches in 0..20_000 {
            let away: f64 = shares.iter().zip(best).map(|(one, other)| (one - other).powi(2)).sum();
            let mean = 100.0 * (1.0 + 2.0 * away) * (1.0 + noise * (rng.unit() - 0.5));
            shares = climb.batch(mean).unwrap_or(shares);
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9 && shares.iter().all(|share| *share > 0.0));
            if climb.stage == ClimbStage::Rest {
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
        let mut climb = Climb::new(&[0.5, 0.5], vec![0.5, 0.5]);
        while climb.stage != ClimbStage::Rest {
            climb.batch(100.0);
        }
        (0..WATCHED).for_each(|_| drop(climb.batch(101.0)));
        assert!(!climb.has_lost_its_way());
        (0..WATCHED).for_each(|_| drop(climb.batch(200.0)));
        assert!(climb.has_lost_its_way());
    }

    #[test]
    fn a_sudden_change_is_noticed_at_once_at_any_time() {
        for (before, factor) in [(45, 10.0), (300, 10.0), (2000, 10.0), (2000, 0.1)] {
            let mut climb = Climb::new(&[0.5, 0.5], vec![0.5, 0.5]);
            (0..before).for_each(|_| drop(climb.batch(100.0)));
            assert!(!climb.has_lost_its_way());
            let batches = (1..).find(|_| {
                climb.batch(100.0 * factor);
                climb.has_lost_its_way()
            });
            assert!(batches <= Some(SUDDEN), "{batches:?} after {before}");
        }
        // Single slow batches are none, nor is a trial of bad shares.
        let mut climb = Climb::new(&[0.5, 0.5], vec![0.9, 0.1]);
        let mut shares = vec![0.5, 0.5];
        for number in 0..2000 {
            let mean = if shares[0] > 0.8 || number % 9 == 0 { 500.0 } else { 100.0 };
            shares = climb.batch(mean).unwrap_or(shares);
            assert!(!climb.has_lost_its_way(), "{number}: {shares:?}");
        }
    }

    #[test]
    fn shares_that_promise_much_are_tried_first_and_kept_only_if_they_are_better() {
        for (promising, kept) in [([0.2, 0.8], true), ([0.9, 0.1], false)] {
            let mut climb = Climb::new(&[0.5, 0.5], promising.to_vec());
            let mut shares = vec![0.5, 0.5];
            let mut batches = 0..;
            while climb.promising.is_some() || climb.trial.as_deref() == Some(&promising) {
                let noise = f64::from(batches.next().unwrap() % 7);
                let mean = 100.0 + 100.0 * (shares[0] - 0.2) + noise;
                shares = climb.batch(mean).unwrap_or(shares);
            }
            assert_eq!(climb.shares == promising, kept, "{:?}", climb.shares);
        }
    }
}
