//! Operations on a volume that is served, over a Unix socket: one JSON object a line, and one line for each answer.

use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

use esker_core::Hint;
use esker_volume::Watch;
use rustix::io::Errno;
use rustix::net::SendFlags;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;

use crate::listener::{SHORTER, check_length};

/// What a server is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ControlRequest {
    /// The [`Status`](crate::Status).
    Status,
    /// A device joins.
    AddDevice {
        /// Its name.
        name: String,
        /// Where it is: the path of a file or block device, or whatever else the program knows.
        place: String,
        /// Whether what is on it may be lost.
        force: bool,
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
}

/// Why a server did not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ControlError {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
    /// Whether nobody serves the volume.
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

/// Asks the server that listens at `socket`, and waits for its answer.
///
/// # Errors
/// If nobody serves there, or if the server refuses.
pub fn call(socket: &Path, request: &ControlRequest) -> Result<Value, ControlError> {
    // The kernel keeps the socket of a killed server for a moment, and then resets who has connected.
    let broken = |error: io::Error| ControlError {
        is_unserved: matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe),
        ..ControlError::new(format!("the server does not answer: {error}"))
    };
    check_length(socket).map_err(|error| ControlError {
        message: format!("cannot ask at {}: {error}", socket.display()),
        hint: Some(SHORTER.to_string()),
        is_unserved: false,
    })?;
    let mut stream = UnixStream::connect(socket).map_err(|error| ControlError {
        message: format!("nobody serves at {}: {error}", socket.display()),
        hint: None,
        is_unserved: matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused),
    })?;
    let line = serde_json::to_string(request).expect("requests are plain data");
    stream.write_all(format!("{line}\n").as_bytes()).map_err(broken)?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).map_err(broken)?;
    let answer: Answer = serde_json::from_str(&answer)
        .map_err(|_| ControlError::new("the server has ended, or answers nothing that this program knows"))?;
    match answer {
        Answer::Ok(value) => Ok(value),
        Answer::Error { message, hint } => Err(ControlError { message, hint, is_unserved: false }),
    }
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

/// Somebody who operates the volume.
pub(crate) struct ControlConnection {
    socket: Arc<OwnedFd>,
    watch: Watch,
    input: Vec<u8>,
    output: Vec<u8>,
    /// Whether a request of theirs is under way. The next one waits.
    pub(crate) is_waiting: bool,
    /// Whether nothing more comes from it. What was asked before is answered.
    has_ended: bool,
    /// Whether nothing can be told to it.
    is_broken: bool,
}

impl ControlConnection {
    pub(crate) fn new(socket: Arc<OwnedFd>, watch: Watch) -> Self {
        let (input, output) = (Vec::new(), Vec::new());
        Self { socket, watch, input, output, is_waiting: false, has_ended: false, is_broken: false }
    }

    /// Returns the next request, if there is one and none is under way. A line that is none is answered.
    pub(crate) fn next_request(&mut self) -> Option<ControlRequest> {
        self.receive();
        while !self.is_waiting
            && let Some(end) = self.input.iter().position(|&byte| byte == b'\n')
        {
            let line: Vec<u8> = self.input.drain(..=end).collect();
            match serde_json::from_slice(&line) {
                Ok(request) => {
                    self.is_waiting = true;
                    return Some(request);
                }
                Err(error) => self.answer(Err(ControlError::new(format!("this is no request: {error}")))),
            }
        }
        None
    }

    fn receive(&mut self) {
        let mut bytes = [0; 4096];
        while self.watch.can_read() && !self.has_ended && !self.is_broken {
            match rustix::io::read(&self.socket, &mut bytes) {
                Ok(0) => self.has_ended = true,
                Ok(count) => self.input.extend_from_slice(&bytes[..count]),
                Err(Errno::AGAIN) => self.watch.read_blocks(),
                Err(Errno::INTR) => {}
                Err(_) => self.is_broken = true,
            }
            // Nobody needs so long a line.
            self.is_broken |= self.input.len() > LINE_MAX;
        }
    }

    /// Answers the request under way.
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
        while self.watch.can_write() && !self.output.is_empty() && !self.is_broken {
            match rustix::net::send(&self.socket, &self.output, SendFlags::NOSIGNAL) {
                Ok(count) => drop(self.output.drain(..count)),
                Err(Errno::AGAIN) => self.watch.write_blocks(),
                Err(Errno::INTR) => {}
                Err(_) => self.is_broken = true,
            }
        }
    }

    /// Returns true if nothing more comes from it and nothing is to be told.
    pub(crate) fn is_finished(&self) -> bool {
        let was_answered = self.has_ended && self.output.is_empty() && !self.input.contains(&b'\n');
        !self.is_waiting && (self.is_broken || was_answered)
    }
}
