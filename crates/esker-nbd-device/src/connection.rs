//! One connection to a server.

use std::io::{self, ErrorKind, IoSlice, Write};
use std::time::Duration;

use esker_core::{Nanos, Tag};
use esker_nbd::{ClientError, ClientEvent, ClientSession, ClientSettings, Command, ExportInfo, RequestEnd, TlsWish};
use esker_volume::{Clock, SystemClock};
use thiserror::Error;

use crate::payload::Payload;
use crate::tls::{CertificateError, TlsSession};
use crate::uri::NbdUri;
use crate::wire::Wire;

/// Slices of one call of the operating system.
const SLICES: usize = 128;

/// How long a server may take to open the export, and for each whole answer after that: as long as the devices of a
/// volume that serves.
const ANSWER_LIMIT: Nanos = Nanos::from_secs(30);

/// Why an export cannot be reached.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The connection cannot be encrypted.
    #[error(transparent)]
    Certificates(#[from] CertificateError),
    /// Nobody answers there.
    #[error("{0}")]
    Unreachable(io::Error),
    /// The server has ended the connection, does not go on, or is none that the certificates know.
    #[error("the server was lost before it opened the export: {0}")]
    Lost(io::Error),
    /// The server has no such export, or breaks the protocol.
    #[error(transparent)]
    Refused(ClientError),
}

/// The end of a request.
pub(crate) type Done = RequestEnd<Payload, Tag>;

/// A connection on which an export is open.
pub(crate) struct Connection {
    wire: Wire,
    session: ClientSession<Payload, Tag>,
    tls: Option<Box<TlsSession>>,
    answer_limit: Nanos,
}

/// When what is waited for has to be there. A server that sends a byte now and then is no better than a silent one.
pub(crate) struct Deadline {
    clock: SystemClock,
    limit: Nanos,
}

impl Deadline {
    fn left(&self) -> io::Result<Duration> {
        match self.limit.saturating_sub(self.clock.now()) {
            Nanos::ZERO => {
                Err(io::Error::new(ErrorKind::TimedOut, format!("it has not answered within {}", self.limit)))
            }
            Nanos(left) => Ok(Duration::from_nanos(left)),
        }
    }
}

impl Connection {
    /// Connects and opens the export.
    pub(crate) fn open(uri: &NbdUri) -> Result<(Self, ExportInfo), ConnectError> {
        Self::open_within(uri, ANSWER_LIMIT)
    }

    /// The same for a server that gets `answer_limit` to open the export, and for each answer.
    pub(crate) fn open_within(uri: &NbdUri, answer_limit: Nanos) -> Result<(Self, ExportInfo), ConnectError> {
        let certificates = uri.certificates.as_deref();
        let mut prepared = certificates.map(|folder| TlsSession::new(folder, &uri.server)).transpose()?;
        let wire = Wire::connect(&uri.server).map_err(ConnectError::Unreachable)?;
        let settings = ClientSettings {
            tls: if prepared.is_some() { TlsWish::Must } else { TlsWish::No },
            block_status: false,
            requests_max: u32::MAX,
            ..ClientSettings::open(&uri.export)
        };
        let mut connection = Self { wire, session: ClientSession::new(settings), tls: None, answer_limit };
        let deadline = connection.deadline();
        loop {
            match connection.session.next_event() {
                Some(ClientEvent::Opened(info)) => return Ok((connection, info)),
                Some(ClientEvent::StartTls) => {
                    connection.tls = prepared.take().map(Box::new);
                    connection.session.tls_started();
                }
                Some(ClientEvent::Failed(error)) => {
                    // It leaves in order.
                    let _ = connection.send();
                    return Err(ConnectError::Refused(error));
                }
                Some(_) => unreachable!("no list is asked for, and nothing is under way"),
                None => {
                    connection.send().map_err(ConnectError::Lost)?;
                    connection.wait(&deadline).map_err(ConnectError::Lost)?;
                    connection.read().map_err(ConnectError::Lost)?;
                }
            }
        }
    }

    pub(crate) fn wire(&self) -> &Wire {
        &self.wire
    }

    /// Begins a request; an error if the session takes none.
    pub(crate) fn submit(&mut self, command: Command, tag: Tag, payload: Option<Payload>) -> io::Result<()> {
        self.session.submit(command, tag, payload).map_err(|rejection| io::Error::other(rejection.why))
    }

    /// Requests under way.
    pub(crate) fn under_way(&self) -> usize {
        self.session.under_way()
    }

    /// Returns true if bytes are to be sent.
    fn has_output(&self) -> bool {
        self.session.has_output() || self.tls.as_ref().is_some_and(|tls| tls.has_output())
    }

    /// Sends what is to be sent, as far as there is room.
    pub(crate) fn send(&mut self) -> io::Result<()> {
        while self.has_output() {
            match self.send_some() {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn send_some(&mut self) -> io::Result<()> {
        let mut slices = [IoSlice::new(&[]); SLICES];
        let count = self.session.gather(&mut slices);
        match &mut self.tls {
            None => {
                let sent = (&self.wire).write_vectored(&slices[..count])?;
                self.session.sent(sent);
                Ok(())
            }
            Some(tls) => {
                let taken = tls.encrypt(&slices[..count]);
                self.session.sent(taken);
                tls.send(&mut &self.wire)
            }
        }
    }

    /// Takes what the server has sent, and appends the requests that this ends.
    pub(crate) fn receive(&mut self, ended: &mut Vec<Done>) -> io::Result<()> {
        loop {
            let may_go_on = self.read();
            while let Some(event) = self.session.next_event() {
                match event {
                    ClientEvent::Done(done) => ended.push(done),
                    ClientEvent::Failed(error) => return Err(io::Error::new(ErrorKind::InvalidData, error)),
                    _ => return Err(io::Error::new(ErrorKind::InvalidData, "the server goes back to the handshake")),
                }
            }
            if !may_go_on? {
                break;
            }
        }
        if self.session.is_finished() {
            return Err(io::Error::new(ErrorKind::ConnectionAborted, "the server is being shut down"));
        }
        Ok(())
    }

    /// Reads once. Returns false if nothing more is there.
    fn read(&mut self) -> io::Result<bool> {
        let Some(space) = self.session.space() else { return Ok(false) };
        let read = match &mut self.tls {
            None => self.wire.read_some(space),
            Some(tls) => tls.read(&mut &self.wire, space).map(|count| (count, true)),
        };
        match read {
            Ok((0, _)) => Err(io::Error::new(ErrorKind::ConnectionAborted, "the server has closed the connection")),
            Ok((count, may_go_on)) => {
                self.session.received(count);
                Ok(may_go_on)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Until when the server may take for an answer that is waited for from now on.
    pub(crate) fn deadline(&self) -> Deadline {
        Deadline { clock: SystemClock::start(), limit: self.answer_limit }
    }

    /// Waits until there is something to read, or room to send. May end early; an error after `deadline`.
    pub(crate) fn wait(&self, deadline: &Deadline) -> io::Result<()> {
        self.wire.wait(self.has_output(), deadline.left()?)
    }

    /// Ends the connection at once. Returns the requests that have no answer, with the buffers that the session does
    /// not use.
    pub(crate) fn lose(&mut self) -> impl Iterator<Item = (Tag, Option<Payload>)> {
        self.wire.end();
        self.session.abandon()
    }

    /// Has calls wait themselves from now on.
    pub(crate) fn unwatch(&mut self) {
        self.wire.unwatch();
    }

    /// Tells the server that nothing more comes.
    pub(crate) fn leave(&mut self) {
        self.session.disconnect();
        // Whether it learns that, or sees the end of the connection, is the same to it.
        let _ = self.send();
        self.tls.iter_mut().for_each(|tls| tls.close());
        let _ = self.send();
        self.wire.end();
    }
}
