//! The process that takes over, as the server that serves sees it.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use esker_core::Nanos;
use esker_volume::{Clock, SystemClock};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt;

use super::{LAYOUT, items};
use crate::control::{ControlConnection, ControlError};
use crate::held::{Handover, TakeOverRequest};
use crate::systemd::tell_main_process;

/// A process that has asked to take over.
pub struct Successor {
    connection: ControlConnection,
    request: TakeOverRequest,
}

impl Successor {
    pub(crate) fn new(connection: ControlConnection, request: TakeOverRequest) -> Self {
        Self { connection, request }
    }

    /// One that would serve `exports`, and its own end of the connection.
    #[cfg(test)]
    pub(crate) fn of_exports(exports: &[&str], io: &esker_volume::DeviceIo) -> (Self, UnixStream) {
        let (here, there) = UnixStream::pair().unwrap();
        here.set_nonblocking(true).unwrap();
        let socket = crate::socket::Socket::new(io, std::os::fd::OwnedFd::from(here)).unwrap();
        let exports = exports.iter().map(ToString::to_string).collect();
        let request = TakeOverRequest::TakeOver { layout: LAYOUT, exports };
        (Self::new(ControlConnection::new(socket, Vec::new(), Nanos::ZERO), request), there)
    }

    /// Refuses it; `error` tells it why.
    pub fn refuse(mut self, error: ControlError) {
        self.connection.answer(Err(error));
    }

    /// Why it cannot be handed `exports`, whose names these are.
    pub(crate) fn problem(&self, exports: &[&str]) -> Option<ControlError> {
        let TakeOverRequest::TakeOver { layout, exports: wanted } = &self.request;
        let error = |message: &str, hint: &str| {
            Some(ControlError { hint: Some(hint.to_string()), ..ControlError::new(message) })
        };
        if *layout != LAYOUT {
            let message = "the server that serves hands over in another way: it is of another version";
            return error(message, "stop the server, and start the new one");
        }
        if wanted != exports {
            let message =
                format!("it would serve {}, and the server that serves has {}", wanted.join(", "), exports.join(", "));
            return error(&message, "name the same in the same order; to serve others, stop the server first");
        }
        None
    }

    /// Returns true if it waits no more.
    pub(crate) fn has_left(&mut self) -> bool {
        self.connection.has_left()
    }

    /// Hands everything over, and waits until it serves, for at most `limit`. Returns what was to be handed over if it
    /// does not, and the process, which may still be there.
    pub(crate) fn hand(self, mut handover: Handover, limit: Duration) -> Option<(Handover, FormerSuccessor)> {
        let Ok(mut stream) = self.connection.into_stream() else { return Some((handover, FormerSuccessor(None))) };
        let is_ready = stream.set_nonblocking(false).and_then(|()| stream.set_write_timeout(Some(limit)));
        let is_sent = is_ready.and_then(|()| items::send(&mut stream, &handover)).is_ok();
        let mut said = Vec::new();
        if (is_sent && has_confirmed(&stream, &mut said, limit)) || has_confirmed_after_all(&mut stream, &mut said) {
            handover.listeners.iter_mut().for_each(|(_, listener)| listener.leave());
            if let Ok(successor) = sockopt::socket_peercred(&stream) {
                tell_main_process(successor.pid.as_raw_nonzero().get().unsigned_abs());
            }
            return None;
        }
        Some((handover, FormerSuccessor(Some(stream))))
    }
}

/// A process that was to take over, and does not.
#[derive(Debug)]
pub struct FormerSuccessor(Option<UnixStream>);

impl FormerSuccessor {
    /// Returns true once it has closed its connection: it has closed before what it had opened, or has ended.
    pub fn has_gone(&self) -> bool {
        let Some(stream) = &self.0 else { return true };
        // The end of the connection is reported unasked. Reading would not show it: that was given up.
        let mut polled = [PollFd::new(stream, PollFlags::empty())];
        let is_told = poll(&mut polled, Some(&Timespec::default())).is_ok();
        is_told && polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
    }
}

/// Waits for the line that says that the new process serves, behind what it has `said` of it. Ends with the first byte
/// that does not belong there.
fn has_confirmed(mut stream: &UnixStream, said: &mut Vec<u8>, limit: Duration) -> bool {
    let (clock, expected) = (SystemClock::start(), CONFIRMATION.as_bytes());
    let until = clock.now() + Nanos(limit.as_nanos().try_into().unwrap_or(u64::MAX));
    while expected.starts_with(said) && said.len() < expected.len() {
        let left = Duration::from_nanos(until.0.saturating_sub(clock.now().0));
        let mut bytes = [0; CONFIRMATION.len()];
        // No time at all is an error.
        let read = stream.set_read_timeout(Some(left)).and_then(|()| stream.read(&mut bytes[said.len()..]));
        match read {
            Ok(count @ 1..) => {
                let from = said.len();
                said.extend_from_slice(&bytes[from..from + count]);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            _ => return false,
        }
    }
    said == expected
}

/// Gives up. The line may have come at the last moment; from then on, it cannot be sent any more.
fn has_confirmed_after_all(stream: &mut UnixStream, said: &mut Vec<u8>) -> bool {
    // It may be gone.
    let _ = stream.write_all(b"{\"error\":{\"message\":\"the server has waited for too long, and serves on\"}}\n");
    let _ = stream.shutdown(Shutdown::Read);
    // What is there is read without waiting.
    has_confirmed(stream, said, Duration::from_secs(1))
}

pub(super) const CONFIRMATION: &str = "{\"ok\":null}\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_line_confirms_and_an_answer_without_end_is_not_kept() {
        for (sent, expected) in [(CONFIRMATION, true), ("{\"ok\":null} ", false), (&"x".repeat(100_000), false)] {
            let (here, mut there) = UnixStream::pair().unwrap();
            let sent = sent.to_string();
            // It stays connected.
            let sends = std::thread::spawn(move || _ = there.write_all(sent.as_bytes()));
            let mut said = Vec::new();
            assert_eq!(has_confirmed(&here, &mut said, Duration::from_secs(600)), expected);
            assert!(said.len() <= CONFIRMATION.len());
            drop(here);
            sends.join().unwrap();
        }
    }
}
