//! A file that the program has open: what open(2) calls an open file description.

use crate::{own, raw};
use esker_scm_channel::{Outcome, Purpose, RemoteFile};
use rustix::fs::{AtFlags, OFlags, SeekFrom, StatxFlags};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// An open file.
pub(crate) struct OpenFile {
    pub(crate) remote: RemoteFile,
    /// Flags of open(2) that fcntl(2) tells.
    flags: AtomicU32,
    position: Mutex<u64>,
    /// Whether it was left to the kernel.
    is_left: AtomicBool,
    /// A file of the kernel for what the owner is not asked for: locks and attributes.
    side: OnceLock<OwnedFd>,
    /// Held by who opens it, so that there is one of all threads.
    opening_side: Mutex<()>,
    /// Whether the process has had record locks by `side`.
    has_record_locks: AtomicBool,
}

/// A file of any mount: the device that it is on, and its inode.
type Identity = ((u32, u32), u64);

/// Files on which the process has record locks by a side file, and that side file.
static RECORD_LOCKS: Mutex<Vec<(Identity, RawFd)>> = Mutex::new(Vec::new());

fn record_locks() -> MutexGuard<'static, Vec<(Identity, RawFd)>> {
    RECORD_LOCKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Flags that fcntl(2) can change here.
pub(crate) const CHANGEABLE: OFlags = OFlags::APPEND.union(OFlags::NONBLOCK);

impl OpenFile {
    pub(crate) fn new(remote: RemoteFile, flags: OFlags) -> OpenFile {
        let kept = flags & (OFlags::ACCMODE | CHANGEABLE | OFlags::NOFOLLOW) | OFlags::LARGEFILE;
        OpenFile {
            remote,
            flags: AtomicU32::new(kept.bits()),
            position: Mutex::new(0),
            is_left: AtomicBool::new(false),
            side: OnceLock::new(),
            opening_side: Mutex::new(()),
            has_record_locks: AtomicBool::new(false),
        }
    }

    pub(crate) fn is_left(&self) -> bool {
        self.is_left.load(Ordering::Acquire)
    }

    pub(crate) fn flags(&self) -> OFlags {
        OFlags::from_bits_retain(self.flags.load(Ordering::Relaxed))
    }

    /// Sets the flags that can be changed.
    pub(crate) fn set_flags(&self, flags: OFlags) {
        let kept = self.flags() & !CHANGEABLE;
        self.flags.store((kept | flags & CHANGEABLE).bits(), Ordering::Relaxed);
    }

    /// Does something at the position of the file. The result is that of `act`, which may move it.
    fn at_position<T>(&self, act: impl FnOnce(&mut u64) -> Outcome<T>) -> Outcome<T> {
        let mut position = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        // It may have been left to the kernel while somebody else had the position.
        if self.is_left() { Outcome::UseKernel } else { act(&mut position) }
    }

    /// Reads from the position on.
    pub(crate) fn read(&self, into: &mut [u8]) -> Outcome<usize> {
        self.at_position(|position| {
            let read = self.read_at(*position, into);
            if let Outcome::Done(length) = read {
                *position += length as u64;
            }
            read
        })
    }

    /// Reads from `offset` on.
    pub(crate) fn read_at(&self, offset: u64, into: &mut [u8]) -> Outcome<usize> {
        match self.flags() & OFlags::ACCMODE {
            OFlags::WRONLY => Outcome::Failed(Errno::BADF),
            _ => self.remote.read(offset, into),
        }
    }

    /// Writes at the position, or at the end if the file is appended to.
    pub(crate) fn write(&self, bytes: &[u8]) -> Outcome<usize> {
        self.at_position(|position| {
            self.write_from(*position, bytes).map(|(length, end)| {
                *position = if length > 0 { end } else { *position };
                length
            })
        })
    }

    /// Writes at `offset`, or at the end if the file is appended to, as Linux does.
    pub(crate) fn write_from(&self, offset: u64, bytes: &[u8]) -> Outcome<(usize, u64)> {
        match self.flags() & OFlags::ACCMODE {
            OFlags::RDONLY => Outcome::Failed(Errno::BADF),
            _ if bytes.is_empty() => Outcome::Done((0, offset)),
            _ => self.remote.write((!self.flags().contains(OFlags::APPEND)).then_some(offset), bytes),
        }
    }

    /// Moves the position.
    pub(crate) fn seek(&self, whence: SeekFrom) -> Outcome<u64> {
        self.at_position(|position| {
            let moved = match whence {
                SeekFrom::Start(offset) => Some(offset),
                SeekFrom::Current(distance) => position.checked_add_signed(distance),
                SeekFrom::End(distance) => match self.remote.size() {
                    Outcome::Done(size) => size.checked_add_signed(distance),
                    Outcome::UseKernel => return Outcome::UseKernel,
                    Outcome::Failed(error) => return Outcome::Failed(error),
                },
                // The kernel asks the owner where data and holes are.
                _ => match self.side().and_then(|side| rustix::fs::seek(side, whence)) {
                    Ok(found) => Some(found),
                    Err(error) => return Outcome::Failed(error),
                },
            };
            match moved.filter(|&moved| i64::try_from(moved).is_ok()) {
                Some(moved) => {
                    *position = moved;
                    Outcome::Done(moved)
                }
                None => Outcome::Failed(Errno::INVAL),
            }
        })
    }

    /// The position.
    pub(crate) fn position(&self) -> u64 {
        *self.position.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A file of the kernel for locks and attributes. Data do not go through it.
    pub(crate) fn side(&self) -> Result<&OwnedFd, Errno> {
        if let Some(side) = self.side.get() {
            return Ok(side);
        }
        let _opening = self.opening_side.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(side) = self.side.get() {
            return Ok(side);
        }
        let opened = self.remote.connection().kernel_file(self.remote.handle(), Purpose::Locks)?;
        let side = fcntl_dupfd_cloexec(&opened, own::lowest())?;
        own::set(side.as_raw_fd(), true);
        Ok(self.side.get_or_init(|| side))
    }

    fn identity(&self) -> Identity {
        (self.remote.connection().device(), self.remote.number())
    }

    /// The process has record locks by the side file from now on.
    pub(crate) fn note_record_lock(&self, side: RawFd) {
        if !self.has_record_locks.swap(true, Ordering::AcqRel) {
            record_locks().push((self.identity(), side));
        }
    }

    /// Leaves the file to the kernel: `take_over` puts the kernel's file in the place of all its descriptors.
    pub(crate) fn leave(&self, take_over: impl FnOnce(RawFd) -> Result<(), Errno>) -> Result<(), Errno> {
        let position = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_left() {
            return Ok(());
        }
        let opened;
        let kernel_file = match self.side.get() {
            // It stays open until the file is closed: the process would lose its record locks.
            Some(side) => match self.remote.expose() {
                Outcome::Failed(error) => return Err(error),
                _ => side.as_fd(),
            },
            None => {
                opened = self.remote.connection().kernel_file(self.remote.handle(), Purpose::Anything)?;
                opened.as_fd()
            }
        };
        // A mapping goes as far as the kernel knows that the file does: it asks anew.
        let anew = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
        rustix::fs::statx(kernel_file, "", anew, StatxFlags::SIZE)?;
        rustix::fs::seek(kernel_file, SeekFrom::Start(*position))?;
        rustix::fs::fcntl_setfl(kernel_file, self.flags() & CHANGEABLE)?;
        take_over(kernel_file.as_raw_fd())?;
        self.is_left.store(true, Ordering::Release);
        Ok(())
    }

    /// The program has closed a descriptor of it: the process has no record locks on the file any more, as POSIX says.
    pub(crate) fn give_up_record_locks(&self) {
        for &(_, side) in record_locks().iter().filter(|(identity, _)| *identity == self.identity()) {
            let _ = rustix::fs::fcntl_lock(raw::borrow(side), rustix::fs::FlockOperation::NonBlockingUnlock);
        }
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        if let Some(side) = self.side.get() {
            let side = side.as_fd().as_raw_fd();
            record_locks().retain(|&(_, kept)| kept != side);
            own::set(side, false);
        }
    }
}
