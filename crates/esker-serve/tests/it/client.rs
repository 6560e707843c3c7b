//! A client that waits for each answer, or keeps several requests under way.

use std::io::{IoSlice, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use esker_nbd::{ClientEvent, ClientSession, ClientSettings, Command, ErrorNumber, ExportInfo, RequestEnd, TlsWish};
use rustls::{ClientConfig, ClientConnection, StreamOwned};

/// A connected socket, in plain text or inside of TLS.
trait Transport: Read + Write + Send {}
impl<T: Read + Write + Send> Transport for T {}

pub(super) struct Client {
    stream: Box<dyn Transport>,
    session: ClientSession<Vec<u8>, u64>,
    pub(super) export: ExportInfo,
}

impl Client {
    /// Opens the default export.
    pub(super) fn connect(socket: &Path) -> Self {
        Self::over(stream(socket), None).unwrap()
    }

    /// Opens the export of this name.
    pub(super) fn connect_to(socket: &Path, export: &str) -> Result<Self, String> {
        Self::opened(stream(socket), export, None)
    }

    /// Connects with TLS.
    pub(super) fn connect_with(socket: &Path, tls: &Arc<ClientConfig>) -> Result<Self, String> {
        Self::over(stream(socket), Some(tls))
    }

    /// Opens the default export over `stream`, with TLS if there is any. Says why it cannot.
    pub(super) fn over(stream: UnixStream, tls: Option<&Arc<ClientConfig>>) -> Result<Self, String> {
        Self::opened(stream, "", tls)
    }

    fn opened(stream: UnixStream, export: &str, tls: Option<&Arc<ClientConfig>>) -> Result<Self, String> {
        let wish = if tls.is_some() { TlsWish::Must } else { TlsWish::No };
        let session = ClientSession::new(ClientSettings { tls: wish, ..ClientSettings::open(export) });
        let plain = stream.try_clone().unwrap();
        let mut client = Self { stream: Box::new(stream), session, export: ExportInfo::default() };
        loop {
            match client.try_event() {
                Some(ClientEvent::Opened(export)) => return Ok(Self { export, ..client }),
                Some(ClientEvent::StartTls) => {
                    let name = "localhost".try_into().unwrap();
                    let encrypted = ClientConnection::new(Arc::clone(tls.unwrap()), name).unwrap();
                    client.stream = Box::new(StreamOwned::new(encrypted, plain.try_clone().unwrap()));
                    client.session.tls_started();
                }
                Some(other) => return Err(format!("{other:?}")),
                None => return Err("the server has left".to_string()),
            }
        }
    }

    /// Waits for the next event; `None` if the server has left.
    fn try_event(&mut self) -> Option<ClientEvent<Vec<u8>, u64>> {
        loop {
            if let Some(event) = self.session.next_event() {
                return Some(event);
            }
            if !self.send() {
                return None;
            }
            let count = self.stream.read(self.session.space()?).unwrap_or(0);
            if count == 0 {
                return None;
            }
            self.session.received(count);
        }
    }

    /// Sends the requests that were begun.
    fn send(&mut self) -> bool {
        while self.session.has_output() {
            let mut slices = [IoSlice::new(&[]); 16];
            let count = self.session.gather(&mut slices);
            match self.stream.write_vectored(&slices[..count]) {
                Ok(count) => self.session.sent(count),
                Err(_) => return false,
            }
        }
        true
    }

    /// Begins a request.
    pub(super) fn submit(&mut self, id: u64, command: Command, buffer: Option<Vec<u8>>) {
        self.session.submit(command, id, buffer).unwrap();
    }

    /// Sends the requests that were begun, without reading an answer.
    pub(super) fn begin(&mut self) {
        assert!(self.send(), "the server is there");
    }

    /// Waits for the end of a request; `None` if the server has left.
    pub(super) fn try_done(&mut self) -> Option<RequestEnd<Vec<u8>, u64>> {
        match self.try_event()? {
            ClientEvent::Done(done) => Some(done),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn done(&mut self) -> RequestEnd<Vec<u8>, u64> {
        self.try_done().expect("the server does not leave")
    }

    /// Performs one request.
    pub(super) fn perform(&mut self, command: Command, buffer: Option<Vec<u8>>) -> RequestEnd<Vec<u8>, u64> {
        self.submit(0, command, buffer);
        self.done()
    }

    pub(super) fn read(&mut self, offset: u64, length: u32) -> Result<Vec<u8>, ErrorNumber> {
        let command = Command::Read { offset, length, in_one_piece: false };
        let done = self.perform(command, Some(vec![0xee; length as usize]));
        done.result.map(|()| done.buffer.unwrap())
    }

    pub(super) fn write(&mut self, offset: u64, bytes: &[u8], durable: bool) -> Result<(), ErrorNumber> {
        let command = Command::Write { offset, length: bytes.len() as u32, durable };
        self.perform(command, Some(bytes.to_vec())).result
    }

    pub(super) fn flush(&mut self) -> Result<(), ErrorNumber> {
        self.perform(Command::Flush, None).result
    }
}

/// Connects.
pub(super) fn stream(socket: &Path) -> UnixStream {
    let stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}
