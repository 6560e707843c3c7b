//! The functions of the C library that are replaced.

mod control;
mod data;
mod descriptors;
mod kernel;
mod names;
mod open;
mod processes;
mod status;
mod variadic;

use crate::open_file::OpenFile;
use crate::{leaving, raw, slots};
use esker_scm_channel::Outcome;
use rustix::io::Errno;
use std::ffi::{CStr, c_char, c_int, c_void};

/// Tries a call on the file behind a descriptor. None if the kernel has to be asked: it is no file of a pool, or is
/// left to the kernel now.
fn attempt<T>(descriptor: c_int, call: impl Fn(&OpenFile) -> Outcome<T>) -> Option<Result<T, Errno>> {
    let file = slots::file(descriptor)?;
    match call(&file) {
        Outcome::Done(value) => Some(Ok(value)),
        Outcome::Failed(error) => Some(Err(error)),
        Outcome::UseKernel => {
            leaving::leave_descriptor(descriptor);
            // If that failed nothing behind this descriptor could answer.
            slots::file(descriptor).map(|_| Err(Errno::IO))
        }
    }
}

/// A call that answers with a number.
fn number(answer: Result<impl TryInto<i64>, Errno>) -> i64 {
    raw::answer(answer.and_then(|value| value.try_into().map_err(|_| Errno::OVERFLOW)))
}

/// What a program passes as bytes to read.
///
/// # Safety
/// They have to be there.
pub(crate) unsafe fn bytes<'a>(begin: *const c_void, count: usize) -> &'a [u8] {
    if begin.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: the caller vouches for it.
    unsafe { std::slice::from_raw_parts(begin.cast(), count.min(isize::MAX as usize)) }
}

/// What a program passes as room for bytes.
///
/// # Safety
/// It has to be there, for nobody else.
pub(crate) unsafe fn room<'a>(begin: *mut c_void, count: usize) -> &'a mut [u8] {
    if begin.is_null() || count == 0 {
        return &mut [];
    }
    // SAFETY: the caller vouches for it.
    unsafe { std::slice::from_raw_parts_mut(begin.cast(), count.min(isize::MAX as usize)) }
}

/// What a program passes as a path; none if it passes nothing.
///
/// # Safety
/// It has to end in a zero byte.
unsafe fn path<'a>(path: *const c_char) -> Option<&'a CStr> {
    // SAFETY: the caller vouches for it.
    (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) })
}
