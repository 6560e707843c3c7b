//! W-TinyLFU as Caffeine's authors describe it, with three vectors, the least recently used object first, and plain
//! numbers for counters. Only random draws are made as in the policy: which counters an object has, and which objects
//! enter by jitter.

use esker_core::{Rng, mix64};

use super::Naive;
use crate::Access;

pub(crate) struct NaiveWTinyLfu {
    capacity: usize,
    window: Vec<u32>,
    probation: Vec<u32>,
    protected: Vec<u32>,
    window_size: usize,
    protected_size: usize,
    counters: Vec<u8>,
    salt: u64,
    additions: usize,
    rng: Rng,
    /// The climber: hits and misses of a full cache since the last step, the hit ratio before that, and the next step.
    climber: Option<(usize, usize, f64, f64)>,
}

impl NaiveWTinyLfu {
    pub(crate) fn new(capacity: usize, objects: usize, seed: u64, adaptive: bool) -> Self {
        let main_size = (capacity * 99 / 100).min(capacity - 1);
        Self {
            capacity,
            window: Vec::new(),
            probation: Vec::new(),
            protected: Vec::new(),
            window_size: capacity - main_size,
            protected_size: main_size * 4 / 5,
            counters: vec![0; capacity.min(objects).next_power_of_two().max(8) * 16],
            salt: mix64(seed),
            additions: 0,
            rng: Rng::derive(seed, "w-tinylfu"),
            climber: adaptive.then_some((0, 0, 0.0, -0.0625 * capacity as f64)),
        }
    }

    fn counters(&self, object: u32) -> [usize; 4] {
        let hash = mix64(u64::from(object) ^ self.salt);
        let block = (hash >> 32) as usize % (self.counters.len() / 128);
        [0, 1, 2, 3].map(|row| block * 128 + row * 32 + (hash >> (5 * row)) as usize % 32)
    }

    fn frequency(&self, object: u32) -> u8 {
        self.counters(object).map(|at| self.counters[at]).into_iter().min().unwrap()
    }

    fn record(&mut self, object: u32) {
        let before = self.counters.clone();
        for at in self.counters(object) {
            self.counters[at] = (self.counters[at] + 1).min(15);
        }
        if self.counters != before {
            self.additions += 1;
        }
        if self.additions == 10 * self.capacity {
            let odd = self.counters.iter().filter(|counter| *counter % 2 == 1).count();
            self.counters.iter_mut().for_each(|counter| *counter /= 2);
            self.additions = self.additions.saturating_sub(odd / 4) / 2;
        }
    }

    fn hit(&mut self, object: u32) -> bool {
        if let Some(at) = self.window.iter().position(|held| *held == object) {
            self.window.remove(at);
            self.window.push(object);
            return true;
        }
        let in_main = self.probation.contains(&object) || self.protected.contains(&object);
        if in_main {
            self.probation.retain(|held| *held != object);
            self.protected.retain(|held| *held != object);
            self.protected.push(object);
            self.demote();
        }
        in_main
    }

    fn demote(&mut self) {
        while self.protected.len() > self.protected_size {
            self.probation.push(self.protected.remove(0));
        }
    }

    fn held(&self) -> usize {
        self.window.len() + self.probation.len() + self.protected.len()
    }

    fn miss(&mut self, object: u32) {
        self.window.push(object);
        if self.window.len() <= self.window_size {
            return;
        }
        let candidate = self.window.remove(0);
        self.probation.push(candidate);
        if self.held() > self.capacity {
            let victim = self.probation[0];
            if victim == candidate {
                self.probation.pop();
                return;
            }
            let (new, old) = (self.frequency(candidate), self.frequency(victim));
            if new > old || new >= 6 && self.rng.below(128) == 0 {
                self.probation.remove(0);
            } else {
                self.probation.pop();
            }
        }
    }

    fn climb(&mut self, hit: bool) {
        let Some((hits, misses, before, step)) = &mut self.climber else { return };
        *hits += usize::from(hit);
        *misses += usize::from(!hit);
        if *hits + *misses < 10 * self.capacity {
            return;
        }
        let ratio = *hits as f64 / (*hits + *misses) as f64;
        let move_by = if ratio < *before { -*step } else { *step };
        let restart = (ratio - *before).abs() >= 0.05;
        let next = if restart { (0.0625 * self.capacity as f64).copysign(move_by) } else { 0.98 * move_by };
        self.climber = Some((0, 0, ratio, next));
        for _ in 0..move_by.abs() as usize {
            if move_by > 0.0 && self.protected_size > 0 {
                self.window_size += 1;
                self.protected_size -= 1;
            } else if move_by < 0.0 && self.window_size > 1 {
                self.window_size -= 1;
                self.protected_size += 1;
            }
        }
        self.demote();
        while self.window.len() < self.window_size && move_by > 0.0 && !self.probation.is_empty() {
            self.window.push(self.probation.remove(0));
        }
        while self.window.len() > self.window_size {
            self.probation.push(self.window.remove(0));
        }
    }
}

impl Naive for NaiveWTinyLfu {
    fn access(&mut self, access: &Access) -> bool {
        let object = access.object.0;
        let was_full = self.held() == self.capacity;
        self.record(object);
        let hit = self.hit(object);
        if !hit {
            self.miss(object);
        }
        if was_full {
            self.climb(hit);
        }
        hit
    }
}
