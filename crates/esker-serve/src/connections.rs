//! Connections of one kind, and the listeners where they are made.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use esker_core::Nanos;
use esker_volume::{DeviceIo, Watch};

use crate::listener::Listener;
use crate::socket::Socket;

/// Connections of one kind, by the numbers of their sockets.
pub(crate) struct Connections<C> {
    listeners: Vec<WatchedListener>,
    open: BTreeMap<u32, C>,
    /// The most at a time. Others wait until one is closed.
    most: usize,
    /// Places of connections that are closed, but not free yet.
    taken: usize,
    /// When those who wait are tried again after one could not be accepted.
    next_try: Nanos,
    /// Why one could not be accepted, if nobody has asked since.
    failure: Option<io::Error>,
}

/// How long one who has asked for nothing yet keeps a place that others want: a request follows its connection at once.
pub(crate) const SILENT_FOR: Nanos = Nanos::from_millis(100);

/// After how long those who could not be accepted are tried again. Whatever had used up the files of the process may
/// have closed one of which nobody tells.
const TRIED_AFTER: Nanos = Nanos::from_millis(500);

impl<C> Connections<C> {
    pub(crate) fn new(most: usize) -> Self {
        Self { listeners: Vec::new(), open: BTreeMap::new(), most, taken: 0, next_try: Nanos::NEVER, failure: None }
    }

    /// Has connections made at `listener`.
    pub(crate) fn listen(&mut self, io: &DeviceIo, listener: Listener) -> io::Result<()> {
        let watch = io.watch(Arc::clone(listener.socket()))?;
        self.listeners.push(WatchedListener { watch, listener, may_accept: false });
        Ok(())
    }

    /// Has a connection go on that another process has made.
    pub(crate) fn restore(
        &mut self,
        io: &DeviceIo,
        file: Arc<OwnedFd>,
        open: impl FnOnce(Socket) -> C,
    ) -> io::Result<()> {
        let socket = Socket::new(io, file)?;
        self.open.insert(socket.number(), open(socket));
        Ok(())
    }

    /// Takes a connection out.
    pub(crate) fn remove(&mut self, number: u32) -> Option<C> {
        self.open.remove(&number)
    }

    /// Stops watching: the listeners and the connections, to be handed over.
    pub(crate) fn into_parts(self) -> (Vec<Listener>, Vec<C>) {
        let listeners = self.listeners.into_iter().map(|watched| watched.listener).collect();
        (listeners, self.open.into_values().collect())
    }

    /// Accepts no more connections.
    pub(crate) fn stop_listening(&mut self) {
        self.listeners.clear();
    }

    pub(crate) fn listeners(&self) -> impl Iterator<Item = &Listener> {
        self.listeners.iter().map(|watched| &watched.listener)
    }

    pub(crate) fn listeners_mut(&mut self) -> impl Iterator<Item = &mut Listener> {
        self.listeners.iter_mut().map(|watched| &mut watched.listener)
    }

    /// Accepts those who wait, up to `most` at each listener, of whom `open` makes connections: of their sockets, and
    /// what they are called. Returns true if there were any.
    pub(crate) fn accept(
        &mut self,
        io: &DeviceIo,
        (now, most): (Nanos, usize),
        mut open: impl FnMut(Socket, String) -> C,
    ) -> bool {
        let mut has_accepted = false;
        for listener in 0..self.listeners.len() {
            for _ in 0..most.min(self.most.saturating_sub(self.open.len() + self.taken)) {
                let Some((file, peer)) = self.accept_at(listener, now) else { break };
                has_accepted = true;
                if let Ok(socket) = Socket::new(io, file) {
                    self.open.insert(socket.number(), open(socket, peer));
                }
            }
        }
        has_accepted
    }

    /// Accepts one for whom there is no room. The oldest connection that `gives_way` is closed for that, and returned.
    pub(crate) fn accept_instead(
        &mut self,
        (io, now): (&DeviceIo, Nanos),
        gives_way: impl Fn(&C) -> bool,
        open: impl FnOnce(Socket, String) -> C,
    ) -> Option<C> {
        let oldest = self.oldest(gives_way)?;
        let (file, peer) = (0..self.listeners.len()).find_map(|listener| self.accept_at(listener, now))?;
        let socket = Socket::new(io, file).ok()?;
        let closed = self.open.remove(&oldest);
        self.open.insert(socket.number(), open(socket, peer));
        closed
    }

    /// Accepts the next one who waits at the listener of this index.
    fn accept_at(&mut self, listener: usize, now: Nanos) -> Option<(OwnedFd, String)> {
        self.listeners[listener].accept().unwrap_or_else(|error| {
            (self.next_try, self.failure) = (now + TRIED_AFTER, Some(error));
            None
        })
    }

    /// Has those be tried again who could not be accepted, if it is time for that.
    pub(crate) fn try_again(&mut self, now: Nanos) {
        if self.next_try <= now {
            self.next_try = Nanos::NEVER;
            self.may_accept();
        }
    }

    /// When those are tried again who could not be accepted.
    pub(crate) fn next_try(&self) -> Nanos {
        self.next_try
    }

    /// Why one could not be accepted since the last call.
    pub(crate) fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    /// The oldest connection that `is_so`.
    pub(crate) fn oldest(&self, is_so: impl Fn(&C) -> bool) -> Option<u32> {
        // Sockets are numbered in the order in which they come.
        self.iter().find(|(_, connection)| is_so(connection)).map(|(number, _)| number)
    }

    /// Returns true if there are fewer than may be.
    pub(crate) fn has_room(&self) -> bool {
        self.open.len() + self.taken < self.most
    }

    /// Has so many places be taken beside those of the connections.
    pub(crate) fn take_places(&mut self, taken: usize) {
        if std::mem::replace(&mut self.taken, taken) > taken {
            // Others may have waited for the room.
            self.may_accept();
        }
    }

    /// Returns true if somebody waits at a listener.
    pub(crate) fn have_somebody_waiting(&self) -> bool {
        self.listeners.iter().any(WatchedListener::may_have_somebody)
    }

    /// Returns true if somebody waits at a listener for sure.
    pub(crate) fn somebody_waits(&mut self) -> bool {
        self.listeners.iter_mut().any(WatchedListener::has_somebody)
    }

    /// Closes those that wait at the listeners, at once.
    pub(crate) fn turn_away(&mut self, now: Nanos) {
        (0..self.listeners.len()).for_each(|listener| while self.accept_at(listener, now).is_some() {});
    }

    /// Closes the connections for which `is_kept` is false. Returns true if there are any.
    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(u32, &mut C) -> bool) -> bool {
        let before = self.open.len();
        self.open.retain(|&number, connection| is_kept(number, connection));
        let have_left = self.open.len() < before;
        if have_left {
            // Others may have waited for the room.
            self.may_accept();
        }
        have_left
    }

    fn may_accept(&mut self) {
        self.listeners.iter_mut().for_each(|listener| listener.may_accept = true);
    }

    /// Closes all connections.
    pub(crate) fn close(&mut self) {
        self.open.clear();
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut C> {
        self.open.get_mut(&number)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &C)> {
        self.open.iter().map(|(&number, connection)| (number, connection))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut C)> {
        self.open.iter_mut().map(|(&number, connection)| (number, connection))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

/// A listener that waits watch.
struct WatchedListener {
    watch: Watch,
    listener: Listener,
    /// Whether somebody may be waiting there of whom no watch tells.
    may_accept: bool,
}

impl WatchedListener {
    fn may_have_somebody(&self) -> bool {
        self.may_accept || self.watch.can_read()
    }

    /// Returns true if somebody waits, who is not accepted by this.
    fn has_somebody(&mut self) -> bool {
        if !self.may_have_somebody() {
            return false;
        }
        let is_there = self.listener.has_somebody();
        if !is_there {
            self.nobody_is_there();
        }
        is_there
    }

    fn nobody_is_there(&mut self) {
        self.watch.read_blocks();
        self.may_accept = false;
    }

    /// Accepts the next one who waits, and returns the socket and what the peer is called.
    fn accept(&mut self) -> io::Result<Option<(OwnedFd, String)>> {
        if !self.may_have_somebody() {
            return Ok(None);
        }
        let accepted = self.listener.accept();
        if !matches!(accepted, Ok(Some(_))) {
            self.nobody_is_there();
        }
        accepted
    }
}
