//! Flash operations, as a translation layer emits them and the array performs them.

use std::ops::Range;

use esker_core::PhysicalPage;

use super::Scan;
use crate::BlockIndex;

/// How many [`Cause`]s there are.
pub const CAUSES: usize = 6;

/// Why an operation is done. Results count operations by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cause {
    /// For a host request, which is not done before.
    #[default]
    Host = 0,
    /// To make space.
    Cleaning = 1,
    /// To keep the map: translation pages, block summaries.
    Mapping = 2,
    /// To wear blocks evenly.
    WearLevelling = 3,
    /// To find out after a power failure where the data are.
    Recovery = 4,
    /// To write data again that have too many bit errors.
    Refresh = 5,
}

/// How much of a page crosses the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// All of it, with its spare bytes. Reads and writes of a part of a page are charged this too: the error-correction
    /// code covers the page, so that a part cannot be checked or written alone.
    Page,
    /// One sector, as for a block summary.
    Sector,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlashOpKind {
    /// Cells to register to controller.
    Read {
        /// The page.
        page: PhysicalPage,
    },
    /// Cells to register, and the spare area alone to the controller. A sector is charged for it on the bus.
    ReadSpare {
        /// The page.
        page: PhysicalPage,
    },
    /// Controller to register to cells.
    Program {
        /// The page.
        page: PhysicalPage,
        /// How much of it crosses the bus.
        transfer: Transfer,
    },
    /// A read and a program of the same data, through the controller.
    Copy {
        /// The page that is read.
        from: PhysicalPage,
        /// The page that is programmed.
        to: PhysicalPage,
    },
    /// Copies of pages that lie side by side, to pages that do. Nobody awaits it. Only an [`OpList`] that was asked to
    /// takes copies so; every other sink sees single ones.
    CopyRun {
        /// The first page that is read.
        from: PhysicalPage,
        /// The first page that is programmed.
        to: PhysicalPage,
        /// How many.
        count: u32,
    },
    /// All pages of a block become free.
    Erase {
        /// The block.
        block: BlockIndex,
    },
}

/// An earlier operation of the same list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpIndex(pub u32);

/// One flash operation. Operations of a die are done in the order in which they are emitted; operations of several dies
/// in any order, unless `after` ties them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashOp {
    /// What is done.
    pub kind: FlashOpKind,
    /// Why.
    pub cause: Cause,
    /// An operation of the same list that has to end before this one begins.
    pub after: Option<OpIndex>,
    /// Whether the request is not done before this has ended. So it is with all operations for the host, and with those
    /// that find out where its data lie.
    pub awaited: bool,
}

/// What a request needs of a logical page that several flash pages hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cover {
    /// Flash pages that reads for the host bring.
    pub needed: [Range<u32>; 2],
}

/// Where emitted operations go.
pub trait OpSink {
    /// Takes one operation and names it for later ones of the same list.
    fn emit(&mut self, op: FlashOp) -> OpIndex;

    /// Takes `count` copies, at least one, of pages that lie side by side in a block, to pages that do
    /// in another. Names the last one.
    #[inline]
    fn emit_copies(&mut self, from: PhysicalPage, to: PhysicalPage, count: u32, cause: Cause) -> OpIndex {
        emit_one_by_one(self, from, to, count, cause)
    }

    /// Takes one of the reads of recovery, which waits for nothing and which nothing waits for.
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
        last = sink.emit(FlashOp { kind, cause, after: None, awaited: false });
    }
    last
}

/// The operations of one call of a translation layer, in order.
#[derive(Clone, Debug, Default)]
pub struct OpList {
    ops: Vec<FlashOp>,
    takes_runs: bool,
    /// Where reads of recovery go instead, where they are kept apart.
    scan: Option<Box<Scan>>,
}

impl OpList {
    /// The operations.
    #[inline]
    pub fn as_slice(&self) -> &[FlashOp] {
        &self.ops
    }
    /// Whether copies of pages that lie side by side are one operation from now on: [`FlashOpKind::CopyRun`].
    pub fn take_runs(&mut self, takes_runs: bool) {
        self.takes_runs = takes_runs;
    }
    /// Forgets all operations, keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.ops.clear();
    }

    /// A list that keeps the reads of recovery apart.
    pub fn with_scan(scan: Scan) -> Self {
        Self { scan: Some(Box::new(scan)), ..Self::default() }
    }
    /// The reads of recovery, if they were kept apart.
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
            return self.emit(FlashOp { kind, cause, after: None, awaited: false });
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

/// For preconditioning: the state of the cells changes, and nobody asks how long that takes.
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
