//! Memory that the kernel keeps pinned for a ring.

use io_uring::{IoUring, Submitter};

use crate::memory::{Buffer, PinnedSlots};

/// Buffers that are pinned at most, and their bytes.
const SLOTS: u16 = 1024;
const BYTES: usize = 64 << 20;

/// The pinned memory of a ring. Memory of a pool is pinned when it is used for the second time.
pub(super) struct PinnedMemory {
    slots: PinnedSlots,
    /// Slots in which nothing is pinned.
    free: Vec<u16>,
    /// Bytes that may still be pinned.
    left: usize,
}

impl PinnedMemory {
    /// Nothing is ever pinned if the kernel has no such slots.
    pub(super) fn new(kernel: &IoUring) -> Self {
        let has_slots = kernel.submitter().register_buffers_sparse(SLOTS.into()).is_ok();
        let free = if has_slots { (0..SLOTS).rev().collect() } else { Vec::new() };
        Self { slots: PinnedSlots::default(), free, left: BYTES }
    }

    /// Bytes that are pinned.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        BYTES - self.left
    }

    /// Returns the slot in which the memory of `buffer` is pinned; pins it if there is room.
    pub(super) fn slot_of(&mut self, kernel: &Submitter<'_>, buffer: &Buffer) -> Option<u16> {
        if let Some(slot) = buffer.pinned_slot(&self.slots) {
            return Some(slot);
        }
        let (address, bytes) = buffer.memory_to_pin()?;
        self.unpin_freed(kernel);
        if bytes > self.left {
            return None;
        }
        let slot = self.free.pop()?;
        if !set(kernel, slot, address, bytes) {
            // The limit of locked memory is reached.
            self.free.clear();
            return None;
        }
        self.left -= bytes;
        buffer.set_pinned(&self.slots, slot);
        Some(slot)
    }

    /// Unpins memory that was freed.
    fn unpin_freed(&mut self, kernel: &Submitter<'_>) {
        while let Some((slot, bytes)) = self.slots.take_unused() {
            if set(kernel, slot, std::ptr::null(), 0) {
                self.left += bytes;
                self.free.push(slot);
            }
        }
    }
}

/// Pins memory in a slot instead of what was there; a null pointer pins none. Returns false if the kernel refuses.
fn set(kernel: &Submitter<'_>, slot: u16, address: *const u8, bytes: usize) -> bool {
    let memory = libc::iovec { iov_base: address.cast_mut().cast(), iov_len: bytes };
    // SAFETY: the memory is that of a buffer, which is valid now. Pages stay with the kernel while they are pinned,
    // even when the memory is freed; from then on no call names the slot until other memory is pinned there, because
    // only that memory knew it.
    unsafe { kernel.register_buffers_update(slot.into(), &[memory], None) }.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::BufferPool;

    #[test]
    #[expect(clippy::print_stderr, reason = "what is skipped is said")]
    fn memory_that_is_used_again_is_pinned_until_it_is_freed() {
        let kernel = match IoUring::new(8) {
            Ok(kernel) => kernel,
            Err(error) => return eprintln!("skipped: io_uring: {error}"),
        };
        let mut pinned = PinnedMemory::new(&kernel);
        let slot_of = |pinned: &mut PinnedMemory, buffer: &Buffer| pinned.slot_of(&kernel.submitter(), buffer);
        let mut pool = BufferPool::default();
        let first = pool.take(5000);
        assert_eq!(slot_of(&mut pinned, &first), None, "it may never be used again");
        pool.give(first);
        let again = pool.take(5000);
        let Some(slot) = slot_of(&mut pinned, &again) else {
            return eprintln!("skipped: pinned memory: the limit of locked memory allows none");
        };
        assert_eq!((slot_of(&mut pinned, &again), pinned.bytes()), (Some(slot), 8192));
        // One ring pins it.
        let second = IoUring::new(8).unwrap();
        assert_eq!(PinnedMemory::new(&second).slot_of(&second.submitter(), &again), None);
        drop(again);
        let next = pool.take(300);
        pool.give(next);
        let next = pool.take(300);
        assert!(slot_of(&mut pinned, &next).is_some());
        assert_eq!((pinned.bytes(), pinned.free.len()), (4096, usize::from(SLOTS) - 1));
    }
}
