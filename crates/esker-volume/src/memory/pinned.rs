//! Memory that the kernel has pinned, so that direct I/O need not pin it for each operation.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The slots of a ring for pinned memory. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct PinnedSlots(Arc<Mutex<Vec<(u16, usize)>>>);

/// A slot, which belongs to the memory that is pinned in it.
#[derive(Debug)]
pub(super) struct PinnedSlot {
    pub(super) slot: u16,
    bytes: usize,
    of: PinnedSlots,
}

impl PinnedSlots {
    fn unused(&self) -> MutexGuard<'_, Vec<(u16, usize)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes out a slot whose memory was freed, with the number of bytes that are pinned there.
    pub(crate) fn take_unused(&self) -> Option<(u16, usize)> {
        self.unused().pop()
    }

    pub(super) fn slot(&self, slot: u16, bytes: usize) -> PinnedSlot {
        PinnedSlot { slot, bytes, of: self.clone() }
    }
}

impl PinnedSlot {
    pub(super) fn is_of(&self, slots: &PinnedSlots) -> bool {
        Arc::ptr_eq(&self.of.0, &slots.0)
    }
}

impl Drop for PinnedSlot {
    fn drop(&mut self) {
        self.of.unused().push((self.slot, self.bytes));
    }
}
