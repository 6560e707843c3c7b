//! Flushes and the writes that they wait for.

use std::collections::VecDeque;

use esker_core::{Nanos, Tag};

/// A flush that waits for the writes that came before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flush {
    pub(super) tag: Tag,
    pub(super) submitted: Nanos,
    /// When the controller has processed the flush.
    pub(super) ready: Nanos,
    /// The flush waits for the writes with smaller sequence numbers.
    pub(super) sequence: u64,
}

/// Counts the writes that are not on the medium: all of them, and those that each flush waits for.
#[derive(Clone, Debug, Default)]
pub(super) struct Flushes {
    writes: u32,
    waiting: VecDeque<(Flush, u32)>,
}

impl Flushes {
    #[inline]
    pub(super) fn write_begins(&mut self) {
        self.writes += 1;
    }

    /// Records that the write with this sequence number is on the medium.
    #[inline]
    pub(super) fn write_ends(&mut self, sequence: u64) {
        self.writes -= 1;
        for (flush, left) in &mut self.waiting {
            *left -= u32::from(sequence < flush.sequence);
        }
    }

    #[inline]
    pub(super) fn any_waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns since when the first flush has been waiting.
    pub(super) fn waits_since(&self) -> Option<Nanos> {
        self.waiting.front().map(|(flush, _)| flush.submitted)
    }

    pub(super) fn push(&mut self, flush: Flush) {
        self.waiting.push_back((flush, self.writes));
    }

    /// Takes the next flush that waits for no write any more. Flushes end in order: a later one waits for all writes
    /// that an earlier one waits for.
    #[inline]
    pub(super) fn pop_ended(&mut self) -> Option<Flush> {
        let (flush, 0) = *self.waiting.front()? else { return None };
        self.waiting.pop_front();
        Some(flush)
    }
}
