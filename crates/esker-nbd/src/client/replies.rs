//! Replies to requests.

use super::RequestEnd;
use super::requests::Requests;
use super::settings::ClientError;
use crate::inbox::{Filling, Inbox};
use crate::outbox::Slices;
use crate::protocol::numbers::{CHUNK_HEADER, CHUNK_MAGIC, SIMPLE_REPLY, SIMPLE_REPLY_MAGIC, STRING_MAX, chunk};
use crate::protocol::{Command, ErrorNumber, Extent, Fields};

/// The most extents that are kept for all requests under way: twelve bytes each.
pub(crate) const EXTENTS_KEPT_MAX: usize = 1 << 20;

/// The longest error: its fixed fields, a message, and a few fields that the document does not have yet.
const ERROR_MAX: u32 = STRING_MAX as u32 + 64;

/// What is being received.
#[derive(Debug)]
enum Receiving<B> {
    Header,
    /// Bytes of a read.
    Data {
        slot: u32,
        filling: Filling<B>,
        is_last: bool,
    },
    /// Extents: how many are left, and the bytes of those that have come.
    Extents {
        slot: u32,
        left: u32,
        bytes: u64,
        is_last: bool,
    },
}

/// What comes next of what was received.
pub(crate) enum Next<B, I> {
    NeedsBytes,
    /// A message, or a part of it, was taken.
    Taken,
    Done(RequestEnd<B, I>),
}

/// The beginning of a chunk.
#[derive(Clone, Copy)]
struct Chunk {
    kind: u16,
    length: u32,
    slot: u32,
    is_last: bool,
}

impl Chunk {
    /// Bytes behind the header that have to be there before the chunk is taken.
    fn fixed_fields(&self) -> Result<usize, ClientError> {
        let length = self.length;
        match self.kind {
            chunk::NONE if length == 0 && self.is_last => Ok(0),
            chunk::OFFSET_DATA if length >= 9 => Ok(8),
            chunk::OFFSET_HOLE if length == 12 => Ok(12),
            chunk::BLOCK_STATUS if length >= 12 && (length - 4).is_multiple_of(8) => Ok(4),
            chunk::NONE | chunk::OFFSET_DATA | chunk::OFFSET_HOLE | chunk::BLOCK_STATUS => {
                broken("a chunk has a length that its type does not allow")
            }
            kind if kind & chunk::IS_ERROR == 0 => broken("a chunk has an unknown type"),
            _ if (6..=ERROR_MAX).contains(&length) => Ok(length as usize),
            _ => broken("an error is too short or too long"),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Replies<B> {
    receiving: Receiving<B>,
    structured: bool,
    /// The number of `base:allocation`.
    context: Option<u32>,
    /// Extents that are kept for requests under way.
    extents: usize,
}

fn broken<T>(what: &'static str) -> Result<T, ClientError> {
    Err(ClientError::Reply(what))
}

impl<B: Slices + AsMut<[u8]>> Replies<B> {
    pub(crate) fn new(structured: bool, context: Option<u32>) -> Self {
        Self { receiving: Receiving::Header, structured, context, extents: 0 }
    }

    /// The buffer to which the next bytes go straight.
    pub(crate) fn straight(&mut self, inbox: &Inbox) -> Option<&mut Filling<B>> {
        match &mut self.receiving {
            Receiving::Data { filling, .. } => Some(filling).filter(|filling| filling.is_straight(inbox)),
            _ => None,
        }
    }

    /// Takes a part of what was received.
    pub(crate) fn next<I>(
        &mut self,
        inbox: &mut Inbox,
        requests: &mut Requests<B, I>,
    ) -> Result<Next<B, I>, ClientError> {
        match std::mem::replace(&mut self.receiving, Receiving::Header) {
            Receiving::Header => self.header(inbox, requests),
            Receiving::Data { slot, mut filling, is_last } => {
                filling.take_pending(inbox);
                if !filling.is_full() {
                    self.receiving = Receiving::Data { slot, filling, is_last };
                    return Ok(Next::NeedsBytes);
                }
                requests.slot(slot).pending().buffer = Some(filling.buffer);
                self.piece_ended(slot, is_last, requests)
            }
            Receiving::Extents { slot, left, bytes, is_last } => {
                self.extents(Receiving::Extents { slot, left, bytes, is_last }, inbox, requests)
            }
        }
    }

    fn header<I>(&mut self, inbox: &mut Inbox, requests: &mut Requests<B, I>) -> Result<Next<B, I>, ClientError> {
        let Some(magic) = inbox.first::<4>().copied().map(u32::from_be_bytes) else { return Ok(Next::NeedsBytes) };
        match magic {
            SIMPLE_REPLY_MAGIC => self.simple(inbox, requests),
            CHUNK_MAGIC if self.structured => self.chunk(inbox, requests),
            CHUNK_MAGIC => broken("it is structured, which was not agreed on"),
            _ => broken("it has another magic number"),
        }
    }

    fn simple<I>(&mut self, inbox: &mut Inbox, requests: &mut Requests<B, I>) -> Result<Next<B, I>, ClientError> {
        let Some(bytes) = inbox.first::<SIMPLE_REPLY>() else { return Ok(Next::NeedsBytes) };
        let mut fields = Fields(&bytes[4..]);
        let (error, cookie) = (fields.u32().unwrap_or(0), fields.u64().unwrap_or(0));
        let Some(slot) = requests.find(cookie) else { return broken("no request has its cookie") };
        inbox.consume(SIMPLE_REPLY);
        let pending = requests.slot(slot).pending();
        if pending.pieces > 0 || pending.error.is_some() {
            return broken("it is simple, but began as a structured one");
        }
        pending.error = ErrorNumber::of_reply(error);
        match pending.command {
            Command::Read { .. } if self.structured => return broken("a read is answered by a simple one"),
            Command::BlockStatus { .. } if error == 0 => return broken("a block status comes without extents"),
            Command::Read { length, .. } if error == 0 => {
                pending.pieces = 1;
                let Some(buffer) = pending.buffer.take() else { return broken("a read has no buffer") };
                if requests.slot(slot).coverage.add(0, length).is_err() {
                    return broken("a read comes twice");
                }
                let filling = Filling::begin(buffer, 0, length as usize, inbox);
                self.receiving = Receiving::Data { slot, filling, is_last: true };
                return Ok(Next::Taken);
            }
            _ => {}
        }
        Ok(requests.answered(slot).map_or(Next::Taken, Next::Done))
    }

    fn chunk<I>(&mut self, inbox: &mut Inbox, requests: &mut Requests<B, I>) -> Result<Next<B, I>, ClientError> {
        let Some(bytes) = inbox.first::<CHUNK_HEADER>() else { return Ok(Next::NeedsBytes) };
        let mut fields = Fields(&bytes[4..]);
        let (flags, kind) = (fields.u16().unwrap_or(0), fields.u16().unwrap_or(0));
        let (cookie, length) = (fields.u64().unwrap_or(0), fields.u32().unwrap_or(0));
        let Some(slot) = requests.find(cookie) else { return broken("no request has its cookie") };
        let chunk = Chunk { kind, length, slot, is_last: flags & chunk::DONE != 0 };
        let whole = CHUNK_HEADER + chunk.fixed_fields()?;
        let Some(mut fields) = inbox.pending().get(CHUNK_HEADER..whole).map(Fields) else {
            return Ok(Next::NeedsBytes);
        };
        let command = requests.slot(slot).pending().command;
        match (kind, command) {
            (chunk::NONE, _) => inbox.consume(whole),
            (chunk::OFFSET_DATA, Command::Read { .. }) => {
                let offset = fields.u64().unwrap_or(0);
                inbox.consume(whole);
                return self.data(chunk, offset, inbox, requests);
            }
            (chunk::OFFSET_HOLE, Command::Read { .. }) => {
                let (offset, hole) = (fields.u64().unwrap_or(0), fields.u32().unwrap_or(0));
                inbox.consume(whole);
                hole_ended(slot, offset, hole, requests)?;
            }
            (chunk::BLOCK_STATUS, Command::BlockStatus { one_extent, .. }) => {
                let context = fields.u32();
                inbox.consume(whole);
                if context != self.context {
                    return broken("extents are of another metadata context");
                }
                let (left, pending) = ((length - 4) / 8, requests.slot(slot).pending());
                pending.pieces += 1;
                if pending.pieces > 1 || (one_extent && left > 1) {
                    return broken("there are more extents than were asked for");
                }
                self.receiving = Receiving::Extents { slot, left, bytes: 0, is_last: chunk.is_last };
                return Ok(Next::Taken);
            }
            _ if kind & chunk::IS_ERROR != 0 => {
                let error = read_error(fields, kind, command)?;
                inbox.consume(whole);
                requests.slot(slot).pending().failed(error).map_err(ClientError::Reply)?;
            }
            _ => return broken("a chunk does not fit the command"),
        }
        self.piece_ended(slot, chunk.is_last, requests)
    }

    fn data<I>(
        &mut self,
        chunk: Chunk,
        offset: u64,
        inbox: &mut Inbox,
        requests: &mut Requests<B, I>,
    ) -> Result<Next<B, I>, ClientError> {
        let Chunk { slot, is_last, length, .. } = chunk;
        let (begin, end) = piece(slot, offset, length - 8, requests)?;
        let Some(buffer) = requests.slot(slot).pending().buffer.take() else { return broken("a read has no buffer") };
        let filling = Filling::begin(buffer, begin as usize, end as usize, inbox);
        self.receiving = Receiving::Data { slot, filling, is_last };
        Ok(Next::Taken)
    }

    /// Takes extents, as many as are there.
    fn extents<I>(
        &mut self,
        receiving: Receiving<B>,
        inbox: &mut Inbox,
        requests: &mut Requests<B, I>,
    ) -> Result<Next<B, I>, ClientError> {
        let Receiving::Extents { slot, mut left, mut bytes, is_last } = receiving else { return Ok(Next::Taken) };
        let entry = requests.slot(slot);
        let (_, asked) = entry.pending().command.range();
        let one_extent = matches!(entry.pending().command, Command::BlockStatus { one_extent: true, .. });
        while left > 0 {
            let Some(descriptor) = inbox.first::<8>().copied() else {
                self.receiving = Receiving::Extents { slot, left, bytes, is_last };
                return Ok(Next::NeedsBytes);
            };
            inbox.consume(8);
            let mut fields = Fields(&descriptor);
            let extent = Extent::of_reply(fields.u32().unwrap_or(0), fields.u32().unwrap_or(0));
            if extent.length == 0 || bytes >= u64::from(asked) || (one_extent && extent.length > asked) {
                return broken("an extent is empty, or beyond what was asked for");
            }
            if self.extents == EXTENTS_KEPT_MAX {
                return broken("it has too many extents");
            }
            entry.extents.push(extent);
            (self.extents, bytes, left) = (self.extents + 1, bytes + u64::from(extent.length), left - 1);
        }
        self.piece_ended(slot, is_last, requests)
    }

    /// A chunk is complete. If it is the last one, the reply has to be as well.
    fn piece_ended<I>(
        &mut self,
        slot: u32,
        is_last: bool,
        requests: &mut Requests<B, I>,
    ) -> Result<Next<B, I>, ClientError> {
        if !is_last {
            return Ok(Next::Taken);
        }
        let entry = requests.slot(slot);
        if entry.pending().error.is_none() {
            let command = entry.pending().command;
            match command {
                Command::Read { length, .. } if !entry.coverage.is_whole(length) => {
                    return broken("bytes of a read are missing");
                }
                Command::BlockStatus { .. } if entry.extents.is_empty() => {
                    return broken("a block status comes without extents");
                }
                _ => {}
            }
        }
        // From here on they are the embedder's.
        self.extents -= entry.extents.len();
        Ok(requests.answered(slot).map_or(Next::Taken, Next::Done))
    }
}

/// Where a piece of a read belongs in its buffer.
fn piece<B: Slices + AsMut<[u8]>, I>(
    slot: u32,
    offset: u64,
    count: u32,
    requests: &mut Requests<B, I>,
) -> Result<(u32, u32), ClientError> {
    let entry = requests.slot(slot);
    let Command::Read { offset: first, length, in_one_piece } = entry.pending().command else {
        return broken("data come for what is no read");
    };
    let begin = offset.checked_sub(first).and_then(|begin| u32::try_from(begin).ok());
    let Some((begin, end)) = begin.and_then(|begin| Some((begin, begin.checked_add(count)?))) else {
        return broken("a piece is outside of its read");
    };
    if count == 0 || end > length {
        return broken("a piece is empty, or outside of its read");
    }
    entry.pending().pieces += 1;
    if in_one_piece && entry.pending().pieces > 1 {
        return broken("a read comes in pieces that was to come in one");
    }
    entry.coverage.add(begin, end).map_err(ClientError::Reply)?;
    Ok((begin, end))
}

fn hole_ended<B: Slices + AsMut<[u8]>, I>(
    slot: u32,
    offset: u64,
    count: u32,
    requests: &mut Requests<B, I>,
) -> Result<(), ClientError> {
    let (begin, end) = piece(slot, offset, count, requests)?;
    if let Some(buffer) = &mut requests.slot(slot).pending().buffer {
        buffer.as_mut()[begin as usize..end as usize].fill(0);
    }
    Ok(())
}

fn read_error(mut fields: Fields<'_>, kind: u16, command: Command) -> Result<ErrorNumber, ClientError> {
    let (Some(number), Some(length)) = (fields.u32(), fields.u16()) else { return broken("an error is too short") };
    if fields.bytes(usize::from(length)).is_none() || usize::from(length) > STRING_MAX {
        return broken("the message of an error is longer than the error");
    }
    if kind == chunk::ERROR_OFFSET {
        let (offset, count) = command.range();
        let is_within = |at: u64| at.checked_sub(offset).is_some_and(|at| at < u64::from(count));
        if !fields.u64().is_some_and(is_within) {
            return broken("an error is outside of its request");
        }
    }
    ErrorNumber::of_reply(number).ok_or(ClientError::Reply("an error has the number zero"))
}
