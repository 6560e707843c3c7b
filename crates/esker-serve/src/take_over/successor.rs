//! The process that takes over, as the server that serves sees it.

use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::{LAYOUT, items};
use crate::control::{ControlConnection, ControlError};
use crate::held::{Handover, TakeOverRequest};

/// A process that has asked to take over.
pub struct Successor {
    connection: ControlConnection,
    request: TakeOverRequest,
}

impl Successor {
    pub(crate) fn new(connection: ControlConnection, request: TakeOverRequest) -> Self {
        Self { connection, request }
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
    /// does not.
    pub(crate) fn hand(self, mut handover: Handover, limit: Duration) -> Option<Handover> {
        let Ok(mut stream) = self.connection.into_stream() else { return Some(handover) };
        let is_ready = stream.set_nonblocking(false).and_then(|()| stream.set_write_timeout(Some(limit)));
        let is_ready = is_ready.and_then(|()| stream.set_read_timeout(Some(limit)));
        let is_sent = is_ready.and_then(|()| items::send(&mut stream, &handover)).is_ok();
        if (is_sent && has_confirmed(&stream)) || has_confirmed_after_all(&mut stream) {
            handover.listeners.iter_mut().for_each(|(_, listener)| listener.leave());
            return None;
        }
        Some(handover)
    }
}

/// Waits for the line that says that the new process serves.
fn has_confirmed(stream: &UnixStream) -> bool {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).is_ok() && line == CONFIRMATION
}

/// Gives up. The line may have come at the last moment; from then on, it cannot be sent any more.
fn has_confirmed_after_all(stream: &mut UnixStream) -> bool {
    // It may be gone.
    let _ = stream.write_all(b"{\"error\":{\"message\":\"the server has waited for too long, and serves on\"}}\n");
    let _ = stream.shutdown(Shutdown::Read);
    has_confirmed(stream)
}

pub(super) const CONFIRMATION: &str = "{\"ok\":null}\n";
