//! Operations of a die, and the times of their parts. Times are plain nanoseconds.

use super::super::tally::DieStep;
use crate::array::{Timing, Waiter};
use crate::state::{Cause, OpModes, WriteMode};

/// The time of an event that is not scheduled.
pub(super) const NEVER: u64 = u64::MAX;
/// Stands for no mark, or for no die.
pub(super) const NOBODY: u32 = u32::MAX;

/// The kind of an operation on a die.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum DieOpKind {
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
    /// Reads and programs in turn, all on one die, over the bus.
    Copy,
    /// A [`Self::Copy`] of a unit whose flash page was sensed for the unit before it.
    CopyHeld,
    /// A [`Self::Copy`] in which the controller changes the data: pages of a map.
    Rewrite,
    /// A [`Self::Rewrite`] of a unit whose flash page is in the register.
    RewriteHeld,
    /// Reads of units whose flash page is in the register.
    ReadHeld,
    ReadSectorHeld,
    CopyOutHeld,
    /// Copy within a plane: read and program.
    CopyBack,
    /// A [`Self::CopyBack`] whose data are also sent out for a check before they are programmed.
    CopyBackChecked,
}

/// Number of [`DieOpKind`]s.
const KINDS: usize = DieOpKind::CopyBackChecked as usize + 1;

impl DieOpKind {
    /// Returns true if it reads a page, and then programs one on the same die.
    #[inline(always)]
    pub(super) fn has_two_parts(self) -> bool {
        matches!(self, Self::Copy | Self::CopyHeld | Self::Rewrite | Self::RewriteHeld)
    }

    /// Returns the kind to use if the register already holds the flash page; `None` if it does not begin with sensing.
    pub(super) fn held(self) -> Option<Self> {
        match self {
            Self::Read => Some(Self::ReadHeld),
            Self::ReadSector => Some(Self::ReadSectorHeld),
            Self::CopyOut => Some(Self::CopyOutHeld),
            Self::Copy => Some(Self::CopyHeld),
            Self::Rewrite => Some(Self::RewriteHeld),
            _ => None,
        }
    }
}

/// One operation, or several repetitions of an operation with two parts.
///
/// The order of the fields and the four-byte kind, which marks an absent operation, let operations be copied in pieces
/// of at least four bytes. Odd sizes are copied as two overlapping pieces, and the processor stalls when they are read.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct DieOp {
    /// Order of asking among equal times. Each part has a number of its own.
    pub(super) sequence: u64,
    /// Number of repetitions; 1 for all operations with a single part.
    pub(super) count: u32,
    /// What waits for the end of the operation.
    pub(super) waiter: Waiter,
    /// The mark that has to be fulfilled first, or [`NOBODY`].
    pub(super) waits: u32,
    /// The mark that its end fulfils, or [`NOBODY`].
    pub(super) signals: u32,
    pub(super) kind: DieOpKind,
    pub(super) cause: Cause,
    /// Decoding steps of its read beyond the first.
    pub(super) more_steps: u8,
    /// Whether it also reports for the operation that it waits for, with the start time of that operation.
    pub(super) reports_both: bool,
    /// The write modes of its pages.
    pub(super) modes: OpModes,
}

impl DieOp {
    /// Returns true if nothing waits for its end, and its read takes a single decoding step.
    #[inline(always)]
    fn is_alone(&self) -> bool {
        self.signals == NOBODY && self.waiter == Waiter::NOBODY && self.more_steps == 0
    }

    /// Returns true if `next`, which comes right behind it, is a further repetition, so that both merge into one
    /// operation.
    #[inline(always)]
    pub(super) fn continues_with(&self, next: &Self) -> bool {
        next.kind.has_two_parts()
            && (next.kind, next.cause, next.modes) == (self.kind, self.cause, self.modes)
            && next.waits == NOBODY
            && next.is_alone()
            && self.is_alone()
            && self.sequence + 2 * u64::from(self.count) == next.sequence
    }
}

/// A part of an operation: what a die does between two scheduling decisions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OpPart {
    /// The step that it counts as.
    pub(super) step: DieStep,
    /// The write mode of the page that it reads or programs.
    pub(super) mode: WriteMode,
    /// Whether it has a transfer.
    pub(super) needs_bus: bool,
    /// Whether another part of the operation follows.
    pub(super) goes_on: bool,
    /// Cell work before the transfer.
    pub(super) before: u64,
    /// Time of the transfer.
    pub(super) hold: u64,
    /// Cell work after the transfer.
    pub(super) tail: u64,
    /// Time in the decoder after that, for a page that is decoded after its first read.
    pub(super) decode: u64,
}

impl OpPart {
    /// Returns how long the die is busy with it.
    #[inline(always)]
    pub(super) fn busy(&self) -> u64 {
        self.before + self.hold + self.tail
    }
}

/// The parts of each kind of operation.
#[derive(Debug)]
pub(super) struct OpParts {
    /// By [`OpModes`].
    rows: [OpPartsRow; OpModes::COMBINATIONS],
}

/// The parts of each kind of operation on pages of certain modes.
#[derive(Clone, Copy, Debug)]
struct OpPartsRow {
    first: [OpPart; KINDS],
    /// The program of a [`DieOpKind::Copy`] and of a [`DieOpKind::Rewrite`].
    second: [OpPart; 2],
    /// Least time of each kind of operation, for pages that are decoded after their first read.
    work: [u64; KINDS],
}

impl OpPartsRow {
    fn new(timing: &Timing, [reads, programs]: [WriteMode; 2]) -> Self {
        let (read, program) = (timing.of_mode(reads).page_read.0, timing.of_mode(programs).page_program.0);
        let (page, sector) = (timing.page_transfer.0, timing.sector_transfer.0);
        let decode = timing.decoding_of(reads).steps[0].decode;
        let reading = |step, hold| OpPart { step, needs_bus: true, before: read, hold, ..OpPart::default() };
        let decoded = |step| OpPart { decode, mode: reads, ..reading(step, page) };
        // Spare areas are read alike in all modes.
        let spare = |step| OpPart { before: timing.page_read.0, ..reading(step, sector) };
        let held = |part| OpPart { before: 0, ..part };
        let programming =
            |step, hold| OpPart { step, needs_bus: true, hold, tail: program, mode: programs, ..OpPart::default() };
        let inside = |step, tail| OpPart { step, tail, ..OpPart::default() };
        let mut first = [OpPart::default(); KINDS];
        for (kind, part) in [
            (DieOpKind::Read, decoded(DieStep::Read)),
            (DieOpKind::ReadSector, spare(DieStep::ReadSector)),
            (DieOpKind::Program, programming(DieStep::Program, page)),
            (DieOpKind::ProgramSector, programming(DieStep::ProgramSector, sector)),
            (DieOpKind::Erase, inside(DieStep::Erase, timing.block_erase.0)),
            (DieOpKind::CopyOut, decoded(DieStep::CopyOut)),
            (DieOpKind::ReadHeld, held(decoded(DieStep::ReadHeld))),
            (DieOpKind::ReadSectorHeld, held(spare(DieStep::ReadSectorHeld))),
            (DieOpKind::CopyOutHeld, held(decoded(DieStep::CopyOutHeld))),
            (DieOpKind::CopyHeld, held(OpPart { goes_on: true, ..decoded(DieStep::CopyOutHeld) })),
            (DieOpKind::RewriteHeld, held(OpPart { goes_on: true, ..decoded(DieStep::ReadHeld) })),
            (DieOpKind::CopyIn, programming(DieStep::CopyIn, page)),
            (DieOpKind::Copy, OpPart { goes_on: true, ..decoded(DieStep::CopyOut) }),
            (DieOpKind::Rewrite, OpPart { goes_on: true, ..decoded(DieStep::Read) }),
            (DieOpKind::CopyBack, inside(DieStep::CopyBack, read + program)),
            (DieOpKind::CopyBackChecked, OpPart { tail: program, ..reading(DieStep::CopyBackChecked, page) }),
        ] {
            first[kind as usize] = part;
        }
        let second = [programming(DieStep::CopyIn, page), programming(DieStep::Program, page)];
        let mut work = first.map(|part| part.busy());
        for kind in [DieOpKind::Copy, DieOpKind::CopyHeld, DieOpKind::Rewrite, DieOpKind::RewriteHeld] {
            work[kind as usize] += decode + page + program;
        }
        Self { first, second, work }
    }
}

impl OpParts {
    pub(super) fn new(timing: &Timing) -> Self {
        let row = |index: usize| {
            let mode = |number: usize| WriteMode::ALL[number % WriteMode::ALL.len()];
            OpPartsRow::new(timing, [mode(index), mode(index / WriteMode::ALL.len())])
        };
        Self { rows: std::array::from_fn(row) }
    }

    /// Returns the first part of `op`.
    #[inline(always)]
    pub(super) fn first(&self, op: &DieOp) -> &OpPart {
        &self.rows[op.modes.index()].first[op.kind as usize]
    }

    /// Returns the second part of `op`, which must have two.
    #[inline(always)]
    pub(super) fn second(&self, op: &DieOp) -> &OpPart {
        let rewrites = matches!(op.kind, DieOpKind::Rewrite | DieOpKind::RewriteHeld);
        &self.rows[op.modes.index()].second[usize::from(rewrites)]
    }

    /// Returns the least time that `op` takes: the bus is free whenever the die asks.
    #[inline(always)]
    pub(super) fn work(&self, op: &DieOp, timing: &Timing) -> u64 {
        let work = self.rows[op.modes.index()].work[op.kind as usize];
        match op.more_steps {
            0 => u64::from(op.count) * work,
            more if op.kind.has_two_parts() => {
                // The program waits for the last decoding step instead of the first.
                let decoding = timing.decoding_of(op.modes.read());
                work - decoding.steps[0].decode + decoding.steps[more as usize].decode + decoding.repeated(more)
            }
            more => work + timing.decoding_of(op.modes.read()).repeated(more),
        }
    }
}
