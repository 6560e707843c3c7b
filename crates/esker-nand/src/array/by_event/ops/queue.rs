//! The operations of a die, in order.

use super::{Link, NOBODY, Ops};

/// Operations of a die, in the order of pushing.
#[derive(Clone, Debug)]
pub(in super::super) struct Queue {
    first: u32,
    last: u32,
    length: u32,
}

impl Default for Queue {
    fn default() -> Self {
        Self { first: NOBODY, last: NOBODY, length: 0 }
    }
}

impl Queue {
    pub(in super::super) fn first(&self) -> Option<u32> {
        (self.first != NOBODY).then_some(self.first)
    }

    pub(in super::super) fn len(&self) -> u32 {
        self.length
    }
}

impl Ops {
    /// Adds `op` to `queue`, behind all that were pushed before it.
    #[inline(always)]
    pub(in super::super) fn join_queue(&mut self, queue: &mut Queue, op: u32) {
        let sequence = self[op].sequence;
        let (mut before, mut after) = (queue.last, NOBODY);
        while before != NOBODY && self[before].sequence > sequence {
            (before, after) = (self.slots[before as usize].links.queue.before, before);
        }
        let links = &mut self.slots[op as usize].links;
        (links.queued, links.queue) = (true, Link { before, after });
        match before {
            NOBODY => queue.first = op,
            _ => self.slots[before as usize].links.queue.after = op,
        }
        match after {
            NOBODY => queue.last = op,
            _ => self.slots[after as usize].links.queue.before = op,
        }
        queue.length += 1;
    }

    /// Removes `op` from `queue`.
    #[inline(always)]
    pub(in super::super) fn leave_queue(&mut self, queue: &mut Queue, op: u32) {
        let links = &mut self.slots[op as usize].links;
        let Link { before, after } = links.queue;
        links.queued = false;
        match before {
            NOBODY => queue.first = after,
            _ => self.slots[before as usize].links.queue.after = after,
        }
        match after {
            NOBODY => queue.last = before,
            _ => self.slots[after as usize].links.queue.before = before,
        }
        queue.length -= 1;
    }

    /// Returns the operation behind `op` in its queue.
    pub(in super::super) fn next_in_queue(&self, op: u32) -> Option<u32> {
        let next = self.slots[op as usize].links.queue.after;
        (next != NOBODY).then_some(next)
    }
}
