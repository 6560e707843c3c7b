//! One client.

use std::io::IoSlice;
use std::sync::Arc;

use esker_core::Nanos;
use esker_nbd::{Exports, ServerEvent, ServerSession, ServerSettings};

use crate::export::{ServedExport, index_of};
use crate::held::HeldClient;
use crate::memory::{Data, Payload, ServedMemory};
use crate::served::Served;
use crate::socket::Socket;
use crate::stream::Stream;
use crate::tls::Tls;
use crate::turns::Demand;

/// Slices of one call of the operating system.
const SLICES: usize = 128;

/// A client's connection.
pub(crate) struct Connection {
    stream: Stream,
    pub(crate) session: ServerSession<Payload, Data>,
    /// What the client is called.
    pub(crate) peer: String,
    /// When it came.
    pub(crate) since: Nanos,
    /// The index of the export that it has opened.
    pub(crate) export: Option<usize>,
    /// How it broke the protocol, if it did.
    pub(crate) failure: Option<String>,
    pub(crate) demand: Demand,
    /// Requests of it that what is served has not answered.
    pub(crate) unanswered: u32,
}

impl Connection {
    pub(crate) fn new(
        socket: Socket,
        peer: String,
        since: Nanos,
        settings: ServerSettings,
        exports: Arc<Exports>,
    ) -> Self {
        let session = ServerSession::new(settings, exports);
        let (stream, demand) = (Stream::new(socket), Demand::new(since));
        Self { stream, session, peer, since, export: None, failure: None, demand, unanswered: 0 }
    }

    /// Goes on with the session of a client of another process, which has opened the export of this index.
    pub(crate) fn restored(
        socket: Socket,
        peer: String,
        since: Nanos,
        (export, session): (usize, ServerSession<Payload, Data>),
    ) -> Self {
        let (stream, demand) = (Stream::new(socket), Demand::new(since));
        Self { stream, session, peer, since, export: Some(export), failure: None, demand, unanswered: 0 }
    }

    /// The client between two requests, to be handed over. `None` if it has left, is encrypted, or is not there yet.
    pub(crate) fn into_held(self) -> Option<HeldClient> {
        let session = self.session.state().ok().filter(|_| !self.stream.has_ended())?;
        Some(HeldClient { socket: self.stream.into_file(), peer: self.peer, session })
    }

    /// Returns true if nothing is under way on it while it is held.
    pub(crate) fn is_held(&self) -> bool {
        let session = &self.session;
        !session.is_negotiating() && session.under_way() == 0 && !self.has_output()
    }

    /// Returns true if something is to be sent.
    pub(crate) fn has_output(&self) -> bool {
        self.session.has_output() || self.stream.has_output()
    }

    /// Begins TLS, which the client has asked for.
    pub(crate) fn start_tls(&mut self, tls: &Tls) {
        self.stream.start_tls(tls);
        self.session.tls_started();
    }

    /// Returns true if the handshake of TLS may go on.
    pub(crate) fn is_starting_tls(&self) -> bool {
        self.stream.is_starting_tls()
    }

    /// Why it is disconnected, if it does not leave by itself.
    pub(crate) fn take_failure(&mut self) -> Option<String> {
        self.failure.take().or_else(|| self.stream.failure().map(str::to_string))
    }

    /// Returns true if the client has opened an export and asked for something a moment ago.
    pub(crate) fn is_asking(&self, now: Nanos) -> bool {
        self.export.is_some() && self.demand.is_asking(now)
    }

    /// The index of the export that its requests are for. Before it has opened one, there are none.
    pub(crate) fn used(&self) -> usize {
        self.export.unwrap_or(0)
    }

    /// Takes what the client has sent, in a turn of at most `turn` requests. Appends what happens. Returns true if
    /// there was something.
    pub(crate) fn receive(
        &mut self,
        exports: &mut [ServedExport<impl Served>],
        events: &mut Vec<ServerEvent<Payload>>,
        (now, turn): (Nanos, usize),
    ) -> bool {
        let before = events.len();
        let most = before + turn;
        // What is left of the turn before, or waited until replies were sent.
        self.take_events(exports, events, most);
        let mut was_read = false;
        while self.stream.can_read() && events.len() < most {
            let Some(space) = self.session.space() else { break };
            let count = self.stream.read(space);
            if count == 0 {
                break;
            }
            was_read = true;
            self.session.received(count);
            self.take_events(exports, events, most);
        }
        let taken = events.len() - before;
        self.demand.served(now, (taken, turn), was_read);
        was_read || taken > 0
    }

    fn take_events(
        &mut self,
        exports: &mut [ServedExport<impl Served>],
        events: &mut Vec<ServerEvent<Payload>>,
        most: usize,
    ) {
        while events.len() < most
            && let Some(event) = self.session.next_event(&mut ServedMemory(&mut exports[self.used()].served))
        {
            // Its first write may have come with its choice: the payload goes where the export has its memory.
            if let ServerEvent::Opened(export) = &event {
                self.export = Some(index_of(exports, export));
            }
            events.push(event);
        }
    }

    /// Returns true if another turn would take something that is there already.
    pub(crate) fn has_more(&mut self) -> bool {
        self.stream.can_read() && self.session.space().is_some()
    }

    /// Sends what is to be sent, as far as there is room. Returns true if something was sent.
    pub(crate) fn send(&mut self, others_ask: bool, mut recycle: impl FnMut(Data)) -> bool {
        let mut was_sent = self.stream.flush();
        // While it negotiates, not every turn of the server takes what it has sent.
        if self.demand.replies_wait(others_ask) && !self.session.is_negotiating() {
            return was_sent;
        }
        while self.stream.can_write() && self.session.has_output() {
            let mut slices = [IoSlice::new(&[]); SLICES];
            let count = self.session.gather(&mut slices);
            let sent = self.stream.send(&slices[..count]);
            was_sent |= sent > 0;
            self.session.sent(sent, &mut recycle);
        }
        if self.session.is_finished() {
            self.stream.close();
            was_sent |= self.stream.flush();
        }
        was_sent
    }

    /// Ends the connection for both sides at once.
    pub(crate) fn shut_down(&self) {
        self.stream.shut_down();
    }

    /// Returns true if the connection is to be closed. Requests under way are answered to nobody, and keep its place.
    pub(crate) fn is_finished(&self) -> bool {
        self.stream.has_ended() || (self.session.is_finished() && !self.stream.has_output())
    }
}
