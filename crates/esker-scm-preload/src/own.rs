//! Descriptors that this library has for itself. The program does not know them: they have high numbers, and it cannot
//! close them.

use crate::raw;
use rustix::process::Resource;
use std::os::fd::RawFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Descriptors that are looked after. What has a higher number is the kernel's alone.
pub(crate) const DESCRIPTORS: usize = 65_536;

/// Whether the C library may have a stream on a descriptor from the beginning of a program. What it reads and writes
/// for `stdin`, `stdout` and `stderr` is not seen here, so that no placeholder may be there.
pub(crate) fn is_of_streams(descriptor: RawFd) -> bool {
    (0..3).contains(&descriptor)
}

static OWN: [AtomicBool; DESCRIPTORS] = [const { AtomicBool::new(false) }; DESCRIPTORS];
/// Behind the highest that there ever was.
static USED: AtomicUsize = AtomicUsize::new(0);

/// The lowest number for them: programs count on low ones, and may have up to their limit.
pub(crate) fn lowest() -> RawFd {
    static LOWEST: OnceLock<RawFd> = OnceLock::new();
    *LOWEST.get_or_init(|| {
        let limit = rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(1024);
        (limit.min(DESCRIPTORS as u64) / 4 * 3) as RawFd
    })
}

fn flag(descriptor: RawFd) -> Option<&'static AtomicBool> {
    OWN.get(usize::try_from(descriptor).ok()?)
}

/// Whether a descriptor is one of them.
pub(crate) fn is(descriptor: RawFd) -> bool {
    flag(descriptor).is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// Keeps a descriptor, or gives it up.
pub(crate) fn set(descriptor: RawFd, is_own: bool) {
    if let Some(flag) = flag(descriptor) {
        flag.store(is_own, Ordering::Relaxed);
        USED.fetch_max(descriptor as usize + 1, Ordering::Relaxed);
    }
}

/// All of them, in order.
pub(crate) fn all() -> impl Iterator<Item = RawFd> {
    (0..USED.load(Ordering::Relaxed) as RawFd).filter(|&descriptor| is(descriptor))
}

/// Closes them in a child, but for `kept`: they are its parent's.
pub(crate) fn close_in_child(kept: Option<RawFd>) {
    for descriptor in all().filter(|&descriptor| Some(descriptor) != kept) {
        set(descriptor, false);
        raw::close(descriptor);
    }
}
