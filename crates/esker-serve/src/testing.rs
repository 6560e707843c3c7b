//! What tests serve.

use std::collections::VecDeque;
use std::path::Path;

use esker_core::{Bytes, Nanos, Request, RequestKind, Tag};
use esker_volume::{Buffer, Clock, DeviceIo, IoChoice, Reply, ReplyData, SystemClock};
use serde_json::Value;

use crate::address::Address;
use crate::control::ControlError;
use crate::listener::Listener;
use crate::metrics::Metrics;
use crate::served::Served;
use crate::server::{ServeSettings, Server};
use crate::status::ServingStatus;

/// A server of `served` for clients that connect at `path`.
pub(crate) fn server(served: Emptiness, path: &Path, settings: ServeSettings) -> Server<Emptiness> {
    let io = DeviceIo::start(IoChoice::Threads).unwrap();
    let mut server = Server::new(vec![("home".to_string(), served)], io, SystemClock::start(), settings).unwrap();
    server.listen(Listener::bind(&Address::Unix(path.to_path_buf())).unwrap()).unwrap();
    server
}

/// What a client sends that opens the default export the old way. It is answered with 28 bytes.
pub(crate) fn opening() -> Vec<u8> {
    let flags = 3u32.to_be_bytes();
    [&flags[..], b"IHAVEOPT", &1u32.to_be_bytes(), &0u32.to_be_bytes()].concat()
}

/// The header of a request of this kind to the first bytes.
pub(crate) fn header(kind: u8, length: u32) -> Vec<u8> {
    [&0x2560_9513u32.to_be_bytes()[..], &[0, 0, 0, kind], &[0; 16], &length.to_be_bytes()].concat()
}

/// Has the server work until `is_so`.
pub(crate) fn turn_until(server: &mut Server<Emptiness>, is_so: impl Fn(&Server<Emptiness>) -> bool) {
    while !is_so(server) {
        if !server.turn() {
            server.wait(Some(std::time::Duration::from_millis(1)));
        }
    }
}

/// Answers all requests in the next step, reads with zeroes, keeps nothing and counts flushes.
pub(crate) struct Emptiness {
    capacity: Bytes,
    begun: Vec<(Tag, Request)>,
    replies: VecDeque<Reply>,
    /// Flushes that were answered.
    pub(crate) flushes: u32,
    /// Writes that had not been answered when the last flush was begun.
    pub(crate) unflushed: u32,
    /// When a flush is begun for the first time, this is done.
    pub(crate) on_flush: Option<Box<dyn FnOnce()>>,
    /// Whether the next flush is answered only once a write was begun after it.
    pub(crate) is_overtaken: bool,
    /// Whether nothing is answered.
    pub(crate) is_silent: bool,
    /// Until when no read or write is answered.
    pub(crate) data_wait: Option<(SystemClock, Nanos)>,
    /// Whether something moves in the background, without end.
    pub(crate) is_moving: bool,
}

impl Emptiness {
    pub(crate) fn new(capacity: Bytes) -> Self {
        Self {
            capacity,
            begun: Vec::new(),
            replies: VecDeque::new(),
            flushes: 0,
            unflushed: 0,
            on_flush: None,
            is_overtaken: false,
            is_silent: false,
            data_wait: None,
            is_moving: false,
        }
    }

    /// Bytes of requests that were not answered.
    pub(crate) fn bytes_under_way(&self) -> u64 {
        self.begun.iter().map(|(_, request)| request.length.0).sum()
    }

    fn waits(&self, request: &Request) -> bool {
        let waits = self.data_wait.as_ref().is_some_and(|(clock, until)| clock.now() < *until);
        match request.kind {
            _ if self.is_silent => true,
            RequestKind::Read | RequestKind::Write { .. } => waits,
            RequestKind::Flush => self.is_overtaken && self.unflushed == 0,
            _ => false,
        }
    }
}

impl Served for Emptiness {
    type Operation = Value;

    fn capacity(&self) -> Bytes {
        self.capacity
    }
    fn description(&self) -> String {
        "emptiness".to_string()
    }
    fn is_read_only(&self) -> bool {
        false
    }
    fn buffer(&mut self, length: usize) -> Buffer {
        Buffer::zeroed(length)
    }
    fn submit(&mut self, tag: Tag, request: Request, _: Buffer) {
        self.begun.push((tag, request));
        match request.kind {
            RequestKind::Flush => {
                let is_write = |(_, request): &&(Tag, Request)| request.kind.is_write();
                self.unflushed = self.begun.iter().filter(is_write).count() as u32;
                self.on_flush.take().into_iter().for_each(|done| done());
            }
            RequestKind::Write { .. } => self.unflushed += 1,
            _ => {}
        }
    }
    fn step(&mut self) {
        for (tag, request) in std::mem::take(&mut self.begun) {
            if self.waits(&request) {
                self.begun.push((tag, request));
                continue;
            }
            if request.kind == RequestKind::Flush {
                self.flushes += 1;
                self.is_overtaken = false;
            }
            let data = match request.kind {
                RequestKind::Read => Buffer::zeroed(request.length.0 as usize).into(),
                _ => ReplyData::default(),
            };
            self.replies.push_back(Reply { tag, at: Nanos::ZERO, result: Ok(()), data });
        }
    }
    fn next_reply(&mut self) -> Option<Reply> {
        self.replies.pop_front()
    }
    fn recycle(&mut self, _: ReplyData) {}
    fn written_run(&self, _: Bytes, length: Bytes) -> (Bytes, bool) {
        (length, false)
    }
    fn is_busy(&self) -> bool {
        self.is_moving || !self.begun.is_empty() || !self.replies.is_empty()
    }
    fn next_event(&self) -> Nanos {
        Nanos::NEVER
    }
    fn operate(&mut self, _: u32, _: Value, _: &ServingStatus) -> Option<Result<Value, ControlError>> {
        Some(Ok(Value::Null))
    }
    fn next_answer(&mut self) -> Option<(u32, Result<Value, ControlError>)> {
        None
    }
    fn add_figures(&self, _: &mut Metrics) {}
}
