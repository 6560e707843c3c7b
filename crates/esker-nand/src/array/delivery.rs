//! Pages in the decoder: transferred, but not yet decoded.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Items that are due at times known in advance, in the order of time, then of insertion.
#[derive(Debug)]
pub(super) struct Deliveries<T> {
    due: BinaryHeap<Reverse<(u64, u64, T)>>,
    number: u64,
}

impl<T: Ord> Deliveries<T> {
    pub(super) fn new() -> Self {
        Self { due: BinaryHeap::new(), number: 0 }
    }

    /// Returns the time of the next item, or `u64::MAX` if there is none.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.due.peek().map_or(u64::MAX, |Reverse((at, ..))| *at)
    }

    pub(super) fn set(&mut self, at: u64, what: T) {
        self.due.push(Reverse((at, self.number, what)));
        self.number += 1;
    }

    /// Takes the next item that is due at `now`.
    #[inline]
    pub(super) fn take(&mut self, now: u64) -> Option<T> {
        if self.next() != now {
            return None;
        }
        self.due.pop().map(|Reverse((.., what))| what)
    }
}
