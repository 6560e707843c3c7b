//! Where the bytes are.

mod blocking;
mod direct;
mod threaded;

use std::io;

use esker_core::{Bytes, RequestKind};

pub use blocking::{BlockingBackend, FileBackend, MemoryBackend};
pub use direct::Direct;
pub use threaded::Threaded;

/// A store of bytes that takes operations and completes them later. Nothing in it blocks.
///
/// Operations under way do not overlap, but for those of a host that overlaps its own. Flushes and durable writes
/// complete in the order in which they were performed; everything else in any order.
pub trait Backend: Send {
    /// Bytes that it holds.
    fn capacity(&self) -> Bytes;

    /// Takes an operation, which `id` names until it has ended.
    fn submit(&mut self, id: u64, operation: Operation);

    /// Appends the operations that have ended since it was asked last.
    fn take_ended(&mut self, ended: &mut Vec<Ended>);
}

/// One operation on a store.
#[derive(Clone, Debug)]
pub struct Operation {
    /// What to do.
    pub kind: RequestKind,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// What a write writes; for a read a buffer that is as long; else empty.
    pub data: Vec<u8>,
}

/// An operation that has ended.
#[derive(Debug)]
pub struct Ended {
    /// The name it was given.
    pub id: u64,
    /// How it ended.
    pub result: io::Result<()>,
    /// The buffer that came with it: what a read has read.
    pub data: Vec<u8>,
}

impl Operation {
    /// Performs it on `store`, under the name `id`.
    pub fn perform(self, id: u64, store: &mut dyn BlockingBackend) -> Ended {
        let Self { kind, offset, length, mut data } = self;
        let result = match kind {
            RequestKind::Read => store.read(offset, &mut data),
            RequestKind::Write { fua } => store.write(offset, &data, fua),
            RequestKind::WriteZeroes { fua } => store.write_zeroes(offset, length, fua),
            RequestKind::Trim => store.trim(offset, length),
            RequestKind::Flush => store.flush(),
        };
        Ended { id, result, data }
    }
}
