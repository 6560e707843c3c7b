//! System calls on descriptors by number. They go around the C library, whose functions are replaced.

use rustix::io::Errno;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// What is called as a borrowed descriptor; it has to be open.
pub(crate) fn borrow(descriptor: RawFd) -> BorrowedFd<'static> {
    // SAFETY: it is used for one system call, which says so if it is not open.
    unsafe { BorrowedFd::borrow_raw(descriptor) }
}

/// Closes a descriptor that the caller knows to be its own.
pub(crate) fn close(descriptor: RawFd) {
    // SAFETY: nobody else has it, says the caller.
    unsafe { rustix::io::close(descriptor) }
}

/// Makes `new` another descriptor of what `old` is.
pub(crate) fn replace(old: RawFd, new: RawFd, closes_on_exec: bool) -> Result<(), Errno> {
    let flags = if closes_on_exec { rustix::io::DupFlags::CLOEXEC } else { rustix::io::DupFlags::empty() };
    // SAFETY: the descriptor that is replaced belongs to this library. It is not closed here.
    let mut target = std::mem::ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(new) });
    rustix::io::dup3(borrow(old), &mut target, flags)
}

/// Answers a call: what it returns, and `errno` if it failed.
pub(crate) fn answer(result: Result<i64, Errno>) -> i64 {
    result.unwrap_or_else(|error| fail(error).into())
}

/// Answers a call that returns nothing but whether it failed.
pub(crate) fn answer_done(result: Result<(), Errno>) -> i32 {
    result.map_or_else(fail, |()| 0)
}

/// A call fails.
pub(crate) fn fail(error: Errno) -> i32 {
    // SAFETY: each thread has its own.
    unsafe { *libc::__errno_location() = error.raw_os_error() };
    -1
}
