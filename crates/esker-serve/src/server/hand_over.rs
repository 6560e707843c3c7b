//! How a server ends in favour of another process, and how it begins with what another one had.

use std::time::Duration;

use esker_core::Nanos;
use esker_volume::Clock;

use super::{CLIENTS_LIMIT, PATIENCE, Server, nanos};
use crate::control::ControlError;
use crate::export::ServedExport;
use crate::held::{Handover, HeldExport, Role};
use crate::listener::Listener;
use crate::served::Served;
use crate::status::RequestCounts;
use crate::systemd::tell_main_process;
use crate::take_over::{FormerSuccessor, Predecessor, Successor};

/// How an attempt to hand over has ended.
pub enum HandOver<S> {
    /// The server serves on as before.
    Refused(Box<Server<S>>),
    /// The other process serves.
    Taken,
    /// What was served was closed, and the other process does not serve: open it again, and have a new server
    /// [resume](Server::resume). What no lock protects may be in use until that process [has
    /// gone](FormerSuccessor::has_gone).
    TakenBack(Handover, FormerSuccessor),
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
            Some((handover, successor)) => HandOver::TakenBack(handover, successor),
        }
    }

    /// Gets ready: no request is under way, and all that was written is durable.
    fn prepare(&mut self, successor: &mut Successor) -> Result<(), ControlError> {
        let names: Vec<&str> = self.exports.iter().map(|export| &*export.name).collect();
        if let Some(problem) = successor.problem(&names) {
            return Err(problem);
        }
        if let Some(export) = self.exports.iter().find(|export| export.served.is_changing()) {
            let error = ControlError::new(format!("a change of {} is under way", export.name));
            return Err(ControlError { hint: Some("wait until it has ended".to_string()), ..error });
        }
        self.refuse_failed_devices()?;
        let now = self.clock.now();
        let (clients, all) = (now + CLIENTS_LIMIT, now + nanos(self.settings.drain_limit));
        self.hold_until(clients, successor, |server| server.clients.are_held());
        let have_ended = self.hold_until(all, successor, |server| server.under_way() == 0);
        if successor.has_left() {
            return Err(ControlError::new("nobody waits for it any more"));
        }
        if !have_ended {
            return Err(ControlError::new("requests that are under way do not end"));
        }
        loop {
            let begun = self.make_durable(all, successor)?;
            // What moves meanwhile may go on for long: a device is free once its last operation has ended.
            self.hold_until(clients, successor, |server| server.writable().all(ServedExport::is_idle));
            // A client may have sent the rest of a write, which was answered, and which the flush does not cover. It
            // begins no other one.
            if self.begun() == begun {
                break;
            }
        }
        // The flush may have shown it, and where others have copies it has succeeded all the same.
        self.refuse_failed_devices()
    }

    /// Makes durable what was written, and sends the replies that are left, such as those of reads that took long.
    /// Returns the requests that were begun before.
    fn make_durable(&mut self, until: Nanos, successor: &mut Successor) -> Result<Vec<RequestCounts>, ControlError> {
        let failed = self.failed();
        // A flush covers only writes that have ended.
        if !self.hold_until(until, successor, |server| server.under_way() == 0) {
            return Err(ControlError::new("requests that are under way do not end"));
        }
        self.flush();
        let begun = self.begun();
        let is_flushed = self.hold_until(until, successor, |server| server.under_way() == 0);
        if !is_flushed || self.failed() > failed {
            return Err(ControlError::new("what was written cannot be made durable"));
        }
        let until = self.clock.now() + CLIENTS_LIMIT;
        self.hold_until(until, successor, |server| !server.clients.have_output());
        Ok(begun)
    }

    /// The requests to each export that were begun.
    fn begun(&self) -> Vec<RequestCounts> {
        self.exports.iter().map(|export| export.requests.counts).collect()
    }

    /// What was closed with a device that has failed may not be opened again.
    fn refuse_failed_devices(&self) -> Result<(), ControlError> {
        let mut failed = self.exports.iter().filter_map(|export| Some((&export.name, export.served.failed_device()?)));
        let Some((export, device)) = failed.next() else { return Ok(()) };
        let error = ControlError::new(format!("{device} of {export} has failed, so that it may not open again"));
        let hint = "remove it, or bring it back and start the server anew".to_string();
        Err(ControlError { hint: Some(hint), ..error })
    }

    /// Takes turns in which no request is begun, until `is_so`, until somebody waits in vain or the successor has left.
    fn hold_until(&mut self, until: Nanos, successor: &mut Successor, is_so: impl Fn(&Self) -> bool) -> bool {
        loop {
            self.clients.hold(true);
            let now = self.clock.now();
            let did_something = self.serve_clients(now);
            self.clients.step_observer(now);
            self.tell_news(now);
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
        let requires_tls = self.requires_tls();
        let mut handover = Handover { exports: self.held_exports(), requires_tls, ..Handover::default() };
        let mut add = |role, found: Vec<Listener>| {
            handover.listeners.extend(found.into_iter().map(|listener| (role, listener)));
        };
        let (listeners, clients) = self.clients.into_held();
        add(Role::Clients, listeners);
        for (index, export) in self.exports.into_iter().enumerate() {
            let (listeners, operators) = export.operators.into_held(index);
            add(Role::Operators(index), listeners);
            handover.operators.extend(operators);
        }
        add(Role::Collectors, self.collectors.into_listeners());
        Handover { clients, ..handover }
    }

    /// The exports, without requests that are under way.
    fn held_exports(&self) -> Vec<HeldExport> {
        let held = |export: &ServedExport<S>| HeldExport {
            name: export.name.clone(),
            description: export.served.description(),
            requests: export.requests.counts,
        };
        self.exports.iter().map(held).collect()
    }

    fn requires_tls(&self) -> bool {
        self.settings.tls.as_ref().is_some_and(|tls| tls.is_required)
    }

    /// Goes on with what another server had. Nothing is read of clients before the first turn.
    ///
    /// # Errors
    /// If what is served is not what that server has served or what the clients know, if that server required TLS and
    /// this one does not, or if the system watches no more sockets.
    pub fn resume(&mut self, handover: Handover) -> Result<(), ControlError> {
        let unwatched = |error: std::io::Error| ControlError::new(format!("cannot wait for a socket: {error}"));
        let now = self.clock.now();
        let Handover { exports, listeners, clients, operators, requires_tls } = handover;
        if requires_tls && !self.requires_tls() {
            let error = ControlError::new("the server that serves requires TLS, and this one would not");
            let hint = "give the same --tls-certificates; to go on without TLS, stop that server first";
            return Err(ControlError { hint: Some(hint.to_string()), ..error });
        }
        self.count_from(&exports)?;
        let io = self.io.clone();
        for (role, listener) in listeners {
            match role {
                Role::Clients => self.listen(listener),
                Role::Operators(export) => self.export(export)?.operators.listen(&io, listener),
                Role::Collectors => self.serve_metrics_at(listener),
            }
            .map_err(unwatched)?;
        }
        for operator in operators {
            self.export(operator.export)?.operators.restore(&io, operator, now).map_err(unwatched)?;
        }
        clients.into_iter().try_for_each(|client| self.clients.restore(&self.io, &self.exports, client, now))
    }

    /// Goes on counting from what another server has counted, if it has served the same.
    fn count_from(&mut self, held: &[HeldExport]) -> Result<(), ControlError> {
        let own = self.held_exports();
        if let Some((own, held)) = own.iter().zip(held).find(|(own, held)| own.description != held.description) {
            let HeldExport { name, description, .. } = own;
            return Err(ControlError::new(format!("{name} is {description}, and was {}", held.description)));
        }
        if own.len() != held.len() {
            return Err(ControlError::new(format!("{} exports are handed over, and {} served", held.len(), own.len())));
        }
        for (export, held) in self.exports.iter_mut().zip(held) {
            export.requests.counts = held.requests;
        }
        Ok(())
    }

    fn export(&mut self, index: usize) -> Result<&mut ServedExport<S>, ControlError> {
        let error = || ControlError::new("an operator of something that is not served is handed over");
        self.exports.get_mut(index).ok_or_else(error)
    }

    /// Takes over from `predecessor`, which ends: call it when everything else is ready.
    ///
    /// # Errors
    /// If it has waited for too long and serves on: then this server must not, and is to be dropped before
    /// `predecessor`.
    pub fn take_over_from(&mut self, predecessor: &mut Predecessor) -> Result<(), ControlError> {
        predecessor.release()?;
        // The predecessor tells it too, unless it was killed meanwhile, or is of a version that does not.
        tell_main_process(std::process::id());
        let operators = self.exports.iter_mut().flat_map(|export| export.operators.listeners_mut());
        let own = self.clients.listeners_mut().chain(operators);
        own.chain(self.collectors.listeners_mut()).for_each(Listener::own);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc;

    use esker_core::Bytes;
    use esker_volume::{DeviceIo, IoChoice, SystemClock};

    use super::*;
    use crate::server::ServeSettings;
    use crate::testing::{Emptiness, header, opening, server, turn_until};

    /// A server whose first client has sent `request`, and that client.
    fn server_with(served: Emptiness, folder: &tempfile::TempDir, request: &[u8]) -> (Server<Emptiness>, UnixStream) {
        let path = folder.path().join("socket");
        let mut server = server(served, &path, ServeSettings::default());
        let mut client = UnixStream::connect(&path).unwrap();
        client.write_all(&[&opening()[..], request].concat()).unwrap();
        turn_until(&mut server, |server| server.status(0).connections.iter().any(|client| client.under_way == 1));
        client.read_exact(&mut [0; 28]).unwrap();
        (server, client)
    }

    #[test]
    fn a_client_whose_read_takes_longer_than_clients_may_gets_all_of_it_and_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let length = 4 << 20;
        let mut served = Emptiness::new(Bytes::mib(8));
        let clock = SystemClock::start();
        let (flushes, is_flushing) = mpsc::channel();
        served.on_flush = Some(Box::new(move || flushes.send(()).unwrap()));
        served.data_wait = Some((clock, clock.now() + CLIENTS_LIMIT + Nanos::from_millis(200)));
        let (mut server, mut client) = server_with(served, &folder, &header(0, length));
        let reads = std::thread::spawn(move || {
            // Until then its socket takes a part only.
            is_flushing.recv().unwrap();
            std::thread::sleep(Duration::from_millis(100));
            let mut reply = vec![1; 16 + length as usize];
            client.read_exact(&mut reply).unwrap();
            assert!(reply[16..].iter().all(|&byte| byte == 0));
            client.write_all(&header(3, 0)).unwrap();
            client.read_exact(&mut reply[..16]).unwrap();
        });
        let (mut successor, _there) = Successor::of_exports(&["home"], &server.io);
        assert_eq!(server.prepare(&mut successor), Ok(()));
        let handover = server.into_handover();
        assert_eq!(handover.clients(), 1);
        let (io, clock) = (DeviceIo::start(IoChoice::Threads).unwrap(), SystemClock::start());
        let served = vec![("home".to_string(), Emptiness::new(Bytes::mib(8)))];
        let mut next = Server::new(served, io, clock, ServeSettings::default()).unwrap();
        next.resume(handover).unwrap();
        turn_until(&mut next, |_| reads.is_finished());
        reads.join().unwrap();
        assert_eq!(next.served(0).flushes, 1);
    }

    #[test]
    fn the_rest_of_a_write_that_comes_during_the_flush_is_flushed_too() {
        let folder = tempfile::tempdir().unwrap();
        let request = [&header(1, 1024)[..], &[1; 512]].concat();
        let (mut server, client) = server_with(Emptiness::new(Bytes::mib(1)), &folder, &request);
        let mut sends = client.try_clone().unwrap();
        let served = server.served_mut(0);
        served.on_flush = Some(Box::new(move || sends.write_all(&[1; 512]).unwrap()));
        served.is_overtaken = true;
        let (mut successor, _there) = Successor::of_exports(&["home"], &server.io);
        assert_eq!(server.prepare(&mut successor), Ok(()));
        let status = server.status(0);
        assert_eq!((status.requests.writes, server.served(0).unflushed), (1, 0));
        assert_eq!(server.into_handover().clients(), 1);
        drop(client);
    }

    /// It may have begun while the replies of other clients were sent.
    #[test]
    fn a_flush_waits_for_a_write_that_is_under_way() {
        let folder = tempfile::tempdir().unwrap();
        let mut served = Emptiness::new(Bytes::mib(1));
        let clock = SystemClock::start();
        let (now, later) = (clock.now(), Nanos::from_millis(300));
        served.data_wait = Some((clock, now + later));
        let request = [&header(1, 512)[..], &[1; 512]].concat();
        let (mut server, client) = server_with(served, &folder, &request);
        let (mut successor, _there) = Successor::of_exports(&["home"], &server.io);
        let until = server.clock.now() + Nanos::from_secs(60);
        server.make_durable(until, &mut successor).unwrap();
        assert_eq!((server.served(0).flushes, server.served(0).unflushed), (1, 0));
        drop(client);
    }
}
