//! A die: its current operation, its queue, and when its host operations can end. Times are plain nanoseconds.

use std::collections::VecDeque;

use super::super::tally::{DieStep, STEPS};
use super::op::{DieOp, DieOpKind, NEVER, OpPart, OpParts};
use crate::array::{Timing, Waiter};
use crate::state::{CAUSES, WriteMode};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bus {
    /// End of the last decided transfer.
    pub(super) free: u64,
    /// Total time of all transfers, in nanoseconds.
    pub(super) busy: u64,
    /// Time before which all asks were granted.
    pub(super) caught_up: u64,
    /// Number of dies of this bus whose next operation waits for an operation on another bus.
    pub(super) blocked: u32,
}

/// What a die does next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Nothing.
    #[default]
    Idle,
    /// An operation that waits for another die.
    Waiting,
    /// A part of an operation that will ask for the bus, or do only cell work.
    Asking,
}

/// A die. Everything before [`Self::free`] is decided. Then comes at most one part of an operation that will ask for
/// the bus, then the queue.
#[derive(Debug, Default)]
pub(super) struct Die {
    phase: Phase,
    /// Decoding steps that the current operation's read has taken before this one.
    steps_taken: u8,
    /// Index of its bus.
    pub(super) bus: u32,
    /// The part that the next grant decides.
    pub(super) part: OpPart,
    /// The operation that asks next, or that was granted last.
    pub(super) current: DieOp,
    /// When the current operation began, or its next part: the program of a copy, or another read of a page.
    pub(super) start: u64,
    /// The start time that is reported to the host.
    pub(super) begun: u64,
    /// End of the last decided operation.
    pub(super) free: u64,
    /// Work (see [`OpParts::work`]) of all operations that were ever queued.
    planned: u64,
    /// Work of all that is decided, and of the current operation up to the end of its next part.
    pub(super) reached: u64,
    /// For each undecided host operation, [`Self::planned`] up to its end.
    host_ops: VecDeque<u64>,
    waiting: VecDeque<DieOp>,
    /// End of the last decided host operation until it is reported; or [`NEVER`].
    pub(super) ends: u64,
    pub(super) ending: Waiter,
    pub(super) ending_start: u64,
    /// How long its page is in the decoder after [`Self::ends`].
    pub(super) ending_decode: u64,
    /// Total cell work and transfers, without waiting for the bus, in nanoseconds.
    pub(super) busy: u64,
}

impl Die {
    pub(super) fn new(bus: u32) -> Self {
        Self { bus, ends: NEVER, ..Self::default() }
    }
    #[inline(always)]
    pub(super) fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }
    #[inline(always)]
    pub(super) fn is_waiting(&self) -> bool {
        self.phase == Phase::Waiting
    }

    /// Returns the value of [`Self::planned`] at which the next host operation ends, if there is one.
    #[inline(always)]
    pub(super) fn next_host_op(&self) -> Option<u64> {
        self.host_ops.front().copied()
    }

    /// Returns the number of undecided host operations.
    pub(super) fn waiting(&self) -> usize {
        self.host_ops.len()
    }

    /// Adds the work of `op` to [`Self::planned`], and returns the new value.
    #[inline(always)]
    pub(super) fn plan(&mut self, op: &DieOp, parts: &OpParts, timing: &Timing) -> u64 {
        self.planned += parts.work(op, timing);
        if op.waiter != Waiter::NOBODY {
            self.host_ops.push_back(self.planned);
        }
        self.planned
    }

    /// Adds `op` to the queue.
    #[inline]
    pub(super) fn queue(&mut self, op: DieOp) {
        match self.waiting.back_mut() {
            Some(last) if last.continues_with(&op) => last.count += op.count,
            _ => self.waiting.push_back(op),
        }
    }

    /// Takes the next operation from the queue. The die is idle until it begins.
    #[inline]
    pub(super) fn dequeue(&mut self) -> Option<DieOp> {
        self.phase = Phase::Idle;
        self.waiting.pop_front()
    }

    /// Makes `op` wait until a mark is fulfilled.
    pub(super) fn wait(&mut self, op: DieOp) {
        self.phase = Phase::Waiting;
        self.current = op;
    }

    /// Returns the operation that waited.
    pub(super) fn stop_waiting(&mut self) -> DieOp {
        debug_assert!(self.is_waiting());
        self.phase = Phase::Idle;
        self.current
    }

    /// Returns the index of the counter for a `part` of the current operation.
    #[inline(always)]
    pub(super) fn counted_at(&self, part: &OpPart) -> usize {
        (part.mode as usize * STEPS + part.step as usize) * CAUSES + self.current.cause as usize
    }

    /// Returns when everything queued will have ended, if the next transfer is asked for at `ask`, the bus is not free
    /// before `bus_free`, and nothing waits after that.
    pub(super) fn done_by(&self, ask: u64, bus_free: u64) -> u64 {
        match self.part_done_by(ask, bus_free) {
            NEVER => self.free.saturating_add(self.planned - self.reached),
            done => done + (self.planned - self.reached),
        }
    }

    /// Returns when the next part ends, if its transfer is asked for at `ask` and the bus is not free before
    /// `bus_free`.
    #[inline(always)]
    pub(super) fn part_done_by(&self, ask: u64, bus_free: u64) -> u64 {
        if ask == NEVER {
            return NEVER;
        }
        let from = if self.part.needs_bus { ask.max(bus_free) } else { ask };
        from + self.part.hold + self.part.tail
    }

    /// Begins `op` at [`Self::free`]. Returns when it asks for the bus.
    #[inline(always)]
    pub(super) fn begin(&mut self, op: DieOp, parts: &OpParts) -> u64 {
        self.current = op;
        self.begun = self.free;
        self.begin_first_part(parts)
    }

    #[inline(always)]
    fn begin_first_part(&mut self, parts: &OpParts) -> u64 {
        self.phase = Phase::Asking;
        self.start = self.free;
        self.steps_taken = 0;
        self.part = *parts.first(&self.current);
        self.reached += self.part.busy();
        self.start + self.part.before
    }

    /// Records that the next part was granted and ends at `end`. Returns when the operation asks again, or `None` if it
    /// ends then.
    #[inline(always)]
    pub(super) fn go_on(&mut self, end: u64, parts: &OpParts, timing: &Timing) -> Option<u64> {
        self.busy += self.part.busy();
        if self.steps_taken < self.current.more_steps {
            return Some(self.read_again(end, timing));
        }
        if self.part.goes_on {
            // The data are in the controller, and go back once they are decoded.
            self.start = end + self.part.decode;
            if matches!(self.current.kind, DieOpKind::Copy | DieOpKind::CopyHeld) && !self.current.reports_both {
                // The start of a copy is reported as the start of its program.
                self.begun = self.start;
            }
            self.reached += self.part.decode;
            self.current.sequence += 1;
            self.steps_taken = self.current.more_steps;
            self.part = *parts.second(&self.current);
            self.reached += self.part.busy();
            return Some(self.start);
        }
        self.free = end;
        if self.current.count > 1 {
            self.current.count -= 1;
            self.current.sequence += 1;
            self.begun = self.free;
            return Some(self.begin_first_part(parts));
        }
        if self.current.waiter != Waiter::NOBODY {
            debug_assert_eq!(self.ends, NEVER, "a die ended two operations at once");
            self.ends = end;
            self.ending = self.current.waiter;
            self.ending_start = self.begun;
            self.ending_decode = self.part.decode;
            self.host_ops.pop_front();
        }
        None
    }

    /// Reads a page again, since the read that ended at `end` could not be decoded. The die waits for the decoder's
    /// result. Returns when it asks for the bus.
    #[cold]
    fn read_again(&mut self, end: u64, timing: &Timing) -> u64 {
        self.start = end + self.part.decode;
        self.reached += self.part.decode;
        self.steps_taken += 1;
        let step = timing.decoding_of(self.current.modes.read()).steps[self.steps_taken as usize];
        let goes_on = self.part.goes_on;
        self.part = OpPart {
            step: DieStep::ReadAgain,
            mode: WriteMode::Normal,
            needs_bus: true,
            goes_on,
            before: step.sense,
            hold: step.transfer,
            tail: 0,
            decode: step.decode,
        };
        self.reached += self.part.busy();
        self.start + self.part.before
    }

    /// Returns how many times the current operation will be repeated.
    #[inline(always)]
    pub(super) fn repeats_left(&self) -> u32 {
        self.current.count - 1
    }

    /// Returns true if the next grant begins an operation that will be repeated.
    #[inline(always)]
    pub(super) fn is_before_repeats(&self) -> bool {
        self.part.goes_on && self.repeats_left() > 0
    }

    /// Skips `repeats` repetitions of the current operation, which move its end by `later`. Each takes `work`,
    /// including `decode` in the decoder.
    #[inline]
    pub(super) fn skip_repeats(&mut self, repeats: u32, later: u64, work: u64, decode: u64) {
        self.current.count -= repeats;
        self.current.sequence += 2 * u64::from(repeats);
        self.start += later;
        self.begun += later;
        self.free += later;
        self.reached += u64::from(repeats) * work;
        self.busy += u64::from(repeats) * (work - decode);
    }

    /// Returns the cell work and the transfer time of another read of the page, if such a read is granted next.
    #[inline]
    pub(super) fn another_reading(&self) -> Option<(u64, u64)> {
        (self.part.step == DieStep::ReadAgain).then_some((self.part.before, self.part.hold))
    }
}
