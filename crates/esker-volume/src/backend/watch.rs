//! Files that the thread of a driver waits for beside its devices, such as the sockets of its clients.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::poller::Poller;
use super::ring::Ring;
use super::watched::{FileUse, Readiness, WatchedFile};

/// A file that does not block and that waits watch, until this is dropped. Whoever reads or writes it says when it
/// would have blocked, and learns here when to try again.
pub struct Watch {
    number: u32,
    readiness: Arc<Readiness>,
    waiter: Waiter,
}

/// What waits for a watched file.
#[derive(Clone)]
pub(super) enum Waiter {
    Ring(Ring),
    Poller(Poller),
}

impl Watch {
    /// Begins to watch `file`.
    pub(super) fn new(waiter: Waiter, file: Arc<OwnedFd>) -> io::Result<Self> {
        let (watched, readiness) = WatchedFile::new(file);
        let number = match &waiter {
            Waiter::Ring(ring) => ring.watch(watched),
            Waiter::Poller(poller) => poller.watch(watched)?,
        };
        Ok(Self { number, readiness, waiter })
    }

    /// Its number, which no other watch of the same [`DeviceIo`](crate::DeviceIo) has, had or will have.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns true if there may be something to read, or the end.
    pub fn can_read(&self) -> bool {
        self.readiness.can(FileUse::Read)
    }

    /// Returns true if there may be room to write.
    pub fn can_write(&self) -> bool {
        self.readiness.can(FileUse::Write)
    }

    /// Returns true if the peer has said that it sends nothing more, or is gone. The end may follow the last bytes, and
    /// is not reported again: read until there is nothing.
    pub fn peer_has_ended(&self) -> bool {
        self.readiness.peer_has_ended()
    }

    /// Notes that there is nothing more to read now. A wait ends when there is.
    pub fn read_blocks(&self) {
        self.readiness.set(FileUse::Read, false);
    }

    /// Notes that there is no more room to write now. A wait ends when there is.
    pub fn write_blocks(&self) {
        match &self.waiter {
            // It tells that at any rate.
            Waiter::Poller(_) => self.readiness.set(FileUse::Write, false),
            Waiter::Ring(ring) => ring.await_room(self.number),
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        match &self.waiter {
            Waiter::Poller(poller) => poller.unwatch(self.number),
            Waiter::Ring(ring) => ring.unwatch(self.number),
        }
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Watch({}, can read: {}, can write: {})", self.number, self.can_read(), self.can_write())
    }
}
