//! LIRS: the stack and the queue as lists, the objects in the cache and the LIR objects as sets.

use std::collections::BTreeSet;

use super::{Naive, take};
use crate::Access;

pub(crate) struct NaiveLirs {
    lir_most: usize,
    hir_most: usize,
    stack_most: usize,
    lir: BTreeSet<u32>,
    /// The object used last is at the end (S).
    stack: Vec<u32>,
    /// Resident HIR objects (Q).
    queue: Vec<u32>,
    /// Objects of the stack that are not in the cache, in the order in which they left.
    left: Vec<u32>,
}

impl NaiveLirs {
    pub(crate) fn new(capacity: usize, hir_percent: usize, stack_percent: usize) -> Self {
        let hir_most = (capacity * hir_percent / 100).max(1);
        let lir_most = capacity - hir_most;
        let stack_most = capacity * stack_percent / 100;
        Self { lir_most, hir_most, stack_most, lir: BTreeSet::new(), stack: vec![], queue: vec![], left: vec![] }
    }

    fn prune(&mut self) {
        while self.stack.first().is_some_and(|first| !self.lir.contains(first)) {
            let first = self.stack.remove(0);
            take(&mut self.left, first);
        }
    }

    fn make_lir(&mut self, object: u32) {
        self.lir.insert(object);
        if self.lir.len() > self.lir_most {
            let first = self.stack.remove(0);
            self.lir.remove(&first);
            self.queue.push(first);
        }
        self.prune();
    }
}

impl Naive for NaiveLirs {
    fn access(&mut self, access: &Access) -> bool {
        let object = access.object.0;
        let hit = self.lir.contains(&object) || self.queue.contains(&object);
        if !hit && self.lir.len() + self.queue.len() == self.lir_most + self.hir_most {
            let first = self.queue.remove(0);
            if self.stack.contains(&first) {
                self.left.push(first);
            }
        }
        let in_stack = take(&mut self.stack, object);
        self.stack.push(object);
        take(&mut self.left, object);
        if self.lir.contains(&object) {
            self.prune();
        } else if in_stack || (!hit && self.lir.len() < self.lir_most) {
            take(&mut self.queue, object);
            self.make_lir(object);
        } else {
            take(&mut self.queue, object);
            self.queue.push(object);
            self.prune();
        }
        while self.stack.len() > self.stack_most {
            let first = self.left.remove(0);
            take(&mut self.stack, first);
        }
        hit
    }
}
