//! Stores to a pool, and what makes them durable. All accesses go through [`Persist`]: [`Mapped`] is the real one,
//! [`Recording`] knows which states a loss of power could leave.

#[cfg(target_os = "linux")]
mod mapped;
mod overlay;
mod recording;

#[cfg(target_os = "linux")]
pub use mapped::{Durability, MapError, Mapped, View};
pub use overlay::Overlay;
use rustix::io::Errno;

pub use recording::{CrashPoint, PersistedState, Recording};

/// Why stores could not be made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the pool could not be written to its device: {}", std::io::Error::from_raw_os_error(*.code))]
pub struct PersistError {
    /// The system's number of the error.
    pub code: i32,
}

impl PersistError {
    /// Whether the file system that the pool lies on, or somebody's share of it, is full.
    pub fn is_full(&self) -> bool {
        [Errno::NOSPC, Errno::DQUOT].map(Errno::raw_os_error).contains(&self.code)
    }
}

/// A pool's memory. Addresses are bytes from its beginning.
///
/// A store is durable after a [`Persist::write_back`] of its lines and a [`Persist::fence`] of the same thread; a
/// streaming store after a fence alone. Before that, a loss of power leaves of each line any prefix of its stores, and
/// lines are independent of each other (docs/scmfs-guarantees.md).
///
/// Accesses beyond the end panic: callers keep addresses within the pool.
pub trait Persist: Send + Sync {
    /// Bytes of the pool.
    fn len(&self) -> u64;

    /// Whether the pool has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Has room made for a range where the pool lies, so that no store to it fails for want of room. What is stored
    /// there stays. Memory that has all of its room gives none.
    ///
    /// # Errors
    /// There is no room ([`PersistError::is_full`]), or the device fails.
    fn back(&self, at: u64, length: u64) -> Result<(), PersistError> {
        let _ = (at, length);
        Ok(())
    }

    /// Reads the bytes at `at`.
    fn read(&self, at: u64, into: &mut [u8]);

    /// Stores through the cache.
    fn write(&self, at: u64, bytes: &[u8]);

    /// Stores past the cache. Whole lines are best.
    fn write_streaming(&self, at: u64, bytes: &[u8]);

    /// Stores zeroes past the cache.
    fn zero_streaming(&self, at: u64, length: u64);

    /// Begins to write the lines of a range back.
    fn write_back(&self, at: u64, length: u64);

    /// Waits until what was written back or streamed by this thread is durable.
    ///
    /// # Errors
    /// On ordinary files, where the system may fail to write.
    fn fence(&self) -> Result<(), PersistError>;

    /// Makes the whole pool durable, also what was stored without a write-back.
    ///
    /// # Errors
    /// As [`Persist::fence`].
    fn write_all_back(&self) -> Result<(), PersistError> {
        self.write_back(0, self.len());
        self.fence()
    }

    /// Makes durable what earlier uses of the pool have stored, before anything is read: who has read it takes it for
    /// durable.
    ///
    /// # Errors
    /// As [`Persist::fence`].
    fn take_over(&self) -> Result<(), PersistError> {
        self.write_all_back()
    }
}
