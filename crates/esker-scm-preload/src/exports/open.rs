//! Opening files.

use super::path;
use crate::mounts;
use crate::next::replace;
use crate::open_file::OpenFile;
use crate::slots::{self, Entry};
use crate::{leaving, own, process, raw};
use esker_scm_channel::{Outcome, RemoteFile};
use libc::mode_t;
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::Resource;
use std::ffi::{CStr, c_char, c_int};
use std::os::fd::IntoRawFd;
use std::sync::Arc;

/// Flags with which a file is the kernel's from the beginning.
const OF_KERNEL: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::SYNC).union(OFlags::DIRECT);

/// Opens a file of a pool. None if the kernel has to be asked.
fn open_inside(name: &CStr, flags: c_int, mode: mode_t) -> Option<c_int> {
    if leads_to_descriptors(name) {
        leaving::leave_everything();
        return None;
    }
    let flags = OFlags::from_bits_retain(flags.cast_unsigned());
    if flags.intersects(OF_KERNEL) {
        return None;
    }
    let inside = mounts::inside(name)?;
    // The kernel sees to this limit.
    if rustix::process::getrlimit(Resource::Fsize).current.is_some() {
        return None;
    }
    let placeholder = rustix::io::fcntl_dupfd_cloexec(mounts::placeholder()?, 0);
    let placeholder = match placeholder {
        Ok(placeholder) if own::is_of_streams(placeholder.as_raw()) => return None,
        Ok(placeholder) if (placeholder.as_raw() as usize) < own::DESCRIPTORS => placeholder,
        Ok(_) => return None,
        Err(error) => return Some(raw::fail(error)),
    };
    let permissions = process::permitted(mode);
    match RemoteFile::open(&inside.connection, inside.path(), flags.bits(), permissions) {
        Outcome::Done(remote) => {
            let file = Arc::new(OpenFile::new(remote, flags));
            let descriptor = placeholder.into_raw_fd();
            slots::put(descriptor, Entry { file, closes_on_exec: flags.contains(OFlags::CLOEXEC) });
            Some(descriptor)
        }
        Outcome::Failed(error @ (Errno::NOENT | Errno::EXIST)) => Some(raw::fail(error)),
        _ => None,
    }
}

/// Whether a path leads to what a process has open.
pub(super) fn leads_to_descriptors(name: &CStr) -> bool {
    let name = name.to_bytes();
    let is_of_process = name.starts_with(b"/proc/") && name.windows(4).any(|part| part == b"/fd/");
    is_of_process || name.starts_with(b"/dev/fd/") || name.starts_with(b"/dev/std")
}

trait AsRaw {
    fn as_raw(&self) -> c_int;
}

impl AsRaw for std::os::fd::OwnedFd {
    fn as_raw(&self) -> c_int {
        std::os::fd::AsRawFd::as_raw_fd(self)
    }
}

/// Opens a path that begins at the root or where the process is.
///
/// # Safety
/// The path has to end in a zero byte.
unsafe fn open_here(name: *const c_char, flags: c_int, mode: mode_t) -> Option<c_int> {
    // SAFETY: the caller vouches for it.
    open_inside(unsafe { path(name) }?, flags, mode)
}

/// Opens a path that begins at a directory that is open, if it does not.
///
/// # Safety
/// The path has to end in a zero byte.
unsafe fn open_at(directory: c_int, name: *const c_char, flags: c_int, mode: mode_t) -> Option<c_int> {
    // SAFETY: the caller vouches for it.
    let name = unsafe { path(name) }?;
    let is_known = directory == libc::AT_FDCWD || name.to_bytes().starts_with(b"/");
    if is_known { open_inside(name, flags, mode) } else { None }
}

const MAKE: c_int = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;

replace! {
    [open, open64, __open, __open64] (name: *const c_char, flags: c_int, mode: mode_t) -> c_int, or next {
        // SAFETY: the caller vouches for the path.
        unsafe { open_here(name, flags, mode) }.unwrap_or_else(next)
    }
    [__open_2, __open64_2] (name: *const c_char, flags: c_int) -> c_int, or next {
        // SAFETY: the caller vouches for the path.
        unsafe { open_here(name, flags, 0) }.unwrap_or_else(next)
    }
    [creat, creat64] (name: *const c_char, mode: mode_t) -> c_int, or next {
        // SAFETY: the caller vouches for the path.
        unsafe { open_here(name, MAKE, mode) }.unwrap_or_else(next)
    }
    [openat, openat64] (directory: c_int, name: *const c_char, flags: c_int, mode: mode_t) -> c_int, or next {
        // SAFETY: the caller vouches for the path.
        unsafe { open_at(directory, name, flags, mode) }.unwrap_or_else(next)
    }
    [__openat_2, __openat64_2] (directory: c_int, name: *const c_char, flags: c_int) -> c_int, or next {
        // SAFETY: the caller vouches for the path.
        unsafe { open_at(directory, name, flags, 0) }.unwrap_or_else(next)
    }
}
