//! How a server ends.

use esker_core::Nanos;
use esker_volume::Clock;

use super::{CLIENTS_LIMIT, LastWork, PATIENCE, Server, nanos};
use crate::control::ControlError;
use crate::export::ServedExport;
use crate::served::Served;

impl<S: Served> Server<S> {
    /// Serves until `is_stopping` says so. Then clients get the answers to what they have under way, further requests
    /// are refused, and what was written is made durable, whether or not clients have left. No other process can take
    /// over; see [`Self::serve`].
    pub fn run(&mut self, is_stopping: impl Fn() -> bool) -> LastWork {
        while let Some(successor) = self.serve(&is_stopping) {
            successor.refuse(ControlError::new("this server cannot be taken over"));
        }
        self.exports.iter_mut().for_each(|export| export.operators.stop_listening());
        self.clients.shut_down();
        let have_left = self.see_clients_off();
        self.clients.close();
        // Also what clients have not flushed: they may have been ended by the same signal.
        let failed = self.failed();
        self.flush();
        // With time of its own: what clients have taken of theirs must not cost the volumes the flush.
        let until = self.clock.now() + nanos(self.settings.drain_limit);
        let have_ended =
            self.turn_until(until, |server| server.writable().all(|export| export.requests.under_way() == 0));
        // What moves meanwhile, as in a drain, does so without end, and can be left at any time. Structures get a
        // moment: if they are left in between, whoever opens the volume next has to repair them.
        let until = self.clock.now() + CLIENTS_LIMIT;
        self.turn_until(until, |server| server.writable().all(ServedExport::is_idle));
        match (self.failed() == failed, have_ended, have_left) {
            (false, ..) => LastWork::Failed,
            (_, false, _) => LastWork::Late,
            (.., false) => LastWork::Disconnected,
            _ => LastWork::Done,
        }
    }

    /// Takes turns until no client is left, or those that are left take and send nothing although nothing else is under
    /// way. Returns whether all have left.
    fn see_clients_off(&mut self) -> bool {
        let began = self.clock.now();
        let until = began + nanos(self.settings.drain_limit);
        let is_stuck = |server: &Self| {
            server.under_way() == 0 && server.clock.now() >= server.clients_moved.max(began) + CLIENTS_LIMIT
        };
        self.turn_until(until, |server| server.clients.is_empty() || is_stuck(server));
        self.clients.is_empty()
    }

    /// Takes turns until `is_so`. Returns false if it is not so in time.
    fn turn_until(&mut self, until: Nanos, is_so: impl Fn(&Self) -> bool) -> bool {
        while !is_so(self) {
            if self.clock.now() >= until {
                return false;
            }
            if !self.turn() {
                self.wait(Some(PATIENCE));
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use esker_core::Bytes;

    use super::*;
    use crate::server::ServeSettings;
    use crate::testing::{Emptiness, header, opening, server, turn_until};

    #[test]
    fn what_moves_in_the_background_does_not_hold_up_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let settings = ServeSettings { drain_limit: Duration::from_millis(50), ..ServeSettings::default() };
        let mut moving = Emptiness::new(Bytes::mib(1));
        moving.is_moving = true;
        let mut server = server(moving, &folder.path().join("socket"), settings);
        assert_eq!(server.run(|| true), LastWork::Done);
        assert_eq!(server.served(0).flushes, 1);
    }

    #[test]
    fn what_was_written_is_flushed_although_a_client_is_stuck_in_a_write() {
        // Once the clients' time is over before, and once they are found to be stuck.
        for drain_limit in [Duration::from_millis(50), ServeSettings::default().drain_limit] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("socket");
            let settings = ServeSettings { drain_limit, ..ServeSettings::default() };
            let mut server = server(Emptiness::new(Bytes::mib(1)), &path, settings);
            let mut stuck = UnixStream::connect(&path).unwrap();
            // The first sector of a write only.
            stuck.write_all(&[&opening()[..], &header(1, 65_536), &[1; 512]].concat()).unwrap();
            turn_until(&mut server, |server| server.status(0).connections.iter().any(|client| client.under_way == 1));
            assert_eq!(server.run(|| true), LastWork::Disconnected);
            assert_eq!(server.served(0).flushes, 1);
        }
    }
}
