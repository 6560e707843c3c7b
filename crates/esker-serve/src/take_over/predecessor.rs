//! The server that serves, as the process that takes over sees it.

use std::path::Path;
use std::time::Duration;

use super::LAYOUT;
use super::items::{NoHandover, Receiver};
use super::successor::CONFIRMATION;
use crate::control::{ControlError, connect};
use crate::held::{Handover, TakeOverRequest};

/// How long the server may take to hand over: it waits for its requests for at most half of that.
const LIMIT: Duration = Duration::from_secs(75);

/// A server that has handed over, and that serves on if this is dropped.
#[derive(Debug)]
pub struct Predecessor(Receiver);

/// Asks the server that has a control socket at `socket` to hand over the exports of these names, which have to be all
/// of its own in their order. From then on it serves no more, and its volumes can be
/// opened; unless [`Server::take_over_from`](crate::Server::take_over_from) succeeds, it serves on.
///
/// # Errors
/// If nobody serves there, or if the server refuses.
pub fn take_over(socket: &Path, exports: &[&str]) -> Result<(Handover, Predecessor), ControlError> {
    let broken = |error: std::io::Error| ControlError::new(format!("the server does not hand over: {error}"));
    let stream = connect(socket)?;
    stream.set_read_timeout(Some(LIMIT)).map_err(broken)?;
    let exports = exports.iter().map(ToString::to_string).collect();
    let request = TakeOverRequest::TakeOver { layout: LAYOUT, exports };
    let request = serde_json::to_string(&request).expect("it is plain data");
    let mut server = Receiver::new(stream);
    server.send(&format!("{request}\n")).map_err(broken)?;
    let handover = server.handover().map_err(|error| match error {
        NoHandover::Refused { message, hint } => ControlError { hint, ..ControlError::new(message) },
        NoHandover::Broken(error) => broken(error),
    })?;
    Ok((handover, Predecessor(server)))
}

impl Predecessor {
    /// A server that has sent all items to `receiver`.
    #[cfg(test)]
    pub(super) fn of(receiver: Receiver) -> Self {
        Self(receiver)
    }

    /// Has the server end. Only then may its clients be served. If it serves on, it opens again what no lock protects
    /// once this is dropped: what was opened in its place has to be closed before.
    ///
    /// # Errors
    /// If it has waited for too long, and serves on.
    pub(crate) fn release(&mut self) -> Result<(), ControlError> {
        if self.0.send(CONFIRMATION).is_ok() {
            return Ok(());
        }
        match self.0.refusal() {
            Some(message) => Err(ControlError::new(message)),
            // It has died, and nobody serves but this process.
            None => Ok(()),
        }
    }
}
