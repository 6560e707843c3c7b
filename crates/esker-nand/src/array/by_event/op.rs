//! An operation that waits or is under way.

use super::super::Waiter;
use super::super::tally::DieStep;
use super::NOBODY;
use super::layout::PartLocation;
use crate::state::{Cause, WriteMode};

/// The change number of an operation that does not change the cells, or whose change is not tracked.
pub(super) const NO_CHANGE: u64 = u64::MAX;

/// The access of an operation to a page, or to a whole block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Touch {
    pub(super) block: u32,
    /// The page, as numbered by the translation layer; unused for an erase.
    pub(super) page: u32,
    pub(super) how: How,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Read,
    Program,
    Erase,
}

impl Touch {
    /// Returns true if the two accesses have to keep their order: pages of a block are programmed in order, read after
    /// they were programmed, and erased after they were read.
    pub(super) fn conflicts_with(&self, other: &Self) -> bool {
        self.block == other.block
            && match (self.how, other.how) {
                (How::Read, How::Read) => false,
                (How::Read, How::Program) | (How::Program, How::Read) => self.page == other.page,
                _ => true,
            }
    }
}

/// An operation of one die.
#[derive(Clone, Debug)]
pub(super) struct Op {
    pub(super) step: DieStep,
    pub(super) cause: Cause,
    /// The write mode of the page that it reads or programs.
    pub(super) mode: WriteMode,
    /// The decoding step that it reads for, counted from zero.
    pub(super) decoding: u8,
    /// Decoding steps of its page beyond that one.
    pub(super) more_steps: u8,
    /// What waits for the end of the operation.
    pub(super) waiter: Waiter,
    pub(super) die: u32,
    /// Index of the plane in its die.
    pub(super) plane: u32,
    /// The page or block that it reads, programs or erases.
    pub(super) touches: Touch,
    /// The page that a copy-back reads.
    pub(super) also: Option<Touch>,
    /// The source block of a copy over the bus, or [`NOBODY`].
    pub(super) source: u32,
    /// Number of pages left, which the die does one after another.
    pub(super) pages: u32,
    pub(super) sequence: u64,
    pub(super) arrived: u64,
    /// When its die began it.
    pub(super) start: u64,
    /// When a die began to read the page for the first decoding step, if this operation reads for a later step.
    pub(super) begun: Option<u64>,
    /// How long it has waited for the bus since then.
    pub(super) bus_wait: u64,
    /// How many times it was suspended.
    pub(super) suspensions: u32,
    /// The number of the change of the cells that it belongs to, or [`NO_CHANGE`].
    pub(super) change: u64,
    /// Number of operations that have to end before it.
    pub(super) waits: u32,
}

impl Op {
    pub(super) fn new(step: DieStep, place: PartLocation, page: u32, pages: u32, cause: Cause, waiter: Waiter) -> Self {
        Self {
            step,
            cause,
            mode: WriteMode::Normal,
            decoding: 0,
            more_steps: 0,
            waiter,
            die: place.die,
            plane: place.plane,
            touches: Touch {
                block: place.block,
                page,
                how: match step {
                    DieStep::ReadAgain => How::Read,
                    step if step.leaves_page_in_register() => How::Read,
                    DieStep::Erase => How::Erase,
                    _ => How::Program,
                },
            },
            also: None,
            source: NOBODY,
            pages,
            sequence: 0,
            arrived: 0,
            start: 0,
            begun: None,
            bus_wait: 0,
            suspensions: 0,
            change: NO_CHANGE,
            waits: 0,
        }
    }

    /// Returns true if it is a read, of data or of the map, that a host request waits for.
    pub(super) fn is_host_read(&self) -> bool {
        let awaited = self.waiter != Waiter::NOBODY && self.waiter != Waiter::BACKGROUND;
        let copies = matches!(self.step, DieStep::CopyOut | DieStep::CopyOutHeld);
        awaited && self.touches.how == How::Read && !copies
    }

    pub(super) fn may_begin(&self) -> bool {
        self.waits == 0
    }
}
