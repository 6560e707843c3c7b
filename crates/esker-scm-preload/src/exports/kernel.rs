//! Calls that only the kernel can do: the files that they are about are left to it first.

use crate::leaving::leave_descriptor;
use crate::next::replace;
use crate::slots;
use libc::{c_long, fd_set, nfds_t, off_t, pollfd, sigset_t, size_t, ssize_t, timespec, timeval};
use std::ffi::{c_int, c_uint, c_void};

/// # Safety
/// `polled` points to `count` of them, or is null.
unsafe fn leave_polled(polled: *const pollfd, count: nfds_t) {
    if !polled.is_null() {
        for index in 0..count as usize {
            // SAFETY: the caller vouches for it.
            leave_descriptor(unsafe { (*polled.add(index)).fd });
        }
    }
}

/// # Safety
/// The sets have to be there, or be null.
unsafe fn leave_selected(count: c_int, sets: [*mut fd_set; 3]) {
    let limit = count.clamp(0, libc::FD_SETSIZE as c_int);
    for set in sets.into_iter().filter(|set| !set.is_null()) {
        for descriptor in (0..limit).filter(|&descriptor| slots::file(descriptor).is_some()) {
            // SAFETY: the caller vouches for the set, and the descriptor is one that it has room for.
            if unsafe { libc::FD_ISSET(descriptor, set) } {
                leave_descriptor(descriptor);
            }
        }
    }
}

/// The descriptor of an asynchronous request of POSIX.
///
/// # Safety
/// It has to be there, or be null.
unsafe fn leave_request(request: *const libc::aiocb) {
    // SAFETY: the caller vouches for it.
    if let Some(request) = unsafe { request.as_ref() } {
        leave_descriptor(request.aio_fildes);
    }
}

/// Where the descriptor is in a request of `io_submit(2)`.
const IO_DESCRIPTOR: usize = 20;

replace! {
    [mmap, mmap64]
    (address: *mut c_void, length: size_t, access: c_int, flags: c_int, fd: c_int, offset: off_t) -> *mut c_void,
    or next {
        if flags & libc::MAP_ANONYMOUS == 0 {
            leave_descriptor(fd);
        }
        next()
    }
    [sendfile, sendfile64] (to: c_int, from: c_int, offset: *mut off_t, count: size_t) -> ssize_t, or next {
        leave_descriptor(to);
        leave_descriptor(from);
        next()
    }
    [copy_file_range]
    (from: c_int, at: *mut off_t, to: c_int, onto: *mut off_t, length: size_t, flags: c_uint) -> ssize_t, or next {
        leave_descriptor(from);
        leave_descriptor(to);
        next()
    }
    [splice]
    (from: c_int, at: *mut off_t, to: c_int, onto: *mut off_t, length: size_t, flags: c_uint) -> ssize_t, or next {
        leave_descriptor(from);
        leave_descriptor(to);
        next()
    }
    [poll] (polled: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int, or next {
        // SAFETY: the caller vouches for them.
        unsafe { leave_polled(polled, count) };
        next()
    }
    [ppoll]
    (polled: *mut pollfd, count: nfds_t, timeout: *const timespec, signals: *const sigset_t) -> c_int, or next {
        // SAFETY: the caller vouches for them.
        unsafe { leave_polled(polled, count) };
        next()
    }
    [select]
    (count: c_int, reads: *mut fd_set, writes: *mut fd_set, others: *mut fd_set, timeout: *mut timeval) -> c_int,
    or next {
        // SAFETY: the caller vouches for them.
        unsafe { leave_selected(count, [reads, writes, others]) };
        next()
    }
    [pselect]
    (
        count: c_int,
        reads: *mut fd_set,
        writes: *mut fd_set,
        others: *mut fd_set,
        timeout: *const timespec,
        signals: *const sigset_t,
    ) -> c_int, or next {
        // SAFETY: the caller vouches for them.
        unsafe { leave_selected(count, [reads, writes, others]) };
        next()
    }
    [epoll_ctl] (epoll: c_int, operation: c_int, fd: c_int, event: *mut libc::epoll_event) -> c_int, or next {
        leave_descriptor(fd);
        next()
    }
    [fdopendir] (fd: c_int) -> *mut libc::DIR, or next {
        leave_descriptor(fd);
        next()
    }
    [vdprintf] (fd: c_int, format: *const std::ffi::c_char, arguments: *mut c_void) -> c_int, or next {
        leave_descriptor(fd);
        next()
    }
    [aio_read, aio_read64, aio_write, aio_write64] (request: *mut libc::aiocb) -> c_int, or next {
        // SAFETY: the caller vouches for it.
        unsafe { leave_request(request) };
        next()
    }
    [aio_fsync, aio_fsync64] (operation: c_int, request: *mut libc::aiocb) -> c_int, or next {
        // SAFETY: the caller vouches for it.
        unsafe { leave_request(request) };
        next()
    }
    [lio_listio, lio_listio64]
    (mode: c_int, list: *const *mut libc::aiocb, count: c_int, event: *mut libc::sigevent) -> c_int, or next {
        if !list.is_null() {
            for index in 0..count.max(0) as usize {
                // SAFETY: the caller vouches for them.
                unsafe { leave_request(*list.add(index)) };
            }
        }
        next()
    }
    [io_submit] (context: *mut c_void, count: c_long, list: *const *const u8) -> c_int, or next {
        if !list.is_null() {
            for index in 0..count.max(0) as usize {
                // SAFETY: the caller vouches for the requests, which have the descriptor there on all processors.
                let fd = unsafe { (*list.add(index)).add(IO_DESCRIPTOR).cast::<c_int>().read_unaligned() };
                leave_descriptor(fd);
            }
        }
        next()
    }
}
