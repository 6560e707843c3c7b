//! Flags, locks and attributes of what is open.

use super::attempt;
use super::descriptors::duplicate_file;
use crate::next::replace;
use crate::open_file::{CHANGEABLE, OpenFile};
use crate::{leaving, raw, slots};
use esker_scm_channel::Outcome;
use libc::{c_char, c_ulong, gid_t, mode_t, off_t, size_t, ssize_t, timespec, timeval, uid_t};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::ffi::{c_int, c_void};
use std::os::fd::AsRawFd;
use std::sync::Arc;

/// Does a call of the kernel on the side file of the file behind a descriptor.
fn aside(descriptor: c_int, call: impl FnOnce(c_int) -> i64) -> Option<i64> {
    let file = slots::file(descriptor)?;
    Some(match file.side() {
        Ok(side) => call(side.as_raw_fd()),
        Err(error) => raw::fail(error).into(),
    })
}

/// A lock by fcntl(2). What is told from the position or the end is told from the beginning: the position of the side
/// file is another.
///
/// # Safety
/// `argument` points to the lock.
unsafe fn lock(file: &Arc<OpenFile>, command: c_int, argument: usize) -> Result<i64, Errno> {
    let asked = argument as *mut libc::flock;
    // SAFETY: the caller vouches for it.
    let mut lock = unsafe { asked.as_ref() }.copied().ok_or(Errno::FAULT)?;
    let from = match c_int::from(lock.l_whence) {
        libc::SEEK_CUR => file.position(),
        libc::SEEK_END => match file.remote.size() {
            Outcome::Done(size) => size,
            Outcome::UseKernel => 0,
            Outcome::Failed(error) => return Err(error),
        },
        _ => 0,
    };
    if c_int::from(lock.l_whence) != libc::SEEK_SET {
        lock.l_start = lock.l_start.checked_add_unsigned(from).ok_or(Errno::OVERFLOW)?;
        lock.l_whence = libc::SEEK_SET as i16;
    }
    let side = file.side()?.as_raw_fd();
    if matches!(command, libc::F_SETLK | libc::F_SETLKW) {
        file.note_record_lock(side);
    }
    // SAFETY: the lock is here.
    let answer = unsafe { libc::syscall(libc::SYS_fcntl, side, command, &raw mut lock) };
    if answer == 0 && matches!(command, libc::F_GETLK | libc::F_OFD_GETLK) {
        // SAFETY: the caller vouches for it.
        unsafe { asked.write(lock) };
    }
    Ok(answer)
}

/// A call of fcntl(2); none if the kernel has to be asked, by `next`.
///
/// # Safety
/// As fcntl(2) says.
unsafe fn control(fd: c_int, command: c_int, argument: usize, next: impl Fn() -> c_int) -> Option<c_int> {
    if matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) {
        return duplicate_file(fd, command == libc::F_DUPFD_CLOEXEC, next);
    }
    let entry = slots::entry(fd).filter(|entry| !entry.file.is_left())?;
    let file = &entry.file;
    match command {
        libc::F_GETFD => Some(if entry.closes_on_exec { libc::FD_CLOEXEC } else { 0 }),
        libc::F_SETFD => {
            slots::set_closes_on_exec(fd, argument as c_int & libc::FD_CLOEXEC != 0);
            Some(0)
        }
        libc::F_GETFL => Some(file.flags().bits().cast_signed()),
        libc::F_SETFL => {
            let flags = OFlags::from_bits_retain(argument as u32);
            let settable = CHANGEABLE | OFlags::ACCMODE | OFlags::CREATE | OFlags::LARGEFILE;
            if flags.intersects(!settable & (OFlags::DIRECT | OFlags::NOATIME)) {
                leaving::leave_descriptor(fd);
                return None;
            }
            file.set_flags(flags);
            Some(0)
        }
        libc::F_GETLK | libc::F_SETLK | libc::F_SETLKW | libc::F_OFD_GETLK | libc::F_OFD_SETLK | libc::F_OFD_SETLKW => {
            // SAFETY: the caller vouches for the lock.
            Some(raw::answer(unsafe { lock(file, command, argument) }) as c_int)
        }
        _ => {
            leaving::leave_descriptor(fd);
            None
        }
    }
}

/// A call of ioctl(2); none if the kernel has to be asked. Whether the descriptor is closed when another program is run
/// is known here; all else is asked of the side file.
///
/// # Safety
/// As ioctl(2) says.
unsafe fn control_device(fd: c_int, request: c_ulong, argument: usize) -> Option<c_int> {
    if matches!(request, libc::FIOCLEX | libc::FIONCLEX) {
        slots::file(fd)?;
        slots::set_closes_on_exec(fd, request == libc::FIOCLEX);
        return Some(0);
    }
    // SAFETY: the caller vouches for the argument.
    aside(fd, |side| unsafe { libc::syscall(libc::SYS_ioctl, side, request, argument) }).map(|answer| answer as c_int)
}

/// lockf(3), by fcntl(2).
fn lock_from_position(fd: c_int, command: c_int, length: off_t) -> Option<c_int> {
    let file = slots::file(fd)?;
    let (command, kind) = match command {
        libc::F_ULOCK => (libc::F_SETLK, libc::F_UNLCK),
        libc::F_LOCK => (libc::F_SETLKW, libc::F_WRLCK),
        libc::F_TLOCK => (libc::F_SETLK, libc::F_WRLCK),
        libc::F_TEST => (libc::F_GETLK, libc::F_WRLCK),
        _ => return Some(raw::fail(Errno::INVAL)),
    };
    let (kind, whence) = (kind as i16, libc::SEEK_CUR as i16);
    let mut asked = libc::flock { l_type: kind, l_whence: whence, l_start: 0, l_len: length, l_pid: 0 };
    // SAFETY: the lock is here.
    let answer = raw::answer(unsafe { lock(&file, command, (&raw mut asked) as usize) }) as c_int;
    let is_locked = command == libc::F_GETLK && answer == 0 && asked.l_type != libc::F_UNLCK as i16;
    Some(if is_locked { raw::fail(Errno::ACCESS) } else { answer })
}

/// Replaces functions that take a descriptor first, and do to its side file what they would do to it.
macro_rules! aside {
    ($( $name:ident ($fd:ident: c_int $(, $arg:ident: $type:ty)*) -> $ret:ty; )+) => {$(
        #[doc = concat!("Replaces `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As the C library says.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($fd: c_int $(, $arg: $type)*) -> $ret {
            static NEXT: crate::next::Next = crate::next::Next::new(concat!(stringify!($name), "\0"));
            let next = |descriptor: c_int| -> $ret {
                // SAFETY: the function of this name takes these, and the caller vouches for what they are.
                unsafe {
                    let next = std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int $(, $type)*) -> $ret>(
                        NEXT.address(),
                    );
                    next(descriptor $(, $arg)*)
                }
            };
            aside($fd, |side| next(side).into()).map_or_else(|| next($fd), |answer| answer as $ret)
        }
    )+};
}

aside! {
    flock(fd: c_int, operation: c_int) -> c_int;
    fchmod(fd: c_int, mode: mode_t) -> c_int;
    fchown(fd: c_int, user: uid_t, group: gid_t) -> c_int;
    futimens(fd: c_int, times: *const timespec) -> c_int;
    futimes(fd: c_int, times: *const timeval) -> c_int;
    fgetxattr(fd: c_int, name: *const c_char, value: *mut c_void, size: size_t) -> c_long_of_size;
    fsetxattr(fd: c_int, name: *const c_char, value: *const c_void, size: size_t, flags: c_int) -> c_int;
    flistxattr(fd: c_int, list: *mut c_char, size: size_t) -> c_long_of_size;
    fremovexattr(fd: c_int, name: *const c_char) -> c_int;
    fstatfs(fd: c_int, into: *mut libc::statfs) -> c_int;
    fstatfs64(fd: c_int, into: *mut libc::statfs64) -> c_int;
    fstatvfs(fd: c_int, into: *mut libc::statvfs) -> c_int;
    fstatvfs64(fd: c_int, into: *mut libc::statvfs64) -> c_int;
    fpathconf(fd: c_int, name: c_int) -> libc::c_long;
    syncfs(fd: c_int) -> c_int;
    fallocate(fd: c_int, mode: c_int, offset: off_t, length: off_t) -> c_int;
    fallocate64(fd: c_int, mode: c_int, offset: off_t, length: off_t) -> c_int;
}

#[allow(non_camel_case_types, reason = "a size of the C library, as a number of the widest kind")]
type c_long_of_size = i64;
const _: () = assert!(size_of::<ssize_t>() == size_of::<c_long_of_size>(), "processors have 64 bits");

replace! {
    [fcntl, fcntl64, __fcntl] (fd: c_int, command: c_int, argument: usize) -> c_int, or next {
        // SAFETY: the caller vouches for the argument.
        unsafe { control(fd, command, argument, next) }.unwrap_or_else(next)
    }
    [ioctl] (fd: c_int, request: c_ulong, argument: usize) -> c_int, or next {
        // SAFETY: the caller vouches for the argument.
        unsafe { control_device(fd, request, argument) }.unwrap_or_else(next)
    }
    [lockf, lockf64] (fd: c_int, command: c_int, length: off_t) -> c_int, or next {
        lock_from_position(fd, command, length).unwrap_or_else(next)
    }
    [posix_fallocate, posix_fallocate64] (fd: c_int, offset: off_t, length: off_t) -> c_int, or next {
        match aside(fd, |side| {
            // SAFETY: numbers alone.
            unsafe { libc::syscall(libc::SYS_fallocate, side, 0, offset, length) }
        }) {
            Some(0) => 0,
            // SAFETY: each thread has its own.
            Some(_) => unsafe { *libc::__errno_location() },
            None => next(),
        }
    }
    [posix_fadvise, posix_fadvise64] (fd: c_int, offset: off_t, length: off_t, advice: c_int) -> c_int, or next {
        // Memory needs no advice.
        if slots::file(fd).is_some() { 0 } else { next() }
    }
    [readahead] (fd: c_int, offset: off_t, count: size_t) -> ssize_t, or next {
        if slots::file(fd).is_some() { 0 } else { next() }
    }
    [sync_file_range] (fd: c_int, offset: off_t, length: off_t, flags: libc::c_uint) -> c_int, or next {
        attempt(fd, |file| file.remote.sync_data()).map_or_else(next, raw::answer_done)
    }
    [isatty] (fd: c_int) -> c_int, or next {
        if slots::file(fd).is_some() {
            raw::fail(Errno::NOTTY);
            return 0;
        }
        next()
    }
    [fchdir] (fd: c_int) -> c_int, or next {
        if slots::file(fd).is_some() { raw::fail(Errno::NOTDIR) } else { next() }
    }
}
