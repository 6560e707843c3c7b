//! Reads of a simulated disk, for measuring it as if it were a real one.

use esker_core::{Bytes, Completion, Device, Nanos, Request, TagSlab};

use super::desk::{ProbeRead, ReadTimes};

/// A simulated disk that answers a measurement's reads, one at a time.
pub struct SimulatedReads<D: ?Sized> {
    device: Box<D>,
    now: Nanos,
    tags: TagSlab<()>,
    done: Vec<Completion>,
}

impl<D: Device + ?Sized> SimulatedReads<D> {
    /// Creates reads of `device`, which is at time zero.
    pub fn new(device: Box<D>) -> Self {
        Self { device, now: Nanos::ZERO, tags: TagSlab::default(), done: Vec::new() }
    }

    /// Returns the size of the disk.
    pub fn capacity(&self) -> Bytes {
        self.device.capacity()
    }

    /// Performs a read. All of the disk can be read, so there is no error.
    pub fn read(&mut self, read: ProbeRead) -> ReadTimes {
        let began = self.now + read.pause;
        while self.device.next_event() <= began {
            self.device.advance(self.device.next_event(), &mut self.done);
        }
        let tag = self.tags.insert(());
        self.device.submit(began, tag, Request::read(read.start, read.length));
        self.done.clear();
        while self.done.is_empty() {
            self.device.advance(self.device.next_event(), &mut self.done);
        }
        self.tags.remove(tag);
        self.now = self.done[0].at;
        ReadTimes { began, ended: self.now }
    }
}
