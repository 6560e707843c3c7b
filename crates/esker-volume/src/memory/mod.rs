//! Memory for requests: aligned for direct I/O, shared without copies, and used again.

mod parity;
mod pinned;
mod pool;
mod reply_data;

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

pub(crate) use parity::add;
use pinned::PinnedSlot;
pub(crate) use pinned::PinnedSlots;
pub use pool::BufferPool;
pub use reply_data::ReplyData;

/// Buffers begin on a multiple of this, and are allocated in multiples of it: what direct I/O asks for.
pub(crate) const ALIGNMENT: usize = 4096;

/// What zeroes are written from.
#[repr(align(4096))]
pub(crate) struct Zeroes(pub(crate) [u8; 64 << 10]);
pub(crate) static ZEROES: Zeroes = Zeroes([0; 64 << 10]);
const _: () = assert!(align_of::<Zeroes>() == ALIGNMENT);

/// Memory from a multiple of [`ALIGNMENT`] on.
struct Memory {
    bytes: Vec<u8>,
    /// Index of the first byte at a multiple of [`ALIGNMENT`].
    begin: usize,
    capacity: usize,
    /// Whether it was given to a pool, so that it is used again.
    is_reused: bool,
    /// Where the kernel has pinned it.
    pinned: OnceLock<PinnedSlot>,
}

impl Memory {
    /// Zeroes: `capacity` bytes, rounded up.
    fn new(capacity: usize) -> Self {
        let capacity = capacity.next_multiple_of(ALIGNMENT);
        let bytes = vec![0; capacity + ALIGNMENT - 1];
        let begin = bytes.as_ptr().align_offset(ALIGNMENT);
        Self { bytes, begin, capacity, is_reused: false, pinned: OnceLock::new() }
    }
}

/// Bytes of a request. Clones share them; they can be changed only while there is one owner.
#[derive(Clone, Default)]
pub struct Buffer {
    /// `None` if it is empty.
    memory: Option<Arc<Memory>>,
    length: usize,
}

impl Buffer {
    /// A buffer of `length` zeroes that belongs to no pool yet.
    pub fn zeroed(length: usize) -> Self {
        match length {
            0 => Self::default(),
            _ => Self { memory: Some(Arc::new(Memory::new(length))), length },
        }
    }

    /// Returns the bytes to change; `None` while a clone shares them.
    pub fn get_mut(&mut self) -> Option<&mut [u8]> {
        match &mut self.memory {
            None => Some(&mut []),
            Some(memory) => {
                let memory = Arc::get_mut(memory)?;
                Some(&mut memory.bytes[memory.begin..memory.begin + self.length])
            }
        }
    }
}

impl Buffer {
    /// Returns in which of `slots` its memory is pinned.
    pub(crate) fn pinned_slot(&self, slots: &PinnedSlots) -> Option<u16> {
        let pinned = self.memory.as_ref()?.pinned.get()?;
        pinned.is_of(slots).then_some(pinned.slot)
    }

    /// Returns the address and length of its memory, if that is used again and is pinned nowhere.
    pub(crate) fn memory_to_pin(&self) -> Option<(*const u8, usize)> {
        let memory = self.memory.as_ref().filter(|memory| memory.is_reused && memory.pinned.get().is_none())?;
        Some((memory.bytes[memory.begin..].as_ptr(), memory.capacity))
    }

    /// Notes that its memory is pinned in `slot`, which it gives back when it is freed.
    pub(crate) fn set_pinned(&self, slots: &PinnedSlots, slot: u16) {
        if let Some(memory) = &self.memory {
            let _ = memory.pinned.set(slots.slot(slot, memory.capacity));
        }
    }

    /// Returns the bytes to change. While a clone shares them, they are copied first, into memory of `pool`.
    pub(crate) fn make_mut(&mut self, pool: &mut BufferPool) -> &mut [u8] {
        if self.get_mut().is_none() {
            let mut own = pool.take(self.length);
            own.get_mut().expect("what a pool gives has one owner").copy_from_slice(self);
            *self = own;
        }
        self.get_mut().expect("it has one owner")
    }

    /// Makes it at least `length` bytes long. Bytes that are added are any bytes.
    pub(crate) fn grow(&mut self, length: usize, pool: &mut BufferPool) {
        if self.length < length {
            let mut longer = pool.take(length);
            longer.get_mut().expect("what a pool gives has one owner")[..self.length].copy_from_slice(self);
            pool.give(std::mem::replace(self, longer));
        }
    }
}

impl From<&[u8]> for Buffer {
    fn from(bytes: &[u8]) -> Self {
        let mut buffer = Self::zeroed(bytes.len());
        buffer.get_mut().expect("a new buffer has one owner").copy_from_slice(bytes);
        buffer
    }
}

impl From<Vec<u8>> for Buffer {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from(&bytes[..])
    }
}

impl Deref for Buffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match &self.memory {
            None => &[],
            Some(memory) => &memory.bytes[memory.begin..memory.begin + self.length],
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.length)
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Buffer {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_change_only_while_they_have_one_owner() {
        for length in [1, 511, 4096, 4097, 1 << 20] {
            let mut buffer = Buffer::zeroed(length);
            assert_eq!((buffer.len(), buffer.as_ptr().align_offset(ALIGNMENT)), (length, 0));
            buffer.get_mut().unwrap()[length - 1] = 7;
            let shared = buffer.clone();
            assert!(buffer.get_mut().is_none());
            assert_eq!((shared[length - 1], &shared[..length - 1]), (7, &vec![0; length - 1][..]));
            drop(shared);
            assert!(buffer.get_mut().is_some());
        }
        assert_eq!(Buffer::default(), Buffer::zeroed(0));
        assert_eq!(Buffer::from(vec![1, 2, 3])[..], [1, 2, 3]);
    }
}
