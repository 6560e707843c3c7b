//! Several requests of a copy at a time.

use std::collections::{BTreeMap, VecDeque};

use esker_core::{Bytes, Lba, Nanos, Request, RequestKind, Tag, TagSlab};
use esker_volume::{Buffer, Reply};

use super::super::session::{Session, failed};
use super::REQUEST;
use crate::cancel;
use crate::failure::Failure;

/// Requests under way at most.
const DEPTH: usize = 8;

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    request: Request,
    /// Whether it reads what is to become zeroes: what is zero already stays as it is.
    is_probe: bool,
}

/// A volume with several requests under way.
pub(in super::super) struct Pipeline {
    session: Session,
    under_way: TagSlab<UnderWay>,
    count: usize,
    /// Reads in their order, and those that have ended.
    order: VecDeque<Tag>,
    read: BTreeMap<Tag, Vec<u8>>,
}

impl Pipeline {
    pub(in super::super) fn new(session: Session) -> Self {
        let (order, read) = (VecDeque::new(), BTreeMap::new());
        Self { session, under_way: TagSlab::default(), count: 0, order, read }
    }

    /// Whether another request can be sent without waiting.
    pub(in super::super) fn has_room(&self) -> bool {
        self.count + self.read.len() < DEPTH
    }

    fn send(&mut self, kind: RequestKind, (offset, length): (u64, u64), data: Buffer, is_probe: bool) -> Tag {
        let request = Request::new(kind, Lba::containing(offset), Bytes(length));
        let tag = self.under_way.insert(UnderWay { request, is_probe });
        self.count += 1;
        self.session.volume.submit(tag, request, data);
        tag
    }

    /// Writes whole sectors. Waits while too many requests are under way.
    pub(in super::super) fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Failure> {
        self.make_room()?;
        let range = (offset, bytes.len() as u64);
        self.send(RequestKind::Write { fua: false }, range, Buffer::from(bytes), false);
        Ok(())
    }

    /// Has a range of whole sectors read as zeroes.
    pub(in super::super) fn clear(&mut self, offset: u64, length: u64) -> Result<(), Failure> {
        for at in (0..length).step_by(REQUEST) {
            self.make_room()?;
            let length = (length - at).min(REQUEST as u64);
            self.send(RequestKind::Read, (offset + at, length), Buffer::default(), true);
        }
        Ok(())
    }

    /// Reads bytes, which [`Self::next_read`] returns in the order of the calls.
    pub(in super::super) fn read(&mut self, offset: u64, length: u64) {
        let tag = self.send(RequestKind::Read, (offset, length), Buffer::default(), false);
        self.order.push_back(tag);
    }

    /// Waits for the read that was sent first.
    pub(in super::super) fn next_read(&mut self) -> Result<Vec<u8>, Failure> {
        let first = self.order.pop_front().expect("a read was sent");
        loop {
            if let Some(bytes) = self.read.remove(&first) {
                return Ok(bytes);
            }
            self.wait()?;
        }
    }

    /// Waits for all requests.
    pub(in super::super) fn finish(mut self) -> Result<Session, Failure> {
        while self.count > 0 {
            self.wait()?;
        }
        Ok(self.session)
    }

    fn make_room(&mut self) -> Result<(), Failure> {
        while !self.has_room() {
            self.wait()?;
        }
        Ok(())
    }

    /// Takes the replies that are there, and waits for one if there is none.
    fn wait(&mut self) -> Result<(), Failure> {
        self.session.volume.step();
        let mut ended = 0;
        while let Some(reply) = self.session.volume.next_reply() {
            ended += 1;
            self.end(reply)?;
        }
        if ended == 0 {
            if cancel::requested() {
                return Err(Failure::cancelled());
            }
            self.session.step(Nanos::NEVER);
        }
        Ok(())
    }

    fn end(&mut self, reply: Reply) -> Result<(), Failure> {
        let UnderWay { request, is_probe } = self.under_way.remove(reply.tag);
        self.count -= 1;
        reply.result.map_err(|error| failed(&request, error))?;
        if is_probe {
            if reply.data.slices().any(|slice| slice.iter().any(|&byte| byte != 0)) {
                let range = (request.start.byte_offset(), request.length.0);
                self.send(RequestKind::WriteZeroes { fua: false }, range, Buffer::default(), false);
            }
        } else if request.kind == RequestKind::Read {
            self.read.insert(reply.tag, reply.data.to_vec());
        }
        Ok(())
    }
}
