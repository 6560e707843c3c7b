//! Those who operate a volume that is served.

use std::collections::BTreeMap;
use std::io;

use esker_volume::{DeviceIo, Ready};
use serde_json::Value;

use crate::control::{ControlConnection, ControlError, ControlRequest};
use crate::listener::Listener;
use crate::watched::{WatchedListener, Watches};

/// The connections of operators.
#[derive(Default)]
pub(crate) struct Operators {
    listener: Option<WatchedListener>,
    connections: BTreeMap<u32, ControlConnection>,
}

/// The most operators at a time. Others wait.
const OPERATORS_MAX: usize = 16;

impl Operators {
    pub(crate) fn listen(&mut self, watches: &mut Watches, io: &DeviceIo, listener: Listener) -> io::Result<()> {
        self.listener = Some(watches.watch_listener(io, listener)?);
        Ok(())
    }

    /// Takes no more operators.
    pub(crate) fn close(&mut self, io: &DeviceIo) {
        if let Some(listener) = self.listener.take() {
            io.unwatch(listener.watch);
        }
    }

    /// Notes what has become ready. Returns false if it is none of these.
    pub(crate) fn note(&mut self, Ready { watch, to_read }: Ready) -> bool {
        if let Some(operator) = self.connections.get_mut(&watch) {
            *(if to_read { &mut operator.can_read } else { &mut operator.can_write }) = true;
            return true;
        }
        match &mut self.listener {
            Some(listener) if listener.watch == watch => {
                listener.may_accept = true;
                true
            }
            _ => false,
        }
    }

    /// Takes what operators ask for: who, and what.
    pub(crate) fn take(&mut self, watches: &mut Watches, io: &DeviceIo) -> Vec<(u32, ControlRequest)> {
        while self.connections.len() < OPERATORS_MAX
            && let Some((socket, _)) = self.listener.as_mut().and_then(WatchedListener::accept)
        {
            if let Ok(watch) = watches.watch(io, &socket) {
                self.connections.insert(watch, ControlConnection::new(socket));
            }
        }
        let mut asked = Vec::new();
        for (&watch, operator) in &mut self.connections {
            asked.extend(operator.next_request().map(|request| (watch, request)));
        }
        asked
    }

    /// Answers an operator, who may have left.
    pub(crate) fn answer(&mut self, watch: u32, answer: Result<Value, ControlError>) {
        if let Some(operator) = self.connections.get_mut(&watch) {
            operator.answer(answer);
        }
    }

    /// Sends what waits for room, and closes what has ended.
    pub(crate) fn go_on(&mut self, io: &DeviceIo) {
        let before = self.connections.len();
        self.connections.retain(|&watch, operator| {
            operator.send();
            if operator.is_finished() {
                io.unwatch(watch);
                return false;
            }
            if operator.has_output() {
                io.await_room(watch);
            }
            true
        });
        if let Some(listener) = self.listener.as_mut().filter(|_| self.connections.len() < before) {
            listener.may_accept = true;
        }
    }
}
