//! Operations on what is served, over a Unix socket: one JSON object a line, and one line for each answer.

use std::io::{self, BufRead, BufReader, ErrorKind, IoSlice, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use esker_core::{Hint, Nanos};
use esker_volume::ChangedSettings;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;

use crate::connections::SILENT_FOR;
use crate::held::{HeldOperator, TakeOverRequest};
use crate::listener::{SHORTER, check_length};
use crate::socket::Socket;

/// What the server of a volume is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum VolumeOperation {
    /// The [`VolumeStatus`](crate::VolumeStatus).
    Status,
    /// A device joins.
    AddDevice {
        /// Its name.
        name: String,
        /// Where it is: the path of a file or block device, or whatever else the program knows.
        place: String,
        /// Whether what is on it may be lost.
        force: bool,
        /// Whether it never keeps the map.
        #[serde(default)]
        no_map: bool,
    },
    /// The data of a device move to the others.
    Drain {
        /// The device's name.
        device: String,
    },
    /// A device that is being drained is used again.
    Keep {
        /// The device's name.
        device: String,
    },
    /// A device that was drained leaves.
    Remove {
        /// The device's name.
        device: String,
    },
    /// A device is used up to the size that it has now.
    GrowDevice {
        /// The device's name.
        device: String,
    },
    /// More capacity is offered to clients that connect from then on.
    Grow {
        /// The new capacity; all that there is room for if it is left out.
        capacity_bytes: Option<u64>,
    },
    /// The engine gets another policy, or other limits of its background work. What is left out stays.
    Set {
        /// These.
        settings: ChangedSettings,
    },
    /// The engine pins the ranges of a map, and moves what lies elsewhere.
    SetMap {
        /// Where the map is: the path of a file, or whatever else the program knows.
        place: String,
        /// Other settings. The policy places what is not pinned; if it is left out, it is the one in effect.
        settings: ChangedSettings,
    },
}

/// Why a server did not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ControlError {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
    /// Whether nobody serves there.
    pub is_unserved: bool,
}

impl ControlError {
    /// An error without a hint.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, is_unserved: false }
    }

    /// The message and the hint of `error`.
    pub fn of<E: std::error::Error + Hint>(error: &E) -> Self {
        Self { message: error.to_string(), hint: error.hint(), is_unserved: false }
    }
}

impl Hint for ControlError {
    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}

/// After how long without an answer a server is asked whether it is still there, and how long it gets to say so. While
/// one hands over to another process, for about 90 seconds at most, nobody is answered.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// Asks the server that listens at `socket`, and waits for its answer: a change takes as long as its devices do. A
/// server that does not even say how it does is not waited for.
///
/// # Errors
/// If nobody serves there, if the server refuses, or if it answers nothing at all.
pub fn call(socket: &Path, operation: &impl Serialize) -> Result<Value, ControlError> {
    call_within(socket, operation, ANSWER_LIMIT)
}

fn call_within(socket: &Path, operation: &impl Serialize, limit: Duration) -> Result<Value, ControlError> {
    let (mut stream, mut answer) = (ask(socket, operation, limit)?, Vec::new());
    while let Err(error) = stream.read_until(b'\n', &mut answer) {
        if !is_late(&error) {
            return Err(broken(&error));
        }
        let mut status = ask(socket, &json!({ "command": "status" }), limit)?;
        status.read_until(b'\n', &mut Vec::new()).map_err(|error| match is_late(&error) {
            true => silent(socket, limit * 2),
            false => broken(&error),
        })?;
    }
    let answer: Answer = serde_json::from_slice(&answer)
        .map_err(|_| ControlError::new("the server has ended, or answers nothing that this program knows"))?;
    match answer {
        Answer::Ok(value) => Ok(value),
        Answer::Error { message, hint } => Err(ControlError { message, hint, is_unserved: false }),
    }
}

/// Sends a request. Reading its answer may take `limit`.
fn ask(socket: &Path, operation: &impl Serialize, limit: Duration) -> Result<BufReader<UnixStream>, ControlError> {
    let mut stream = connect(socket)?;
    let line = serde_json::to_string(operation).expect("operations are plain data");
    let limits = stream.set_read_timeout(Some(limit)).and_then(|()| stream.set_write_timeout(Some(limit)));
    limits.and_then(|()| stream.write_all(format!("{line}\n").as_bytes())).map_err(|error| match is_late(&error) {
        true => silent(socket, limit),
        false => broken(&error),
    })?;
    Ok(BufReader::new(stream))
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Why a connection to a server is of no use. The kernel keeps the socket of a killed server for a moment, and then
/// resets who has connected.
fn broken(error: &io::Error) -> ControlError {
    ControlError {
        is_unserved: matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe),
        ..ControlError::new(format!("the server does not answer: {error}"))
    }
}

/// A server that is there and says nothing.
fn silent(socket: &Path, limit: Duration) -> ControlError {
    let hint =
        "what was asked for may still be done: see whether its process was stopped or hangs, and what its log says";
    let message =
        format!("the server at {} has not answered within {} s", socket.display(), limit.as_secs_f64().round());
    ControlError { hint: Some(hint.to_string()), ..ControlError::new(message) }
}

/// Connects to the server that listens at `socket`.
pub(crate) fn connect(socket: &Path) -> Result<UnixStream, ControlError> {
    check_length(socket).map_err(|error| ControlError {
        message: format!("cannot ask at {}: {error}", socket.display()),
        hint: Some(SHORTER.to_string()),
        is_unserved: false,
    })?;
    UnixStream::connect(socket).map_err(|error| ControlError {
        message: format!("nobody serves at {}: {error}", socket.display()),
        hint: None,
        is_unserved: matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused),
    })
}

/// A line that a server answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Ok(Value),
    Error { message: String, hint: Option<String> },
}

/// The longest request.
const LINE_MAX: usize = 64 << 10;

/// Somebody who operates what is served.
pub(crate) struct ControlConnection {
    socket: Socket,
    input: Vec<u8>,
    output: Vec<u8>,
    /// Whether an operation of theirs is under way. The next one waits.
    is_waiting: bool,
    /// Whether it has sent what nobody needs.
    is_refused: bool,
    since: Nanos,
}

/// What somebody asks a server for.
pub(crate) enum Asked<O> {
    /// An operation on what is served.
    Operation(O),
    /// To hand over.
    TakeOver(TakeOverRequest),
}

impl ControlConnection {
    /// A connection on which `input` was received and not used.
    pub(crate) fn new(socket: Socket, input: Vec<u8>, since: Nanos) -> Self {
        Self { socket, input, output: Vec::new(), is_waiting: false, is_refused: false, since }
    }

    /// From when on it may be closed for others who wait. `None` if there is something to be done for it.
    pub(crate) fn may_go_from(&self) -> Option<Nanos> {
        let is_silent = !self.is_waiting && self.output.is_empty() && !self.has_line();
        is_silent.then(|| self.since + SILENT_FOR)
    }

    /// Ends the connection for both sides at once.
    pub(crate) fn shut_down(&self) {
        self.socket.shut_down();
    }

    /// The connection of one who operates the export of this index, to be handed over. `None` if an answer is missing
    /// on it, or if it has ended.
    pub(crate) fn into_held(self, export: usize) -> Option<HeldOperator> {
        let is_idle = !self.is_waiting && self.output.is_empty() && !self.is_refused && !self.socket.has_ended();
        is_idle.then(|| HeldOperator { export, socket: self.socket.into_file(), input: self.input })
    }

    /// The connection as one that blocks others.
    pub(crate) fn into_stream(self) -> io::Result<UnixStream> {
        Ok(self.socket.into_file().try_clone()?.into())
    }

    /// Returns true if the peer is gone.
    pub(crate) fn has_left(&mut self) -> bool {
        self.receive();
        self.socket.has_ended()
    }

    /// Returns what the next line asks for, if no operation is under way and all answers are taken. A line that is no
    /// request is answered. One line a turn: clients are served between two of them.
    pub(crate) fn next_asked<O: DeserializeOwned>(&mut self) -> Option<Asked<O>> {
        self.receive();
        if self.is_waiting || !self.output.is_empty() {
            return None;
        }
        let end = self.input.iter().position(|&byte| byte == b'\n')?;
        let line: Vec<u8> = self.input.drain(..=end).collect();
        if let Ok(request) = serde_json::from_slice(&line) {
            return Some(Asked::TakeOver(request));
        }
        match serde_json::from_slice(&line) {
            Ok(operation) => {
                self.is_waiting = true;
                return Some(Asked::Operation(operation));
            }
            Err(error) => self.answer(Err(ControlError::new(format!("this is no request: {error}")))),
        }
        None
    }

    /// Returns true if another turn would take something that is there already.
    pub(crate) fn has_more(&self) -> bool {
        let is_free = !self.is_waiting && self.output.is_empty() && !self.is_refused;
        is_free && (self.has_line() || self.socket.can_read())
    }

    fn has_line(&self) -> bool {
        self.input.contains(&b'\n')
    }

    /// Receives until a whole line is there.
    fn receive(&mut self) {
        let mut bytes = [0; 4096];
        while self.socket.can_read() && !self.is_refused && !self.has_line() {
            let count = self.socket.read(&mut bytes);
            self.input.extend_from_slice(&bytes[..count]);
            self.is_refused = self.input.len() > LINE_MAX && !self.has_line();
        }
    }

    /// Answers the operation under way.
    pub(crate) fn answer(&mut self, answer: Result<Value, ControlError>) {
        self.is_waiting = false;
        let answer = match answer {
            Ok(value) => Answer::Ok(value),
            Err(ControlError { message, hint, .. }) => Answer::Error { message, hint },
        };
        self.output.extend_from_slice(json!(answer).to_string().as_bytes());
        self.output.push(b'\n');
        self.send();
    }

    pub(crate) fn send(&mut self) {
        while self.socket.can_write() && !self.output.is_empty() {
            let count = self.socket.send(&[IoSlice::new(&self.output)]);
            self.output.drain(..count);
        }
    }

    /// Returns true if nothing more comes from it and nothing is to be told.
    pub(crate) fn is_finished(&self) -> bool {
        let was_answered = self.socket.has_ended() && self.output.is_empty() && !self.has_line();
        !self.is_waiting && (self.socket.is_broken() || self.is_refused || was_answered)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    const LIMIT: Duration = Duration::from_millis(100);

    #[test]
    fn a_server_that_says_nothing_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _stopped = UnixListener::bind(&path).unwrap();
        let error = call_within(&path, &VolumeOperation::Status, LIMIT).unwrap_err();
        assert!(error.message.contains(&format!("{} has not answered", path.display())), "{error}");
        assert!(error.hint.is_some() && !error.is_unserved);
    }

    #[test]
    fn a_change_may_take_long_while_the_server_says_how_it_does() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let server = thread::spawn(move || {
            let (mut changed, _) = listener.accept().unwrap();
            changed.write_all(b"{\"ok\":").unwrap();
            for _ in 0..4 {
                let (mut asks, _) = listener.accept().unwrap();
                let mut line = String::new();
                BufReader::new(asks.try_clone().unwrap()).read_line(&mut line).unwrap();
                assert_eq!(line, "{\"command\":\"status\"}\n");
                asks.write_all(b"{\"ok\":{}}\n").unwrap();
            }
            changed.write_all(b"7}\n").unwrap();
        });
        let answer = call_within(&path, &VolumeOperation::Drain { device: "a".to_string() }, LIMIT);
        assert_eq!(answer, Ok(json!(7)));
        server.join().unwrap();
    }
}
