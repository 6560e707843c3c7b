//! The descriptors of this process that stand for files of a pool.

use crate::open_file::OpenFile;
use crate::own::DESCRIPTORS;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

struct Slot {
    is_used: AtomicBool,
    entry: RwLock<Option<Entry>>,
}

/// A file behind a descriptor.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) file: Arc<OpenFile>,
    pub(crate) closes_on_exec: bool,
}

static TABLE: [Slot; DESCRIPTORS] =
    [const { Slot { is_used: AtomicBool::new(false), entry: RwLock::new(None) } }; DESCRIPTORS];
/// Behind the highest slot that was ever used.
static USED: AtomicUsize = AtomicUsize::new(0);
static CHANGING: Mutex<()> = Mutex::new(());

/// Held while descriptors come, go or are replaced, and while the process forks.
pub(crate) type Changing = MutexGuard<'static, ()>;

/// Waits until nobody else changes descriptors.
pub(crate) fn change() -> Changing {
    CHANGING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn used(descriptor: RawFd) -> Option<&'static Slot> {
    TABLE.get(usize::try_from(descriptor).ok()?).filter(|slot| slot.is_used.load(Ordering::Acquire))
}

/// What is behind a descriptor, also if it was left to the kernel.
#[inline]
pub(crate) fn entry(descriptor: RawFd) -> Option<Entry> {
    used(descriptor)?.entry.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The file behind a descriptor, unless it was left to the kernel.
#[inline]
pub(crate) fn file(descriptor: RawFd) -> Option<Arc<OpenFile>> {
    entry(descriptor).map(|entry| entry.file).filter(|file| !file.is_left())
}

/// Puts a file behind a descriptor that was just opened.
pub(crate) fn put(descriptor: RawFd, entry: Entry) {
    if let Some(slot) = usize::try_from(descriptor).ok().and_then(|descriptor| TABLE.get(descriptor)) {
        *slot.entry.write().unwrap_or_else(PoisonError::into_inner) = Some(entry);
        slot.is_used.store(true, Ordering::Release);
        USED.fetch_max(descriptor as usize + 1, Ordering::Relaxed);
    }
}

/// Takes the file away from behind a descriptor.
pub(crate) fn take(_changing: &Changing, descriptor: RawFd) -> Option<Entry> {
    let slot = used(descriptor)?;
    slot.is_used.store(false, Ordering::Release);
    slot.entry.write().unwrap_or_else(PoisonError::into_inner).take()
}

/// Sets whether the descriptor of a file of a pool is closed when another program is run.
pub(crate) fn set_closes_on_exec(descriptor: RawFd, closes_on_exec: bool) {
    let Some(slot) = used(descriptor) else { return };
    if let Some(entry) = slot.entry.write().unwrap_or_else(PoisonError::into_inner).as_mut() {
        entry.closes_on_exec = closes_on_exec;
    }
}

/// All descriptors of files.
pub(crate) fn all() -> impl Iterator<Item = (RawFd, Entry)> {
    (0..USED.load(Ordering::Relaxed) as RawFd).filter_map(|descriptor| Some((descriptor, entry(descriptor)?)))
}

/// In a child: all files were left to the kernel. Nothing that the parent's other threads were about to do is gone on
/// with.
pub(crate) fn forget_in_child() {
    for slot in &TABLE[..USED.load(Ordering::Relaxed)] {
        if slot.is_used.swap(false, Ordering::Relaxed) {
            let entry: *const RwLock<Option<Entry>> = &raw const slot.entry;
            // SAFETY: this process has one thread, so nobody uses the lock, although a thread of the parent may have
            // held it. What is overwritten is not dropped: its memory is not mapped in the child.
            unsafe { entry.cast_mut().write(RwLock::new(None)) };
        }
    }
}
