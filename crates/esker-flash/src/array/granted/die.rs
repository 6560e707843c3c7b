//! One die: what it does, what waits for it, and when its host operations can end. Times are plain nanoseconds here.

use std::collections::VecDeque;

use super::super::tally::Step;
use crate::nand::{CAUSES, Cause, Timing};

/// No time at all.
pub(super) const NEVER: u64 = u64::MAX;
/// No request, no mark, no die.
pub(super) const NOBODY: u32 = u32::MAX;

/// A bus.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bus {
    /// When the last decided transfer ends.
    pub(super) free: u64,
    /// Sum of all transfers.
    pub(super) busy: u64,
}

/// What a die can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    Read,
    ReadSector,
    Program,
    ProgramSector,
    Erase,
    /// The read of a copy to another die.
    CopyOut,
    /// The program of a copy from another die.
    CopyIn,
    /// Reads and programs in turn, all on this die, over the bus.
    Copy,
    /// Read and program within a plane.
    CopyBack,
    /// The same, with the data sent out to be checked before they are programmed.
    CopyBackChecked,
}

/// One operation, or several copies in a row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DieOp {
    pub(super) kind: Kind,
    pub(super) cause: Cause,
    /// Decoding steps that its read takes beyond the first.
    pub(super) more_steps: u8,
    /// How many copies; 1 for all else.
    pub(super) count: u32,
    /// The host request that waits for it, or [`NOBODY`].
    pub(super) request: u32,
    /// The mark that has to have ended first, or [`NOBODY`].
    pub(super) waits: u32,
    /// The mark that its end fulfils, or [`NOBODY`].
    pub(super) signals: u32,
}

impl DieOp {
    /// How long it takes at least where the bus is free whenever it asks.
    #[inline(always)]
    fn work(&self, timing: &Timing) -> u64 {
        let (read, program, page) = (timing.page_read.0, timing.page_program.0, timing.page_transfer.0);
        let work = match self.kind {
            Kind::Read | Kind::CopyOut => read + page,
            Kind::ReadSector => read + timing.sector_transfer.0,
            Kind::Program | Kind::CopyIn => page + program,
            Kind::ProgramSector => timing.sector_transfer.0 + program,
            Kind::Erase => timing.block_erase.0,
            Kind::Copy => read + 2 * page + program + timing.decoding.steps[self.more_steps as usize].decode,
            Kind::CopyBack => read + program,
            Kind::CopyBackChecked => read + page + program,
        };
        if self.more_steps == 0 { work } else { work + timing.decoding.repeated(self.more_steps) }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Idle,
    /// The next operation waits for one on another die.
    Waiting,
    /// Before or in work that needs no bus.
    Cells,
    /// Before or in the only transfer of an operation.
    Only,
    /// Before or in the first transfer of a copy: out.
    CopyOut,
    /// Before or in the second transfer of a copy: in.
    CopyIn,
}

/// A die. What is decided lies before [`Self::free`]; then comes at most one operation that will ask for the bus, then
/// those that wait.
#[derive(Debug, Default)]
pub(super) struct Die {
    phase: Phase,
    /// What the next grant decides.
    step: Step,
    /// The operation that asks next, or was granted last.
    pub(super) current: DieOp,
    /// Order of asking among equal times.
    pub(super) sequence: u64,
    /// Cell work of the current operation before its next transfer.
    before: u64,
    /// Bus time of the next transfer.
    pub(super) hold: u64,
    /// What follows the transfer on the die.
    pub(super) tail: u64,
    /// Decoding steps that the read of the current operation has taken before this one.
    steps_taken: u8,
    /// When the current operation began, or its next part: the program of a copy, another reading of a page.
    pub(super) start: u64,
    /// The same, but for another reading of a page.
    begun: u64,
    /// When the last operation that is decided ends.
    pub(super) free: u64,
    /// Work (see [`DieOp::work`]) of all that was ever queued.
    planned: u64,
    /// Work of all that is decided, and of the current operation up to the end of what follows its next transfer.
    reached: u64,
    /// For each host operation that is not decided, [`Self::planned`] up to its end.
    host_ops: VecDeque<u64>,
    waiting: VecDeque<(DieOp, u64)>,
    /// When the last decided host operation ends, until that is told; or [`NEVER`].
    pub(super) ends: u64,
    pub(super) ending: u32,
    pub(super) ending_start: u64,
    /// How long what it read is in the decoder then.
    pub(super) ending_decode: u64,
    /// Cell operations and transfers, without waiting for the bus.
    pub(super) busy: u64,
}

impl Die {
    pub(super) fn new() -> Self {
        Self { ends: NEVER, ..Self::default() }
    }
    #[inline(always)]
    pub(super) fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }
    #[inline(always)]
    pub(super) fn is_waiting(&self) -> bool {
        self.phase == Phase::Waiting
    }
    #[inline(always)]
    pub(super) fn has_host_ops(&self) -> bool {
        !self.host_ops.is_empty()
    }

    /// Counts `op` among what is to be done.
    #[inline]
    pub(super) fn plan(&mut self, op: &DieOp, timing: &Timing) {
        self.planned += op.work(timing);
        if op.request != NOBODY {
            self.host_ops.push_back(self.planned);
        }
    }

    /// Lets `op` wait for its turn.
    #[inline]
    pub(super) fn queue(&mut self, op: DieOp, sequence: u64) {
        let alone = |op: &DieOp| op.signals == NOBODY && op.request == NOBODY;
        if op.kind == Kind::Copy
            && op.waits == NOBODY
            && alone(&op)
            && let Some((last, first)) = self.waiting.back_mut()
            && (last.kind, last.cause) == (Kind::Copy, op.cause)
            && alone(last)
            && op.more_steps == 0
            && last.more_steps == 0
            && *first + 2 * u64::from(last.count) == sequence
        {
            last.count += 1;
            return;
        }
        self.waiting.push_back((op, sequence));
    }

    /// The next operation that waits for its turn. The die is idle then.
    #[inline]
    pub(super) fn dequeue(&mut self) -> Option<(DieOp, u64)> {
        self.phase = Phase::Idle;
        self.waiting.pop_front()
    }

    /// Holds `op` back until a mark is fulfilled.
    pub(super) fn wait(&mut self, op: DieOp, sequence: u64) {
        self.phase = Phase::Waiting;
        self.current = op;
        self.sequence = sequence;
    }

    /// Gives back what was held.
    pub(super) fn stop_waiting(&mut self) -> (DieOp, u64) {
        debug_assert!(self.is_waiting());
        self.phase = Phase::Idle;
        (self.current, self.sequence)
    }

    /// Where the next grant is counted.
    #[inline(always)]
    pub(super) fn step_and_cause(&self) -> usize {
        self.step as usize * CAUSES + self.current.cause as usize
    }

    /// When all that was queued will have ended, with the next transfer asked for at `ask`, a bus that is not free before
    /// `bus_free`, and no waiting after that.
    pub(super) fn done_by(&self, ask: u64, bus_free: u64) -> u64 {
        if ask == NEVER {
            return self.free.saturating_add(self.planned - self.reached);
        }
        let from = if self.needs_bus() { ask.max(bus_free) } else { ask };
        from + self.hold + self.tail + (self.planned - self.reached)
    }

    /// Whether what it asks for next includes the bus.
    #[inline(always)]
    pub(super) fn needs_bus(&self) -> bool {
        self.phase != Phase::Cells
    }

    /// Begins `op` at [`Self::free`]. Says when it asks for the bus.
    #[inline]
    pub(super) fn begin(&mut self, op: DieOp, sequence: u64, timing: &Timing) -> u64 {
        let (read, program, page) = (timing.page_read.0, timing.page_program.0, timing.page_transfer.0);
        let (before, phase, hold, tail, step) = match op.kind {
            Kind::Read => (read, Phase::Only, page, 0, Step::Read),
            Kind::ReadSector => (read, Phase::Only, timing.sector_transfer.0, 0, Step::ReadSector),
            Kind::Program => (0, Phase::Only, page, program, Step::Program),
            Kind::ProgramSector => (0, Phase::Only, timing.sector_transfer.0, program, Step::ProgramSector),
            Kind::CopyOut => (read, Phase::Only, page, 0, Step::CopyOut),
            Kind::CopyIn => (0, Phase::Only, page, program, Step::CopyIn),
            Kind::Copy => (read, Phase::CopyOut, page, 0, Step::CopyOut),
            Kind::CopyBack => (0, Phase::Cells, 0, read + program, Step::CopyBack),
            Kind::CopyBackChecked => (read, Phase::Only, page, program, Step::CopyBackChecked),
            Kind::Erase => (0, Phase::Cells, 0, timing.block_erase.0, Step::Erase),
        };
        self.step = step;
        self.start = self.free;
        self.begun = self.free;
        self.steps_taken = 0;
        self.sequence = sequence;
        self.current = op;
        (self.phase, self.before, self.hold, self.tail) = (phase, before, hold, tail);
        self.reached += before + hold + tail;
        self.start + before
    }

    /// The transfer was granted, and what follows it ends at `end`. Says when the same operation asks again; `None` where
    /// it ends then.
    #[inline]
    pub(super) fn go_on(&mut self, end: u64, timing: &Timing) -> Option<u64> {
        self.busy += self.before + self.hold + self.tail;
        if self.steps_taken < self.current.more_steps && matches!(self.phase, Phase::Only | Phase::CopyOut) {
            return Some(self.read_again(end, timing));
        }
        match self.phase {
            Phase::CopyOut => {
                // The data are in the controller, and go back once they are decoded.
                let decode = self.decode(timing);
                self.start = end + decode;
                self.begun = self.start;
                (self.phase, self.before) = (Phase::CopyIn, 0);
                (self.hold, self.tail) = (timing.page_transfer.0, timing.page_program.0);
                self.step = Step::CopyIn;
                self.sequence += 1;
                self.reached += decode + self.hold + self.tail;
                Some(self.start)
            }
            Phase::CopyIn if self.current.count > 1 => {
                self.current.count -= 1;
                self.free = end;
                Some(self.begin(self.current, self.sequence + 1, timing))
            }
            _ => {
                self.free = end;
                if self.current.request != NOBODY {
                    debug_assert_eq!(self.ends, NEVER, "a die ended two operations at once");
                    self.ends = end;
                    self.ending = self.current.request;
                    self.ending_start = self.begun;
                    self.ending_decode = self.decode(timing);
                    self.host_ops.pop_front();
                }
                None
            }
        }
    }

    /// What was read up to `end` could not be decoded, and is read again. The die waits for the decoder until it knows. Says
    /// when it asks for the bus.
    #[cold]
    fn read_again(&mut self, end: u64, timing: &Timing) -> u64 {
        let decode = self.decode(timing);
        self.steps_taken += 1;
        let step = timing.decoding.steps[self.steps_taken as usize];
        self.step = Step::ReadAgain;
        self.start = end + decode;
        (self.before, self.hold, self.tail) = (step.sense, step.transfer, 0);
        self.reached += decode + self.before + self.hold;
        self.start + self.before
    }

    /// How long a page that was just read is in the decoder; nothing where the current operation reads none.
    #[inline]
    pub(super) fn decode(&self, timing: &Timing) -> u64 {
        match self.step {
            Step::Read | Step::CopyOut | Step::ReadAgain => timing.decoding.steps[self.steps_taken as usize].decode,
            _ => 0,
        }
    }

    /// Cell work and transfer of another reading of a page that is to be granted next.
    #[inline]
    pub(super) fn another_reading(&self) -> Option<(u64, u64)> {
        (self.step == Step::ReadAgain).then_some((self.before, self.hold))
    }

    /// A time before which no host operation ends, given that the next transfer is asked for at `ask` and the bus is not
    /// free before `bus_free`.
    #[inline]
    pub(super) fn wake(&self, ask: u64, bus_free: u64) -> u64 {
        if self.ends != NEVER {
            return self.ends;
        }
        match self.host_ops.front() {
            None => NEVER,
            Some(_) if ask == NEVER => NEVER,
            Some(planned) => {
                let from = if self.needs_bus() { ask.max(bus_free) } else { ask };
                from + self.hold + self.tail + (planned - self.reached)
            }
        }
    }
}
