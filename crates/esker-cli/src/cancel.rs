//! Ctrl-C: the first asks the work to stop and leave nothing half-written, the second ends the program at once.

use std::sync::atomic::{AtomicBool, Ordering};

static CANCELLED: AtomicBool = AtomicBool::new(false);

/// Catches the signals that ask a program to end.
pub(crate) fn install() {
    // Without a handler the default (end at once) stays, which is safe too: files are renamed into place when whole.
    let _ = ctrlc::set_handler(|| {
        if CANCELLED.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
    });
}

/// The flag that long work looks at.
pub(crate) fn flag() -> &'static AtomicBool {
    &CANCELLED
}

/// Whether the user asked for the end.
pub(crate) fn requested() -> bool {
    CANCELLED.load(Ordering::SeqCst)
}
