//! A pool mapped from a file or a DAX device.
//!
//! This is the only place of the library with `unsafe`: the mapping, and copies into and out of it. The mapping is
//! shared with clients that store into extents granted to them, and with anybody who has the file open; so it is never
//! borrowed as a slice, only copied from and to, and nothing that is read from it is trusted to stay the same.

mod earlier;
mod instructions;
#[cfg(test)]
mod tests_of_paths;
mod unsynced;
mod view;

use super::{Persist, PersistError};
use instructions::WriteBack;
use rustix::fs::{FallocateFlags, FileType, FlockOperation, OFlags};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MsyncFlags, ProtFlags};
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use unsynced::Unsynced;
pub use view::View;

/// How stores to a pool become durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// By write-backs of cache lines: persistent memory behind DAX.
    Lines,
    /// By the same instructions, but the memory is volatile: tmpfs. What is stored there survives processes, not a loss
    /// of power.
    VolatileLines,
    /// By `msync`: a file on an ordinary device.
    Msync,
}

/// Why a pool cannot be mapped.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// The file cannot be opened, sized or mapped.
    #[error("{}: {what}: {error}; {remedy}", path.display())]
    System {
        /// The pool.
        path: PathBuf,
        /// What failed.
        what: &'static str,
        /// The system's reason.
        error: std::io::Error,
        /// What can be done.
        remedy: &'static str,
    },
    /// Someone else has the pool.
    #[error("{}: another process uses this pool; unmount it there, or stop that process", .0.display())]
    InUse(PathBuf),
    /// It is neither a file nor a device.
    #[error("{}: not a file and not a DAX device; give the path of a pool", .0.display())]
    NoFile(PathBuf),
    /// It holds nothing at all.
    #[error("{}: this file is empty, and no pool; remove it, and make one with `esker fs mkfs`", .0.display())]
    Empty(PathBuf),
}

/// What a pool is mapped for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MapFor {
    Use,
    Looking,
}

/// A mapped pool. It is locked as long as it is mapped, so that no two processes change it.
#[derive(Debug)]
pub struct Mapped {
    base: NonNull<u8>,
    length: usize,
    file: File,
    mapped_for: MapFor,
    /// Whether the file system below may have no room for what is stored.
    is_sparse: bool,
    durability: Durability,
    write_back: WriteBack,
    /// What the next fence has to sync, with [`Durability::Msync`].
    unsynced: Unsynced,
}

// SAFETY: the mapping belongs to this value and lives as long as it does. All accesses are copies through raw pointers;
// callers who store to the same bytes at the same time hold a lock (see `System`).
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Maps the pool at `path`, and locks it.
    ///
    /// # Errors
    /// It cannot be opened or mapped, or is in use.
    pub fn open(path: &Path) -> Result<Mapped, MapError> {
        Self::open_for(path, MapFor::Use)
    }

    /// Maps the pool at `path` to look at it. Others may look at it, too, and none may use it. Stores are seen in this
    /// mapping alone, and never reach the pool.
    ///
    /// # Errors
    /// It cannot be opened or mapped, or is in use.
    pub fn open_to_look(path: &Path) -> Result<Mapped, MapError> {
        Self::open_for(path, MapFor::Looking)
    }

    fn open_for(path: &Path, what: MapFor) -> Result<Mapped, MapError> {
        let failed = |what, remedy| move |error: Errno| system(path, what, error.into(), remedy);
        // A FIFO to which nobody writes would be waited for.
        let without_waiting = OFlags::NONBLOCK.bits().cast_signed();
        let file = File::options()
            .read(true)
            .write(what == MapFor::Use)
            .custom_flags(without_waiting)
            .open(path)
            .map_err(|error| system(path, "cannot be opened", error, "look at the path and at its permissions"))?;
        Self::lock(&file, path, what)?;
        let status = rustix::fs::fstat(&file).map_err(failed("cannot be looked at", "look at the path"))?;
        let (length, is_device) = match FileType::from_raw_mode(status.st_mode) {
            FileType::RegularFile if status.st_size == 0 => return Err(MapError::Empty(path.into())),
            FileType::RegularFile => (status.st_size as u64, false),
            FileType::CharacterDevice => (device_bytes(path, status.st_rdev)?, true),
            _ => return Err(MapError::NoFile(path.into())),
        };
        Self::map(file, path, (length, is_device), what)
    }

    /// Makes a sparse file of `length` bytes at `path`, which must not exist, and maps it. Who reads the file reads all
    /// that is in the pool, so that it is its owner's alone.
    ///
    /// # Errors
    /// It exists, or cannot be made: then nothing is left there.
    pub fn create(path: &Path, length: u64) -> Result<Mapped, MapError> {
        let remedy = "choose another path, or remove what is there";
        let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(path);
        let file = file.map_err(|error| system(path, "cannot be made", error, remedy))?;
        Self::map_new(file, path, length).inspect_err(|_| {
            // What cannot be removed stays as a file that is no pool.
            let _ = std::fs::remove_file(path);
        })
    }

    fn map_new(file: File, path: &Path, length: u64) -> Result<Mapped, MapError> {
        Self::lock(&file, path, MapFor::Use)?;
        file.set_len(length).map_err(|error| system(path, "cannot have this size", error, "choose a smaller one"))?;
        Self::map(file, path, (length, false), MapFor::Use)
    }

    fn lock(file: &File, path: &Path, what: MapFor) -> Result<(), MapError> {
        let operation = match what {
            MapFor::Use => FlockOperation::NonBlockingLockExclusive,
            MapFor::Looking => FlockOperation::NonBlockingLockShared,
        };
        match rustix::fs::flock(file, operation) {
            Ok(()) => Ok(()),
            Err(Errno::WOULDBLOCK) => Err(MapError::InUse(path.into())),
            Err(error) => Err(system(path, "cannot be locked", error.into(), "use a file system that has flock")),
        }
    }

    fn map(file: File, path: &Path, (length, is_device): (u64, bool), what: MapFor) -> Result<Mapped, MapError> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let map = |flags| {
            // SAFETY: a new mapping at an address that the kernel chooses; no memory of ours is replaced.
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), length as usize, access, flags, &file, 0) }
        };
        let refused = |error: Errno| system(path, "cannot be mapped", error.into(), "look at its size and `ulimit -v`");
        let without_sync = if is_device { Durability::Lines } else { durability_of(&file) };
        let (base, durability) = match what {
            // MAP_SYNC is refused unless the file lies on persistent memory.
            MapFor::Use => match map(MapFlags::SHARED_VALIDATE | MapFlags::SYNC) {
                Ok(base) => (base, Durability::Lines),
                Err(_) => (map(MapFlags::SHARED).map_err(refused)?, without_sync),
            },
            MapFor::Looking => (map(MapFlags::PRIVATE | MapFlags::NORESERVE).map_err(refused)?, without_sync),
        };
        let base = NonNull::new(base.cast()).expect("a mapping is not at address 0");
        let write_back = WriteBack::of_this_processor();
        let durability = if write_back == WriteBack::None { Durability::Msync } else { durability };
        let is_sparse = !is_device && what == MapFor::Use;
        let (length, unsynced) = (length as usize, Unsynced::default());
        Ok(Mapped { base, length, file, mapped_for: what, is_sparse, durability, write_back, unsynced })
    }

    /// Takes all the memory of a pool at once, which a sparse file has not: no store waits for a page of it any more,
    /// or ends the process because there is none. A file on a disk gets its room, but is not read. What the pool holds
    /// stays. `path` is named in errors.
    ///
    /// # Errors
    /// There is not enough.
    pub fn populate(&self, path: &Path) -> Result<(), MapError> {
        let remedy = "make room on that file system, or do without all of the memory";
        let failed = |error: Errno| system(path, "cannot have all of its memory", error.into(), remedy);
        let is_file = self.file.metadata().is_ok_and(|found| found.is_file());
        if is_file {
            match rustix::fs::fallocate(&self.file, FallocateFlags::empty(), 0, self.length as u64) {
                // Pages of ramfs are made below.
                Ok(()) | Err(Errno::OPNOTSUPP) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        if self.durability == Durability::Msync {
            return Ok(());
        }
        // SAFETY: all of the mapping, which changes no byte of it.
        unsafe { rustix::mm::madvise(self.base.as_ptr().cast(), self.length, Advice::LinuxPopulateWrite) }
            .map_err(failed)
    }

    /// How stores become durable.
    pub fn durability(&self) -> Durability {
        self.durability
    }

    /// The instruction that writes lines back, or `msync`.
    pub fn instruction(&self) -> &'static str {
        if self.durability == Durability::Msync { "msync" } else { self.write_back.name() }
    }

    /// The pool's file, for mappings of clients.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The address of `length` bytes at `at`.
    fn address(&self, at: u64, length: u64) -> *mut u8 {
        let end = at.checked_add(length).expect("an address of a pool");
        assert!(end <= self.length as u64, "{length} bytes at {at} end beyond the pool");
        // SAFETY: the bytes are within the mapping, as was just checked.
        unsafe { self.base.as_ptr().add(at as usize) }
    }

    fn note_unsynced(&self, at: u64, length: u64) {
        if self.durability == Durability::Msync && length > 0 {
            self.unsynced.note(at & !4095, at + length);
        }
    }

    fn sync(&self, start: u64, end: u64) -> Result<(), Errno> {
        let from = self.address(start, end - start);
        loop {
            // SAFETY: the range is within the mapping, and msync changes none of its bytes.
            match unsafe { rustix::mm::msync(from.cast(), (end - start) as usize, MsyncFlags::SYNC) } {
                Err(Errno::INTR) => {}
                synced => return synced,
            }
        }
    }
}

fn system(path: &Path, what: &'static str, error: std::io::Error, remedy: &'static str) -> MapError {
    MapError::System { path: path.into(), what, error, remedy }
}

/// How a file without DAX keeps what is stored.
fn durability_of(file: &File) -> Durability {
    const TMPFS: u64 = 0x0102_1994;
    const RAMFS: u64 = 0x8584_58f6;
    const HUGETLBFS: u64 = 0x9584_58f6;
    match rustix::fs::fstatfs(file) {
        Ok(status) if [TMPFS, RAMFS, HUGETLBFS].contains(&(status.f_type as u64)) => Durability::VolatileLines,
        _ => Durability::Msync,
    }
}

/// Bytes of a DAX device, which has no size of its own in `stat`.
fn device_bytes(path: &Path, device: u64) -> Result<u64, MapError> {
    let place = format!("/sys/dev/char/{}:{}/size", rustix::fs::major(device), rustix::fs::minor(device));
    let said = std::fs::read_to_string(place).ok().and_then(|text| text.trim().parse().ok());
    said.ok_or_else(|| MapError::NoFile(path.into()))
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this length, and nobody has its address any more. An error would
        // mean that it is not mapped, and changes nothing.
        let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

impl Persist for Mapped {
    fn len(&self) -> u64 {
        self.length as u64
    }

    fn back(&self, at: u64, length: u64) -> Result<(), PersistError> {
        if !self.is_sparse {
            return Ok(());
        }
        loop {
            match rustix::fs::fallocate(&self.file, FallocateFlags::empty(), at, length) {
                // Where that cannot be asked for, stores have to do: ramfs has all memory.
                Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(PersistError { code: error.raw_os_error() }),
            }
        }
    }

    #[inline]
    fn read(&self, at: u64, into: &mut [u8]) {
        let from = self.address(at, into.len() as u64);
        // SAFETY: `from` has as many bytes as `into`, and a mapping and a borrowed slice do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) }
    }

    #[inline]
    fn write(&self, at: u64, bytes: &[u8]) {
        let to = self.address(at, bytes.len() as u64);
        // SAFETY: as in `read`.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) }
    }

    #[inline]
    fn write_streaming(&self, at: u64, bytes: &[u8]) {
        let to = self.address(at, bytes.len() as u64);
        if self.durability == Durability::Msync {
            self.write(at, bytes);
            // Not before it is stored: a fence of another thread would take it, and sync the page without it.
            return self.note_unsynced(at, bytes.len() as u64);
        }
        // SAFETY: `to` has as many bytes as `bytes`, and they do not overlap.
        unsafe { instructions::copy_streaming(self.write_back, bytes.as_ptr(), to, bytes.len()) }
    }

    fn zero_streaming(&self, at: u64, length: u64) {
        const ZEROES: &[u8; 4096] = &[0; 4096];
        let mut done = 0;
        while done < length {
            let piece = (length - done).min(4096 - (at + done) % 4096);
            self.write_streaming(at + done, &ZEROES[..piece as usize]);
            done += piece;
        }
    }

    #[inline]
    fn write_back(&self, at: u64, length: u64) {
        let from = self.address(at, length);
        if self.durability == Durability::Msync {
            return self.note_unsynced(at, length);
        }
        // SAFETY: the bytes are within the mapping.
        unsafe { self.write_back.lines(from, length as usize) }
    }

    #[inline]
    fn fence(&self) -> Result<(), PersistError> {
        if self.durability != Durability::Msync {
            instructions::fence();
            return Ok(());
        }
        let synced = self.unsynced.fence(|start, end| self.sync(start, end));
        synced.map_err(|error| PersistError { code: error.raw_os_error() })
    }

    fn write_all_back(&self) -> Result<(), PersistError> {
        // What only looks has stored nothing that stays. To write volatile memory back would give a sparse file all of
        // its pages, for nothing.
        if self.mapped_for == MapFor::Use && self.durability != Durability::VolatileLines {
            self.write_back(0, self.len());
        }
        self.fence()
    }

    fn take_over(&self) -> Result<(), PersistError> {
        // Lines are written back as they are stored. Only of a short write that a kill cut off, some may not have been.
        if self.mapped_for == MapFor::Looking || self.durability != Durability::Msync {
            return Ok(());
        }
        earlier::take_over(&self.file).map_err(|error| PersistError { code: error.raw_os_error() })
    }
}
