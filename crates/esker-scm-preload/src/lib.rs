//! SCMFS for programs as they are. Loaded before the C library (`LD_PRELOAD`), it takes their calls on files of mounted
//! pools to the owner of the pool through shared memory, without the kernel ([`esker_scm_channel`]).
//!
//! A file that is opened this way has a *placeholder* among the descriptors of the process, which nothing can be read
//! from or written to, and an `OpenFile` in the table of `slots`. Whatever this library does not understand is the
//! kernel's: before a call that needs a real descriptor (`mmap`, `fork`, `exec`...), the file is *left to the kernel*:
//! the owner opens it there, and that descriptor takes the place of the placeholder. So the worst that a program gets
//! from a call that is not replaced here is `EBADF`, never other bytes.
//!
//! Of errors, only those are answered here whose reason is certain; for the rest the kernel is asked the same.

mod c_api;
mod exports;
mod leaving;
mod mounts;
mod next;
mod open_file;
mod own;
mod process;
mod raw;
mod slots;
mod status;
