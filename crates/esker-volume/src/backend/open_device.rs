//! Devices that a volume is opened on.

use std::io::{self, IoSlice};

use esker_core::Bytes;

use super::{Backend, BlockingBackend, Direct, FileBackend, MemoryBackend, Threaded};
use crate::signal::Signal;

/// A device on which a volume is created or opened: its calls block until then; afterwards it serves.
pub trait OpenDevice: BlockingBackend {
    /// Has the operating system forget what it keeps of the device in memory, after a
    /// [`flush`](BlockingBackend::flush): later reads show what the device holds.
    fn forget_cached(&mut self) -> io::Result<()>;

    /// Makes it serve.
    fn into_backend(self: Box<Self>) -> Box<dyn Backend>;
}

impl OpenDevice for MemoryBackend {
    fn forget_cached(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn into_backend(self: Box<Self>) -> Box<dyn Backend> {
        Box::new(Direct::new(*self))
    }
}

/// A file or block device that a thread of its own serves.
#[derive(Debug)]
pub struct ThreadedFile {
    backend: FileBackend,
    signal: Signal,
}

impl ThreadedFile {
    /// A device over `backend`. The `signal` is given whenever an operation has ended.
    pub fn new(backend: FileBackend, signal: Signal) -> Self {
        Self { backend, signal }
    }
}

impl OpenDevice for ThreadedFile {
    fn forget_cached(&mut self) -> io::Result<()> {
        self.backend.forget_cached()
    }
    fn into_backend(self: Box<Self>) -> Box<dyn Backend> {
        Box::new(Threaded::new(self.backend, self.signal))
    }
}

impl BlockingBackend for ThreadedFile {
    fn capacity(&self) -> Bytes {
        self.backend.capacity()
    }
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.backend.read(offset, buffer)
    }
    fn write(&mut self, offset: u64, data: &mut [IoSlice<'_>], durable: bool) -> io::Result<()> {
        self.backend.write(offset, data, durable)
    }
    fn write_zeroes(&mut self, offset: u64, length: u64, durable: bool) -> io::Result<()> {
        self.backend.write_zeroes(offset, length, durable)
    }
    fn trim(&mut self, offset: u64, length: u64) -> io::Result<()> {
        self.backend.trim(offset, length)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.backend.flush()
    }
}
