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

/// The most operators at a time. Others take the place of the oldest one that asks for nothing, or wait.
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
        let open = |socket, _| ControlConnection::new(socket, Vec::new(), now);
        self.0.accept(io, (now, usize::MAX), open);
        let (mut operations, mut asked_to_take_over) = (Vec::new(), Vec::new());
        for (number, operator) in self.0.iter_mut() {
            match operator.next_asked() {
                Some(Asked::Operation(operation)) => operations.push((number, operation)),
                Some(Asked::TakeOver(request)) => asked_to_take_over.push((number, request)),
                None => {}
            }
        }
        let successor = |(number, request)| Some(Successor::new(self.0.remove(number)?, request));
        let successors = asked_to_take_over.into_iter().filter_map(successor).collect();
        // Now it is known who has asked.
        if !self.0.has_room() {
            let gives_way = |operator: &ControlConnection| operator.may_go_from().is_some_and(|from| from <= now);
            while let Some(closed) = self.0.accept_instead((io, now), gives_way, open) {
                closed.shut_down();
            }
        }
        (operations, successors)
    }

    /// When those who wait are tried again.
    pub(crate) fn next_event(&self) -> Nanos {
        let somebody_waits = !self.0.has_room() && self.0.have_somebody_waiting();
        let gives_way = self.0.iter().filter(|_| somebody_waits).filter_map(|(_, operator)| operator.may_go_from());
        gives_way.min().unwrap_or(Nanos::NEVER).min(self.0.next_try())
    }

    /// The listeners, and the operators who wait for no answer. They operate the export of this index.
    pub(crate) fn into_held(self, export: usize) -> (Vec<Listener>, Vec<HeldOperator>) {
        let (listeners, operators) = self.0.into_parts();
        (listeners, operators.into_iter().filter_map(|operator| operator.into_held(export)).collect())
    }

    /// Goes on with an operator of another process.
    pub(crate) fn restore(&mut self, io: &DeviceIo, operator: HeldOperator, now: Nanos) -> io::Result<()> {
        let HeldOperator { socket, input, .. } = operator;
        self.0.restore(io, socket, |socket| ControlConnection::new(socket, input, now))
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

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use esker_volume::IoChoice;
    use serde_json::json;

    use super::*;
    use crate::address::Address;
    use crate::connections::SILENT_FOR;

    #[test]
    fn who_asks_for_nothing_gives_way_to_others_who_wait() {
        let folder = tempfile::tempdir().unwrap();
        let (path, io) = (folder.path().join("socket"), DeviceIo::start(IoChoice::Best).unwrap());
        let mut operators = Operators::default();
        operators.listen(&io, Listener::bind(&Address::Unix(path.clone())).unwrap()).unwrap();
        let start = Nanos::from_secs(100);
        let wait = || (0..5).for_each(|_| io.wait(Some(Duration::from_millis(5))));
        let mut first: Vec<UnixStream> = (0..OPERATORS_MAX).map(|_| UnixStream::connect(&path).unwrap()).collect();
        first[0].write_all(b"1\n").unwrap();
        wait();
        let asked = operators.take::<Value>(&io, start).0;
        assert!(matches!(&asked[..], [(_, found)] if *found == json!(1)), "{asked:?}");
        let mut late = UnixStream::connect(&path).unwrap();
        late.write_all(b"2\n").unwrap();
        wait();
        assert!(operators.take::<Value>(&io, start).0.is_empty());
        let due = start + SILENT_FOR;
        assert_eq!(operators.next_event(), due);
        assert!(operators.take::<Value>(&io, due).0.is_empty(), "it was accepted");
        wait();
        let asked = operators.take::<Value>(&io, due).0;
        assert!(matches!(&asked[..], [(_, found)] if *found == json!(2)), "{asked:?}");
        // Who waits for an answer stays; the oldest other one was closed.
        for stream in &first[..2] {
            stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        }
        assert!((&first[0]).read(&mut [0]).is_err());
        assert_eq!((&first[1]).read(&mut [0]).unwrap(), 0);
        assert_eq!(operators.next_event(), Nanos::NEVER);
    }
}
