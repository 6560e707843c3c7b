//! Waits for drivers whose devices are run by threads.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::watched::{FileUse, Files, WatchedFile};
use crate::signal::Signal;

/// Watches for drivers whose devices are run by threads. Clones share them.
#[derive(Clone)]
pub(super) struct Poller(Arc<PollerState>);

struct PollerState {
    epoll: OwnedFd,
    files: Mutex<Files>,
}

/// Events that are taken at once.
const EVENTS: usize = 64;

/// Stands for the signal among the watches.
const SIGNAL: u64 = u64::MAX;

impl Poller {
    /// Waits of this also end when `signal` is given.
    pub(super) fn new(signal: &Signal) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, signal, EventData::new_u64(SIGNAL), EventFlags::IN | EventFlags::ET)?;
        Ok(Self(Arc::new(PollerState { epoll, files: Mutex::default() })))
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        self.0.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn watch(&self, watched: WatchedFile) -> io::Result<u32> {
        let mut files = self.files();
        let file = Arc::clone(&watched.file);
        let number = files.add(watched);
        let both = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        let added = epoll::add(&self.0.epoll, &file, EventData::new_u64(number.into()), both);
        if added.is_err() {
            files.watched.remove(&number);
        }
        Ok(added.map(|()| number)?)
    }

    pub(super) fn unwatch(&self, number: u32) {
        if let Some(WatchedFile { file, .. }) = self.files().watched.remove(&number) {
            // It is open, so that it is there.
            let _ = epoll::delete(&self.0.epoll, &file);
        }
    }

    pub(super) fn wait(&self, signal: &Signal, limit: Option<Duration>) {
        if signal.begin_wait() {
            return;
        }
        let limit = limit.map(|limit| Timespec::try_from(limit).expect("a limit of less than 2^63 seconds"));
        let mut events = [MaybeUninit::uninit(); EVENTS];
        let limit = limit.map(|limit| {
            // The time of `epoll_wait` is in milliseconds, and those of devices and emulations are not. An interrupted
            // wait ends early.
            let _ = poll(&mut [PollFd::new(&self.0.epoll, PollFlags::IN)], Some(&limit));
            Timespec::default()
        });
        let (events, _) = epoll::wait(&self.0.epoll, &mut events, limit.as_ref()).unwrap_or_default();
        let files = self.files();
        for event in events {
            let (flags, data) = (event.flags, event.data.u64());
            if data == SIGNAL {
                let _ = rustix::io::read(signal, &mut [0; 8]);
                continue;
            }
            let Some(WatchedFile { readiness, .. }) = files.watched.get(&(data as u32)) else { continue };
            if flags.contains(EventFlags::OUT) {
                readiness.set(FileUse::Write, true);
            }
            if flags.intersects(EventFlags::HUP | EventFlags::ERR | EventFlags::RDHUP) {
                readiness.end_of_peer();
            }
            // An error or the end is found by reading.
            if flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR | EventFlags::RDHUP) {
                readiness.set(FileUse::Read, true);
            }
        }
        signal.end_wait();
    }
}
