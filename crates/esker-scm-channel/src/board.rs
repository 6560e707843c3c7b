//! The board: a record for each shared file, seen by the owner and by all clients that it trusts.
//!
//! A wild store of a client into the board can make other clients see a wrong size, or wait for a lock that nobody has;
//! the owner never takes a size from it, and no lock is waited for longer than [`PATIENCE`].

use crate::memory::SharedMemory;
use crate::waiting::look;
use esker_scm::{Moment, SharedRecord};
use rustix::fs::Timespec;
use rustix::io::Errno;
use rustix::time::ClockId;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Files that can be shared at the same time.
const RECORDS: usize = 4096;
/// Bytes of a record: a line of the cache.
const RECORD: usize = 64;

const LOCK: usize = 0;
const FLAGS: usize = 4;
const SIZE: usize = 8;
const MODIFIED: usize = 16;
const ACCESSED: usize = 24;
const UNREAD: usize = 32;
const WRITTEN: usize = 40;

const IN_KERNEL: u32 = 1;
const HAS_SET_ID: u32 = 2;

const UNLOCKED: u32 = 0;
/// Who has the lock if the owner has it; clients have lower numbers.
const OWNER: u32 = u32::MAX;
/// How long a lock is waited for, in nanoseconds. A store takes less than a millisecond, so whoever keeps it for longer
/// was stopped.
const PATIENCE: i64 = 2_000_000_000;

/// The records of shared files.
#[derive(Debug)]
pub struct Board {
    memory: SharedMemory,
}

/// A record of the board.
#[derive(Debug, Clone)]
pub struct Record {
    board: Arc<Board>,
    index: usize,
}

fn now() -> i64 {
    let now = rustix::time::clock_gettime(ClockId::RealtimeCoarse);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

impl Board {
    /// Makes a board.
    ///
    /// # Errors
    /// The system refuses.
    pub fn create() -> Result<Board, Errno> {
        Ok(Board { memory: SharedMemory::create("scmfs board", (RECORDS * RECORD) as u64)? })
    }

    /// A client's side of it.
    ///
    /// # Errors
    /// It is not such memory.
    pub fn open(file: BorrowedFd<'_>) -> Result<Board, Errno> {
        let memory = SharedMemory::open(file)?;
        if memory.length() == (RECORDS * RECORD) as u64 { Ok(Board { memory }) } else { Err(Errno::INVAL) }
    }

    /// The file behind it, for clients.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.memory.file()
    }

    /// How many records it has.
    pub fn records(&self) -> u32 {
        RECORDS as u32
    }
}

impl Record {
    /// Record `index`; none if there is no such.
    pub fn new(board: &Arc<Board>, index: u32) -> Option<Record> {
        let index = index as usize;
        (index < RECORDS).then(|| Record { board: board.clone(), index })
    }

    fn word(&self, at: usize) -> &AtomicU32 {
        self.board.memory.word(self.index * RECORD + at)
    }

    fn long(&self, at: usize) -> &AtomicU64 {
        self.board.memory.long(self.index * RECORD + at)
    }

    /// Makes it that of a new file.
    pub fn clear(&self) {
        self.long(MODIFIED).store(0, Ordering::Relaxed);
        self.long(ACCESSED).store(0, Ordering::Relaxed);
        self.long(WRITTEN).store(0, Ordering::Relaxed);
        self.word(UNREAD).store(1, Ordering::Relaxed);
        self.word(FLAGS).store(0, Ordering::Release);
    }

    fn try_lock(&self, who: u32) -> bool {
        self.word(LOCK).compare_exchange(UNLOCKED, who, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Waits for the lock; false if somebody keeps it too long.
    fn lock_for(&self, who: u32) -> bool {
        if look(|| self.try_lock(who)) {
            return true;
        }
        let begun = now();
        while now() - begun < PATIENCE {
            let _ = rustix::thread::nanosleep(&Timespec { tv_sec: 0, tv_nsec: 50_000 });
            if self.try_lock(who) {
                return true;
            }
        }
        false
    }

    /// Locks it for a store of client `client`; none if somebody keeps it too long.
    pub fn lock_by(&self, client: u32) -> Option<impl Drop + '_> {
        self.lock_for(client).then(|| Unlock(self, client))
    }

    /// Takes the lock from client `client`, which has died.
    pub fn take_from(&self, client: u32) {
        let _ = self.word(LOCK).compare_exchange(client, UNLOCKED, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Whether clients have to leave the file to the kernel.
    #[inline]
    pub fn is_in_kernel(&self) -> bool {
        self.word(FLAGS).load(Ordering::Acquire) & IN_KERNEL != 0
    }

    /// Says whether clients have to leave the file to the kernel. If they have to, no store is under way when this
    /// returns.
    pub fn set_in_kernel(&self, is_in_kernel: bool) {
        self.set_flag(IN_KERNEL, is_in_kernel);
        if is_in_kernel {
            self.lock();
            self.unlock();
        }
    }

    /// Whether a write would have to take set-user-id away.
    #[inline]
    pub fn has_set_id(&self) -> bool {
        self.word(FLAGS).load(Ordering::Acquire) & HAS_SET_ID != 0
    }

    /// Bytes of the file.
    #[inline]
    pub fn size(&self) -> u64 {
        self.long(SIZE).load(Ordering::Acquire)
    }

    /// Notes that a client, which has the lock, wrote to this number of pages.
    #[inline]
    pub fn note_modified(&self, pages: u64) {
        let written = self.long(WRITTEN);
        written.store(written.load(Ordering::Relaxed).wrapping_add(pages), Ordering::Relaxed);
        self.long(MODIFIED).store(now().cast_unsigned(), Ordering::Relaxed);
        self.word(UNREAD).store(1, Ordering::Relaxed);
    }

    /// A client has read: noted if it is the first time since a write.
    #[inline]
    pub fn note_accessed(&self) {
        if self.word(UNREAD).load(Ordering::Relaxed) != 0 {
            self.word(UNREAD).store(0, Ordering::Relaxed);
            self.long(ACCESSED).store(now().cast_unsigned(), Ordering::Relaxed);
        }
    }

    fn set_flag(&self, flag: u32, is_set: bool) {
        if is_set {
            self.word(FLAGS).fetch_or(flag, Ordering::AcqRel);
        } else {
            self.word(FLAGS).fetch_and(!flag, Ordering::AcqRel);
        }
    }

    fn take_time(&self, at: usize) -> Option<Moment> {
        match self.long(at).swap(0, Ordering::Relaxed).cast_signed() {
            0 => None,
            // A wild time is no time of the future.
            moment => Some(Moment(moment.min(now()))),
        }
    }
}

struct Unlock<'a>(&'a Record, u32);

impl Drop for Unlock<'_> {
    fn drop(&mut self) {
        let _ = self.0.word(LOCK).compare_exchange(self.1, UNLOCKED, Ordering::Release, Ordering::Relaxed);
    }
}

impl SharedRecord for Record {
    fn lock(&self) {
        if !self.lock_for(OWNER) {
            self.word(LOCK).store(OWNER, Ordering::Release);
        }
    }

    fn unlock(&self) {
        let _ = self.word(LOCK).compare_exchange(OWNER, UNLOCKED, Ordering::Release, Ordering::Relaxed);
    }

    fn set_size(&self, size: u64) {
        self.long(SIZE).store(size, Ordering::Release);
    }

    fn set_has_set_id(&self, has_set_id: bool) {
        self.set_flag(HAS_SET_ID, has_set_id);
    }

    fn set_unread(&self) {
        self.word(UNREAD).store(1, Ordering::Relaxed);
    }

    fn take_modified(&self) -> Option<Moment> {
        self.take_time(MODIFIED)
    }

    fn take_written(&self) -> u64 {
        self.long(WRITTEN).swap(0, Ordering::Relaxed)
    }

    fn take_accessed(&self) -> Option<Moment> {
        self.take_time(ACCESSED)
    }
}
