//! The clients of a volume.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use esker_core::Nanos;
use esker_nbd::{Exports, Outcome, ServerEvent, ServerSettings};
use esker_volume::{DeviceIo, SystemClock, Volume};

use crate::connection::Connection;
use crate::listener::Listener;
use crate::memory::{Data, Payload, VolumeMemory};
use crate::requests::{Begun, Requests};
use crate::status::{ConnectionStatus, RequestCounts};
use crate::watched::WatchedListener;

/// How clients are treated.
#[derive(Clone, Debug)]
pub(crate) struct ClientLimits {
    /// The most clients at a time. Others wait until one has left.
    pub(crate) connections_max: usize,
    /// What a client may have under way.
    pub(crate) session: ServerSettings,
    /// How long a client may take until it has opened the export.
    pub(crate) negotiation: Duration,
}

/// The connections of clients, and their requests.
pub(crate) struct Clients {
    limits: ClientLimits,
    /// What those who connect from now on are offered.
    pub(crate) exports: Arc<Exports>,
    listeners: Vec<WatchedListener>,
    /// By the numbers of their watches.
    connections: BTreeMap<u32, Connection>,
    requests: Requests,
    /// To be used again.
    events: Vec<ServerEvent<Payload>>,
}

impl Clients {
    pub(crate) fn new(limits: ClientLimits, exports: Arc<Exports>) -> Self {
        let (listeners, connections, events) = (Vec::new(), BTreeMap::new(), Vec::new());
        Self { limits, exports, listeners, connections, requests: Requests::default(), events }
    }

    pub(crate) fn listen(&mut self, io: &DeviceIo, listener: Listener) -> io::Result<()> {
        self.listeners.push(WatchedListener::new(io, listener)?);
        Ok(())
    }

    /// Takes no more clients, and no more requests of those that are there.
    pub(crate) fn shut_down(&mut self) {
        self.listeners.clear();
        self.connections.values_mut().for_each(|connection| connection.session.shut_down());
    }

    /// Returns true if there is no client.
    pub(crate) fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// Closes all connections.
    pub(crate) fn close(&mut self) {
        self.connections.clear();
    }

    /// Accepts clients, as many as may be there. Returns true if there are new ones.
    pub(crate) fn accept(&mut self, io: &DeviceIo, now: Nanos) -> bool {
        let before = self.connections.len();
        for listener in &mut self.listeners {
            while self.connections.len() < self.limits.connections_max
                && let Some((socket, peer)) = listener.accept()
            {
                if let Ok(watch) = io.watch(Arc::clone(&socket)) {
                    let (session, exports) = (self.limits.session.clone(), Arc::clone(&self.exports));
                    let number = watch.number();
                    self.connections.insert(number, Connection::new((socket, watch), peer, now, session, exports));
                }
            }
        }
        self.connections.len() > before
    }

    /// Takes what clients have sent, and begins their requests. Returns true if there was something.
    pub(crate) fn receive(&mut self, volume: &mut Volume<SystemClock>) -> bool {
        let mut did_something = false;
        for (&number, connection) in &mut self.connections {
            did_something |= connection.receive(&mut VolumeMemory(volume), &mut self.events);
            for event in self.events.drain(..) {
                let request = match event {
                    ServerEvent::Opened(export) => {
                        connection.export = Some(export.name.clone());
                        continue;
                    }
                    ServerEvent::Request(request) => request,
                    ServerEvent::StartTls => unreachable!("it is not offered"),
                    ServerEvent::Disconnected | ServerEvent::Failed(_) => continue,
                };
                let (id, session) = (request.id, &mut connection.session);
                let begun = self.requests.begin(volume, number, (id, request.command, request.payload));
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

    /// Takes the replies of the volume. Returns true if there was one.
    pub(crate) fn take_replies(&mut self, volume: &mut Volume<SystemClock>) -> bool {
        let mut did_something = false;
        while let Some(reply) = volume.next_reply() {
            did_something = true;
            let Some(ended) = self.requests.take(volume, reply) else { continue };
            let (outcome, data) = (ended.outcome(), ended.data.map(Data));
            let unsent = match self.connections.get_mut(&ended.connection) {
                Some(connection) => connection.session.reply(ended.id, outcome, data),
                None => data,
            };
            unsent.into_iter().for_each(|Data(data)| volume.recycle(data));
        }
        did_something
    }

    /// Sends what is to be sent, and closes what has ended. Returns true if something was sent.
    pub(crate) fn send(&mut self, volume: &mut Volume<SystemClock>, now: Nanos) -> bool {
        let (before, limit) = (self.connections.len(), self.negotiation_limit());
        let mut did_something = false;
        self.connections.retain(|_, connection| {
            did_something |= connection.send(|Data(data)| volume.recycle(data));
            let is_late = connection.session.is_negotiating() && connection.since + limit <= now;
            !connection.is_finished() && !is_late
        });
        if self.connections.len() < before {
            // Others may have waited for the room.
            self.listeners.iter_mut().for_each(|listener| listener.may_accept = true);
            did_something = true;
        }
        did_something
    }

    /// Returns true if clients have sent something that was not taken yet.
    pub(crate) fn have_more(&mut self) -> bool {
        self.connections.values_mut().any(Connection::has_more)
    }

    fn negotiation_limit(&self) -> Nanos {
        Nanos(u64::try_from(self.limits.negotiation.as_nanos()).unwrap_or(u64::MAX))
    }

    /// When the first client has taken too long to open the export.
    pub(crate) fn next_expiry(&self) -> Nanos {
        let limit = self.negotiation_limit();
        let negotiating = self.connections.values().filter(|connection| connection.session.is_negotiating());
        negotiating.map(|connection| connection.since + limit).min().unwrap_or(Nanos::NEVER)
    }

    /// Begins a flush that nobody asked for.
    pub(crate) fn flush(&mut self, volume: &mut Volume<SystemClock>) {
        let id = esker_core::Tag::new(0, 0);
        self.requests.begin(volume, NOBODY, (id, esker_nbd::Command::Flush, None));
    }

    /// Number of requests that the volume has.
    pub(crate) fn under_way(&self) -> usize {
        self.requests.under_way()
    }

    pub(crate) fn counts(&self) -> RequestCounts {
        self.requests.counts
    }

    pub(crate) fn addresses(&self) -> impl Iterator<Item = String> {
        self.listeners.iter().map(|listener| listener.listener.address().to_string())
    }

    pub(crate) fn status(&self) -> impl Iterator<Item = ConnectionStatus> {
        self.connections.values().map(|connection| ConnectionStatus {
            peer: connection.peer.clone(),
            export: connection.export.clone(),
            under_way: connection.session.under_way(),
        })
    }
}

/// Stands for no connection: there are never as many.
const NOBODY: u32 = u32::MAX;
