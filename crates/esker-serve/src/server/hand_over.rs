//! How a server ends in favour of another process, and how it begins with what another one had.

use std::time::Duration;

use esker_core::Nanos;
use esker_volume::Clock;

use super::{PATIENCE, Server};
use crate::control::ControlError;
use crate::held::{Handover, Role};
use crate::listener::Listener;
use crate::served::Served;
use crate::take_over::{Predecessor, Successor};

/// How long clients get to take their replies, to send the rest of a write and to choose an export before a hand-over.
/// The connections of those that do not are closed.
const CLIENTS_LIMIT: Nanos = Nanos::from_secs(2);

/// How an attempt to hand over has ended.
pub enum HandOver<S> {
    /// The server serves on as before.
    Refused(Box<Server<S>>),
    /// The other process serves.
    Taken,
    /// What was served was closed, and the other process does not serve: open it again, and have a new server
    /// [resume](Server::resume).
    TakenBack(Handover),
}

impl<S: Served> Server<S> {
    /// Serves until `is_stopping` says so, or until another process asks to take over, which is returned.
    pub fn serve(&mut self, is_stopping: impl Fn() -> bool) -> Option<Successor> {
        while !is_stopping() {
            if !self.turn() {
                self.wait(None);
            }
            if let Some(successor) = self.successor.take() {
                return Some(successor);
            }
        }
        None
    }

    /// Hands over to `successor`: ends what is under way, makes what was written durable, closes what is served, and
    /// passes all sockets. Clients notice a pause.
    pub fn hand_over(mut self, mut successor: Successor) -> HandOver<S> {
        if let Err(error) = self.prepare(&mut successor) {
            self.clients.hold(false);
            successor.refuse(error);
            return HandOver::Refused(Box::new(self));
        }
        let limit = self.settings.take_over_limit;
        // Also closes what is served.
        let handover = self.into_handover();
        match successor.hand(handover, limit) {
            None => HandOver::Taken,
            Some(handover) => HandOver::TakenBack(handover),
        }
    }

    /// Gets ready: no request is under way, and all that was written is durable.
    fn prepare(&mut self, successor: &mut Successor) -> Result<(), ControlError> {
        if let Some(problem) = successor.problem() {
            return Err(problem);
        }
        if self.served.is_changing() {
            let error = ControlError::new("a change of the volume is under way");
            return Err(ControlError { hint: Some("wait until it has ended".to_string()), ..error });
        }
        let now = self.clock.now();
        let (clients, all) = (now + CLIENTS_LIMIT, now + Nanos(nanos(self.settings.drain_limit)));
        self.hold_until(clients, successor, |server| server.clients.are_held());
        let have_ended = self.hold_until(all, successor, |server| server.clients.under_way() == 0);
        if successor.has_left() {
            return Err(ControlError::new("nobody waits for it any more"));
        }
        if !have_ended {
            return Err(ControlError::new("requests that are under way do not end"));
        }
        if self.served.is_read_only() {
            return Ok(());
        }
        let failed = self.clients.counts().failed;
        self.clients.flush(&mut self.served);
        let is_flushed = self.hold_until(all, successor, |server| server.clients.under_way() == 0);
        if !is_flushed || self.clients.counts().failed > failed {
            return Err(ControlError::new("what was written cannot be made durable"));
        }
        // What moves meanwhile may go on for long: a device is free once its last operation has ended.
        self.hold_until(clients, successor, |server| !server.served.is_busy());
        Ok(())
    }

    /// Takes turns in which no request is begun, until `is_so`, until somebody waits in vain or the successor has left.
    fn hold_until(&mut self, until: Nanos, successor: &mut Successor, is_so: impl Fn(&Self) -> bool) -> bool {
        loop {
            self.clients.hold(true);
            let Self { served, clients, .. } = self;
            let now = self.clock.now();
            let mut did_something = clients.receive(served, now);
            served.step();
            did_something |= clients.take_replies(served);
            did_something |= clients.send(served, now);
            if is_so(self) {
                return true;
            }
            if now >= until || successor.has_left() {
                return false;
            }
            if !did_something {
                self.wait(Some(PATIENCE.min(Duration::from_nanos(until.0 - now.0))));
            }
        }
    }

    /// Closes what is served and keeps all else. Clients that are not between two requests, and those that are
    /// encrypted, lose their connection.
    fn into_handover(self) -> Handover {
        let (requests, requires_tls) = (self.clients.counts(), self.requires_tls());
        let (listeners, clients) = self.clients.into_held();
        let mut all: Vec<(Role, Listener)> = listeners.into_iter().map(|found| (Role::Clients, found)).collect();
        let (listeners, operators) = self.operators.into_held();
        all.extend(listeners.into_iter().map(|listener| (Role::Operators, listener)));
        all.extend(self.collectors.into_listeners().into_iter().map(|listener| (Role::Collectors, listener)));
        Handover { listeners: all, clients, operators, requests, requires_tls }
    }

    fn requires_tls(&self) -> bool {
        self.settings.tls.as_ref().is_some_and(|tls| tls.is_required)
    }

    /// Goes on with what another server had. Nothing is read of clients before the first turn.
    ///
    /// # Errors
    /// If what is served is not what the clients know, if that server required TLS and this one does not, or if the
    /// system watches no more sockets.
    pub fn resume(&mut self, handover: Handover) -> Result<(), ControlError> {
        let unwatched = |error: std::io::Error| ControlError::new(format!("cannot wait for a socket: {error}"));
        let now = self.clock.now();
        let Handover { listeners, clients, operators, requests, requires_tls } = handover;
        if requires_tls && !self.requires_tls() {
            let error = ControlError::new("the server that serves requires TLS, and this one would not");
            let hint = "give the same --tls-certificates; to go on without TLS, stop that server first";
            return Err(ControlError { hint: Some(hint.to_string()), ..error });
        }
        for (role, listener) in listeners {
            match role {
                Role::Clients => self.listen(listener),
                Role::Operators => self.take_control_at(listener),
                Role::Collectors => self.serve_metrics_at(listener),
            }
            .map_err(unwatched)?;
        }
        for operator in operators {
            self.operators.restore(&self.io, operator).map_err(unwatched)?;
        }
        self.clients.count_from(requests);
        clients.into_iter().try_for_each(|client| self.clients.restore(&self.io, client, now))
    }

    /// Takes over from `predecessor`, which ends: call it when everything else is ready.
    ///
    /// # Errors
    /// If it has waited for too long and serves on: then this server must not.
    pub fn take_over_from(&mut self, predecessor: Predecessor) -> Result<(), ControlError> {
        predecessor.release()?;
        let own = self.clients.listeners_mut().chain(self.operators.listeners_mut());
        own.chain(self.collectors.listeners_mut()).for_each(Listener::own);
        Ok(())
    }
}

fn nanos(duration: Duration) -> u64 {
    duration.as_nanos().try_into().unwrap_or(u64::MAX)
}
