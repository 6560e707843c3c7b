//! One file, three ways in: what keeps the kernel and clients from seeing different things of it.
//!
//! The kernel caches pages of what is mapped through the mount, so a file that is open there is left to it: clients go
//! through the kernel, too, from before the open returns until the last such file is closed. A file that a client opens
//! through the kernel for locks alone does not count. Names and attributes that the kernel knows are taken back from it
//! when a client changes them.

use crate::inodes::Held;
use esker_scm::{FileSystem, FsResult, Mapped, ROOT};
use esker_scm_channel::{Board, Purpose, Record};
use fuser::{INodeNo, Notifier};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The handle of a file that anybody opens.
pub(crate) const ANY: u64 = 0;
/// With which the name begins by which this process opens the file of an inode.
const PREFIX: &[u8] = b".esker-scmfs-inode-";

/// What the kernel and clients have open.
#[derive(Debug)]
pub(crate) struct Coherence {
    board: Arc<Board>,
    state: Mutex<State>,
    notifier: OnceLock<Notifier>,
}

#[derive(Debug, Default)]
struct State {
    /// Files open in the kernel, by inode: how many.
    in_kernel: BTreeMap<u64, u64>,
    shares: BTreeMap<u64, Share>,
    free_records: Vec<u32>,
    /// Files of the kernel that are for locks alone: their inodes, by handle.
    for_locks: BTreeMap<u64, u64>,
    last_handle: u64,
    /// Threads of this process that are opening a file for a client.
    opening: BTreeMap<u32, Opening>,
}

/// A shared file.
#[derive(Debug)]
struct Share {
    record: Record,
    index: u32,
    users: u64,
}

#[derive(Debug)]
struct Opening {
    number: u64,
    purpose: Purpose,
    handle: u64,
}

impl Coherence {
    pub(crate) fn new() -> Result<Coherence, i32> {
        let board = Arc::new(Board::create().map_err(Errno::raw_os_error)?);
        let state = State { free_records: (0..board.records()).rev().collect(), ..State::default() };
        Ok(Coherence { board, state: Mutex::new(state), notifier: OnceLock::new() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn board(&self) -> &Arc<Board> {
        &self.board
    }

    /// From now on the kernel can be told things.
    pub(crate) fn set_notifier(&self, notifier: Notifier) {
        let _ = self.notifier.set(notifier);
    }

    /// The kernel opens a file, for this thread; the handle that the file gets. When this returns, no client stores
    /// into it any more.
    pub(crate) fn opened(&self, thread: u32, number: u64) -> u64 {
        let mut state = self.state();
        let State { opening, for_locks, last_handle, .. } = &mut *state;
        if let Some(opening) = opening.get_mut(&thread).filter(|opening| opening.number == number) {
            *last_handle += 1;
            opening.handle = *last_handle;
            if opening.purpose == Purpose::Locks {
                for_locks.insert(*last_handle, number);
                return *last_handle;
            }
        }
        Self::count_opened(state, number);
        ANY
    }

    fn count_opened(mut state: MutexGuard<'_, State>, number: u64) {
        *state.in_kernel.entry(number).or_default() += 1;
        let record = state.shares.get(&number).map(|share| share.record.clone());
        drop(state);
        if let Some(record) = record {
            record.set_in_kernel(true);
        }
    }

    /// Whether anybody has the file open through the mount, be it for locks alone.
    pub(crate) fn is_open_in_kernel(&self, number: u64) -> bool {
        let state = self.state();
        state.in_kernel.contains_key(&number) || state.for_locks.values().any(|&inode| inode == number)
    }

    /// The kernel has closed a file.
    pub(crate) fn closed(&self, number: u64, handle: u64) {
        let mut state = self.state();
        if state.for_locks.remove(&handle).is_some() {
            return;
        }
        let Some(count) = state.in_kernel.get_mut(&number) else { return };
        *count -= 1;
        if *count == 0 {
            state.in_kernel.remove(&number);
            if let Some(share) = state.shares.get(&number) {
                share.record.set_in_kernel(false);
            }
        }
    }

    /// Whether the file is left to the kernel.
    pub(crate) fn is_in_kernel(&self, number: u64) -> bool {
        self.state().in_kernel.contains_key(&number)
    }

    /// Shares a file; its record, or none if it is left to the kernel, or if too many files are shared.
    pub(crate) fn share(&self, system: &FileSystem<Mapped>, held: &Held, is_new: bool) -> FsResult<Option<u32>> {
        let number = held.handle().number();
        let mut state = self.state();
        let State { in_kernel, shares, free_records, .. } = &mut *state;
        if in_kernel.contains_key(&number) {
            return Ok(None);
        }
        if let Some(share) = shares.get_mut(&number) {
            share.users += u64::from(is_new);
            return Ok(Some(share.index));
        }
        let Some(index) = free_records.pop() else { return Ok(None) };
        let Some(record) = Record::new(&self.board, index) else { return Ok(None) };
        record.clear();
        system.share(held.handle(), Arc::new(record.clone()))?;
        shares.insert(number, Share { record, index, users: 1 });
        drop(state);
        // What it has said of the times of this file would be kept for a second.
        self.forget_attributes(number);
        Ok(Some(index))
    }

    /// A client that shared a file has closed it, and has none of its pages mapped any more.
    pub(crate) fn unshare(&self, system: &FileSystem<Mapped>, held: &Held) -> FsResult<()> {
        let number = held.handle().number();
        let mut state = self.state();
        let State { shares, free_records, .. } = &mut *state;
        let Some(share) = shares.get_mut(&number) else { return Ok(()) };
        share.users -= 1;
        if share.users == 0 {
            free_records.push(share.index);
            shares.remove(&number);
            system.unshare(held.handle())?;
        }
        Ok(())
    }

    /// Client `client` has died: its locks are taken from it.
    pub(crate) fn take_locks_from(&self, client: u32) {
        self.state().shares.values().for_each(|share| share.record.take_from(client));
    }

    /// The work with the pool ends: no client stores into it any more when this returns.
    pub(crate) fn end_sharing(&self) {
        self.state().shares.values().for_each(|share| share.record.set_in_kernel(true));
    }

    /// Whether any file is shared.
    pub(crate) fn shares_any(&self) -> bool {
        !self.state().shares.is_empty()
    }

    /// Whether what the kernel is told of this file has to be asked for again each time.
    pub(crate) fn is_shared(&self, number: u64) -> bool {
        self.state().shares.contains_key(&number)
    }

    /// Whether this process opens files of inodes by such names.
    pub(crate) fn is_own_name(name: &[u8]) -> bool {
        name.starts_with(PREFIX)
    }

    /// The inode that this thread of this process wants to open by this name.
    pub(crate) fn expected(&self, thread: u32, parent: u64, name: &[u8]) -> Option<u64> {
        if parent != ROOT || !Self::is_own_name(name) {
            return None;
        }
        let state = self.state();
        state.opening.get(&thread).map(|opening| opening.number).filter(|&number| name_of(number) == name)
    }

    /// Opens the file of an inode through the kernel, by `open`, which gets the name in the root; what `open` says, and
    /// the handle that the kernel uses.
    pub(crate) fn open<T>(&self, number: u64, purpose: Purpose, open: impl FnOnce(&OsStr) -> T) -> (T, u64) {
        let thread = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        self.state().opening.insert(thread, Opening { number, purpose, handle: ANY });
        let opened = open(OsStr::from_bytes(&name_of(number)));
        let handle = self.state().opening.remove(&thread).map_or(ANY, |opening| opening.handle);
        (opened, handle)
    }

    /// Whether a file of the kernel with this handle is open, and for locks alone.
    pub(crate) fn is_for_locks(&self, handle: u64) -> bool {
        self.state().for_locks.contains_key(&handle)
    }

    /// A file that was for locks is for anything now.
    pub(crate) fn expose(&self, handle: u64) {
        let mut state = self.state();
        if let Some(number) = state.for_locks.remove(&handle) {
            Self::count_opened(state, number);
            // Pages that the kernel kept from an earlier open file are old.
            self.forget_pages(number);
        }
    }

    /// A client has changed what an inode says of itself.
    pub(crate) fn forget_attributes(&self, number: u64) {
        if let Some(notifier) = self.notifier.get() {
            // If the kernel does not know it, all is well, too.
            let _ = notifier.inval_inode(INodeNo(number), -1, 0);
        }
    }

    fn forget_pages(&self, number: u64) {
        if let Some(notifier) = self.notifier.get() {
            let _ = notifier.inval_inode(INodeNo(number), 0, 0);
        }
    }

    /// A client has changed a name.
    pub(crate) fn forget_name(&self, parent: u64, name: &[u8]) {
        if let Some(notifier) = self.notifier.get() {
            let _ = notifier.inval_entry(INodeNo(parent), OsStr::from_bytes(name));
        }
    }
}

fn name_of(number: u64) -> Vec<u8> {
    [PREFIX, number.to_string().as_bytes()].concat()
}
