//! LRFU: every object with its worth at its last use. All of them are searched for the least worth.

use super::Naive;
use crate::Access;

pub(crate) struct NaiveLrfu {
    capacity: usize,
    lambda: f64,
    now: u32,
    held: Vec<Held>,
}

struct Held {
    object: u32,
    worth: f64,
    last_use: u32,
}

impl NaiveLrfu {
    pub(crate) fn new(capacity: usize, decay: f64) -> Self {
        Self { capacity, lambda: decay / capacity as f64, now: 0, held: Vec::new() }
    }
}

impl Naive for NaiveLrfu {
    fn access(&mut self, access: &Access) -> bool {
        self.now += 1;
        let (now, lambda) = (self.now, self.lambda);
        if let Some(held) = self.held.iter_mut().find(|held| held.object == access.object.0) {
            held.worth = 1.0 + held.worth * (-lambda * f64::from(now - held.last_use)).exp2();
            held.last_use = now;
            return true;
        }
        if self.held.len() == self.capacity {
            // The worth that it would have had at the beginning. Comparing these is as good as comparing the worths of
            // now.
            let order = |held: &Held| held.worth.log2() + lambda * f64::from(held.last_use);
            let before = |a: &Held, b: &Held| order(a).total_cmp(&order(b)).then(a.last_use.cmp(&b.last_use)).is_lt();
            let least = (1..self.held.len())
                .fold(0, |least, other| if before(&self.held[other], &self.held[least]) { other } else { least });
            self.held.remove(least);
        }
        self.held.push(Held { object: access.object.0, worth: 1.0, last_use: now });
        false
    }
}
