//! The server against bytes that are written down by hand from the document.

mod contexts;
mod handshake;
mod limits;
mod requests;
mod structured;
mod taking_over;
mod tls;

use std::io::IoSlice;
use std::sync::Arc;

use esker_core::{Bytes, Tag};

use super::*;
use crate::export::Export;
use crate::protocol::{BlockSizes, ErrorNumber, Extent};
use crate::testing::{assert_bytes, message};

/// Payloads are fresh lists.
pub(crate) struct Fresh;

impl Memory for Fresh {
    type Payload = Vec<u8>;
    fn take(&mut self, length: usize) -> Vec<u8> {
        vec![0xee; length]
    }
}

type Event = ServerEvent<Vec<u8>>;

/// A session, and what it sent.
pub(crate) struct Connection {
    pub(crate) session: ServerSession<Vec<u8>, Vec<u8>>,
    pub(crate) events: Vec<Event>,
    pub(crate) sent: Vec<u8>,
    pub(crate) recycled: Vec<Vec<u8>>,
}

/// Two exports: `disk` of 1 MiB in blocks of 512 bytes, which is the default, and `cd`, which is read-only.
pub(crate) fn exports() -> Arc<Exports> {
    let block_sizes = BlockSizes { minimum: 512, preferred: 4096, maximum: 65536 };
    let description = "spare".to_string();
    let disk = Export { block_sizes, description, can_multi_conn: true, ..Export::new("disk", Bytes::mib(1)) };
    let cd = Export { is_read_only: true, is_rotational: true, ..Export::new("cd", Bytes(4097)) };
    Arc::new(Exports::new(vec![disk, cd], Some("disk")).unwrap())
}

impl Connection {
    pub(crate) fn with(settings: ServerSettings) -> Self {
        Self::of(ServerSession::new(settings, exports()))
    }

    pub(crate) fn of(session: ServerSession<Vec<u8>, Vec<u8>>) -> Self {
        let mut connection = Self { session, events: Vec::new(), sent: Vec::new(), recycled: Vec::new() };
        connection.run();
        connection
    }

    /// With default settings, after the greeting.
    pub(crate) fn greeted(client_flags: &str) -> Self {
        let mut connection = Self::with(ServerSettings::default());
        connection.take_sent();
        connection.receive(client_flags);
        connection
    }

    /// With `disk` open, and structured replies with `base:allocation` if wanted.
    pub(crate) fn open(structured: bool) -> Self {
        let mut connection = Self::greeted("00000003");
        if structured {
            connection.receive("'IHAVEOPT' 00000008 00000000");
            connection.receive("'IHAVEOPT' 0000000a 0000001b 00000000 00000001 0000000f 'base:allocation'");
        }
        connection.receive("'IHAVEOPT' 00000007 0000000a 00000004 'disk' 0000");
        assert!(matches!(connection.events.pop(), Some(ServerEvent::Opened(export)) if export.name == "disk"));
        connection.take_sent();
        connection
    }

    pub(crate) fn receive(&mut self, text: &str) {
        self.receive_bytes(&message(text));
    }

    /// Gives the session all bytes for which it has room.
    pub(crate) fn receive_bytes(&mut self, mut bytes: &[u8]) -> usize {
        let whole = bytes.len();
        while let Some(space) = self.session.space().filter(|_| !bytes.is_empty()) {
            let count = space.len().min(bytes.len());
            space[..count].copy_from_slice(&bytes[..count]);
            self.session.received(count);
            bytes = &bytes[count..];
            self.run();
        }
        whole - bytes.len()
    }

    /// Takes events and sends until nothing happens any more.
    pub(crate) fn run(&mut self) {
        loop {
            let before = (self.events.len(), self.sent.len());
            while let Some(event) = self.session.next_event(&mut Fresh) {
                self.events.push(event);
            }
            self.send(usize::MAX);
            if before == (self.events.len(), self.sent.len()) {
                return;
            }
        }
    }

    /// Sends at most `count` bytes.
    pub(crate) fn send(&mut self, count: usize) {
        let mut slices = [IoSlice::new(&[]); 64];
        let listed = self.session.gather(&mut slices);
        let mut bytes: Vec<u8> = slices[..listed].iter().flat_map(|slice| slice.iter().copied()).collect();
        bytes.truncate(count);
        self.session.sent(bytes.len(), |data| self.recycled.push(data));
        self.sent.extend(bytes);
    }

    pub(crate) fn take_sent(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.sent)
    }

    /// Compares what was sent since the last time.
    #[track_caller]
    pub(crate) fn expect(&mut self, expected: &str) {
        assert_bytes(&self.take_sent(), expected);
    }

    /// Takes the one event that there is, which has to be a request.
    #[track_caller]
    pub(crate) fn request(&mut self) -> (Tag, Command, Option<Vec<u8>>) {
        assert_eq!(self.events.len(), 1, "{:?}", self.events);
        match self.events.pop() {
            Some(ServerEvent::Request(Request { id, command, payload })) => (id, command, payload),
            event => panic!("{event:?} is no request"),
        }
    }

    /// Takes the one event that there is, which has to be an error.
    #[track_caller]
    pub(crate) fn failure(&mut self) -> ServerError {
        assert_eq!(self.events.len(), 1, "{:?}", self.events);
        match self.events.pop() {
            Some(ServerEvent::Failed(error)) => error,
            event => panic!("{event:?} is no error"),
        }
    }

    pub(crate) fn reply(&mut self, id: Tag, outcome: Outcome<'_>, data: Option<Vec<u8>>) {
        assert_eq!(self.session.reply(id, outcome, data), None, "data come back");
        self.run();
    }
}
