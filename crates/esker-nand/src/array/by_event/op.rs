//! Operations that wait or are under way.

use super::super::Waiter;
use super::super::tally::DieStep;
use super::NOBODY;
use super::layout::PartLocation;
use crate::state::{Cause, WriteMode};

/// No change of the cells, or one that is not tracked.
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
    /// Returns true if the two have to keep their order: pages of a block are programmed in order, read after they were
    /// programmed, and erased after they were read.
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
    /// Who waits for it.
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
    /// Pages left, done one after the other.
    pub(super) pages: u32,
    pub(super) sequence: u64,
    pub(super) arrived: u64,
    /// When its die began it.
    pub(super) start: u64,
    /// When a die began to read the page for the first decoding step, if this is for a later one.
    pub(super) begun: Option<u64>,
    /// How long it has waited for the bus since then.
    pub(super) bus_wait: u64,
    /// How many times it was suspended.
    pub(super) suspensions: u32,
    /// The number of the change of the cells that it belongs to, or [`NO_CHANGE`].
    pub(super) change: u64,
    /// Number of operations that have to end before it.
    pub(super) waits: u32,
    /// Operations that wait for this one.
    pub(super) followers: Vec<u32>,
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
            followers: Vec::new(),
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

/// All operations, by number.
#[derive(Debug, Default)]
pub(super) struct Ops {
    ops: Vec<Op>,
    free: Vec<u32>,
    live: Vec<bool>,
}

impl Ops {
    /// Adds an operation that waits for `after`, if that is one.
    pub(super) fn add(&mut self, op: Op, after: u32) -> u32 {
        let index = match self.free.pop() {
            Some(index) => {
                self.ops[index as usize] = op;
                self.live[index as usize] = true;
                index
            }
            None => {
                self.ops.push(op);
                self.live.push(true);
                self.ops.len() as u32 - 1
            }
        };
        if after != NOBODY {
            self.tie(index, after);
        }
        index
    }

    /// Returns true if the two have to keep their order, and `other` has not ended yet.
    pub(super) fn conflict(&self, op: u32, other: u32) -> bool {
        let touched = |op: &Op| [Some(op.touches), op.also].into_iter().flatten();
        let (op, other, live) = (&self[op], &self[other], self.live[other as usize]);
        live && touched(op).any(|touch| touched(other).any(|also| touch.conflicts_with(&also)))
    }

    /// Makes `op` wait for the end of `after`.
    pub(super) fn tie(&mut self, op: u32, after: u32) {
        self.ops[op as usize].waits += 1;
        self.ops[after as usize].followers.push(op);
    }

    /// Makes `erase` wait for all copies over the bus from `block`.
    pub(super) fn tie_to_copies(&mut self, erase: u32, block: u32) {
        for other in 0..self.ops.len() as u32 {
            if self.live[other as usize] && self.ops[other as usize].source == block {
                self.tie(erase, other);
            }
        }
    }

    /// Makes `op` wait for all earlier changes in its pool of `blocks` blocks.
    pub(super) fn tie_to_changes(&mut self, op: u32, blocks: u32) {
        let (change, pool) = (self[op].change, self[op].touches.block / blocks);
        for other in 0..self.ops.len() as u32 {
            let earlier = &self.ops[other as usize];
            if self.live[other as usize] && earlier.change < change && earlier.touches.block / blocks == pool {
                self.tie(op, other);
            }
        }
    }

    /// Ends an operation. Returns those that wait for it.
    pub(super) fn end(&mut self, op: u32) -> Vec<u32> {
        self.live[op as usize] = false;
        std::mem::take(&mut self.ops[op as usize].followers)
    }

    /// Removes an operation that ended.
    pub(super) fn free(&mut self, op: u32) {
        debug_assert!(!self.live[op as usize], "an operation that still goes on was let go");
        self.free.push(op);
    }
}

impl std::ops::Index<u32> for Ops {
    type Output = Op;
    fn index(&self, op: u32) -> &Op {
        &self.ops[op as usize]
    }
}

impl std::ops::IndexMut<u32> for Ops {
    fn index_mut(&mut self, op: u32) -> &mut Op {
        &mut self.ops[op as usize]
    }
}
