//! Temporary names, so that a program that has to end at once leaves none behind.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Files that are being written and have a temporary name. Whoever gives names holds the lock meanwhile.
static NAMES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Does something that makes or removes temporary names, of which `names` are those that last.
pub(crate) fn while_named<T>(work: impl FnOnce(&mut Vec<PathBuf>) -> io::Result<T>) -> io::Result<T> {
    work(&mut lock())
}

/// Removes what is half written, for a program that ends right after this, while other threads may still be at work. A
/// file that is just being put in its place gets there first; from then on none does, and whoever tries waits for the
/// end of the program.
pub fn abandon() {
    let mut names = lock();
    remove(&mut names);
    std::mem::forget(names);
}

/// Does the same for a thread that may hold the lock itself, or that must not wait: if names are being given at this
/// moment, they stay.
pub fn abandon_if_idle() {
    if let Ok(mut names) = NAMES.try_lock() {
        remove(&mut names);
        std::mem::forget(names);
    }
}

fn remove(names: &mut Vec<PathBuf>) {
    for name in names.drain(..) {
        // It may be gone already, and there is nobody left to tell.
        let _ = std::fs::remove_file(name);
    }
}

fn lock() -> MutexGuard<'static, Vec<PathBuf>> {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}
