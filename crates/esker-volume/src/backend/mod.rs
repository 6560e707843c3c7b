//! Back ends, which hold the bytes of a volume.

mod alignment;
mod blocking;
mod device_io;
mod direct;
mod file;
mod only_read;
mod open_device;
mod operation;
mod placed_error;
mod poller;
mod ring;
mod threaded;
mod watch;
#[cfg(test)]
mod watch_tests;
mod watched;
mod whole_blocks;

use std::io;

use esker_core::{Bytes, Nanos};

pub use blocking::{BlockingBackend, MemoryBackend};
pub use device_io::{DeviceIo, DeviceSettings, FileDevice, IoChoice};
pub use direct::Direct;
pub use file::FileBackend;
pub(crate) use only_read::OnlyRead;
pub use open_device::{DEVICE_NAME_RULE, DeviceLimits, OpenDevice, is_device_name};
pub use operation::{Gather, Operation, OperationData};
pub use placed_error::PlacedError;
pub use threaded::Threaded;
pub use watch::Watch;
pub use whole_blocks::WholeBlocks;

/// A store of bytes that takes operations and completes them later. Its methods never block.
///
/// Operations under way do not overlap, unless the host overlaps its own. Flushes and durable writes have to be
/// reported in the order in which they were performed, all other operations in any order; but a read that was performed
/// after a failed flush is reported after it, as far as the back end knows the order.
pub trait Backend: Send {
    /// Capacity in bytes.
    fn capacity(&self) -> Bytes;

    /// Takes an operation at `now`. `id` identifies it until it has ended.
    fn submit(&mut self, now: Nanos, id: u64, operation: Operation);

    /// Hands on what was submitted since the last call, for back ends that collect operations. Whoever submits calls it
    /// before waiting for anything to end.
    fn send(&mut self) {}

    /// Returns true if operations may end while they are submitted.
    fn is_immediate(&self) -> bool {
        false
    }

    /// Appends the operations that have ended since the last call.
    fn take_ended(&mut self, ended: &mut Vec<Ended>);

    /// Returns true once written data may be lost although no operation of this back end has said so: a flush that the
    /// owner of another part of the device asked for has failed, or the connection to the device is lost. Asked after
    /// [`Self::take_ended`].
    fn has_failed(&self) -> bool {
        false
    }

    /// Returns when [`Self::advance`] has to be called; never for a back end that does nothing at a time of its own.
    fn next_event(&self) -> Nanos {
        Nanos::NEVER
    }

    /// Does what is due first, at `now == next_event()`.
    fn advance(&mut self, now: Nanos) {
        let _ = now;
    }

    /// Tells the back end that it has not answered in time and that nobody waits for its answers any more: dropping it
    /// must not wait for them either.
    fn abandon(&mut self) {}
}

/// An operation that has ended.
#[derive(Debug)]
pub struct Ended {
    /// The identifier with which the operation was submitted.
    pub id: u64,
    /// When it ended, if the back end keeps time; otherwise it ended when that was noticed.
    pub at: Option<Nanos>,
    /// Success, or the error.
    pub result: io::Result<()>,
    /// The memory of the operation: for a read, with the bytes that were read.
    pub data: OperationData,
}
