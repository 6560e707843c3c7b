//! Memory that two processes share.

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Mapped memory without a name, which another process has mapped, too. It cannot be made smaller, so that no access to
/// it fails.
#[derive(Debug)]
pub struct SharedMemory {
    base: NonNull<u8>,
    length: usize,
    /// With who made it.
    file: Option<OwnedFd>,
}

// SAFETY: the mapping belongs to this value and lives as long as it does. It is reached by atomics, and by copies
// through raw pointers; nothing that is read from it is trusted to stay the same.
unsafe impl Send for SharedMemory {}
// SAFETY: as above.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// Makes `length` bytes of zeroes.
    ///
    /// # Errors
    /// The system refuses.
    pub fn create(name: &str, length: u64) -> Result<SharedMemory, Errno> {
        let file = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        rustix::fs::ftruncate(&file, length)?;
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let mut memory = Self::open(file.as_fd())?;
        memory.file = Some(file);
        Ok(memory)
    }

    /// Maps what another process has made. A child of this process does not get it.
    ///
    /// # Errors
    /// It could be made smaller, or the system refuses.
    pub fn open(file: BorrowedFd<'_>) -> Result<SharedMemory, Errno> {
        if !rustix::fs::fcntl_get_seals(file)?.contains(SealFlags::SHRINK) {
            return Err(Errno::INVAL);
        }
        let length = usize::try_from(rustix::fs::fstat(file)?.st_size).map_err(|_| Errno::INVAL)?;
        // SAFETY: a new mapping at an address that the kernel chooses.
        let base = unsafe {
            let access = ProtFlags::READ | ProtFlags::WRITE;
            rustix::mm::mmap(std::ptr::null_mut(), length, access, MapFlags::SHARED, file, 0)?
        };
        let memory = SharedMemory { base: NonNull::new(base.cast()).ok_or(Errno::NOMEM)?, length, file: None };
        // SAFETY: the mapping was just made, with this length.
        unsafe { rustix::mm::madvise(base, length, Advice::LinuxDontFork)? };
        Ok(memory)
    }

    /// Its bytes.
    pub fn length(&self) -> u64 {
        self.length as u64
    }

    /// The file behind it, for the other process.
    ///
    /// # Panics
    /// If this process has not made it.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_ref().expect("who made the memory passes it on").as_fd()
    }

    #[inline]
    fn address(&self, at: usize, length: usize) -> *mut u8 {
        assert!(at <= self.length && length <= self.length - at, "{length} bytes at {at} are not in shared memory");
        // SAFETY: the bytes are within the mapping, as was just checked.
        unsafe { self.base.as_ptr().add(at) }
    }

    /// The word at `at`, a multiple of 4.
    #[inline]
    pub fn word(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4), "a word begins at a multiple of 4");
        // SAFETY: it is mapped, aligned, lives as long as `self`, and is reached by atomics alone.
        unsafe { AtomicU32::from_ptr(self.address(at, 4).cast()) }
    }

    /// The long word at `at`, a multiple of 8.
    #[inline]
    pub fn long(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(8), "a long word begins at a multiple of 8");
        // SAFETY: as in `word`.
        unsafe { AtomicU64::from_ptr(self.address(at, 8).cast()) }
    }

    /// Copies bytes out.
    #[inline]
    pub fn read(&self, at: usize, into: &mut [u8]) {
        let from = self.address(at, into.len());
        // SAFETY: `from` has as many bytes as `into`, and a mapping and a borrowed slice do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) }
    }

    /// Copies bytes in.
    #[inline]
    pub fn write(&self, at: usize, bytes: &[u8]) {
        let to = self.address(at, bytes.len());
        // SAFETY: as in `read`.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length, and nobody has a borrow of it any more.
        let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn both_sides_see_the_same_and_neither_can_make_it_smaller() {
        let ours = SharedMemory::create("test", 8192).unwrap();
        let theirs = SharedMemory::open(ours.file()).unwrap();
        ours.word(4).store(7, Ordering::Relaxed);
        ours.write(4096, b"abc");
        let mut read = [0; 3];
        theirs.read(4096, &mut read);
        assert!(theirs.word(4).load(Ordering::Relaxed) == 7 && &read == b"abc" && theirs.length() == 8192);
        assert_eq!(rustix::fs::ftruncate(ours.file(), 0), Err(Errno::PERM));
        let unsealed = rustix::fs::memfd_create("test", MemfdFlags::ALLOW_SEALING).unwrap();
        assert_eq!(SharedMemory::open(unsealed.as_fd()).map(drop), Err(Errno::INVAL));
    }

    #[test]
    #[should_panic(expected = "not in shared memory")]
    fn bytes_beyond_the_end_are_refused() {
        SharedMemory::create("test", 4096).unwrap().write(4090, &[0; 7]);
    }
}
