//! Flash operations, as emitted by a translation layer and performed by the array.

use std::ops::Range;

use esker_core::PhysicalPage;

use super::Scan;
use super::mode::OpModes;
use crate::BlockIndex;

/// Number of [`Cause`]s.
pub const CAUSES: usize = 7;

/// The reason for an operation. Results count operations by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cause {
    /// A host request, which ends no earlier than the operation.
    #[default]
    Host = 0,
    /// Making space.
    Cleaning = 1,
    /// Keeping the map: translation pages, block summaries.
    Mapping = 2,
    /// Wear-levelling.
    WearLevelling = 3,
    /// Finding data again after a power failure.
    Recovery = 4,
    /// Rewriting data that have too many bit errors.
    Refresh = 5,
    /// Programming data in another write mode that suits the host's reads of them.
    ReEncoding = 6,
}

/// The part of a page that crosses the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// The whole page, with its spare bytes. Reads and writes of a part of a page cost this, too: the error-correcting
    /// code covers the whole page, so that a part can be neither checked nor written alone.
    Page,
    /// One sector, as for a block summary.
    Sector,
}

/// The kind of operation, and its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlashOpKind {
    /// Cells to register to controller.
    Read {
        /// The page.
        page: PhysicalPage,
    },
    /// Cells to register, and only the spare area to the controller. Costs a sector on the bus.
    ReadSpare {
        /// The page.
        page: PhysicalPage,
    },
    /// Controller to register to cells.
    Program {
        /// The page.
        page: PhysicalPage,
        /// The part of it that crosses the bus.
        transfer: Transfer,
    },
    /// Read and program of the same data, through the controller.
    Copy {
        /// The page that is read.
        from: PhysicalPage,
        /// The page that is programmed.
        to: PhysicalPage,
    },
    /// Copies of consecutive pages to consecutive pages, which no request waits for. Only an [`OpList`] with
    /// [`OpList::take_runs`] takes copies this way; every other sink gets single copies.
    CopyRun {
        /// The first page that is read.
        from: PhysicalPage,
        /// The first page that is programmed.
        to: PhysicalPage,
        /// Number of pages.
        count: u32,
    },
    /// Erase of all pages of a block.
    Erase {
        /// The block.
        block: BlockIndex,
    },
}

/// Index of an operation in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpIndex(pub u32);

/// One flash operation. A die performs its operations in the order in which they are emitted; operations of several
/// dies run in any order, unless `after` ties them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashOp {
    /// The kind of operation.
    pub kind: FlashOpKind,
    /// The reason for it.
    pub cause: Cause,
    /// An operation of the same list that has to end before this one begins.
    pub after: Option<OpIndex>,
    /// Whether the request waits for this operation: true for all operations for the host, and for those that look up
    /// the location of its data.
    pub awaited: bool,
    /// The write modes of its pages.
    pub modes: OpModes,
}

impl FlashOp {
    /// Returns the number of pages that the operation copies; 0 if it is not a copy.
    pub fn copied_pages(&self) -> u64 {
        match self.kind {
            FlashOpKind::Copy { .. } => 1,
            FlashOpKind::CopyRun { count, .. } => count.into(),
            _ => 0,
        }
    }
}

/// The parts of a logical page, held by several flash pages, that a request needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cover {
    /// Flash pages that reads for the host have to read.
    pub needed: [Range<u32>; 2],
}

/// Takes emitted operations.
pub trait OpSink {
    /// Takes one operation. Returns its index for later operations of the list.
    fn emit(&mut self, op: FlashOp) -> OpIndex;

    /// Takes `count` copies (at least one) of consecutive pages of a block, to consecutive pages of another. Returns
    /// the index of the last one.
    #[inline]
    fn emit_copies(&mut self, from: PhysicalPage, to: PhysicalPage, count: u32, cause: Cause) -> OpIndex {
        emit_one_by_one(self, from, to, count, cause)
    }

    /// Takes a read of recovery that is not tied to any other operation.
    fn scan(&mut self, op: FlashOp) {
        self.emit(op);
    }
}

fn emit_one_by_one<S: OpSink + ?Sized>(
    sink: &mut S,
    from: PhysicalPage,
    to: PhysicalPage,
    count: u32,
    cause: Cause,
) -> OpIndex {
    let mut last = OpIndex(0);
    for page in 0..count {
        let kind = FlashOpKind::Copy { from: PhysicalPage(from.0 + page), to: PhysicalPage(to.0 + page) };
        last = sink.emit(FlashOp { kind, cause, after: None, awaited: false, modes: OpModes::default() });
    }
    last
}

/// The operations of one call of a translation layer, in order.
#[derive(Clone, Debug, Default)]
pub struct OpList {
    ops: Vec<FlashOp>,
    takes_runs: bool,
    /// Takes the reads of recovery, if they are kept apart.
    scan: Option<Box<Scan>>,
}

impl OpList {
    /// Returns the operations.
    #[inline]
    pub fn as_slice(&self) -> &[FlashOp] {
        &self.ops
    }
    /// Sets whether copies of consecutive pages become one operation: [`FlashOpKind::CopyRun`].
    pub fn take_runs(&mut self, takes_runs: bool) {
        self.takes_runs = takes_runs;
    }
    /// Removes all operations, and keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.ops.clear();
    }

    /// Creates a list that keeps the reads of recovery apart, in `scan`.
    pub fn with_scan(scan: Scan) -> Self {
        Self { scan: Some(Box::new(scan)), ..Self::default() }
    }
    /// Takes out the reads of recovery, if they were kept apart.
    pub fn take_scan(&mut self) -> Option<Box<Scan>> {
        self.scan.take()
    }
}

impl OpSink for OpList {
    #[inline]
    fn emit(&mut self, op: FlashOp) -> OpIndex {
        let index = OpIndex(self.ops.len() as u32);
        self.ops.push(op);
        index
    }

    #[inline]
    fn emit_copies(&mut self, from: PhysicalPage, to: PhysicalPage, count: u32, cause: Cause) -> OpIndex {
        if self.takes_runs && count > 1 {
            let kind = FlashOpKind::CopyRun { from, to, count };
            return self.emit(FlashOp { kind, cause, after: None, awaited: false, modes: OpModes::default() });
        }
        emit_one_by_one(self, from, to, count, cause)
    }

    fn scan(&mut self, op: FlashOp) {
        match &mut self.scan {
            Some(scan) => scan.push(op.kind),
            None => {
                self.emit(op);
            }
        }
    }
}

/// Drops all operations. Used for preconditioning, which changes the cells without taking simulated time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl OpSink for Silent {
    #[inline(always)]
    fn emit(&mut self, _: FlashOp) -> OpIndex {
        OpIndex(0)
    }
    #[inline(always)]
    fn emit_copies(&mut self, _: PhysicalPage, _: PhysicalPage, _: u32, _: Cause) -> OpIndex {
        OpIndex(0)
    }
}
