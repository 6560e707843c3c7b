//! Back ends, which hold the bytes of a volume.

mod blocking;
mod direct;
mod threaded;

use std::io;

use esker_core::{Bytes, RequestKind};

pub use blocking::{BlockingBackend, FileBackend, MemoryBackend};
pub use direct::Direct;
pub use threaded::Threaded;

/// A store of bytes that takes operations and completes them later. Its methods never block.
///
/// Operations under way do not overlap, unless the host overlaps its own. Flushes and durable writes have to be
/// reported in the order in which they were performed, all other operations in any order.
pub trait Backend: Send {
    /// Capacity in bytes.
    fn capacity(&self) -> Bytes;

    /// Takes an operation. `id` identifies it until it has ended.
    fn submit(&mut self, id: u64, operation: Operation);

    /// Appends the operations that have ended since the last call.
    fn take_ended(&mut self, ended: &mut Vec<Ended>);

    /// Tells the back end that it has not answered in time and that nobody waits for its answers any more: dropping it
    /// must not wait for them either.
    fn abandon(&mut self) {}
}

/// One operation on a store.
#[derive(Clone, Debug)]
pub struct Operation {
    /// What it does.
    pub kind: RequestKind,
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
    /// The data of a write; for a read, a buffer of the same length; otherwise empty.
    pub data: Vec<u8>,
}

/// An operation that has ended.
#[derive(Debug)]
pub struct Ended {
    /// The identifier with which the operation was submitted.
    pub id: u64,
    /// Success, or the error.
    pub result: io::Result<()>,
    /// The buffer of the operation: for a read, the data.
    pub data: Vec<u8>,
}

impl Operation {
    /// Performs the operation on `store`; `id` is its identifier.
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
