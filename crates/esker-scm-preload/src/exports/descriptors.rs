//! Closing and duplicating descriptors.

use crate::next::replace;
use crate::slots::{self, Entry};
use crate::{leaving, own, raw};
use rustix::io::Errno;
use std::ffi::{c_int, c_uint};

/// Closes a descriptor of a file of a pool; false if it is none. What was left to the kernel loses its record locks
/// there.
fn close_file(descriptor: c_int) -> bool {
    // Descriptors of this library itself are closed by this function, too, while it changes others.
    if slots::entry(descriptor).is_none() {
        return false;
    }
    let changing = slots::change();
    let Some(Entry { file, .. }) = slots::take(&changing, descriptor) else { return false };
    raw::close(descriptor);
    drop(changing);
    file.give_up_record_locks();
    true
}

/// Makes `new`, which `duplicate` opens, another descriptor of the file behind `old`; none if there is no such file.
pub(super) fn duplicate_file(old: c_int, closes_on_exec: bool, duplicate: impl FnOnce() -> c_int) -> Option<c_int> {
    let changing = slots::change();
    let Entry { file, .. } = slots::entry(old)?;
    let new = duplicate();
    if new >= 0 {
        let replaced = slots::take(&changing, new);
        if new as usize >= own::DESCRIPTORS {
            // Too high a number for a placeholder.
            if let Err(error) = leaving::leave(&file, &changing).and_then(|()| raw::replace(old, new, closes_on_exec)) {
                return Some(raw::fail(error));
            }
        } else {
            if !file.is_left() && rustix::io::fcntl_setfd(raw::borrow(new), rustix::io::FdFlags::CLOEXEC).is_err() {
                return Some(raw::fail(Errno::BADF));
            }
            slots::put(new, Entry { file: file.clone(), closes_on_exec });
            if own::is_of_streams(new) {
                // If the owner has gone, the placeholder stays, and calls on it fail.
                let _ = leaving::leave(&file, &changing);
            }
        }
        drop(changing);
        if let Some(replaced) = replaced {
            replaced.file.give_up_record_locks();
        }
    }
    Some(new)
}

/// Another descriptor at a given number; none if the kernel knows both.
fn duplicate_to(old: c_int, new: c_int, closes_on_exec: bool, next: impl FnOnce() -> c_int) -> c_int {
    if own::is(new) {
        return raw::fail(Errno::BUSY);
    }
    if own::is(old) {
        return raw::fail(Errno::BADF);
    }
    if slots::entry(old).is_some() {
        // A later look may find that another thread has closed it: then there is nothing to duplicate.
        return duplicate_file(old, closes_on_exec, next).unwrap_or_else(|| raw::fail(Errno::BADF));
    }
    let changing = slots::change();
    let duplicated = next();
    let replaced = if duplicated >= 0 { slots::take(&changing, new) } else { None };
    drop(changing);
    if let Some(replaced) = replaced {
        replaced.file.give_up_record_locks();
    }
    duplicated
}

/// Closes all descriptors from `first` to `last`, but those of this library; `next` closes those of the kernel.
fn close_all(first: c_uint, last: c_uint, close: impl Fn(c_uint, c_uint) -> c_int) -> c_int {
    let is_in = |descriptor: c_int| (first..=last).contains(&descriptor.cast_unsigned());
    let files: Vec<c_int> = slots::all().map(|(descriptor, _)| descriptor).filter(|&d| is_in(d)).collect();
    files.into_iter().for_each(|descriptor| {
        close_file(descriptor);
    });
    let mut from = first;
    for own in own::all().filter(|&own| is_in(own)).map(c_int::cast_unsigned) {
        if own > from {
            close(from, own - 1);
        }
        from = own + 1;
    }
    if from <= last { close(from, last) } else { 0 }
}

fn close_kernels(first: c_uint, last: c_uint) -> c_int {
    // SAFETY: the program wants them closed, and none of them is this library's.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    closed as c_int
}

replace! {
    [close, __close] (fd: c_int) -> c_int, or next {
        if own::is(fd) {
            return raw::fail(Errno::BADF);
        }
        if close_file(fd) { 0 } else { next() }
    }
    [dup] (fd: c_int) -> c_int, or next {
        duplicate_file(fd, false, next).unwrap_or_else(next)
    }
    [dup2] (old: c_int, new: c_int) -> c_int, or next {
        if old == new { next() } else { duplicate_to(old, new, false, next) }
    }
    [dup3] (old: c_int, new: c_int, flags: c_int) -> c_int, or next {
        if old == new { next() } else { duplicate_to(old, new, flags & libc::O_CLOEXEC != 0, next) }
    }
    [close_range] (first: c_uint, last: c_uint, flags: c_int) -> c_int, or next {
        if flags.cast_unsigned() & libc::CLOSE_RANGE_CLOEXEC != 0 {
            for (descriptor, _) in slots::all() {
                if (first..=last).contains(&descriptor.cast_unsigned()) {
                    slots::set_closes_on_exec(descriptor, true);
                }
            }
            return next();
        }
        if first > last || flags != 0 { next() } else { close_all(first, last, close_kernels) }
    }
    [closefrom] (first: c_int) -> (), or next {
        close_all(first.max(0).cast_unsigned(), c_uint::MAX, close_kernels);
    }
    [fclose] (stream: *mut libc::FILE) -> c_int, or next {
        // The C library closes the descriptor by itself.
        // SAFETY: the caller vouches for the stream.
        let descriptor = if stream.is_null() { -1 } else { unsafe { libc::fileno(stream) } };
        if let Some(Entry { file, .. }) = slots::take(&slots::change(), descriptor) {
            file.give_up_record_locks();
        }
        next()
    }
    [fdopen] (fd: c_int, mode: *const std::ffi::c_char) -> *mut libc::FILE, or next {
        leaving::leave_descriptor(fd);
        next()
    }
}
