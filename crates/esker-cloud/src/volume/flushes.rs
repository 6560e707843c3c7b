//! Flushes and the writes that they wait for.

use std::collections::VecDeque;

use esker_core::{Nanos, Tag};

/// Counts the writes that have not ended, and those of them that each flush waits for.
#[derive(Clone, Debug, Default)]
pub(super) struct Flushes {
    writes: u32,
    waiting: VecDeque<Flush>,
}

#[derive(Clone, Copy, Debug)]
struct Flush {
    tag: Tag,
    submitted: Nanos,
    /// It waits for the writes with smaller numbers.
    number: u64,
    /// How many of them have not ended.
    writes: u32,
}

impl Flushes {
    #[inline]
    pub(super) fn write_begins(&mut self) {
        self.writes += 1;
    }

    #[inline]
    pub(super) fn write_ends(&mut self, number: u64) {
        self.writes -= 1;
        for flush in &mut self.waiting {
            flush.writes -= u32::from(number < flush.number);
        }
    }

    /// Takes a flush if there are writes to wait for.
    pub(super) fn waits(&mut self, now: Nanos, tag: Tag, number: u64) -> bool {
        if self.writes > 0 {
            self.waiting.push_back(Flush { tag, submitted: now, number, writes: self.writes });
        }
        self.writes > 0
    }

    /// The next flush that waits for no write any more. Flushes end in order: a later one waits for all writes that an
    /// earlier one waits for.
    #[inline]
    pub(super) fn pop_ended(&mut self) -> Option<(Tag, Nanos)> {
        let flush = *self.waiting.front().filter(|flush| flush.writes == 0)?;
        self.waiting.pop_front();
        Some((flush.tag, flush.submitted))
    }
}
