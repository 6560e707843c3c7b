//! Those who operate a volume that is served.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use esker_volume::DeviceIo;
use serde_json::Value;

use crate::control::{ControlConnection, ControlError, ControlRequest};
use crate::listener::Listener;
use crate::watched::WatchedListener;

/// The connections of operators.
#[derive(Default)]
pub(crate) struct Operators {
    listener: Option<WatchedListener>,
    /// By the numbers of their watches.
    connections: BTreeMap<u32, ControlConnection>,
}

/// The most operators at a time. Others wait.
const OPERATORS_MAX: usize = 16;

impl Operators {
    pub(crate) fn listen(&mut self, io: &DeviceIo, listener: Listener) -> io::Result<()> {
        self.listener = Some(WatchedListener::new(io, listener)?);
        Ok(())
    }

    /// Takes no more operators.
    pub(crate) fn close(&mut self) {
        self.listener = None;
    }

    /// Takes what operators ask for: who, and what.
    pub(crate) fn take(&mut self, io: &DeviceIo) -> Vec<(u32, ControlRequest)> {
        while self.connections.len() < OPERATORS_MAX
            && let Some((socket, _)) = self.listener.as_mut().and_then(WatchedListener::accept)
        {
            if let Ok(watch) = io.watch(Arc::clone(&socket)) {
                self.connections.insert(watch.number(), ControlConnection::new(socket, watch));
            }
        }
        let mut asked = Vec::new();
        for (&number, operator) in &mut self.connections {
            asked.extend(operator.next_request().map(|request| (number, request)));
        }
        asked
    }

    /// Answers an operator, who may have left.
    pub(crate) fn answer(&mut self, number: u32, answer: Result<Value, ControlError>) {
        if let Some(operator) = self.connections.get_mut(&number) {
            operator.answer(answer);
        }
    }

    /// Sends what waits for room, and closes what has ended.
    pub(crate) fn go_on(&mut self) {
        let before = self.connections.len();
        self.connections.retain(|_, operator| {
            operator.send();
            !operator.is_finished()
        });
        if let Some(listener) = self.listener.as_mut().filter(|_| self.connections.len() < before) {
            listener.may_accept = true;
        }
    }
}
