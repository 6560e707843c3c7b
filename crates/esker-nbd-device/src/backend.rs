//! An export as a back end.

use std::io::{self, ErrorKind};

use esker_core::{Bytes, Nanos, RequestKind, Tag, TagSlab};
use esker_nbd::{Command, ErrorNumber, ExportInfo};
use esker_volume::{Backend, Ended, Operation, OperationData, PlacedError};

use crate::connection::{Connection, Done};
use crate::payload::Payload;

/// The longest request that carries no bytes: a multiple of all block sizes.
const EMPTY_MAX: u64 = 1 << 30;

/// What an export takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Abilities {
    /// Bytes that are used: whole blocks.
    pub(crate) capacity: u64,
    /// Offsets and lengths are multiples of this.
    pub(crate) block: u64,
    /// The longest read or write.
    pub(crate) payload_max: u64,
    pub(crate) durable_writes: bool,
    pub(crate) zeroes: bool,
    pub(crate) trims: bool,
}

impl Abilities {
    pub(crate) fn of(info: &ExportInfo) -> Self {
        let (offset, length) = (0, info.block_sizes.minimum);
        let zeroes = Command::WriteZeroes { offset, length, durable: false, no_hole: false, only_if_fast: false };
        let block = u64::from(info.block_sizes.minimum).max(Bytes::SECTOR.0);
        let whole = |length: u64| length - length % block;
        Self {
            capacity: whole(info.size.0),
            block,
            payload_max: whole(info.block_sizes.maximum.into()),
            durable_writes: info.takes(Command::Write { offset, length, durable: true }),
            zeroes: info.takes(zeroes),
            trims: info.takes(Command::Trim { offset, length, durable: false }),
        }
    }
}

/// An export that takes operations of whole blocks. An operation has one request at a time: a long one is cut into
/// pieces, and what the export does not offer is replaced by what it does.
pub(crate) struct ExportBackend {
    connection: Connection,
    abilities: Abilities,
    under_way: TagSlab<UnderWay>,
    from_server: Vec<Done>,
    ended: Vec<Ended>,
    /// Why the connection is of no use any more.
    lost: Option<(ErrorKind, String)>,
}

/// An operation that has not ended.
struct UnderWay {
    id: u64,
    kind: RequestKind,
    offset: u64,
    length: u64,
    /// Bytes that are done, and bytes that its request asks for now.
    done: u64,
    asked: u64,
    /// Whether its request is the flush behind a write that is to be durable.
    is_flushing: bool,
    /// Its memory, unless a read's request has it.
    data: OperationData,
}

impl ExportBackend {
    pub(crate) fn new(connection: Connection, abilities: Abilities) -> Self {
        let (under_way, from_server, ended) = (TagSlab::default(), Vec::new(), Vec::new());
        Self { connection, abilities, under_way, from_server, ended, lost: None }
    }

    /// Sends the next request of an operation, or ends it if there is none.
    fn go_on(&mut self, tag: Tag) {
        match self.under_way.get_mut(tag).next_request(&self.abilities) {
            None => self.end(tag, Ok(())),
            Some((command, payload)) => {
                if let Err(error) = self.connection.submit(command, tag, payload) {
                    self.end(tag, Err(error));
                }
            }
        }
    }

    fn end(&mut self, tag: Tag, result: io::Result<()>) {
        let UnderWay { id, done, data, .. } = self.under_way.remove(tag);
        let result = result.map_err(|error| PlacedError::new(done, error));
        self.ended.push(Ended { id, at: None, result, data });
    }

    /// Sends and receives, as far as that is possible without waiting. Returns true if requests have ended.
    fn exchange(&mut self) -> bool {
        if self.lost.is_some() {
            return false;
        }
        let mut from_server = std::mem::take(&mut self.from_server);
        let received = self.connection.receive(&mut from_server);
        let have_ended = !from_server.is_empty();
        from_server.drain(..).for_each(|done| self.request_ended(done));
        self.from_server = from_server;
        if let Err(error) = received.and_then(|()| self.connection.send()) {
            self.lose(&error);
        }
        have_ended
    }

    /// Exchanges what there is, and waits for more as long as `is_awaited`. Each answer gets its time.
    fn exchange_while(&mut self, is_awaited: impl Fn(&Self) -> bool) {
        self.exchange();
        let mut deadline = None;
        while self.lost.is_none() && is_awaited(self) {
            match self.connection.wait(deadline.get_or_insert_with(|| self.connection.deadline())) {
                Ok(()) if self.exchange() => deadline = None,
                Ok(()) => {}
                Err(error) => self.lose(&error),
            }
        }
    }

    fn request_ended(&mut self, Done { id: tag, result, buffer, .. }: Done) {
        let under_way = self.under_way.get_mut(tag);
        if let Some(Payload::Fill(buffer, _)) = buffer {
            under_way.data = OperationData::Fill(buffer);
        }
        match result {
            Ok(()) => {
                under_way.done += under_way.asked;
                self.go_on(tag);
            }
            Err(error) => {
                let error = under_way.error(error, &self.abilities);
                self.end(tag, Err(error));
            }
        }
    }

    /// Ends all operations: the connection is of no use any more.
    fn lose(&mut self, error: &io::Error) {
        let text = format!("the connection to the NBD server is lost: {error}");
        let Self { connection, under_way, ended, .. } = self;
        // Each operation has one request.
        for (tag, buffer) in connection.lose() {
            let UnderWay { id, done, data, .. } = under_way.remove(tag);
            let data = match buffer {
                Some(Payload::Fill(buffer, _)) => OperationData::Fill(buffer),
                _ => data,
            };
            let error = PlacedError::new(done, io::Error::new(error.kind(), text.clone()));
            ended.push(Ended { id, at: None, result: Err(error), data });
        }
        self.lost = Some((error.kind(), text));
    }
}

impl UnderWay {
    fn new(id: u64, Operation { kind, offset, length, data, .. }: Operation) -> Self {
        Self { id, kind, offset, length, done: 0, asked: 0, is_flushing: false, data }
    }

    /// The next request, with its memory; `None` if all is done.
    fn next_request(&mut self, abilities: &Abilities) -> Option<(Command, Option<Payload>)> {
        let left = self.length - self.done;
        let may_flush = !std::mem::replace(&mut self.is_flushing, left == 0);
        if left == 0 {
            self.asked = 0;
            let flushes = self.kind == RequestKind::Flush || (self.kind.is_fua() && !abilities.durable_writes);
            return (flushes && may_flush).then_some((Command::Flush, None));
        }
        let offset = self.offset + self.done;
        let durable = self.kind.is_fua() && abilities.durable_writes;
        let with_bytes = left.min(abilities.payload_max);
        let without = left.min(EMPTY_MAX);
        let (command, payload): (fn(u64, u32, bool) -> Command, _) = match self.kind {
            RequestKind::Flush => return None,
            RequestKind::Trim if !abilities.trims => return None,
            RequestKind::Trim => (|offset, length, durable| Command::Trim { offset, length, durable }, None),
            RequestKind::WriteZeroes { .. } if abilities.zeroes => (zeroes_command, None),
            RequestKind::WriteZeroes { .. } => (write_command, Some(Payload::Zeroes(with_bytes as usize))),
            RequestKind::Write { .. } => {
                let OperationData::Take(gather) = &self.data else { unreachable!("a write has its bytes") };
                let part = gather.part(self.done as usize, with_bytes as usize);
                (write_command, Some(Payload::Take(part)))
            }
            RequestKind::Read => {
                let OperationData::Fill(buffer) = std::mem::take(&mut self.data) else {
                    unreachable!("a read has its memory between two requests")
                };
                let part = self.done as usize..(self.done + with_bytes) as usize;
                (read_command, Some(Payload::Fill(buffer, part)))
            }
        };
        self.asked = if payload.is_some() { with_bytes } else { without };
        Some((command(offset, self.asked as u32, durable), payload))
    }

    /// What an error of its request means.
    fn error(&self, error: ErrorNumber, abilities: &Abilities) -> io::Error {
        // Where the write and what makes it durable are one request, nobody knows which of them has failed.
        let may_be_lost = self.is_flushing || (self.kind.is_fua() && abilities.durable_writes);
        let kind = match error {
            ErrorNumber::NoSpace if !may_be_lost => ErrorKind::StorageFull,
            ErrorNumber::NotPermitted if !may_be_lost => ErrorKind::ReadOnlyFilesystem,
            ErrorNumber::NoMemory => ErrorKind::OutOfMemory,
            ErrorNumber::Invalid => ErrorKind::InvalidInput,
            _ => ErrorKind::Other,
        };
        io::Error::new(kind, error)
    }
}

fn read_command(offset: u64, length: u32, _: bool) -> Command {
    Command::Read { offset, length, in_one_piece: false }
}

fn write_command(offset: u64, length: u32, durable: bool) -> Command {
    Command::Write { offset, length, durable }
}

fn zeroes_command(offset: u64, length: u32, durable: bool) -> Command {
    Command::WriteZeroes { offset, length, durable, no_hole: false, only_if_fast: false }
}

impl Backend for ExportBackend {
    fn capacity(&self) -> Bytes {
        Bytes(self.abilities.capacity)
    }

    fn submit(&mut self, _: Nanos, id: u64, operation: Operation) {
        if let Some((kind, text)) = &self.lost {
            let result = Err(io::Error::new(*kind, text.clone()));
            return self.ended.push(Ended { id, at: None, result, data: operation.data });
        }
        let tag = self.under_way.insert(UnderWay::new(id, operation));
        self.go_on(tag);
    }

    fn send(&mut self) {
        if self.lost.is_none()
            && let Err(error) = self.connection.send()
        {
            self.lose(&error);
        }
    }

    /// Waits for the end of an operation until the connection is watched.
    fn take_ended(&mut self, ended: &mut Vec<Ended>) {
        self.exchange_while(|this| {
            this.connection.wire().waits_itself() && this.ended.is_empty() && !this.under_way.is_empty()
        });
        ended.append(&mut self.ended);
    }

    fn has_failed(&self) -> bool {
        self.lost.is_some()
    }

    fn abandon(&mut self) {
        self.lose(&io::Error::new(ErrorKind::TimedOut, "the server has not answered in time"));
    }
}

impl Drop for ExportBackend {
    /// Waits for the requests under way, so that the server performs none of them after this. Does not wait if the
    /// connection is lost, or was given up.
    fn drop(&mut self) {
        self.connection.unwatch();
        self.exchange_while(|this| this.connection.under_way() > 0);
        if self.lost.is_none() {
            self.connection.leave();
        }
    }
}
