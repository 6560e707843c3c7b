//! Those who operate an export.

use std::io;

use esker_core::Nanos;
use esker_volume::DeviceIo;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::connections::Connections;
use crate::control::{Asked, ControlConnection, ControlError};
use crate::held::HeldOperator;
use crate::listener::Listener;
use crate::take_over::Successor;

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

    /// Takes what operators ask for: who, and what. One who asks to take over is an operator no more.
    pub(crate) fn take<O: DeserializeOwned>(&mut self, io: &DeviceIo, now: Nanos) -> (Vec<(u32, O)>, Vec<Successor>) {
        self.0.try_again(now);
        self.0.accept(io, (now, usize::MAX), |socket, _| ControlConnection::new(socket, Vec::new()));
        let (mut operations, mut asked_to_take_over) = (Vec::new(), Vec::new());
        for (number, operator) in self.0.iter_mut() {
            match operator.next_asked() {
                Some(Asked::Operation(operation)) => operations.push((number, operation)),
                Some(Asked::TakeOver(request)) => asked_to_take_over.push((number, request)),
                None => {}
            }
        }
        let successor = |(number, request)| Some(Successor::new(self.0.remove(number)?, request));
        (operations, asked_to_take_over.into_iter().filter_map(successor).collect())
    }

    /// When those are tried again who could not be accepted.
    pub(crate) fn next_try(&self) -> Nanos {
        self.0.next_try()
    }

    /// The listeners, and the operators who wait for no answer. They operate the export of this index.
    pub(crate) fn into_held(self, export: usize) -> (Vec<Listener>, Vec<HeldOperator>) {
        let (listeners, operators) = self.0.into_parts();
        (listeners, operators.into_iter().filter_map(|operator| operator.into_held(export)).collect())
    }

    /// Goes on with an operator of another process.
    pub(crate) fn restore(&mut self, io: &DeviceIo, operator: HeldOperator) -> io::Result<()> {
        let HeldOperator { socket, input, .. } = operator;
        self.0.restore(io, socket, |socket| ControlConnection::new(socket, input))
    }

    pub(crate) fn listeners_mut(&mut self) -> impl Iterator<Item = &mut Listener> {
        self.0.listeners_mut()
    }

    /// Answers an operator, who may have left.
    pub(crate) fn answer(&mut self, number: u32, answer: Result<Value, ControlError>) {
        if let Some(operator) = self.0.get_mut(number) {
            operator.answer(answer);
        }
    }

    /// Sends what waits for room, and closes what has ended. Returns true if somebody has asked for more already.
    pub(crate) fn go_on(&mut self) -> bool {
        self.0.retain(|_, operator| {
            operator.send();
            !operator.is_finished()
        });
        self.0.iter().any(|(_, operator)| operator.has_more())
    }
}
