//! Devices that a volume is opened on.

use std::io;

use super::{Backend, BlockingBackend, Direct, FileBackend, MemoryBackend, Threaded};
use crate::signal::Signal;

/// A device on which a volume is created or opened, and which serves afterwards.
pub trait OpenDevice {
    /// What errors call the device.
    fn name(&self) -> &str;

    /// The device while the volume is created or opened.
    fn blocking(&mut self) -> &mut dyn BlockingBackend;

    /// Has the operating system forget what it keeps of the device in memory, after a
    /// [`flush`](BlockingBackend::flush): later reads show what the device holds.
    fn forget_cached(&mut self) -> io::Result<()>;

    /// Makes it serve.
    fn into_backend(self: Box<Self>) -> Box<dyn Backend>;
}

impl OpenDevice for MemoryBackend {
    fn name(&self) -> &'static str {
        "memory"
    }
    fn blocking(&mut self) -> &mut dyn BlockingBackend {
        self
    }
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
    name: String,
    backend: FileBackend,
    signal: Signal,
}

impl ThreadedFile {
    /// A device over `backend`, which errors call `name`. The `signal` is given whenever an operation has ended.
    pub fn new(name: impl Into<String>, backend: FileBackend, signal: Signal) -> Self {
        Self { name: name.into(), backend, signal }
    }
}

impl OpenDevice for ThreadedFile {
    fn name(&self) -> &str {
        &self.name
    }
    fn blocking(&mut self) -> &mut dyn BlockingBackend {
        &mut self.backend
    }
    fn forget_cached(&mut self) -> io::Result<()> {
        self.backend.forget_cached()
    }
    fn into_backend(self: Box<Self>) -> Box<dyn Backend> {
        Box::new(Threaded::new(self.backend, self.signal))
    }
}
