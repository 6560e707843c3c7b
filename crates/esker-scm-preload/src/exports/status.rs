//! What files say of themselves.

use super::open::leads_to_descriptors;
use super::{attempt, path};
use crate::next::replace;
use crate::{leaving, mounts, raw, status};
use esker_scm::Attributes;
use esker_scm_channel::{Reply, Request};
use libc::{stat as Stat, statx as Statx};
use rustix::io::Errno;
use std::ffi::{CStr, c_char, c_int, c_uint};

type Device = (u32, u32);

/// What the owner says of an open file.
fn of_descriptor(fd: c_int) -> Option<Result<(Attributes, Device), Errno>> {
    let device = crate::slots::file(fd)?.remote.connection().device();
    Some(attempt(fd, |file| file.remote.attributes())?.map(|attributes| (attributes, device)))
}

/// What the owner says of a path.
fn of_path(name: &CStr) -> Option<Result<(Attributes, Device), Errno>> {
    if leads_to_descriptors(name) {
        leaving::leave_everything();
        return None;
    }
    let inside = mounts::inside(name)?;
    match inside.connection.call(&Request::Look { path: inside.path() }, &[], &mut []) {
        Ok((Reply::Found(attributes), _)) => Some(Ok((attributes, inside.connection.device()))),
        Ok((Reply::Failed(error), _)) if error == Errno::NOENT.raw_os_error() => Some(Err(Errno::NOENT)),
        _ => None,
    }
}

/// What a call is about: a path, or what is open if the path is empty.
///
/// # Safety
/// The path has to end in a zero byte.
unsafe fn of(directory: c_int, name: *const c_char, flags: c_int) -> Option<Result<(Attributes, Device), Errno>> {
    // SAFETY: the caller vouches for it.
    let name = unsafe { path(name) };
    if flags & libc::AT_EMPTY_PATH != 0 && name.is_none_or(|name| name.is_empty()) {
        return of_descriptor(directory);
    }
    let name = name?;
    let is_known = directory == libc::AT_FDCWD || name.to_bytes().starts_with(b"/");
    if is_known { of_path(name) } else { None }
}

/// Tells what was found; none if the kernel has to.
///
/// # Safety
/// There has to be room for it.
unsafe fn tell(found: Option<Result<(Attributes, Device), Errno>>, into: *mut Stat) -> Option<c_int> {
    Some(match found? {
        Ok((attributes, device)) => {
            let told = status::stat(&attributes, status::device(device))?;
            // SAFETY: the caller vouches for it.
            unsafe { into.write(told) };
            0
        }
        Err(error) => raw::fail(error),
    })
}

const HERE: c_int = libc::AT_FDCWD;

replace! {
    [fstat, fstat64] (fd: c_int, into: *mut Stat) -> c_int, or next {
        // SAFETY: the caller vouches for the room.
        unsafe { tell(of_descriptor(fd), into) }.unwrap_or_else(next)
    }
    [__fxstat, __fxstat64] (version: c_int, fd: c_int, into: *mut Stat) -> c_int, or next {
        // SAFETY: the caller vouches for the room.
        unsafe { tell(of_descriptor(fd), into) }.unwrap_or_else(next)
    }
    [stat, stat64, lstat, lstat64] (name: *const c_char, into: *mut Stat) -> c_int, or next {
        // SAFETY: the caller vouches for path and room.
        unsafe { tell(of(HERE, name, 0), into) }.unwrap_or_else(next)
    }
    [__xstat, __xstat64, __lxstat, __lxstat64]
    (version: c_int, name: *const c_char, into: *mut Stat) -> c_int, or next {
        // SAFETY: the caller vouches for path and room.
        unsafe { tell(of(HERE, name, 0), into) }.unwrap_or_else(next)
    }
    [fstatat, fstatat64] (directory: c_int, name: *const c_char, into: *mut Stat, flags: c_int) -> c_int, or next {
        // SAFETY: the caller vouches for path and room.
        unsafe { tell(of(directory, name, flags), into) }.unwrap_or_else(next)
    }
    [__fxstatat, __fxstatat64]
    (version: c_int, directory: c_int, name: *const c_char, into: *mut Stat, flags: c_int) -> c_int, or next {
        // SAFETY: the caller vouches for path and room.
        unsafe { tell(of(directory, name, flags), into) }.unwrap_or_else(next)
    }
    [statx]
    (directory: c_int, name: *const c_char, flags: c_int, mask: c_uint, into: *mut Statx) -> c_int, or next {
        // SAFETY: the caller vouches for the path.
        let told = match unsafe { of(directory, name, flags) } {
            Some(Ok((attributes, device))) => status::statx(&attributes, device),
            Some(Err(error)) => return raw::fail(error),
            None => None,
        };
        let Some(told) = told else { return next() };
        // SAFETY: the caller vouches for the room.
        unsafe { into.write(told) };
        0
    }
}
