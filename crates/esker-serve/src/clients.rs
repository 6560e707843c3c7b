//! The clients of what is served.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use esker_core::Nanos;
use esker_nbd::{Exports, Outcome, ServerEvent, ServerSession, ServerSettings};
use esker_volume::DeviceIo;

use crate::connection::Connection;
use crate::connections::Connections;
use crate::control::ControlError;
use crate::held::HeldClient;
use crate::listener::Listener;
use crate::log::LogEvent;
use crate::memory::{Data, Payload, ServedMemory};
use crate::observer::Observer;
use crate::requests::{Begun, Requests};
use crate::served::Served;
use crate::status::{ConnectionStatus, RequestCounts, ServingStatus};
use crate::tls::Tls;

/// How clients are treated.
#[derive(Clone, Debug)]
pub(crate) struct ClientLimits {
    /// The most clients at a time. Others wait until one has left.
    pub(crate) connections_max: usize,
    /// What a client may have under way.
    pub(crate) session: ServerSettings,
    /// How connections are encrypted, if they are.
    pub(crate) tls: Option<Tls>,
    /// How long a client may take until it has opened the export.
    pub(crate) negotiation: Duration,
}

/// The connections of clients, and their requests.
pub(crate) struct Clients {
    limits: ClientLimits,
    /// What those who connect from now on are offered.
    pub(crate) exports: Arc<Exports>,
    connections: Connections<Connection>,
    /// The connection whose handshake of TLS went on last.
    last_handshake: u32,
    requests: Requests,
    /// What has happened, if there is a log.
    pub(crate) news: Option<Vec<LogEvent>>,
    /// To be used again.
    events: Vec<ServerEvent<Payload>>,
}

impl Clients {
    pub(crate) fn new(limits: ClientLimits, exports: Arc<Exports>) -> Self {
        let connections = Connections::new(limits.connections_max);
        let (requests, events) = (Requests::default(), Vec::new());
        Self { limits, exports, connections, last_handshake: 0, requests, news: None, events }
    }

    pub(crate) fn listen(&mut self, io: &DeviceIo, listener: Listener) -> io::Result<()> {
        self.connections.listen(io, listener)
    }

    /// With `true`, no request is begun, until this is called with `false`. What clients have sent stays with them.
    pub(crate) fn hold(&mut self, is_held: bool) {
        self.connections.iter_mut().for_each(|(_, connection)| connection.session.hold(is_held));
    }

    /// Returns true if nothing is under way on any connection while they are held.
    pub(crate) fn are_held(&self) -> bool {
        self.connections.iter().all(Connection::is_held)
    }

    /// The listeners, and the clients that can be handed over.
    pub(crate) fn into_held(self) -> (Vec<Listener>, Vec<HeldClient>) {
        let (listeners, clients) = self.connections.into_parts();
        (listeners, clients.into_iter().filter_map(Connection::into_held).collect())
    }

    /// Goes on with a client of another process.
    pub(crate) fn restore(&mut self, io: &DeviceIo, client: HeldClient, now: Nanos) -> Result<(), ControlError> {
        let unable = |error: &dyn std::error::Error| ControlError {
            hint: Some("serve the same volume with the same options".to_string()),
            ..ControlError::new(format!("cannot go on serving {}: {error}", client.peer))
        };
        let settings = self.limits.session.clone();
        let session =
            ServerSession::restore(settings, &self.exports, &client.session).map_err(|error| unable(&error))?;
        let open = |socket| Connection::restored(socket, &client, now, session);
        self.connections.restore(io, Arc::clone(&client.socket), open).map_err(|error| unable(&error))
    }

    /// Goes on counting from what another process has counted.
    pub(crate) fn count_from(&mut self, requests: RequestCounts) {
        self.requests.counts = requests;
    }

    pub(crate) fn listeners_mut(&mut self) -> impl Iterator<Item = &mut Listener> {
        self.connections.listeners_mut()
    }

    /// Takes no more clients, and no more requests of those that are there.
    pub(crate) fn shut_down(&mut self) {
        self.connections.stop_listening();
        self.connections.iter_mut().for_each(|(_, connection)| connection.session.shut_down());
    }

    /// Returns true if there is no client.
    pub(crate) fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// Closes all connections.
    pub(crate) fn close(&mut self) {
        self.connections.close();
    }

    /// Accepts a client, if it may be there. Returns true if there was one.
    pub(crate) fn accept(&mut self, io: &DeviceIo, now: Nanos) -> bool {
        let (session, exports) = (&self.limits.session, &self.exports);
        let news = &mut self.news;
        let open = |socket, peer: String| {
            if let Some(news) = news {
                news.push(LogEvent::ClientConnected { peer: peer.clone() });
            }
            Connection::new(socket, peer, now, session.clone(), Arc::clone(exports))
        };
        // One at a time: then it is the turn of those who are there.
        self.connections.accept(io, 1, open)
    }

    /// Closes all connections, and those that are made.
    pub(crate) fn turn_away(&mut self) {
        self.connections.close();
        self.connections.turn_away();
    }

    /// Takes what clients have sent, and begins their requests. Returns true if there was something.
    pub(crate) fn receive(&mut self, served: &mut impl Served, now: Nanos) -> bool {
        let mut did_something = false;
        let handshake = self.next_handshake();
        let asking = self.connections.iter().filter(|connection| connection.is_asking(now)).count();
        for (number, connection) in self.connections.iter_mut() {
            if connection.is_starting_tls() && handshake != Some(number) {
                continue;
            }
            did_something |= connection.receive(&mut ServedMemory(served), &mut self.events, (now, asking > 1));
            for event in self.events.drain(..) {
                let request = match event {
                    ServerEvent::Opened(export) => {
                        connection.export = Some(export.name.clone());
                        if let Some(news) = &mut self.news {
                            let (peer, export) = (connection.peer.clone(), export.name.clone());
                            news.push(LogEvent::ExportOpened { peer, export });
                        }
                        continue;
                    }
                    ServerEvent::Request(request) => request,
                    ServerEvent::StartTls => {
                        let tls = self.limits.tls.as_ref().expect("what is offered is there");
                        connection.start_tls(tls);
                        continue;
                    }
                    ServerEvent::Disconnected => continue,
                    ServerEvent::Failed(error) => {
                        connection.failure = Some(error.to_string());
                        continue;
                    }
                };
                let (id, session) = (request.id, &mut connection.session);
                let begun = self.requests.begin(served, (number, Some(now)), (id, request.command, request.payload));
                let unsent = match begun {
                    Begun::UnderWay => None,
                    Begun::Done => session.reply(id, Outcome::Done, None),
                    Begun::Extents(extents) => session.reply(id, Outcome::Extents(&extents), None),
                    Begun::Failed(error) => session.reply(id, Outcome::Failed(error), None),
                };
                debug_assert!(unsent.is_none(), "nothing was given");
            }
        }
        did_something
    }

    /// The connection whose handshake of TLS goes on in this turn, one after the other: a handshake takes as long as
    /// many requests, and many of them at once must not hold up those who are served.
    fn next_handshake(&mut self) -> Option<u32> {
        self.limits.tls.as_ref()?;
        let mut first = None;
        for (number, _) in self.connections.iter_mut().filter(|(_, connection)| connection.is_starting_tls()) {
            if number > self.last_handshake {
                first = Some(number);
                break;
            }
            first = first.or(Some(number));
        }
        self.last_handshake = first.unwrap_or(self.last_handshake);
        first
    }

    /// Takes the replies. Returns true if there was one.
    pub(crate) fn take_replies(&mut self, served: &mut impl Served) -> bool {
        let mut did_something = false;
        while let Some(reply) = served.next_reply() {
            did_something = true;
            let Some(ended) = self.requests.take(served, reply) else { continue };
            let (outcome, data) = (ended.outcome(), ended.data.map(Data));
            let unsent = match self.connections.get_mut(ended.connection) {
                Some(connection) => connection.session.reply(ended.id, outcome, data),
                None => data,
            };
            unsent.into_iter().for_each(|Data(data)| served.recycle(data));
        }
        did_something
    }

    /// Sends what is to be sent, and closes what has ended. Returns true if something was sent.
    pub(crate) fn send(&mut self, served: &mut impl Served, now: Nanos) -> bool {
        let limit = self.negotiation_limit();
        let mut did_something = false;
        let have_left = self.connections.retain(|connection| {
            did_something |= connection.send(|Data(data)| served.recycle(data));
            let is_late = connection.session.is_negotiating() && connection.since + limit <= now;
            let is_kept = !connection.is_finished() && !is_late;
            if let Some(news) = self.news.as_mut().filter(|_| !is_kept) {
                let late = is_late.then(|| "it has opened no export in time".to_string());
                news.push(LogEvent::ClientLeft {
                    peer: connection.peer.clone(),
                    reason: connection.take_failure().or(late),
                });
            }
            is_kept
        });
        did_something || have_left
    }

    /// Returns true if clients have sent something that was not taken yet.
    pub(crate) fn have_more(&mut self) -> bool {
        self.connections.iter_mut().any(|(_, connection)| connection.has_more())
    }

    fn negotiation_limit(&self) -> Nanos {
        Nanos(u64::try_from(self.limits.negotiation.as_nanos()).unwrap_or(u64::MAX))
    }

    /// When the first client has taken too long to open the export.
    pub(crate) fn next_expiry(&self) -> Nanos {
        let limit = self.negotiation_limit();
        let negotiating = self.connections.iter().filter(|connection| connection.session.is_negotiating());
        negotiating.map(|connection| connection.since + limit).min().unwrap_or(Nanos::NEVER)
    }

    /// Begins a flush that nobody asked for.
    pub(crate) fn flush(&mut self, served: &mut impl Served) {
        let id = esker_core::Tag::new(0, 0);
        self.requests.begin(served, (NOBODY, None), (id, esker_nbd::Command::Flush, None));
    }

    /// Has `observer` told of requests from now on.
    pub(crate) fn observe(&mut self, observer: Box<dyn Observer>) {
        self.requests.observer = Some(observer);
    }

    /// Does what the observer has to do.
    pub(crate) fn step_observer(&mut self, now: Nanos) {
        self.requests.observer.iter_mut().for_each(|observer| observer.step(now));
    }

    /// When the observer has something to do.
    pub(crate) fn next_of_observer(&self) -> Nanos {
        self.requests.observer.as_ref().map_or(Nanos::NEVER, |observer| observer.next_event())
    }

    /// Number of requests under way.
    pub(crate) fn under_way(&self) -> usize {
        self.requests.under_way()
    }

    pub(crate) fn counts(&self) -> RequestCounts {
        self.requests.counts
    }

    /// What is said of them.
    pub(crate) fn status(&self) -> ServingStatus {
        let connection = |connection: &Connection| ConnectionStatus {
            peer: connection.peer.clone(),
            export: connection.export.clone(),
            under_way: connection.session.under_way(),
        };
        ServingStatus {
            addresses: self.connections.listeners().map(|listener| listener.address().to_string()).collect(),
            connections: self.connections.iter().map(connection).collect(),
            requests: self.requests.counts,
        }
    }
}

/// Stands for no connection: there are never as many.
const NOBODY: u32 = u32::MAX;
