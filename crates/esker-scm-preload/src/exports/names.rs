//! Names: made, changed, removed.

use super::open::leads_to_descriptors;
use super::path;
use crate::mounts::{self, Inside};
use crate::next::replace;
use crate::{leaving, process, raw};
use esker_scm_channel::{Reply, Request};
use libc::mode_t;
use rustix::io::Errno;
use std::ffi::{c_char, c_int};

/// Where a path leads, if it begins at the root or where the process is.
///
/// # Safety
/// The path has to end in a zero byte.
unsafe fn inside(directory: c_int, name: *const c_char) -> Option<Inside> {
    // SAFETY: the caller vouches for it.
    let name = unsafe { path(name) }?;
    let is_known = directory == libc::AT_FDCWD || name.to_bytes().starts_with(b"/");
    if is_known { mounts::inside(name) } else { None }
}

/// Asks the owner; none if the kernel has to be asked. An error is answered only if its reason is certain.
fn ask(inside: &Inside, request: &Request<'_>) -> Option<c_int> {
    match inside.connection.call(request, &[], &mut []) {
        Ok((Reply::Done, _)) => Some(0),
        Ok((Reply::Failed(error), _)) => {
            let error = Errno::from_raw_os_error(error);
            matches!(error, Errno::NOENT | Errno::EXIST | Errno::NOTEMPTY).then(|| raw::fail(error))
        }
        _ => None,
    }
}

/// # Safety
/// The path has to end in a zero byte.
unsafe fn remove(directory: c_int, name: *const c_char, is_directory: bool) -> Option<c_int> {
    // SAFETY: the caller vouches for it.
    let inside = unsafe { inside(directory, name) }?;
    let path = inside.path();
    ask(&inside, &if is_directory { Request::RemoveDirectory { path } } else { Request::Unlink { path } })
}

/// # Safety
/// The path has to end in a zero byte.
unsafe fn make_directory(directory: c_int, name: *const c_char, mode: mode_t) -> Option<c_int> {
    // SAFETY: the caller vouches for it.
    let inside = unsafe { inside(directory, name) }?;
    ask(&inside, &Request::MakeDirectory { path: inside.path(), permissions: process::permitted(mode) })
}

/// # Safety
/// The paths have to end in a zero byte.
unsafe fn rename_inside(from: (c_int, *const c_char), to: (c_int, *const c_char)) -> Option<c_int> {
    // SAFETY: the caller vouches for them.
    let (from, to) = unsafe { (inside(from.0, from.1)?, inside(to.0, to.1)?) };
    if !std::sync::Arc::ptr_eq(&from.connection, &to.connection) {
        return None;
    }
    ask(&from, &Request::Rename { from: from.path(), to: to.path() })
}

replace! {
    [unlink] (name: *const c_char) -> c_int, or next {
        // SAFETY: the caller vouches for the path.
        unsafe { remove(libc::AT_FDCWD, name, false) }.unwrap_or_else(next)
    }
    [rmdir] (name: *const c_char) -> c_int, or next {
        // SAFETY: the caller vouches for the path.
        unsafe { remove(libc::AT_FDCWD, name, true) }.unwrap_or_else(next)
    }
    [unlinkat] (directory: c_int, name: *const c_char, flags: c_int) -> c_int, or next {
        if flags & !libc::AT_REMOVEDIR != 0 {
            return next();
        }
        // SAFETY: the caller vouches for the path.
        unsafe { remove(directory, name, flags != 0) }.unwrap_or_else(next)
    }
    [mkdir] (name: *const c_char, mode: mode_t) -> c_int, or next {
        // SAFETY: the caller vouches for the path.
        unsafe { make_directory(libc::AT_FDCWD, name, mode) }.unwrap_or_else(next)
    }
    [mkdirat] (directory: c_int, name: *const c_char, mode: mode_t) -> c_int, or next {
        // SAFETY: the caller vouches for the path.
        unsafe { make_directory(directory, name, mode) }.unwrap_or_else(next)
    }
    [rename] (from: *const c_char, to: *const c_char) -> c_int, or next {
        // SAFETY: the caller vouches for the paths.
        unsafe { rename_inside((libc::AT_FDCWD, from), (libc::AT_FDCWD, to)) }.unwrap_or_else(next)
    }
    [renameat] (old: c_int, from: *const c_char, new: c_int, to: *const c_char) -> c_int, or next {
        // SAFETY: the caller vouches for the paths.
        unsafe { rename_inside((old, from), (new, to)) }.unwrap_or_else(next)
    }
    [linkat] (old: c_int, from: *const c_char, new: c_int, to: *const c_char, flags: c_int) -> c_int, or next {
        // SAFETY: the caller vouches for the path.
        if flags & libc::AT_EMPTY_PATH != 0 || unsafe { path(from) }.is_some_and(leads_to_descriptors) {
            leaving::leave_everything();
        }
        next()
    }
}
