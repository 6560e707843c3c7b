//! Files read and written by io_uring: one ring for all devices of a volume.

mod file;
mod looks;
mod pinned;
mod short_waits;
mod transfer;
mod waiting;

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use esker_core::{Nanos, RequestKind, Tag, TagSlab};
use io_uring::{IoUring, cqueue, opcode, squeue, types};
use rustix::event::PollFlags;
use rustix::io::Errno;

use super::watched::{FileUse, RingWatches, WatchedFile};
use super::{Ended, Operation};
use crate::clock::SystemClock;
use crate::memory::Buffer;
use crate::signal::Signal;
pub(crate) use file::RingFile;
use looks::LookTrials;
use pinned::PinnedMemory;
use short_waits::ShortWaits;
use transfer::{Piece, Transfer};

/// Calls that the kernel takes at once, and those whose results it keeps without allocating.
const QUEUE: u32 = 256;
const RESULTS: u32 = 4096;

/// Calls that are no operations have names with the first bit, which no tag has: slots are numbered from 0 on.
const SIGNAL: u64 = u64::MAX;
const CANCEL: u64 = u64::MAX - 1;
const WATCH_TO_READ: u64 = 1 << 63;
const WATCH_TO_WRITE: u64 = 1 << 63 | 1 << 62;

/// A ring. It collects operations until [`Self::send`] or [`Self::wait`] hands them to the kernel together. Clones
/// share it. The thread that calls these has to live until the operations have ended: the kernel cancels those of a
/// thread that ends.
#[derive(Clone)]
pub(crate) struct Ring(Arc<Mutex<State>>);

struct State {
    kernel: IoUring,
    pinned: PinnedMemory,
    /// Operations that have not ended, with the memory that the kernel may be using, and the index of their file.
    transfers: TagSlab<(usize, Transfer)>,
    /// Those whose next call has not gone to the kernel yet.
    to_send: VecDeque<Tag>,
    files: Vec<Option<RingedFile>>,
    /// Lists of pieces, to be used again.
    spare: Vec<Vec<Piece>>,
    /// Number of operations that have ended and were not taken yet.
    untaken: usize,
    signal: Signal,
    /// Whether the kernel watches the signal.
    is_watched: bool,
    /// Other files that the kernel watches.
    watches: RingWatches,
    /// Waits for nothing but watched files: for clients.
    client_waits: ShortWaits,
    looks: LookTrials,
    /// When the last of these waits ended.
    last_wait_end: Nanos,
    /// Operations that were begun since then.
    begun: u64,
    clock: SystemClock,
}

/// A file of a ring. It stays open while operations on it are under way, even if nobody waits for them.
struct RingedFile {
    file: Arc<File>,
    /// Calls begin on multiples of this many bytes of their operation.
    block: u64,
    under_way: usize,
    ended: Vec<Ended>,
    owner: Owner,
}

/// Whether somebody waits for the operations of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Waits,
    /// Its back end was abandoned.
    HasAbandoned,
    /// Its back end was dropped.
    IsGone,
}

impl Ring {
    /// Makes a ring, whose waits also end when `signal` is given.
    ///
    /// # Errors
    /// If the kernel has no io_uring, one that is too old, or forbids it.
    pub(crate) fn new(signal: Signal) -> io::Result<Self> {
        let kernel = new_kernel_ring()?;
        // As old as polls that stay.
        if !kernel.params().is_feature_resource_tagging() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "the kernel is older than Linux 5.13"));
        }
        let state = State {
            pinned: PinnedMemory::new(&kernel),
            kernel,
            transfers: TagSlab::default(),
            to_send: VecDeque::new(),
            files: Vec::new(),
            spare: Vec::new(),
            untaken: 0,
            signal,
            is_watched: false,
            watches: RingWatches::default(),
            client_waits: ShortWaits::default(),
            looks: LookTrials::default(),
            last_wait_end: Nanos::ZERO,
            begun: 0,
            clock: SystemClock::start(),
        };
        Ok(Self(Arc::new(Mutex::new(state))))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has waits end when `file` can be read. Returns the number of the watch.
    pub(super) fn watch(&self, file: WatchedFile) -> u32 {
        self.state().watches.watch(file)
    }

    /// Ends a watch.
    pub(super) fn unwatch(&self, number: u32) {
        self.state().watches.unwatch(number);
    }

    /// Has the next wait end when the watched file can be written, too.
    pub(super) fn await_room(&self, number: u32) {
        self.state().watches.await_room(number);
    }

    /// Hands the kernel what was submitted.
    pub(crate) fn send(&self) {
        self.state().send();
    }

    /// Hands the kernel what was submitted, and waits until an operation has ended or the signal is given, for at most
    /// `limit`. May end early.
    pub(crate) fn wait(&self, limit: Option<Duration>) {
        self.state().wait(limit);
    }
}

/// Sets up the queues that are shared with the kernel.
fn new_kernel_ring() -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    builder.setup_cqsize(RESULTS);
    // Results wait for the thread's next call instead of interrupting it: with writes through the page cache, an
    // interrupt of another processor for each of them cost 5 us a request.
    match builder.clone().setup_coop_taskrun().setup_taskrun_flag().build(QUEUE) {
        // Older than Linux 5.19.
        Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => builder.build(QUEUE),
        ring => ring,
    }
}

impl State {
    fn submit(&mut self, file: usize, id: u64, operation: Operation) {
        let is_read = operation.kind == RequestKind::Read;
        let pieces = if is_read { Vec::new() } else { self.spare.pop().unwrap_or_default() };
        self.file(file).under_way += 1;
        self.begun += 1;
        let tag = self.transfers.insert((file, Transfer::new(id, operation, pieces)));
        self.to_send.push_back(tag);
    }

    fn file(&mut self, file: usize) -> &mut RingedFile {
        self.files[file].as_mut().expect("a file is closed once nothing of it is under way")
    }

    /// Puts calls into the queue of the kernel, as far as there is room.
    fn queue(&mut self) {
        while let Some(&tag) = self.to_send.front() {
            let (index, transfer) = self.transfers.get_mut(tag);
            let index = *index;
            let file = self.files[index].as_ref().expect("an operation of it is under way");
            if file.owner != Owner::Waits {
                self.to_send.pop_front();
                self.transfers.remove(tag);
                self.forget(index);
                continue;
            }
            // The page cache gains nothing from it.
            let mut pinned = (file.block > 1).then_some(&mut self.pinned);
            let kernel = self.kernel.submitter();
            let slot_of = |buffer: &Buffer| pinned.as_mut()?.slot_of(&kernel, buffer);
            let call = transfer.call(types::Fd(file.file.as_raw_fd()), slot_of).user_data(tag.to_bits());
            if !self.push(&call) {
                return;
            }
            self.to_send.pop_front();
        }
        self.queue_watches();
    }

    fn queue_watches(&mut self) {
        while let Some(watch) = self.watches.next_to_cancel() {
            // There may be a watch for reading only; then the other call has no effect.
            let calls = [WATCH_TO_READ, WATCH_TO_WRITE]
                .map(|kind| opcode::PollRemove::new(kind | u64::from(watch)).build().user_data(CANCEL));
            let queue = self.kernel.submission();
            if queue.capacity() - queue.len() < calls.len() {
                return;
            }
            drop(queue);
            calls.iter().for_each(|call| _ = self.push(call));
            self.watches.cancelled();
        }
        while let Some((watch, purpose, file)) = self.watches.next_to_queue() {
            let (flags, kind) = match purpose {
                FileUse::Read => (PollFlags::IN | PollFlags::RDHUP, WATCH_TO_READ),
                FileUse::Write => (PollFlags::OUT, WATCH_TO_WRITE),
            };
            let is_read = purpose == FileUse::Read;
            let call = opcode::PollAdd::new(types::Fd(file), u32::from(flags.bits())).multi(is_read).build();
            if !self.push(&call.user_data(kind | u64::from(watch))) {
                return;
            }
            self.watches.queued();
        }
    }

    /// Puts one call into the queue of the kernel. Returns false if that is full.
    fn push(&mut self, call: &squeue::Entry) -> bool {
        let mut queue = self.kernel.submission();
        // SAFETY: a call of a watch names no memory. Otherwise, the memory that the call names belongs to a transfer in
        // `transfers`, or is static. A transfer neither frees nor changes it while it has a call under way, and leaves
        // `transfers` only with the result of its last call: then the kernel has returned the memory. Dropping the
        // state leaks what has not ended. The file is open, because `files` or `watches` has it until then.
        unsafe { queue.push(call) }.is_ok()
    }

    /// Hands the kernel what waits. What it does not take now waits for the next time.
    fn send(&mut self) {
        loop {
            self.queue();
            if self.kernel.submission().is_empty() {
                return;
            }
            match self.kernel.submit() {
                Ok(_) => {}
                Err(error) if error.raw_os_error() == Some(Errno::INTR.raw_os_error()) => {}
                // It has no room for more results, or no memory.
                Err(_) => return self.reap(),
            }
        }
    }

    /// Takes the results that the kernel has.
    fn reap(&mut self) {
        while let Some(completed) = { self.kernel.completion().next() } {
            if completed.user_data() == SIGNAL {
                self.is_watched = cqueue::more(completed.flags());
                continue;
            }
            if completed.user_data() & WATCH_TO_READ != 0 {
                self.watch_reported(&completed);
                continue;
            }
            let tag = Tag::from_bits(completed.user_data());
            let (index, transfer) = self.transfers.get_mut(tag);
            let index = *index;
            let file = self.files[index].as_mut().expect("an operation of it was under way");
            let Some(result) = transfer.ended(completed.result(), file.block) else {
                self.to_send.push_back(tag);
                continue;
            };
            let (_, transfer) = self.transfers.remove(tag);
            let (ended, pieces) = transfer.into_ended(result);
            if pieces.capacity() > 0 {
                self.spare.push(pieces);
            }
            if file.owner == Owner::Waits {
                file.ended.push(ended);
                self.untaken += 1;
            }
            self.forget(index);
        }
    }

    fn watch_reported(&mut self, completed: &cqueue::Entry) {
        if completed.user_data() != CANCEL {
            let is_write = completed.user_data() & WATCH_TO_WRITE == WATCH_TO_WRITE;
            let (number, purpose) =
                (completed.user_data() as u32, if is_write { FileUse::Write } else { FileUse::Read });
            self.watches.reported(number, purpose, completed.result(), cqueue::more(completed.flags()));
        }
    }

    /// Notes that an operation of a file is no longer under way.
    fn forget(&mut self, index: usize) {
        self.file(index).under_way -= 1;
        self.close_if_unused(index);
    }

    fn close_if_unused(&mut self, index: usize) {
        if self.file(index).under_way == 0 && self.file(index).owner == Owner::IsGone {
            self.files[index] = None;
        }
    }

    fn take_ended(&mut self, index: usize, ended: &mut Vec<Ended>) {
        self.reap();
        let file = self.files[index].as_mut().expect("its back end has it");
        self.untaken -= file.ended.len();
        ended.append(&mut file.ended);
    }

    /// Notes that nobody takes what ends of a file.
    fn disown(&mut self, index: usize, owner: Owner) {
        let file = self.file(index);
        file.owner = owner;
        let untaken = std::mem::take(&mut file.ended).len();
        self.untaken -= untaken;
        self.close_if_unused(index);
    }

    /// Waits until all operations of a file have ended.
    fn finish(&mut self, index: usize) {
        while self.file(index).under_way > 0 {
            self.send();
            // If it fails, there are results to take first, or the wait was interrupted.
            let _ = self.kernel.submit_and_wait(1);
            self.reap();
        }
    }
}

impl Drop for State {
    /// The kernel may go on using the memory of what has not ended, so that is never freed.
    fn drop(&mut self) {
        if !self.transfers.is_empty() {
            std::mem::forget(std::mem::take(&mut self.transfers));
        }
    }
}

#[cfg(test)]
mod tests;
