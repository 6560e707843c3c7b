//! Ctrl-C: the first one asks the work to stop without leaving half-written files, the second one ends the program at
//! once.

use std::sync::atomic::{AtomicBool, Ordering};

static CANCELLED: AtomicBool = AtomicBool::new(false);

/// Installs a handler for the signals that ask a program to end.
pub(crate) fn install() {
    // Without a handler the program ends at once, which is safe, too: files are renamed into place when complete.
    let _ = ctrlc::set_handler(|| {
        if CANCELLED.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
    });
}

/// The flag that long work checks.
pub(crate) fn flag() -> &'static AtomicBool {
    &CANCELLED
}

/// Whether the user asked the program to end.
pub(crate) fn requested() -> bool {
    CANCELLED.load(Ordering::SeqCst)
}
