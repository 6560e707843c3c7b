//! How clients are accepted.

use std::sync::Arc;

use esker_core::Nanos;
use esker_volume::DeviceIo;

use super::Clients;
use crate::connection::Connection;
use crate::log::LogEvent;

impl Clients {
    /// Accepts a client, if it may be there, and soon enough if others ask. Where all places are taken, the client that
    /// has negotiated for longest has to go: whoever has no right to an export must not keep out those who do. Returns
    /// true if there was one.
    pub(crate) fn accept(&mut self, io: &DeviceIo, now: Nanos) -> bool {
        self.connections.try_again(now);
        if !self.may_accept_somebody() {
            self.tell_of_full_places(now);
            return false;
        }
        let has_room = self.connections.has_room();
        // Also those who take the places of others: these get some time to open an export.
        let is_paced = !has_room || self.connections.iter().any(|(_, connection)| connection.is_asking(now));
        if is_paced && self.admission.next() > now {
            return false;
        }
        let (session, exports) = (&self.limits.session, &self.exports);
        let news = &mut self.news;
        let open = |socket, peer: String| {
            if let Some(news) = news {
                news.push(LogEvent::ClientConnected { peer: peer.clone() });
            }
            Connection::new(socket, peer, now, session.clone(), Arc::clone(exports))
        };
        // One at a time: then it is the turn of those who are there.
        let has_accepted = if has_room {
            self.connections.accept(io, (now, 1), open)
        } else {
            let closed = self.connections.accept_instead((io, now), is_negotiating, open);
            closed.iter().for_each(Connection::shut_down);
            if let (Some(closed), Some(news)) = (&closed, &mut self.news) {
                let reason = Some("all places are taken, and it has opened no export yet".to_string());
                news.push(LogEvent::ClientLeft { peer: closed.peer.clone(), reason });
            }
            closed.is_some()
        };
        if has_accepted && is_paced {
            self.admission.note(now);
        }
        self.tell_who_waits(now, has_accepted);
        has_accepted
    }

    /// Tells of clients who cannot be accepted, unless that was told.
    fn tell_who_waits(&mut self, now: Nanos, has_accepted: bool) {
        match self.connections.take_failure() {
            Some(error) => self.waiting.tell(&mut self.news, now, format!("nobody else can be accepted: {error}")),
            None if has_accepted => self.waiting.has_ended(),
            _ => {}
        }
    }

    /// Tells of clients who wait because there is no place for them, unless that was told.
    fn tell_of_full_places(&mut self, now: Nanos) {
        let (waiting, connections) = (&mut self.waiting, &mut self.connections);
        // Asking the kernel is worth it once only.
        if waiting.asks(now) && !connections.has_room() && connections.somebody_waits() {
            let of_left =
                if self.left.is_empty() { "" } else { ", some of them by requests of clients that have left" };
            let reason = format!("all {} places are taken{of_left}", self.limits.connections_max);
            waiting.tell(&mut self.news, now, reason);
        }
    }

    /// Returns true if somebody waits, and there is a place: a free one, or that of a client that has opened no export.
    fn may_accept_somebody(&self) -> bool {
        let is_there = self.connections.have_somebody_waiting();
        is_there && (self.connections.has_room() || self.connections.oldest(is_negotiating).is_some())
    }

    /// When the client that waits is accepted although others ask, or tried again because it could not be accepted.
    pub(crate) fn next_admission(&self) -> Nanos {
        match self.is_holding {
            true => Nanos::NEVER,
            false if self.may_accept_somebody() => self.admission.next(),
            false => self.connections.next_try(),
        }
    }
}

fn is_negotiating(connection: &Connection) -> bool {
    connection.session.is_negotiating()
}
