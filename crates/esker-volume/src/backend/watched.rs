//! Files that are watched, and whether they can be read and written.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::PollFlags;

/// Whether a file can be read and written, as far as is known.
pub(super) struct Readiness {
    can_read: AtomicBool,
    can_write: AtomicBool,
    /// Whether the peer has said that it sends nothing more, or is gone.
    peer_has_ended: AtomicBool,
}

/// A file that is watched.
pub(super) struct WatchedFile {
    pub(super) file: Arc<OwnedFd>,
    pub(super) readiness: Arc<Readiness>,
}

impl WatchedFile {
    /// Nobody has tried to read or write it yet.
    pub(super) fn new(file: Arc<OwnedFd>) -> (Self, Arc<Readiness>) {
        let [can_read, can_write, peer_has_ended] = [true, true, false].map(AtomicBool::new);
        let readiness = Arc::new(Readiness { can_read, can_write, peer_has_ended });
        (Self { file, readiness: Arc::clone(&readiness) }, readiness)
    }
}

impl Readiness {
    fn of(&self, purpose: FileUse) -> &AtomicBool {
        match purpose {
            FileUse::Read => &self.can_read,
            FileUse::Write => &self.can_write,
        }
    }

    pub(super) fn can(&self, purpose: FileUse) -> bool {
        self.of(purpose).load(Ordering::Relaxed)
    }

    pub(super) fn set(&self, purpose: FileUse, can: bool) {
        self.of(purpose).store(can, Ordering::Relaxed);
    }

    pub(super) fn peer_has_ended(&self) -> bool {
        self.peer_has_ended.load(Ordering::Relaxed)
    }

    pub(super) fn end_of_peer(&self) {
        self.peer_has_ended.store(true, Ordering::Relaxed);
    }
}

/// What a file is watched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileUse {
    Read,
    Write,
}

/// Watched files by their numbers, of which none is used twice.
#[derive(Default)]
pub(super) struct Files {
    pub(super) watched: BTreeMap<u32, WatchedFile>,
    last: u32,
}

impl Files {
    pub(super) fn add(&mut self, file: WatchedFile) -> u32 {
        self.last += 1;
        self.watched.insert(self.last, file);
        self.last
    }
}

/// Watches of a ring.
#[derive(Default)]
pub(super) struct RingWatches {
    files: Files,
    /// Calls that have to be queued: a watch, and what for.
    to_queue: Vec<(u32, FileUse)>,
    /// Watches whose calls have to be cancelled.
    to_cancel: Vec<u32>,
    /// Whether something has become ready since the last wait.
    has_news: bool,
}

impl RingWatches {
    pub(super) fn is_empty(&self) -> bool {
        self.files.watched.is_empty()
    }

    pub(super) fn watch(&mut self, file: WatchedFile) -> u32 {
        let number = self.files.add(file);
        self.to_queue.push((number, FileUse::Read));
        number
    }

    pub(super) fn unwatch(&mut self, number: u32) {
        self.files.watched.remove(&number);
        self.to_queue.retain(|(queued, _)| *queued != number);
        self.to_cancel.push(number);
    }

    /// Has the next moment noted at which the watched file can be written.
    pub(super) fn await_room(&mut self, number: u32) {
        let Some(WatchedFile { readiness, .. }) = self.files.watched.get(&number) else { return };
        // Asked for again and again, calls would pile up in the kernel while a client does not read.
        if readiness.can(FileUse::Write) {
            readiness.set(FileUse::Write, false);
            self.to_queue.push((number, FileUse::Write));
        }
    }

    /// Returns the next call that has to be queued, with its file.
    pub(super) fn next_to_queue(&self) -> Option<(u32, FileUse, RawFd)> {
        let (number, purpose) = *self.to_queue.last()?;
        Some((number, purpose, self.files.watched[&number].file.as_fd().as_raw_fd()))
    }

    pub(super) fn queued(&mut self) {
        self.to_queue.pop();
    }

    pub(super) fn next_to_cancel(&self) -> Option<u32> {
        self.to_cancel.last().copied()
    }

    pub(super) fn cancelled(&mut self) {
        self.to_cancel.pop();
    }

    /// Notes that the kernel has reported a watch, with these flags or an error. It has to be queued again unless there
    /// is `more` to come.
    pub(super) fn reported(&mut self, number: u32, purpose: FileUse, result: i32, more: bool) {
        let Some(WatchedFile { readiness, .. }) = self.files.watched.get(&number) else { return };
        let is_well = result >= 0;
        let flags = PollFlags::from_bits_truncate(result.max(0) as u16);
        if flags.intersects(PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR) {
            readiness.end_of_peer();
        }
        // Whoever writes finds out what is wrong, and nothing else would ask again.
        if is_well || purpose == FileUse::Write {
            readiness.set(purpose, true);
            self.has_news = true;
        }
        if purpose == FileUse::Read && !more {
            self.to_queue.push((number, purpose));
        }
    }

    /// Returns true if something has become ready since the last call.
    pub(super) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.has_news)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_asked_for_room_once_until_it_answers() {
        let mut watches = RingWatches::default();
        let (file, _) = WatchedFile::new(Arc::new(OwnedFd::from(std::io::pipe().unwrap().1)));
        let number = watches.watch(file);
        let queue = |watches: &mut RingWatches| {
            let mut calls = Vec::new();
            while let Some((_, purpose, _)) = watches.next_to_queue() {
                calls.push(purpose);
                watches.queued();
            }
            calls
        };
        assert_eq!(queue(&mut watches), [FileUse::Read]);
        (0..1000).for_each(|_| watches.await_room(number));
        assert_eq!(queue(&mut watches), [FileUse::Write]);
        watches.await_room(number);
        assert_eq!(queue(&mut watches), []);
        for result in [i32::from(PollFlags::OUT.bits()), -1] {
            watches.reported(number, FileUse::Write, result, false);
            watches.await_room(number);
            assert_eq!(queue(&mut watches), [FileUse::Write]);
        }
    }
}
