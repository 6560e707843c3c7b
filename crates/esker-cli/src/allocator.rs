//! Handles the end of memory: one clear error and exit status 1. The allocator of the standard library would abort the
//! program, which then ends with a signal and does not say what to do.
//!
//! What is known to be large is refused before it is taken, with its figure and the setting to change (`esker-sim`,
//! `esker cache`). This is for the rest.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;

/// The system's allocator; ends the program where the system has no more memory.
struct EndWithoutMemory;

#[global_allocator]
static ALLOCATOR: EndWithoutMemory = EndWithoutMemory;

// SAFETY: every call goes to `System` with its arguments as they are, and the answer comes back as it is; where there
// is none, the program ends without unwinding.
unsafe impl GlobalAlloc for EndWithoutMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        present(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc_zeroed`, which is the same.
        present(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `realloc`, which is the same; `pointer` came from `System`.
        present(unsafe { System.realloc(pointer, layout, size) }, size)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, which is the same; `pointer` came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[inline]
fn present(pointer: *mut u8, size: usize) -> *mut u8 {
    if pointer.is_null() {
        end(size);
    }
    pointer
}

/// Ends the program. Takes no memory, and waits for no lock: this thread may hold any.
#[cold]
fn end(size: usize) -> ! {
    let mut text = [0; 400];
    let room = text.len();
    let mut rest = &mut text[..];
    let _ = writeln!(rest, "error: out of memory: {size} more bytes cannot be had");
    let _ = writeln!(
        rest,
        "hint: free memory, raise the limit (`ulimit -v`, the control group's), use fewer `--threads`, or make \
         devices, caches or queues smaller, or their extents and lines larger"
    );
    let length = room - rest.len();
    // SAFETY: the bytes are those of `text`. The descriptor is written to because this thread or another may hold the
    // lock of standard error; if it is closed, there is nobody to tell.
    let _ = unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), length) };
    esker_files::abandon_if_idle();
    // SAFETY: `_exit` may be called at any time; what runs at an orderly end could wait for a lock of this thread.
    unsafe { libc::_exit(1) }
}
