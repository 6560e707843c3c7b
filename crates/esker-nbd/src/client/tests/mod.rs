//! The client against bytes that are written down by hand from the document.

mod handshake;
mod replies;

use std::io::IoSlice;

use super::*;
use crate::testing::{assert_bytes, message};

type Event = ClientEvent<Vec<u8>, u32>;

/// A session, and what it sent.
struct Connection {
    session: ClientSession<Vec<u8>, u32>,
    events: Vec<Event>,
    sent: Vec<u8>,
}

const GREETING: &str = "'NBDMAGIC' 'IHAVEOPT' 0003";

impl Connection {
    fn with(settings: ClientSettings) -> Self {
        Self { session: ClientSession::new(settings), events: Vec::new(), sent: Vec::new() }
    }

    /// With an export of 1 MiB, in blocks of 512 bytes; with structured replies and `base:allocation` if wanted.
    fn open(structured: bool) -> Self {
        let mut connection = Self::with(ClientSettings { structured, ..ClientSettings::open("disk") });
        connection.receive(GREETING);
        if structured {
            connection.receive("0003e889045565a9 00000008 00000001 00000000");
            connection.receive("0003e889045565a9 0000000a 00000004 00000013 0000002a 'base:allocation'");
            connection.receive("0003e889045565a9 0000000a 00000001 00000000");
        }
        let flags = if structured { "0ded" } else { "0d6d" };
        connection.receive(&format!("0003e889045565a9 00000007 00000003 0000000c 0000 0000000000100000 {flags}"));
        connection.receive("0003e889045565a9 00000007 00000003 0000000e 0003 00000200 00001000 00010000");
        connection.receive("0003e889045565a9 00000007 00000001 00000000");
        assert!(matches!(connection.events.pop(), Some(ClientEvent::Opened(_))));
        connection.sent.clear();
        connection
    }

    fn receive(&mut self, text: &str) {
        let bytes = message(text);
        let mut rest = &bytes[..];
        while let Some(space) = self.session.space().filter(|_| !rest.is_empty()) {
            let count = space.len().min(rest.len());
            space[..count].copy_from_slice(&rest[..count]);
            self.session.received(count);
            rest = &rest[count..];
            self.events.extend(std::iter::from_fn(|| self.session.next_event()));
        }
        self.send(usize::MAX);
    }

    fn send(&mut self, count: usize) {
        let mut slices = [IoSlice::new(&[]); 64];
        let listed = self.session.gather(&mut slices);
        let mut bytes: Vec<u8> = slices[..listed].iter().flat_map(|slice| slice.iter().copied()).collect();
        bytes.truncate(count);
        self.session.sent(bytes.len());
        self.sent.extend(bytes);
        self.events.extend(std::iter::from_fn(|| self.session.next_event()));
    }

    #[track_caller]
    fn expect(&mut self, expected: &str) {
        self.send(usize::MAX);
        assert_bytes(&std::mem::take(&mut self.sent), expected);
    }

    /// Sends a request, and returns its cookie in hexadecimal digits.
    #[track_caller]
    fn submit(&mut self, command: Command, buffer: Option<Vec<u8>>) -> String {
        self.session.submit(command, 7, buffer).expect("it keeps to what was offered");
        self.send(usize::MAX);
        let sent = std::mem::take(&mut self.sent);
        sent[8..16].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[track_caller]
    fn failure(&mut self) -> ClientError {
        assert_eq!(self.events.len(), 1, "{:?}", self.events);
        match self.events.pop() {
            Some(ClientEvent::Failed(error)) => error,
            event => panic!("{event:?} is no error"),
        }
    }

    #[track_caller]
    fn done(&mut self) -> RequestEnd<Vec<u8>, u32> {
        assert_eq!(self.events.len(), 1, "{:?}", self.events);
        match self.events.pop() {
            Some(ClientEvent::Done(done)) => done,
            event => panic!("{event:?} is no end"),
        }
    }
}
