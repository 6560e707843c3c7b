//! Descriptors that a client keeps in a process that knows nothing of them.

use rustix::io::{Errno, fcntl_dupfd_cloexec};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// Which numbers the descriptors of a client have, and who is told.
#[derive(Debug, Clone, Copy)]
pub struct Numbers {
    /// The lowest: a program may count on low ones for itself.
    pub lowest: RawFd,
    /// Told of a descriptor that is kept (true), and again before it is closed (false).
    pub note: fn(RawFd, bool),
}

impl Numbers {
    /// Whichever are free.
    pub const ANY: Numbers = Numbers { lowest: 0, note: |_, _| {} };
}

/// A descriptor that is kept.
#[derive(Debug)]
pub(crate) struct Kept {
    file: OwnedFd,
    note: fn(RawFd, bool),
}

impl Kept {
    pub(crate) fn new(file: &OwnedFd, numbers: Numbers) -> Result<Kept, Errno> {
        let file = fcntl_dupfd_cloexec(file, numbers.lowest)?;
        (numbers.note)(file.as_raw_fd(), true);
        Ok(Kept { file, note: numbers.note })
    }
}

impl AsFd for Kept {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        (self.note)(self.file.as_raw_fd(), false);
    }
}
