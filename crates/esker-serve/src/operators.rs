//! Those who operate what is served.

use std::io;

use esker_volume::DeviceIo;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::connections::Connections;
use crate::control::{ControlConnection, ControlError};
use crate::listener::Listener;

/// The connections of operators.
pub(crate) struct Operators(Connections<ControlConnection>);

/// The most operators at a time. Others wait.
const OPERATORS_MAX: usize = 16;

impl Default for Operators {
    fn default() -> Self {
        Self(Connections::new(OPERATORS_MAX))
    }
}

impl Operators {
    pub(crate) fn listen(&mut self, io: &DeviceIo, listener: Listener) -> io::Result<()> {
        self.0.listen(io, listener)
    }

    /// Takes no more operators.
    pub(crate) fn stop_listening(&mut self) {
        self.0.stop_listening();
    }

    /// Takes what operators ask for: who, and what.
    pub(crate) fn take<O: DeserializeOwned>(&mut self, io: &DeviceIo) -> Vec<(u32, O)> {
        self.0.accept(io, |socket, _| ControlConnection::new(socket));
        let operators = self.0.iter_mut();
        operators.filter_map(|(number, operator)| Some((number, operator.next_operation()?))).collect()
    }

    /// Answers an operator, who may have left.
    pub(crate) fn answer(&mut self, number: u32, answer: Result<Value, ControlError>) {
        if let Some(operator) = self.0.get_mut(number) {
            operator.answer(answer);
        }
    }

    /// Sends what waits for room, and closes what has ended.
    pub(crate) fn go_on(&mut self) {
        self.0.retain(|operator| {
            operator.send();
            !operator.is_finished()
        });
    }
}
