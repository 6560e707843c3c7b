//! W-TinyLFU over three vectors, the least recently used object first, with plain numbers for counters. Which counters
//! an object has is drawn as there: that is part of the policy.

use esker_core::mix64;

use super::Naive;
use crate::Access;

pub(crate) struct NaiveWTinyLfu {
    capacity: usize,
    window: Vec<u32>,
    probation: Vec<u32>,
    protected: Vec<u32>,
    counters: Vec<u8>,
    salt: u64,
    /// How many objects the counters are for.
    objects: usize,
    uses: usize,
}

impl NaiveWTinyLfu {
    pub(crate) fn new(capacity: usize, objects: usize, seed: u64) -> Self {
        let objects = capacity.min(objects);
        Self {
            capacity,
            window: Vec::new(),
            probation: Vec::new(),
            protected: Vec::new(),
            counters: vec![0; objects.next_power_of_two().div_ceil(4) * 128],
            salt: mix64(seed),
            objects,
            uses: 0,
        }
    }

    fn counters(&self, object: u32) -> [usize; 4] {
        let hash = mix64(u64::from(object) ^ self.salt);
        let block = (hash >> 32) as usize % (self.counters.len() / 128);
        [0, 1, 2, 3].map(|row| block * 128 + row * 32 + (hash >> (5 * row)) as usize % 32)
    }

    fn count(&self, object: u32) -> u8 {
        self.counters(object).map(|at| self.counters[at]).into_iter().min().unwrap()
    }

    fn add(&mut self, object: u32) {
        let least = self.count(object);
        for at in self.counters(object) {
            if self.counters[at] == least {
                self.counters[at] = (least + 1).min(15);
            }
        }
    }

    fn age(&mut self) {
        self.uses += 1;
        if self.uses == 32 * self.objects {
            self.uses = 0;
            self.counters.iter_mut().for_each(|counter| *counter /= 2);
        }
    }
}

impl Naive for NaiveWTinyLfu {
    fn access(&mut self, access: &Access) -> bool {
        let object = access.object.0;
        let (window_size, main_size) = ((self.capacity / 100).max(1), self.capacity - (self.capacity / 100).max(1));
        self.add(object);
        if let Some(at) = self.window.iter().position(|held| *held == object) {
            self.window.remove(at);
            self.window.push(object);
            return true;
        }
        let before = self.probation.len() + self.protected.len();
        self.probation.retain(|held| *held != object);
        self.protected.retain(|held| *held != object);
        if self.probation.len() + self.protected.len() < before {
            self.protected.push(object);
            self.age();
            if self.protected.len() > main_size * 80 / 100 {
                self.probation.push(self.protected.remove(0));
            }
            return true;
        }
        self.window.push(object);
        if self.window.len() > window_size {
            let candidate = self.window.remove(0);
            if self.probation.len() + self.protected.len() < main_size {
                self.probation.push(candidate);
            } else if let Some(victim) = self.probation.first().or(self.protected.first())
                && self.count(candidate) > self.count(*victim)
            {
                if self.probation.is_empty() {
                    self.protected.remove(0)
                } else {
                    self.probation.remove(0)
                };
                self.probation.push(candidate);
            }
            // What leaves the window counts once more.
            self.add(candidate);
        }
        false
    }
}
