//! Reading, writing, and where.

use super::{attempt, bytes, number, room};
use crate::next::replace;
use crate::raw;
use esker_scm_channel::Outcome;
use libc::{iovec, off_t, size_t, ssize_t};
use rustix::fs::SeekFrom;
use rustix::io::Errno;
use std::ffi::{c_int, c_void};

/// Most bytes that one call reads into pieces: it may read fewer than it was asked for.
const READ_MAX: usize = 64 << 20;
/// Most pieces of a call, as Linux says.
const PIECES_MAX: c_int = 1024;

/// Where a call reads or writes.
#[derive(Clone, Copy)]
enum At {
    Position,
    Offset(u64),
}

fn at(offset: off_t) -> Result<At, Errno> {
    u64::try_from(offset).map(At::Offset).map_err(|_| Errno::INVAL)
}

fn read_to(descriptor: c_int, place: Result<At, Errno>, into: &mut [u8]) -> Option<ssize_t> {
    let into = std::cell::RefCell::new(into);
    let answer = attempt(descriptor, |file| match place {
        Ok(At::Position) => file.read(&mut into.borrow_mut()),
        Ok(At::Offset(offset)) => file.read_at(offset, &mut into.borrow_mut()),
        Err(error) => Outcome::Failed(error),
    });
    Some(number(answer?.map(|length| length as i64)) as ssize_t)
}

fn write_from(descriptor: c_int, place: Result<At, Errno>, bytes: &[u8]) -> Option<ssize_t> {
    let answer = attempt(descriptor, |file| match place {
        Ok(At::Position) => file.write(bytes),
        Ok(At::Offset(offset)) => file.write_from(offset, bytes).map(|(length, _)| length),
        Err(error) => Outcome::Failed(error),
    });
    Some(number(answer?.map(|length| length as i64)) as ssize_t)
}

/// The pieces of a call; an error if there are too many, or too many bytes.
///
/// # Safety
/// They have to be there.
unsafe fn pieces<'a>(pieces: *const iovec, count: c_int) -> Result<(&'a [iovec], usize), Errno> {
    if !(0..=PIECES_MAX).contains(&count) {
        return Err(Errno::INVAL);
    }
    if count == 0 || pieces.is_null() {
        return Ok((&[], 0));
    }
    // SAFETY: the caller vouches for it.
    let pieces = unsafe { std::slice::from_raw_parts(pieces, count as usize) };
    let total = pieces.iter().try_fold(0_usize, |sum, piece| sum.checked_add(piece.iov_len));
    total.filter(|&total| total <= isize::MAX as usize).map(|total| (pieces, total)).ok_or(Errno::INVAL)
}

/// Reads into pieces, in one call: another writer is seen whole or not at all, as with one piece.
///
/// # Safety
/// The pieces have to be there.
unsafe fn read_pieces(
    descriptor: c_int,
    place: Result<At, Errno>,
    list: *const iovec,
    count: c_int,
) -> Option<ssize_t> {
    crate::slots::file(descriptor)?;
    // SAFETY: the caller vouches for it.
    let (pieces, total) = match unsafe { pieces(list, count) } {
        Ok(found) => found,
        Err(error) => return Some(raw::fail(error) as ssize_t),
    };
    let mut whole = vec![0; total.min(READ_MAX)];
    let read = read_to(descriptor, place, &mut whole)?;
    let mut rest = &whole[..usize::try_from(read).unwrap_or(0)];
    for piece in pieces {
        let (now, later) = rest.split_at(piece.iov_len.min(rest.len()));
        // SAFETY: the caller vouches for the piece.
        unsafe { room(piece.iov_base, now.len()) }.copy_from_slice(now);
        rest = later;
    }
    Some(read)
}

/// Writes pieces, in one call.
///
/// # Safety
/// The pieces have to be there.
unsafe fn write_pieces(
    descriptor: c_int,
    place: Result<At, Errno>,
    list: *const iovec,
    count: c_int,
) -> Option<ssize_t> {
    crate::slots::file(descriptor)?;
    // SAFETY: the caller vouches for it.
    let (pieces, total) = match unsafe { pieces(list, count) } {
        Ok(found) => found,
        Err(error) => return Some(raw::fail(error) as ssize_t),
    };
    let mut whole = Vec::with_capacity(total);
    for piece in pieces {
        // SAFETY: the caller vouches for the piece.
        whole.extend_from_slice(unsafe { bytes(piece.iov_base, piece.iov_len) });
    }
    write_from(descriptor, place, &whole)
}

/// A place in a call that has flags, which are the kernel's: -1 means the position.
fn at_or_position(descriptor: c_int, offset: off_t, flags: c_int) -> Result<At, Errno> {
    if flags != 0 {
        crate::leaving::leave_descriptor(descriptor);
    }
    if offset == -1 { Ok(At::Position) } else { at(offset) }
}

replace! {
    [read, __read] (fd: c_int, buffer: *mut c_void, count: size_t) -> ssize_t, or next {
        // SAFETY: the caller vouches for the buffer.
        read_to(fd, Ok(At::Position), unsafe { room(buffer, count) }).unwrap_or_else(next)
    }
    [__read_chk] (fd: c_int, buffer: *mut c_void, count: size_t, size: size_t) -> ssize_t, or next {
        // SAFETY: the caller vouches for the buffer.
        read_to(fd, Ok(At::Position), unsafe { room(buffer, count.min(size)) }).unwrap_or_else(next)
    }
    [pread, pread64] (fd: c_int, buffer: *mut c_void, count: size_t, offset: off_t) -> ssize_t, or next {
        // SAFETY: the caller vouches for the buffer.
        read_to(fd, at(offset), unsafe { room(buffer, count) }).unwrap_or_else(next)
    }
    [__pread_chk, __pread64_chk]
    (fd: c_int, buffer: *mut c_void, count: size_t, offset: off_t, size: size_t) -> ssize_t, or next {
        // SAFETY: the caller vouches for the buffer.
        read_to(fd, at(offset), unsafe { room(buffer, count.min(size)) }).unwrap_or_else(next)
    }
    [write, __write] (fd: c_int, buffer: *const c_void, count: size_t) -> ssize_t, or next {
        // SAFETY: the caller vouches for the buffer.
        write_from(fd, Ok(At::Position), unsafe { bytes(buffer, count) }).unwrap_or_else(next)
    }
    [pwrite, pwrite64] (fd: c_int, buffer: *const c_void, count: size_t, offset: off_t) -> ssize_t, or next {
        // SAFETY: the caller vouches for the buffer.
        write_from(fd, at(offset), unsafe { bytes(buffer, count) }).unwrap_or_else(next)
    }
    [readv] (fd: c_int, list: *const iovec, count: c_int) -> ssize_t, or next {
        // SAFETY: the caller vouches for the pieces.
        unsafe { read_pieces(fd, Ok(At::Position), list, count) }.unwrap_or_else(next)
    }
    [preadv, preadv64] (fd: c_int, list: *const iovec, count: c_int, offset: off_t) -> ssize_t, or next {
        // SAFETY: the caller vouches for the pieces.
        unsafe { read_pieces(fd, at(offset), list, count) }.unwrap_or_else(next)
    }
    [preadv2, preadv64v2]
    (fd: c_int, list: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t, or next {
        // SAFETY: the caller vouches for the pieces.
        unsafe { read_pieces(fd, at_or_position(fd, offset, flags), list, count) }.unwrap_or_else(next)
    }
    [writev] (fd: c_int, list: *const iovec, count: c_int) -> ssize_t, or next {
        // SAFETY: the caller vouches for the pieces.
        unsafe { write_pieces(fd, Ok(At::Position), list, count) }.unwrap_or_else(next)
    }
    [pwritev, pwritev64] (fd: c_int, list: *const iovec, count: c_int, offset: off_t) -> ssize_t, or next {
        // SAFETY: the caller vouches for the pieces.
        unsafe { write_pieces(fd, at(offset), list, count) }.unwrap_or_else(next)
    }
    [pwritev2, pwritev64v2]
    (fd: c_int, list: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t, or next {
        // SAFETY: the caller vouches for the pieces.
        unsafe { write_pieces(fd, at_or_position(fd, offset, flags), list, count) }.unwrap_or_else(next)
    }
    [lseek, lseek64, __lseek] (fd: c_int, offset: off_t, whence: c_int) -> off_t, or next {
        let forward = u64::try_from(offset);
        let whence = match (whence, forward) {
            (libc::SEEK_SET, Ok(offset)) => Ok(SeekFrom::Start(offset)),
            (libc::SEEK_CUR, _) => Ok(SeekFrom::Current(offset)),
            (libc::SEEK_END, _) => Ok(SeekFrom::End(offset)),
            (libc::SEEK_DATA, Ok(offset)) => Ok(SeekFrom::Data(offset)),
            (libc::SEEK_HOLE, Ok(offset)) => Ok(SeekFrom::Hole(offset)),
            (libc::SEEK_DATA | libc::SEEK_HOLE, _) => Err(Errno::NXIO),
            _ => Err(Errno::INVAL),
        };
        let moved = attempt(fd, |file| match whence {
            Ok(whence) => file.seek(whence),
            Err(error) => Outcome::Failed(error),
        });
        moved.map_or_else(next, number)
    }
    [ftruncate, ftruncate64] (fd: c_int, size: off_t) -> c_int, or next {
        let set = attempt(fd, |file| match u64::try_from(size) {
            Ok(size) => file.remote.set_size(size),
            Err(_) => Outcome::Failed(Errno::INVAL),
        });
        set.map_or_else(next, raw::answer_done)
    }
    [fsync] (fd: c_int) -> c_int, or next {
        attempt(fd, |file| file.remote.sync()).map_or_else(next, raw::answer_done)
    }
    [fdatasync] (fd: c_int) -> c_int, or next {
        attempt(fd, |file| file.remote.sync_data()).map_or_else(next, raw::answer_done)
    }
}
