//! Files that the thread of a driver waits for beside its devices, such as the sockets of its clients.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

use crate::signal::Signal;

/// What a watched file may have become. Read or write until it would block: until then, nothing more is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// What the watch is called.
    pub watch: u32,
    /// Whether there may be something to read; otherwise there may be room to write.
    pub to_read: bool,
}

/// Watches for drivers whose devices are run by threads.
pub(crate) struct Poller(RefCell<State>);

struct State {
    epoll: OwnedFd,
    files: BTreeMap<u32, Arc<OwnedFd>>,
    ready: Vec<Ready>,
}

/// Events that are taken at once.
const EVENTS: usize = 64;

/// Stands for the signal among the watches.
const SIGNAL: u64 = u64::MAX;

impl Poller {
    /// Waits of this also end when `signal` is given.
    pub(crate) fn new(signal: &Signal) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, signal, EventData::new_u64(SIGNAL), EventFlags::IN | EventFlags::ET)?;
        Ok(Self(RefCell::new(State { epoll, files: BTreeMap::new(), ready: Vec::new() })))
    }

    pub(crate) fn watch(&self, watch: u32, file: Arc<OwnedFd>) -> io::Result<()> {
        let mut state = self.0.borrow_mut();
        let both = EventFlags::IN | EventFlags::OUT | EventFlags::ET;
        epoll::add(&state.epoll, &file, EventData::new_u64(watch.into()), both)?;
        state.files.insert(watch, file);
        Ok(())
    }

    pub(crate) fn unwatch(&self, watch: u32) {
        let mut state = self.0.borrow_mut();
        if let Some(file) = state.files.remove(&watch) {
            // It is open, so that it is there.
            let _ = epoll::delete(&state.epoll, &file);
        }
        state.ready.retain(|ready| ready.watch != watch);
    }

    pub(crate) fn take_ready(&self, into: &mut Vec<Ready>) {
        into.append(&mut self.0.borrow_mut().ready);
    }

    pub(crate) fn wait(&self, signal: &Signal, limit: Option<Duration>) {
        let mut state = self.0.borrow_mut();
        if !state.ready.is_empty() || signal.begin_wait() {
            return;
        }
        let limit = limit.map(|limit| Timespec::try_from(limit).expect("a limit of less than 2^63 seconds"));
        let State { epoll, ready, .. } = &mut *state;
        let mut events = [MaybeUninit::uninit(); EVENTS];
        // An interrupted wait ends early.
        let (events, _) = epoll::wait(epoll, &mut events, limit.as_ref()).unwrap_or_default();
        for event in events {
            let (flags, data) = (event.flags, event.data.u64());
            if data == SIGNAL {
                let _ = rustix::io::read(signal, &mut [0; 8]);
                continue;
            }
            let watch = data as u32;
            if flags.contains(EventFlags::OUT) {
                ready.push(Ready { watch, to_read: false });
            }
            // An error or the end is found by reading.
            if flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR | EventFlags::RDHUP) {
                ready.push(Ready { watch, to_read: true });
            }
        }
        signal.end_wait();
    }
}

/// Watches of a ring, by what they are called.
#[derive(Default)]
pub(super) struct RingWatches {
    files: BTreeMap<u32, Arc<OwnedFd>>,
    /// Calls that have to be queued: a watch, and whether it is for reading.
    to_queue: Vec<Ready>,
    /// Watches for which the kernel has been, or will be, asked for room to write.
    await_room: BTreeSet<u32>,
    /// Watches whose calls have to be cancelled.
    to_cancel: Vec<u32>,
    ready: Vec<Ready>,
}

impl RingWatches {
    pub(super) fn watch(&mut self, watch: u32, file: Arc<OwnedFd>) {
        self.files.insert(watch, file);
        self.to_queue.push(Ready { watch, to_read: true });
    }

    pub(super) fn unwatch(&mut self, watch: u32) {
        self.files.remove(&watch);
        self.await_room.remove(&watch);
        self.to_queue.retain(|ready| ready.watch != watch);
        self.ready.retain(|ready| ready.watch != watch);
        self.to_cancel.push(watch);
    }

    /// Has the next moment told at which `watch` can be written.
    pub(super) fn await_room(&mut self, watch: u32) {
        // Asked for again and again, calls would pile up in the kernel while a client does not read.
        if self.files.contains_key(&watch) && self.await_room.insert(watch) {
            self.to_queue.push(Ready { watch, to_read: false });
        }
    }

    /// Returns the next call that has to be queued, with its file.
    pub(super) fn next_to_queue(&self) -> Option<(Ready, RawFd)> {
        let ready = *self.to_queue.last()?;
        Some((ready, self.files[&ready.watch].as_fd().as_raw_fd()))
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

    /// Notes that the kernel has reported a watch. It has to be queued again unless there is `more` to come.
    pub(super) fn reported(&mut self, ready: Ready, is_well: bool, more: bool) {
        if !self.files.contains_key(&ready.watch) {
            return;
        }
        if !ready.to_read {
            self.await_room.remove(&ready.watch);
        }
        if is_well && !self.ready.contains(&ready) {
            self.ready.push(ready);
        }
        if ready.to_read && !more {
            self.to_queue.push(ready);
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    pub(super) fn take_ready(&mut self, into: &mut Vec<Ready>) {
        into.append(&mut self.ready);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_asked_for_room_once_until_it_answers() {
        let mut watches = RingWatches::default();
        watches.watch(1, Arc::new(OwnedFd::from(std::io::pipe().unwrap().1)));
        let queue = |watches: &mut RingWatches| {
            let mut calls = Vec::new();
            while let Some((call, _)) = watches.next_to_queue() {
                calls.push(call);
                watches.queued();
            }
            calls
        };
        let room = Ready { watch: 1, to_read: false };
        assert_eq!(queue(&mut watches).len(), 1);
        (0..1000).for_each(|_| watches.await_room(1));
        assert_eq!(queue(&mut watches), [room]);
        watches.await_room(1);
        assert_eq!(queue(&mut watches), []);
        watches.reported(room, true, false);
        watches.await_room(1);
        assert_eq!(queue(&mut watches), [room]);
    }
}
