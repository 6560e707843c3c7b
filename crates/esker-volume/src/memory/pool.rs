//! Buffers that wait to be used again.

use std::sync::Arc;

use super::{ALIGNMENT, Buffer, Memory};

/// Sizes that are kept: powers of two from [`ALIGNMENT`] to 32 MiB, the longest request.
const SIZES: usize = 14;

/// Bytes that a pool keeps at most, unless it is told otherwise.
const KEPT: usize = 64 << 20;

/// Gives buffers out and takes them back, so that a request allocates nothing once there have been as many requests
/// under way before.
pub struct BufferPool {
    /// By size: memory that nobody uses.
    free: [Vec<Arc<Memory>>; SIZES],
    /// Bytes in `free`, and how many there may be.
    kept: usize,
    limit: usize,
}

impl Default for BufferPool {
    fn default() -> Self {
        Self { free: Default::default(), kept: 0, limit: KEPT }
    }
}

impl std::fmt::Debug for BufferPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BufferPool({} bytes kept)", self.kept)
    }
}

/// Returns the index of the smallest size that holds `length` bytes, if there is one.
fn size_index(length: usize) -> Option<usize> {
    let size = length.next_power_of_two().max(ALIGNMENT);
    let index = (size / ALIGNMENT).trailing_zeros() as usize;
    (index < SIZES).then_some(index)
}

impl BufferPool {
    /// Returns a buffer of `length` bytes, which are any bytes: those of an earlier request, too.
    pub fn take(&mut self, length: usize) -> Buffer {
        if length == 0 {
            return Buffer::default();
        }
        let Some(index) = size_index(length) else { return Buffer::zeroed(length) };
        let memory = match self.free[index].pop() {
            Some(memory) => {
                self.kept -= memory.capacity;
                memory
            }
            None => Arc::new(Memory::new(ALIGNMENT << index)),
        };
        Buffer { memory: Some(memory), length }
    }

    /// Takes `buffer` back. Its memory is used again, unless a clone still shares it or enough is kept.
    pub fn give(&mut self, buffer: Buffer) {
        let Some(mut memory) = buffer.memory else { return };
        let Some(index) = size_index(memory.capacity) else { return };
        let fits = memory.capacity == ALIGNMENT << index && self.kept + memory.capacity <= self.limit;
        if fits && let Some(only) = Arc::get_mut(&mut memory) {
            only.is_reused = true;
            self.kept += memory.capacity;
            self.free[index].push(memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_once_nobody_else_holds_it() {
        let mut pool = BufferPool::default();
        let first = pool.take(5000);
        let address = first.as_ptr();
        let shared = first.clone();
        pool.give(first);
        assert_ne!(pool.take(5000).as_ptr(), address, "a clone still reads it");
        pool.give(shared);
        let again = pool.take(8192);
        assert_eq!((again.as_ptr(), again.len()), (address, 8192));
        assert_ne!(pool.take(8193).as_ptr(), address);
    }

    #[test]
    fn no_more_is_kept_than_the_limit() {
        let mut pool = BufferPool { limit: 3 * ALIGNMENT, ..BufferPool::default() };
        let buffers: Vec<Buffer> = (0..5).map(|_| pool.take(1)).collect();
        buffers.into_iter().for_each(|buffer| pool.give(buffer));
        assert_eq!((pool.kept, pool.free[0].len()), (3 * ALIGNMENT, 3));
        pool.give(Buffer::zeroed(64 << 20));
        pool.give(Buffer::zeroed(3 * ALIGNMENT));
        pool.give(Buffer::default());
        assert_eq!(pool.kept, 3 * ALIGNMENT, "what has no size of the pool's is freed");
        pool.take(1);
        assert_eq!(pool.kept, 2 * ALIGNMENT);
    }
}
