//! One die: what it does, what waits for it, and when its host operations can end. Times are plain nanoseconds here.

use std::collections::VecDeque;

use super::super::tally::Step;
use super::op::{DieOp, Kind, NEVER, Part, Parts};
use crate::array::{Timing, Waiter};
use crate::state::CAUSES;

/// A bus.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bus {
    /// When the last decided transfer ends.
    pub(super) free: u64,
    /// Sum of all transfers.
    pub(super) busy: u64,
    /// Its grants to dies that asked before then are decided.
    pub(super) caught_up: u64,
    /// Dies behind it whose next operation waits for one behind another bus.
    pub(super) blocked: u32,
}

/// What comes next on a die.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Nothing.
    #[default]
    Idle,
    /// An operation that waits for one on another die.
    Waiting,
    /// A part of an operation that will ask for the bus, or for cell work alone.
    Asking,
}

/// A die. What is decided lies before [`Self::free`]; then comes at most one part of an operation that will ask for the
/// bus, then those that wait.
#[derive(Debug, Default)]
pub(super) struct Die {
    phase: Phase,
    /// Decoding steps that the read of the current operation has taken before this one.
    steps_taken: u8,
    /// Which bus it is behind.
    pub(super) bus: u32,
    /// What the next grant decides.
    pub(super) part: Part,
    /// The operation that asks next, or was granted last.
    pub(super) current: DieOp,
    /// When the current operation began, or its next part: the program of a copy, another reading of a page.
    pub(super) start: u64,
    /// When the host hears that it began.
    pub(super) begun: u64,
    /// When the last operation that is decided ends.
    pub(super) free: u64,
    /// Work (see [`Parts::work`]) of all that was ever queued.
    planned: u64,
    /// Work of all that is decided, and of the current operation up to the end of its next part.
    pub(super) reached: u64,
    /// For each host operation that is not decided, [`Self::planned`] up to its end.
    host_ops: VecDeque<u64>,
    waiting: VecDeque<DieOp>,
    /// When the last decided host operation ends, until that is told; or [`NEVER`].
    pub(super) ends: u64,
    pub(super) ending: Waiter,
    pub(super) ending_start: u64,
    /// How long what it read is in the decoder then.
    pub(super) ending_decode: u64,
    /// Cell operations and transfers, without waiting for the bus.
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

    /// How much of [`Self::planned`] has to be done before the next host operation ends, if there is one.
    #[inline(always)]
    pub(super) fn next_host_op(&self) -> Option<u64> {
        self.host_ops.front().copied()
    }

    /// Host operations that are not decided.
    pub(super) fn waiting(&self) -> usize {
        self.host_ops.len()
    }

    /// Counts `op` among what is to be done. Says how much that is in all, since ever.
    #[inline(always)]
    pub(super) fn plan(&mut self, op: &DieOp, parts: &Parts, timing: &Timing) -> u64 {
        self.planned += parts.work(op, timing);
        if op.waiter != Waiter::NOBODY {
            self.host_ops.push_back(self.planned);
        }
        self.planned
    }

    /// Lets `op` wait for its turn.
    #[inline]
    pub(super) fn queue(&mut self, op: DieOp) {
        match self.waiting.back_mut() {
            Some(last) if last.continues_with(&op) => last.count += op.count,
            _ => self.waiting.push_back(op),
        }
    }

    /// The next operation that waits for its turn. The die is idle then.
    #[inline]
    pub(super) fn dequeue(&mut self) -> Option<DieOp> {
        self.phase = Phase::Idle;
        self.waiting.pop_front()
    }

    /// Holds `op` back until a mark is fulfilled.
    pub(super) fn wait(&mut self, op: DieOp) {
        self.phase = Phase::Waiting;
        self.current = op;
    }

    /// Gives back what was held.
    pub(super) fn stop_waiting(&mut self) -> DieOp {
        debug_assert!(self.is_waiting());
        self.phase = Phase::Idle;
        self.current
    }

    /// Where the next grant is counted.
    #[inline(always)]
    pub(super) fn counted_at(&self, step: Step) -> usize {
        step as usize * CAUSES + self.current.cause as usize
    }

    /// When all that was queued will have ended, with the next transfer asked for at `ask`, a bus that is not free
    /// before `bus_free`, and no waiting after that.
    pub(super) fn done_by(&self, ask: u64, bus_free: u64) -> u64 {
        match self.part_done_by(ask, bus_free) {
            NEVER => self.free.saturating_add(self.planned - self.reached),
            done => done + (self.planned - self.reached),
        }
    }

    /// When the next part ends, with its transfer asked for at `ask` and a bus that is not free before `bus_free`.
    #[inline(always)]
    pub(super) fn part_done_by(&self, ask: u64, bus_free: u64) -> u64 {
        if ask == NEVER {
            return NEVER;
        }
        let from = if self.part.needs_bus { ask.max(bus_free) } else { ask };
        from + self.part.hold + self.part.tail
    }

    /// Begins `op` at [`Self::free`]. Says when it asks for the bus.
    #[inline(always)]
    pub(super) fn begin(&mut self, op: DieOp, parts: &Parts) -> u64 {
        self.current = op;
        self.begun = self.free;
        self.begin_first_part(parts)
    }

    #[inline(always)]
    fn begin_first_part(&mut self, parts: &Parts) -> u64 {
        self.phase = Phase::Asking;
        self.start = self.free;
        self.steps_taken = 0;
        self.part = *parts.first(self.current.kind);
        self.reached += self.part.busy();
        self.start + self.part.before
    }

    /// The next part was granted, and ends at `end`. Says when the same operation asks
    /// again; `None` where it ends then.
    #[inline(always)]
    pub(super) fn go_on(&mut self, end: u64, parts: &Parts, timing: &Timing) -> Option<u64> {
        self.busy += self.part.busy();
        if self.steps_taken < self.current.more_steps {
            return Some(self.read_again(end, timing));
        }
        if self.part.goes_on {
            // The data are in the controller, and go back once they are decoded.
            self.start = end + self.part.decode;
            if matches!(self.current.kind, Kind::Copy | Kind::CopyHeld) && !self.current.speaks_for_both {
                // Who waits for a copy hears of its program alone.
                self.begun = self.start;
            }
            self.reached += self.part.decode;
            self.current.sequence += 1;
            self.steps_taken = self.current.more_steps;
            self.part = *parts.second(self.current.kind);
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

    /// What was read up to `end` could not be decoded, and is read again. The die waits for the decoder until it knows.
    /// Says when it asks for the bus.
    #[cold]
    fn read_again(&mut self, end: u64, timing: &Timing) -> u64 {
        self.start = end + self.part.decode;
        self.reached += self.part.decode;
        self.steps_taken += 1;
        let step = timing.decoding.steps[self.steps_taken as usize];
        let goes_on = self.part.goes_on;
        self.part = Part {
            step: Step::ReadAgain,
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

    /// How often the current operation will be done again.
    #[inline(always)]
    pub(super) fn repeats_left(&self) -> u32 {
        self.current.count - 1
    }

    /// Whether the next grant begins an operation that will be done again.
    #[inline(always)]
    pub(super) fn is_before_repeats(&self) -> bool {
        self.part.goes_on && self.repeats_left() > 0
    }

    /// The current operation was done `repeats` times more, which took until `later` than it would have been: `work`
    /// each, of which `decode` in the decoder.
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

    /// Cell work and transfer of another reading of a page that is to be granted next.
    #[inline]
    pub(super) fn another_reading(&self) -> Option<(u64, u64)> {
        (self.part.step == Step::ReadAgain).then_some((self.part.before, self.part.hold))
    }
}
