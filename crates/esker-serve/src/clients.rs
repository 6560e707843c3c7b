//! The clients of what is served.

mod accepting;
mod left;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use esker_core::Nanos;
use esker_nbd::{Exports, Outcome, ServerEvent, ServerSession, ServerSettings};
use esker_volume::DeviceIo;

use crate::admission::Admission;
use crate::connection::Connection;
use crate::connections::Connections;
use crate::control::ControlError;
use crate::export::{ServedExport, index_of};
use crate::held::HeldClient;
use crate::listener::Listener;
use crate::log::LogEvent;
use crate::memory::{Data, Payload};
use crate::observer::Observer;
use crate::requests::Begun;
use crate::served::Served;
use crate::status::{ConnectionStatus, ServingStatus};
use crate::tls::Tls;
use crate::turns::Asking;
use crate::waiting::Waiting;
use left::Left;

/// How clients are treated.
#[derive(Clone, Debug)]
pub(crate) struct ClientLimits {
    /// The most clients at a time. Others wait until one has left.
    pub(crate) connections_max: usize,
    /// What a client may have under way.
    pub(crate) session: ServerSettings,
    /// How connections are encrypted, if they are.
    pub(crate) tls: Option<Tls>,
    /// How long a client may take until it has opened an export.
    pub(crate) negotiation: Duration,
}

/// The connections of clients, and their requests.
pub(crate) struct Clients {
    limits: ClientLimits,
    /// What those who connect from now on are offered.
    pub(crate) exports: Arc<Exports>,
    connections: Connections<Connection>,
    left: Left,
    admission: Admission,
    waiting: Waiting,
    /// Whether no request is begun, and nobody accepted.
    is_holding: bool,
    /// The connection whose handshake of TLS went on last.
    last_handshake: u32,
    /// Is told of requests, if there is one.
    observer: Option<Box<dyn Observer>>,
    /// What has happened, if there is a log.
    pub(crate) news: Option<Vec<LogEvent>>,
    /// To be used again.
    events: Vec<ServerEvent<Payload>>,
}

impl Clients {
    pub(crate) fn new(limits: ClientLimits, exports: Arc<Exports>) -> Self {
        let connections = Connections::new(limits.connections_max);
        Self {
            limits,
            exports,
            connections,
            left: Left::default(),
            admission: Admission::default(),
            waiting: Waiting::default(),
            is_holding: false,
            last_handshake: 0,
            observer: None,
            news: None,
            events: Vec::new(),
        }
    }

    pub(crate) fn listen(&mut self, io: &DeviceIo, listener: Listener) -> io::Result<()> {
        self.connections.listen(io, listener)
    }

    /// With `true`, no request is begun, until this is called with `false`. What clients have sent stays with them.
    pub(crate) fn hold(&mut self, is_held: bool) {
        self.is_holding = is_held;
        self.connections.iter_mut().for_each(|(_, connection)| connection.session.hold(is_held));
    }

    /// Returns true if no request is begun, and nobody accepted.
    pub(crate) fn is_holding(&self) -> bool {
        self.is_holding
    }

    /// Returns true if nothing is under way on any connection while they are held.
    pub(crate) fn are_held(&self) -> bool {
        self.connections.iter().all(|(_, connection)| connection.is_held())
    }

    /// Returns true if something is to be sent to a client.
    pub(crate) fn have_output(&self) -> bool {
        self.connections.iter().any(|(_, connection)| connection.has_output())
    }

    /// The listeners, and the clients that can be handed over.
    pub(crate) fn into_held(self) -> (Vec<Listener>, Vec<HeldClient>) {
        let (listeners, clients) = self.connections.into_parts();
        (listeners, clients.into_iter().filter_map(Connection::into_held).collect())
    }

    /// Goes on with a client of another process.
    pub(crate) fn restore<S>(
        &mut self,
        io: &DeviceIo,
        exports: &[ServedExport<S>],
        client: HeldClient,
        now: Nanos,
    ) -> Result<(), ControlError> {
        let HeldClient { socket, peer, session } = client;
        let unable = |error: &dyn std::error::Error| ControlError {
            hint: Some("serve the same with the same options".to_string()),
            ..ControlError::new(format!("cannot go on serving {peer}: {error}"))
        };
        let session = ServerSession::restore(self.limits.session.clone(), &self.exports, &session);
        let session = session.map_err(|error| unable(&error))?;
        let export = index_of(exports, session.export().expect("only sessions with an export are handed over"));
        let open = |socket| Connection::restored(socket, peer.clone(), now, (export, session));
        self.connections.restore(io, socket, open).map_err(|error| unable(&error))
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

    /// Closes the connections to exports that cannot be reached; if none can be, all, and those that are made.
    pub(crate) fn turn_away(&mut self, exports: &[ServedExport<impl Served>], now: Nanos) {
        let is_reachable = |index: usize| exports[index].served.is_reachable();
        if (0..exports.len()).all(is_reachable) {
            return;
        }
        let (left, is_any_reachable) = (&mut self.left, (0..exports.len()).any(is_reachable));
        self.connections.retain(|number, connection| {
            let is_kept = is_any_reachable && connection.export.is_none_or(is_reachable);
            if !is_kept {
                left.add(number, connection);
            }
            is_kept
        });
        self.connections.take_places(left.len());
        if !is_any_reachable {
            self.connections.try_again(now);
            self.connections.turn_away(now);
        }
    }

    /// Takes what clients have sent, and begins their requests. Returns true if there was something.
    pub(crate) fn receive(&mut self, exports: &mut [ServedExport<impl Served>], now: Nanos) -> bool {
        let mut did_something = false;
        let handshake = self.next_handshake();
        let asking = self.asking(now);
        for (number, connection) in self.connections.iter_mut() {
            if connection.is_starting_tls() && handshake != Some(number) {
                continue;
            }
            did_something |= connection.receive(exports, &mut self.events, (now, asking.turn_of(number)));
            for event in self.events.drain(..) {
                let request = match event {
                    ServerEvent::Opened(export) => {
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
                let ServedExport { served, requests, .. } = &mut exports[connection.used()];
                let (id, session, told_to) = (request.id, &mut connection.session, self.observer.as_deref_mut());
                let begun = requests.begin(served, told_to, (number, now), (id, request.command, request.payload));
                let unsent = match begun {
                    Begun::UnderWay => {
                        connection.unanswered += 1;
                        None
                    }
                    Begun::Done => session.reply(id, Outcome::Done, None),
                    Begun::Extents(extents) => session.reply(id, Outcome::Extents(&extents), None),
                    Begun::Failed(error) => session.reply(id, Outcome::Failed(error), None),
                };
                debug_assert!(unsent.is_none(), "nothing was given");
            }
        }
        did_something
    }

    fn asking(&self, now: Nanos) -> Asking {
        Asking::of(self.connections.iter().map(|(number, connection)| (number, &connection.demand)), now)
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

    /// Takes the replies of an export. Returns true if there was one.
    pub(crate) fn take_replies(&mut self, export: &mut ServedExport<impl Served>) -> bool {
        let ServedExport { served, requests, .. } = export;
        let mut did_something = false;
        while let Some(reply) = served.next_reply() {
            did_something = true;
            let Some(ended) = requests.take(served, self.observer.as_deref_mut(), reply) else { continue };
            let (outcome, data) = (ended.outcome(), ended.data.map(Data));
            let unsent = match self.connections.get_mut(ended.connection) {
                Some(connection) => {
                    connection.unanswered -= 1;
                    connection.session.reply(ended.id, outcome, data)
                }
                None => {
                    self.left.answered(ended.connection);
                    data
                }
            };
            unsent.into_iter().for_each(|Data(data)| served.recycle(data));
        }
        self.connections.take_places(self.left.len());
        did_something
    }

    /// Sends what is to be sent, and closes what has ended. Returns true if something was sent.
    pub(crate) fn send(&mut self, exports: &mut [ServedExport<impl Served>], now: Nanos) -> bool {
        let limit = self.negotiation_limit();
        let mut did_something = false;
        let asking = self.asking(now);
        let have_left = self.connections.retain(|number, connection| {
            let served = &mut exports[connection.used()].served;
            did_something |= connection.send(asking.is_beside(number), |Data(data)| served.recycle(data));
            let is_late = connection.session.is_negotiating() && connection.since + limit <= now;
            let is_kept = !connection.is_finished() && !is_late;
            if !is_kept {
                connection.shut_down();
                self.left.add(number, connection);
            }
            if let Some(news) = self.news.as_mut().filter(|_| !is_kept) {
                let late = is_late.then(|| "it has opened no export in time".to_string());
                news.push(LogEvent::ClientLeft {
                    peer: connection.peer.clone(),
                    reason: connection.take_failure().or(late),
                });
            }
            is_kept
        });
        self.connections.take_places(self.left.len());
        did_something || have_left
    }

    /// Returns true if clients have sent something that was not taken yet.
    pub(crate) fn have_more(&mut self) -> bool {
        self.connections.iter_mut().any(|(_, connection)| connection.has_more())
    }

    fn negotiation_limit(&self) -> Nanos {
        Nanos(u64::try_from(self.limits.negotiation.as_nanos()).unwrap_or(u64::MAX))
    }

    /// When the first client has taken too long to open an export.
    pub(crate) fn next_expiry(&self) -> Nanos {
        let limit = self.negotiation_limit();
        let negotiating = self.connections.iter().filter(|(_, connection)| connection.session.is_negotiating());
        negotiating.map(|(_, connection)| connection.since + limit).min().unwrap_or(Nanos::NEVER)
    }

    /// Has `observer` told of requests from now on.
    pub(crate) fn observe(&mut self, observer: Box<dyn Observer>) {
        self.observer = Some(observer);
    }

    /// Does what the observer has to do.
    pub(crate) fn step_observer(&mut self, now: Nanos) {
        self.observer.iter_mut().for_each(|observer| observer.step(now));
    }

    /// When the observer has something to do.
    pub(crate) fn next_of_observer(&self) -> Nanos {
        self.observer.as_ref().map_or(Nanos::NEVER, |observer| observer.next_event())
    }

    /// Where they connect.
    pub(crate) fn addresses(&self) -> Vec<String> {
        self.connections.listeners().map(|listener| listener.address().to_string()).collect()
    }

    /// What is said of those of the export of this index, and of those who have opened none yet.
    pub(crate) fn status<S>(&self, index: usize, export: &ServedExport<S>) -> ServingStatus {
        let of_all = self.connections.iter().map(|(_, connection)| connection);
        let is_of_it = |connection: &&Connection| connection.export.is_none_or(|found| found == index);
        let connection = |connection: &Connection| ConnectionStatus {
            peer: connection.peer.clone(),
            export: connection.export.map(|_| export.name.clone()),
            under_way: connection.session.under_way(),
        };
        ServingStatus {
            export: export.name.clone(),
            addresses: self.addresses(),
            connections: of_all.filter(is_of_it).map(connection).collect(),
            requests: export.requests.counts,
        }
    }
}
