//! One client.

use std::io::IoSlice;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use esker_core::Nanos;
use esker_nbd::{Exports, ServerEvent, ServerSession, ServerSettings};
use esker_volume::Watch;
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags};

use crate::memory::{Data, Payload, VolumeMemory};

/// Slices of one call of the operating system.
const SLICES: usize = 128;

/// Requests that a client is served before it is the turn of others.
const TURN: usize = 64;

/// A client's connection.
pub(crate) struct Connection {
    socket: Arc<OwnedFd>,
    watch: Watch,
    pub(crate) session: ServerSession<Payload, Data>,
    /// What the client is called.
    pub(crate) peer: String,
    /// When it came.
    pub(crate) since: Nanos,
    /// The export that it has opened.
    pub(crate) export: Option<String>,
    /// Whether nothing more comes from the client.
    is_closed: bool,
}

impl Connection {
    pub(crate) fn new(
        (socket, watch): (Arc<OwnedFd>, Watch),
        peer: String,
        since: Nanos,
        settings: ServerSettings,
        exports: Arc<Exports>,
    ) -> Self {
        let session = ServerSession::new(settings, exports);
        Self { socket, watch, session, peer, since, export: None, is_closed: false }
    }

    /// Takes what the client has sent, and appends what happens. Returns true if there was something.
    pub(crate) fn receive(&mut self, memory: &mut VolumeMemory<'_>, events: &mut Vec<ServerEvent<Payload>>) -> bool {
        let before = events.len();
        // What is left of the turn before, or waited until replies were sent.
        self.take_events(memory, events, before);
        let mut was_read = false;
        while self.watch.can_read() && !self.is_closed && events.len() - before < TURN {
            let Some(space) = self.session.space() else { break };
            let length = space.len();
            match rustix::io::read(&self.socket, space) {
                Ok(0) => self.is_closed = true,
                Ok(count) => {
                    was_read = true;
                    // Whatever comes after that is told.
                    if count < length {
                        self.watch.read_blocks();
                    }
                    self.session.received(count);
                    self.take_events(memory, events, before);
                }
                Err(Errno::AGAIN) => self.watch.read_blocks(),
                Err(Errno::INTR) => {}
                Err(_) => self.is_closed = true,
            }
        }
        was_read || events.len() > before
    }

    fn take_events(&mut self, memory: &mut VolumeMemory<'_>, events: &mut Vec<ServerEvent<Payload>>, before: usize) {
        while events.len() - before < TURN
            && let Some(event) = self.session.next_event(memory)
        {
            events.push(event);
        }
    }

    /// Returns true if another turn would take something that is there already.
    pub(crate) fn has_more(&mut self) -> bool {
        self.watch.can_read() && !self.is_closed && self.session.space().is_some()
    }

    /// Sends what is to be sent, as far as there is room. Returns true if something was sent.
    pub(crate) fn send(&mut self, mut recycle: impl FnMut(Data)) -> bool {
        let mut was_sent = false;
        while self.watch.can_write() && !self.is_closed && self.session.has_output() {
            let mut slices = [IoSlice::new(&[]); SLICES];
            let count = self.session.gather(&mut slices);
            let mut control = SendAncillaryBuffer::default();
            let sent = rustix::net::sendmsg(&self.socket, &slices[..count], &mut control, SendFlags::NOSIGNAL);
            match sent {
                Ok(count) => {
                    was_sent = true;
                    self.session.sent(count, &mut recycle);
                }
                Err(Errno::AGAIN) => self.watch.write_blocks(),
                Err(Errno::INTR) => {}
                Err(_) => self.is_closed = true,
            }
        }
        was_sent
    }

    /// Returns true if the connection is to be closed. Requests under way are answered to nobody.
    pub(crate) fn is_finished(&self) -> bool {
        self.is_closed || self.session.is_finished()
    }
}
