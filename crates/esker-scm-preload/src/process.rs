//! What happens to the process as a whole: it begins, forks, runs another program, becomes somebody else.

use crate::leaving::leave_all;
use crate::mounts::{self, Mounts};
use crate::own;
use crate::slots::{self, Changing};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};

/// Permissions that new files do not get.
static UMASK: AtomicU32 = AtomicU32::new(0o022);

thread_local! {
    /// What this thread holds while it forks.
    static FORKING: RefCell<Option<(Mounts, Changing)>> = const { RefCell::new(None) };
}

/// The system calls it when the library has been loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

extern "C" fn begin() {
    if std::env::var_os("ESKER_SCM_SHIM").is_some_and(|value| value == "off") {
        mounts::stop();
    }
    let umask = rustix::process::umask(rustix::fs::Mode::empty());
    rustix::process::umask(umask);
    UMASK.store(umask.bits(), Ordering::Relaxed);
    // SAFETY: the functions stay as long as the process.
    unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(in_child)) };
}

/// Of a new file's permissions, those that it gets.
pub(crate) fn permitted(mode: libc::mode_t) -> u16 {
    (mode & 0o7777 & !UMASK.load(Ordering::Relaxed)) as u16
}

/// The program has set the umask.
pub(crate) fn set_umask(umask: libc::mode_t) {
    UMASK.store(umask & 0o777, Ordering::Relaxed);
}

/// A child has what its parent has open; only the kernel can see to that.
extern "C" fn before_fork() {
    let mounts = mounts::lock();
    let changing = slots::change();
    leave_all(&changing);
    FORKING.set(Some((mounts, changing)));
}

extern "C" fn after_fork() {
    FORKING.set(None);
}

extern "C" fn in_child() {
    if let Some((mut mounts, changing)) = FORKING.take() {
        mounts::forget_in_child(&mut mounts);
        slots::forget_in_child();
        own::close_in_child(mounts::placeholder_number());
        drop((mounts, changing));
    }
}
