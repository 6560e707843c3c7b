//! What a die can be given, and what the parts of it take. Times are plain nanoseconds here.

use super::super::tally::Step;
use crate::array::{Timing, Waiter};
use crate::state::Cause;

/// No time at all.
pub(super) const NEVER: u64 = u64::MAX;
/// No mark, no die.
pub(super) const NOBODY: u32 = u32::MAX;

/// What a die can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
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
    /// As [`Self::Copy`], of a unit whose flash page was sensed for the unit before it.
    CopyHeld,
    /// As [`Self::Copy`] where the controller changes what it read: pages of a map.
    Rewrite,
    /// As [`Self::Rewrite`], of a unit whose flash page is in the register.
    RewriteHeld,
    /// Reads of units whose flash page is in the register.
    ReadHeld,
    ReadSectorHeld,
    CopyOutHeld,
    /// Read and program within a plane.
    CopyBack,
    /// The same, with the data sent out to be checked before they are programmed.
    CopyBackChecked,
}

/// How many [`Kind`]s there are.
const KINDS: usize = Kind::CopyBackChecked as usize + 1;

impl Kind {
    /// Whether it reads a page, and then programs one on the same die.
    #[inline(always)]
    pub(super) fn has_two_parts(self) -> bool {
        matches!(self, Self::Copy | Self::CopyHeld | Self::Rewrite | Self::RewriteHeld)
    }

    /// The same where the register holds the flash page already; `None` for what does not begin with sensing.
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

/// One operation, or several of two parts in a row.
///
/// In this order, and with a kind of four bytes, by which an absent operation is told: so operations are copied in
/// pieces of four bytes and more. Odd ones are copied as two that overlap, and the processor stalls when they are read.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct DieOp {
    /// Order of asking among equal times. Each part has a number of its own.
    pub(super) sequence: u64,
    /// How many in a row; 1 for all that have but one part.
    pub(super) count: u32,
    /// Who waits for it.
    pub(super) waiter: Waiter,
    /// The mark that has to have ended first, or [`NOBODY`].
    pub(super) waits: u32,
    /// The mark that its end fulfils, or [`NOBODY`].
    pub(super) signals: u32,
    pub(super) kind: Kind,
    pub(super) cause: Cause,
    /// Decoding steps that its read takes beyond the first.
    pub(super) more_steps: u8,
    /// Whether it also speaks for the operation that it waits for: the host hears when that one began.
    pub(super) speaks_for_both: bool,
}

impl DieOp {
    /// Whether nothing but its die has to do with it.
    #[inline(always)]
    fn is_alone(&self) -> bool {
        self.signals == NOBODY && self.waiter == Waiter::NOBODY && self.more_steps == 0
    }

    /// Whether `next`, which comes behind it, does the same once more, so that both are
    /// one operation of a higher count.
    #[inline(always)]
    pub(super) fn continues_with(&self, next: &Self) -> bool {
        next.kind.has_two_parts()
            && (next.kind, next.cause) == (self.kind, self.cause)
            && next.waits == NOBODY
            && next.is_alone()
            && self.is_alone()
            && self.sequence + 2 * u64::from(self.count) == next.sequence
    }
}

/// A part of an operation: what a die does between two decisions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Part {
    /// How it is counted.
    pub(super) step: Step,
    /// Whether it has a transfer.
    pub(super) needs_bus: bool,
    /// Whether another part of the same operation follows.
    pub(super) goes_on: bool,
    /// Cell work before the transfer.
    pub(super) before: u64,
    /// The transfer.
    pub(super) hold: u64,
    /// Cell work behind it.
    pub(super) tail: u64,
    /// What the decoder takes then, where the page is decoded at its first reading.
    pub(super) decode: u64,
}

impl Part {
    /// How long the die is busy with it.
    #[inline(always)]
    pub(super) fn busy(&self) -> u64 {
        self.before + self.hold + self.tail
    }
}

/// The parts of all kinds of operations.
#[derive(Debug)]
pub(super) struct Parts {
    first: [Part; KINDS],
    /// The program of a [`Kind::Copy`] and of a [`Kind::Rewrite`].
    second: [Part; 2],
    /// How long operations that decode at once take at least.
    work: [u64; KINDS],
}

impl Parts {
    pub(super) fn new(timing: &Timing) -> Self {
        let (read, program, erase) = (timing.page_read.0, timing.page_program.0, timing.block_erase.0);
        let (page, sector) = (timing.page_transfer.0, timing.sector_transfer.0);
        let decode = timing.decoding.steps[0].decode;
        let reading = |step, hold| Part { step, needs_bus: true, before: read, hold, ..Part::default() };
        let decoded = |step| Part { decode, ..reading(step, page) };
        let held = |part| Part { before: 0, ..part };
        let programming = |step, hold| Part { step, needs_bus: true, hold, tail: program, ..Part::default() };
        let inside = |step, tail| Part { step, tail, ..Part::default() };
        let mut first = [Part::default(); KINDS];
        for (kind, part) in [
            (Kind::Read, decoded(Step::Read)),
            (Kind::ReadSector, reading(Step::ReadSector, sector)),
            (Kind::Program, programming(Step::Program, page)),
            (Kind::ProgramSector, programming(Step::ProgramSector, sector)),
            (Kind::Erase, inside(Step::Erase, erase)),
            (Kind::CopyOut, decoded(Step::CopyOut)),
            (Kind::ReadHeld, held(decoded(Step::ReadHeld))),
            (Kind::ReadSectorHeld, held(reading(Step::ReadSectorHeld, sector))),
            (Kind::CopyOutHeld, held(decoded(Step::CopyOutHeld))),
            (Kind::CopyHeld, held(Part { goes_on: true, ..decoded(Step::CopyOutHeld) })),
            (Kind::RewriteHeld, held(Part { goes_on: true, ..decoded(Step::ReadHeld) })),
            (Kind::CopyIn, programming(Step::CopyIn, page)),
            (Kind::Copy, Part { goes_on: true, ..decoded(Step::CopyOut) }),
            (Kind::Rewrite, Part { goes_on: true, ..decoded(Step::Read) }),
            (Kind::CopyBack, inside(Step::CopyBack, read + program)),
            (Kind::CopyBackChecked, Part { tail: program, ..reading(Step::CopyBackChecked, page) }),
        ] {
            first[kind as usize] = part;
        }
        let second = [programming(Step::CopyIn, page), programming(Step::Program, page)];
        let mut work = first.map(|part| part.busy());
        for kind in [Kind::Copy, Kind::CopyHeld, Kind::Rewrite, Kind::RewriteHeld] {
            work[kind as usize] += decode + page + program;
        }
        Self { first, second, work }
    }

    /// What an operation of `kind` begins with.
    #[inline(always)]
    pub(super) fn first(&self, kind: Kind) -> &Part {
        &self.first[kind as usize]
    }

    /// What follows that in an operation of `kind`, which has two parts.
    #[inline(always)]
    pub(super) fn second(&self, kind: Kind) -> &Part {
        &self.second[usize::from(matches!(kind, Kind::Rewrite | Kind::RewriteHeld))]
    }

    /// How long `op` takes at least where the bus is free whenever it asks.
    #[inline(always)]
    pub(super) fn work(&self, op: &DieOp, timing: &Timing) -> u64 {
        let work = self.work[op.kind as usize];
        match op.more_steps {
            0 => u64::from(op.count) * work,
            more if op.kind.has_two_parts() => {
                // The program waits for the last decoding step instead of the first.
                let steps = &timing.decoding.steps;
                work - steps[0].decode + steps[more as usize].decode + timing.decoding.repeated(more)
            }
            more => work + timing.decoding.repeated(more),
        }
    }
}
