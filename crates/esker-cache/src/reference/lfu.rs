//! LFU: every object with its count and its last use. All of them are searched for the least.

use super::Naive;
use crate::Access;

pub(crate) struct NaiveLfu {
    capacity: usize,
    now: usize,
    /// Count, last use, object.
    held: Vec<(u32, usize, u32)>,
}

impl NaiveLfu {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, now: 0, held: Vec::new() }
    }
}

impl Naive for NaiveLfu {
    fn access(&mut self, access: &Access) -> bool {
        self.now += 1;
        if let Some((count, last_use, _)) = self.held.iter_mut().find(|(.., object)| *object == access.object.0) {
            (*count, *last_use) = (*count + 1, self.now);
            return true;
        }
        if self.held.len() == self.capacity {
            self.held.sort();
            self.held.remove(0);
        }
        self.held.push((1, self.now, access.object.0));
        false
    }
}
