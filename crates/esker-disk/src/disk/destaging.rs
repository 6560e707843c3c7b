//! Writes that have completed in the buffer, and when they go to the medium.

use esker_core::Nanos;

use crate::{Mechanics, Scheduler, WaitLimit, Waiting};

/// With batches, how long no command must have arrived before waiting writes go to the medium without a batch. Firmware
/// does not publish its own figure; this is a few turns of the platters.
const IDLE: Nanos = Nanos::from_millis(20);

/// Writes that have completed in the buffer and still have to go to the medium.
///
/// Without batches, these writes get the arm when no other command wants it, when a flush waits for them, and at every
/// other turn while writes wait for room in the buffer. With batches, they wait until there is no room. Then one batch
/// at a time is written, large enough that the arm need not return for each write.
pub(super) struct Destaging {
    waiting: Box<dyn Scheduler>,
    /// How long a flush waits for writes in the scheduler's order.
    limit: WaitLimit,
    /// Size of a batch in bytes.
    batch: Option<u64>,
    /// Bytes of the current batch that are still to be written.
    left: u64,
    /// Whether the arm last served these writes.
    pub(super) served: bool,
    /// When the last command came from the host.
    last_command: Nanos,
}

impl Destaging {
    pub(super) fn new(waiting: Box<dyn Scheduler>, limit: WaitLimit, batch: Option<u64>) -> Self {
        Self { waiting, limit, batch, left: 0, served: false, last_command: Nanos::ZERO }
    }

    pub(super) fn push(&mut self, write: Waiting) {
        self.waiting.push(write);
    }

    pub(super) fn command_came(&mut self, now: Nanos) {
        self.last_command = now;
    }

    /// Returns true if these writes go before other commands. `no_room` means that a write waits for room in the
    /// buffer.
    pub(super) fn goes_first(&self, flush_waits: bool, no_room: bool) -> bool {
        flush_waits || self.left > 0 || no_room && !self.served
    }

    /// Returns the next write. `only` means that no other command wants the arm. `flush_since` is when the first
    /// waiting flush arrived.
    pub(super) fn pop(
        &mut self,
        now: Nanos,
        mechanics: &Mechanics,
        only: bool,
        no_room: bool,
        flush_since: Option<Nanos>,
    ) -> Option<Waiting> {
        if only && !no_room && self.left == 0 && now < self.waits_until() {
            return None;
        }
        let overdue =
            flush_since.zip(self.limit.time()).is_some_and(|(since, limit)| now.saturating_sub(since) >= limit);
        // The flush may wait for a write that the scheduler would pass again and again.
        let next = if overdue { self.waiting.pop_oldest() } else { self.waiting.pop(now, mechanics) };
        match self.batch {
            _ if next.is_none() => self.left = 0,
            Some(batch) if no_room && self.left == 0 => self.left = batch,
            _ => {}
        }
        next
    }

    /// Records that a write of `bytes` bytes went to the medium.
    pub(super) fn written(&mut self, bytes: u64) {
        self.left = self.left.saturating_sub(bytes);
    }

    /// Returns when these writes may have an arm that no other command wants.
    fn waits_until(&self) -> Nanos {
        if self.batch.is_some() { self.last_command + IDLE } else { Nanos::ZERO }
    }

    /// Returns when an arm that is free now is next given to one of these writes without a batch.
    pub(super) fn next_event(&self) -> Nanos {
        if self.batch.is_some() && !self.waiting.is_empty() { self.waits_until() } else { Nanos::NEVER }
    }
}
