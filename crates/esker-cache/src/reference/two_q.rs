//! 2Q, the full version, with three lists: figure 2 of the paper, line by line.

use super::{Naive, take};
use crate::Access;

pub(crate) struct NaiveTwoQ {
    capacity: usize,
    a1_in: Vec<u32>,
    a1_out: Vec<u32>,
    am: Vec<u32>,
}

impl NaiveTwoQ {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, a1_in: Vec::new(), a1_out: Vec::new(), am: Vec::new() }
    }

    fn reclaim(&mut self) {
        if self.a1_in.len() + self.am.len() < self.capacity {
            return;
        }
        if self.a1_in.len() > self.capacity / 4 || self.am.is_empty() {
            self.a1_out.push(self.a1_in.remove(0));
            if self.a1_out.len() > self.capacity / 2 {
                self.a1_out.remove(0);
            }
        } else {
            self.am.remove(0);
        }
    }
}

impl Naive for NaiveTwoQ {
    fn access(&mut self, access: &Access) -> bool {
        let object = access.object.0;
        if take(&mut self.am, object) {
            self.am.push(object);
            return true;
        }
        if self.a1_in.contains(&object) {
            return true;
        }
        if take(&mut self.a1_out, object) {
            self.reclaim();
            self.am.push(object);
        } else {
            self.reclaim();
            self.a1_in.push(object);
        }
        false
    }
}
