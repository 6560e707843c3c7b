//! Waiting for a word of shared memory: a moment by looking at it, then asleep.

use rustix::fs::Timespec;
use rustix::thread::futex;
use std::sync::atomic::{AtomicU32, Ordering};

/// Looks at a word before sleeping: some microseconds, about what an answer takes.
const LOOKS: u32 = 300;

/// Looks at something for a moment; whether it came. It never yields: where others keep all cores busy, who yields
/// waits for a whole turn of theirs, and who sleeps is woken at once.
#[inline]
pub(crate) fn look(mut has_come: impl FnMut() -> bool) -> bool {
    for _ in 0..LOOKS {
        if has_come() {
            return true;
        }
        std::hint::spin_loop();
    }
    false
}

/// Sleeps while `word` is `value`, for at most `milliseconds`.
pub(crate) fn sleep(word: &AtomicU32, value: u32, milliseconds: u32) {
    let seconds = (milliseconds / 1000).into();
    let timeout = Timespec { tv_sec: seconds, tv_nsec: i64::from(milliseconds % 1000) * 1_000_000 };
    if word.load(Ordering::SeqCst) == value {
        // Whatever ends it, the caller looks again.
        let _ = futex::wait(word, futex::Flags::empty(), value, Some(&timeout));
    }
}

/// Wakes all who sleep on `word`.
pub(crate) fn wake(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::empty(), i32::MAX.cast_unsigned());
}
