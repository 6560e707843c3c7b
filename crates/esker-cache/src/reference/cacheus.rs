//! CACHEUS with vectors that are searched. The oldest object of each is first.

use esker_core::Rng;

use super::Naive;
use crate::Access;

pub(crate) struct NaiveCacheus {
    capacity: usize,
    now: u64,
    reused: Vec<Seen>,
    probation: Vec<Seen>,
    reused_size: usize,
    /// Objects that the first expert evicted, and objects that the second expert evicted.
    left: [Vec<Seen>; 2],
    weights: [f64; 2],
    rng: Rng,
    rate: f64,
    rate_before: f64,
    hits: usize,
    hit_ratio_before: f64,
    zeroes: usize,
    losses: usize,
}

#[derive(Clone, Copy)]
struct Seen {
    object: u32,
    frequency: u32,
    used_at: u64,
    demoted: bool,
    fresh: bool,
}

fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

fn take(list: &mut Vec<Seen>, object: u32) -> Option<Seen> {
    list.iter().position(|seen| seen.object == object).map(|at| list.remove(at))
}

impl NaiveCacheus {
    pub(crate) fn new(capacity: usize, seed: u64) -> Self {
        Self {
            capacity,
            now: 0,
            reused: Vec::new(),
            probation: Vec::new(),
            reused_size: capacity - ((capacity as f64 * 0.01 + 0.5) as usize).max(1),
            left: Default::default(),
            weights: [0.5; 2],
            rng: Rng::derive(seed, "cacheus"),
            rate: (2.0 * 2f64.ln() / capacity as f64).sqrt(),
            rate_before: 0.0,
            hits: 0,
            hit_ratio_before: 0.0,
            zeroes: 0,
            losses: 0,
        }
    }

    fn learn(&mut self) {
        let first = (2.0 * 2f64.ln() / self.capacity as f64).sqrt().clamp(0.001, 1.0);
        let hit_ratio = round(self.hits as f64 / self.capacity as f64);
        let gain = round(hit_ratio - self.hit_ratio_before);
        let change = round(self.rate) - round(self.rate_before);
        self.rate_before = self.rate;
        if gain * change > 0.0 {
            self.rate = (self.rate + (self.rate * change).abs()).min(1.0);
            (self.zeroes, self.losses) = (0, 0);
        } else if gain * change < 0.0 {
            self.rate = (self.rate - (self.rate * change).abs()).max(0.001);
            (self.zeroes, self.losses) = (0, 0);
        } else if gain < 0.0 {
            self.zeroes += 1;
            self.losses += 1;
            if self.zeroes >= 10 {
                self.rate = first;
                self.zeroes = 0;
            } else if self.losses >= 10 {
                self.rate = first;
                self.losses = 0;
            } else if self.rate >= 1.0 {
                self.rate = 0.9;
            } else if self.rate <= 0.001 {
                self.rate = 0.005;
            } else if self.rng.chance(1, 2) {
                self.rate = (self.rate * 1.25).min(1.0);
            } else {
                self.rate = (self.rate * 0.75).max(0.001);
            }
        } else if gain == 0.0 && hit_ratio == 0.0 {
            self.zeroes += 1;
            if self.zeroes >= 10 {
                self.rate = first;
                self.zeroes = 0;
            }
        }
        self.hit_ratio_before = hit_ratio;
        self.hits = 0;
    }

    /// Returns how many demoted objects are in the cache, and how many fresh objects the first expert evicted.
    fn counts(&self) -> (usize, usize) {
        let demoted = self.reused.iter().chain(&self.probation).filter(|seen| seen.demoted).count();
        (demoted, self.left[0].iter().filter(|seen| seen.fresh).count())
    }

    fn make_room(&mut self) {
        if self.reused.len() + self.probation.len() < self.capacity {
            return;
        }
        let first = self.probation.first().or(self.reused.first()).unwrap().object;
        let all = self.probation.iter().chain(&self.reused);
        let second = all.min_by_key(|seen| (seen.frequency, u64::MAX - seen.used_at)).unwrap().object;
        let expert = usize::from(self.rng.unit() >= self.weights[0]);
        let left = [first, second][expert];
        let seen = take(&mut self.probation, left).or_else(|| take(&mut self.reused, left)).unwrap();
        if first != second {
            self.left[expert].push(Seen { demoted: false, ..seen });
            if self.left[expert].len() > self.capacity / 2 {
                self.left[expert].remove(0);
            }
        }
    }

    fn limit(&mut self) {
        while self.reused.len() >= self.reused_size && !self.reused.is_empty() {
            let seen = self.reused.remove(0);
            self.probation.push(Seen { demoted: true, ..seen });
        }
    }
}

impl Naive for NaiveCacheus {
    fn access(&mut self, access: &Access) -> bool {
        let object = access.object.0;
        self.now += 1;
        if self.now.is_multiple_of(self.capacity as u64) {
            self.learn();
        }
        let used_at = self.now;
        if let Some(seen) = take(&mut self.reused, object) {
            self.reused.push(Seen { frequency: seen.frequency + 1, used_at, ..seen });
            self.hits += 1;
            return true;
        }
        if let Some(at) = self.probation.iter().position(|seen| seen.object == object) {
            let (demoted, fresh) = self.counts();
            let seen = self.probation.remove(at);
            if seen.demoted {
                let step = ((fresh as f64 / demoted.max(1) as f64 + 0.5) as usize).max(1);
                self.reused_size = (self.reused_size + step).min(self.capacity - 1);
            }
            if self.reused.len() >= self.reused_size && !self.reused.is_empty() {
                let oldest = self.reused.remove(0);
                self.probation.push(Seen { demoted: true, ..oldest });
            }
            self.reused.push(Seen { frequency: seen.frequency + 1, used_at, demoted: false, ..seen });
            self.hits += 1;
            return true;
        }
        for expert in 0..2 {
            if let Some(seen) = take(&mut self.left[expert], object) {
                if expert == 0 && seen.fresh {
                    let (demoted, fresh) = self.counts();
                    let step = ((demoted as f64 / fresh.max(1) as f64 + 0.5) as usize).max(1);
                    let probation_size = (self.capacity - self.reused_size + step).min(self.capacity - 1);
                    self.reused_size = self.capacity - probation_size;
                }
                self.weights[expert] *= (-self.rate).exp();
                let first = (self.weights[0] / (self.weights[0] + self.weights[1])).clamp(1.0 - 0.99, 0.99);
                self.weights = [first, 1.0 - first];
                self.make_room();
                self.reused.push(Seen { used_at, demoted: false, fresh: false, ..seen });
                self.limit();
                return false;
            }
        }
        let held = self.reused.len() + self.probation.len();
        let seen = Seen { object, frequency: 1, used_at, demoted: false, fresh: false };
        if self.reused.len() < self.reused_size && self.probation.is_empty() {
            self.reused.push(seen);
        } else if held < self.capacity && self.probation.len() < self.capacity - self.reused_size {
            self.probation.push(seen);
        } else {
            self.make_room();
            self.probation.push(Seen { fresh: true, ..seen });
            self.limit();
        }
        false
    }
}
