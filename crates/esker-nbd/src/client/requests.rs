//! Requests under way.

use std::collections::VecDeque;

use esker_core::Bytes;

use super::coverage::Coverage;
use super::settings::SubmitError;
use super::{Rejection, RequestEnd};
use crate::outbox::{Outbox, Slices};
use crate::protocol::numbers::export_flag;
use crate::protocol::{Command, ErrorNumber, Extent, Offer};

/// A request whose end was not reported yet.
#[derive(Debug)]
pub(crate) struct PendingRequest<B, I> {
    id: I,
    pub(crate) command: Command,
    /// That of a read; that of a write once it is sent.
    pub(crate) buffer: Option<B>,
    is_sent: bool,
    is_answered: bool,
    pub(crate) error: Option<ErrorNumber>,
    /// Pieces of a read, or lists of extents, that have come.
    pub(crate) pieces: u32,
    /// Errors that have come.
    errors: u32,
}

impl<B, I> PendingRequest<B, I> {
    /// The reply has an error. The first one counts; an error if there are more of them than the request has places
    /// that can fail: without a limit, a reply that is nothing but errors would never end.
    pub(crate) fn failed(&mut self, error: ErrorNumber) -> Result<(), &'static str> {
        let (_, asked) = self.command.range();
        // One for each sector, and one for the whole request.
        if u64::from(self.errors) > u64::from(asked).div_ceil(Bytes::SECTOR.0) {
            return Err("it has more errors than its request has sectors");
        }
        self.errors += 1;
        self.error.get_or_insert(error);
        Ok(())
    }
}

/// Room for a request, whose memory is used again.
#[derive(Debug)]
pub(crate) struct Slot<B, I> {
    /// Tells replies to this request from those to earlier ones of the slot.
    generation: u32,
    pending: Option<PendingRequest<B, I>>,
    pub(crate) coverage: Coverage,
    pub(crate) extents: Vec<Extent>,
}

#[derive(Debug)]
pub(crate) struct Requests<B, I> {
    slots: Vec<Slot<B, I>>,
    free: Vec<u32>,
    /// Requests that were answered before they were sent, and are sent now.
    ended: VecDeque<u32>,
}

impl<B: Slices + AsMut<[u8]>, I> Requests<B, I> {
    pub(crate) fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), ended: VecDeque::new() }
    }

    pub(crate) fn under_way(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Begins a request, if it keeps to what was offered.
    pub(crate) fn begin(
        &mut self,
        outbox: &mut Outbox<B>,
        offered: &Offer,
        (command, id): (Command, I),
        mut buffer: Option<B>,
    ) -> Result<(), Rejection<B>> {
        if let Err(why) = check(command, offered, buffer.as_mut()) {
            return Err(Rejection { why, buffer });
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            let (coverage, extents) = (Coverage::default(), Vec::new());
            self.slots.push(Slot { generation: 0, pending: None, coverage, extents });
            self.slots.len() as u32 - 1
        });
        let entry = &mut self.slots[slot as usize];
        entry.generation = entry.generation.wrapping_add(1);
        entry.coverage.clear();
        command.header(u64::from(entry.generation) << 32 | u64::from(slot)).write(outbox.header());
        let (kept, sent) = match command {
            Command::Write { .. } => (None, buffer),
            _ => (buffer, None),
        };
        let bytes = sent.as_ref().map_or(0, |_| command.payload());
        outbox.finish(0, bytes, sent, Some(slot));
        let (is_sent, is_answered) = (false, false);
        let (error, pieces, errors) = (None, 0, 0);
        entry.pending = Some(PendingRequest { id, command, buffer: kept, is_sent, is_answered, error, pieces, errors });
        Ok(())
    }

    /// A request is sent, with its buffer if it is a write.
    pub(crate) fn sent(&mut self, slot: u32, buffer: Option<B>) {
        if let Some(pending) = self.slots[slot as usize].pending.as_mut() {
            pending.is_sent = true;
            if buffer.is_some() {
                pending.buffer = buffer;
            }
            if pending.is_answered {
                self.ended.push_back(slot);
            }
        }
    }

    /// The request that a reply is to.
    pub(crate) fn find(&self, cookie: u64) -> Option<u32> {
        let (slot, generation) = (cookie as u32, (cookie >> 32) as u32);
        let entry = self.slots.get(slot as usize).filter(|entry| entry.generation == generation)?;
        entry.pending.as_ref().filter(|pending| !pending.is_answered).map(|_| slot)
    }

    pub(crate) fn slot(&mut self, slot: u32) -> &mut Slot<B, I> {
        &mut self.slots[slot as usize]
    }

    /// A request's reply is complete. Its end is returned, unless the request is still being sent.
    pub(crate) fn answered(&mut self, slot: u32) -> Option<RequestEnd<B, I>> {
        let pending = self.slots[slot as usize].pending();
        pending.is_answered = true;
        if pending.is_sent { Some(self.end(slot)) } else { None }
    }

    /// The end of a request that was answered before it was sent.
    pub(crate) fn next_ended(&mut self) -> Option<RequestEnd<B, I>> {
        self.ended.pop_front().map(|slot| self.end(slot))
    }

    fn end(&mut self, slot: u32) -> RequestEnd<B, I> {
        let entry = &mut self.slots[slot as usize];
        self.free.push(slot);
        let extents = std::mem::take(&mut entry.extents);
        let PendingRequest { id, buffer, error, .. } = entry.pending.take().expect("a request ends once");
        RequestEnd { id, result: error.map_or(Ok(()), Err), buffer, extents }
    }

    /// Ends all requests without a reply.
    pub(crate) fn abandon(&mut self) -> impl Iterator<Item = (I, Option<B>)> {
        self.free = (0..self.slots.len() as u32).collect();
        self.slots.iter_mut().filter_map(|slot| slot.pending.take()).map(|pending| (pending.id, pending.buffer))
    }
}

impl<B, I> Slot<B, I> {
    /// The request of a slot that [`Requests::find`] has found.
    pub(crate) fn pending(&mut self) -> &mut PendingRequest<B, I> {
        self.pending.as_mut().expect("the request is under way")
    }
}

/// Checks a request, and whether the buffer fits it.
fn check<B: Slices + AsMut<[u8]>>(
    command: Command,
    offered: &Offer,
    buffer: Option<&mut B>,
) -> Result<(), SubmitError> {
    is_offered(command, offered)?;
    let fits = match (command, buffer) {
        (Command::Read { length, .. }, Some(buffer)) => buffer.as_mut().len() == length as usize,
        (Command::Write { length, .. }, Some(buffer)) => {
            buffer.slices().map(<[u8]>::len).sum::<usize>() == length as usize
        }
        (Command::Read { .. } | Command::Write { .. }, None) => false,
        (_, buffer) => buffer.is_none(),
    };
    if fits { Ok(()) } else { Err(SubmitError::Buffer) }
}

/// Checks what the server would check, and that it offers the command.
pub(crate) fn is_offered(command: Command, offered: &Offer) -> Result<(), SubmitError> {
    let needed = match command {
        Command::Flush => export_flag::SEND_FLUSH,
        Command::Trim { .. } => export_flag::SEND_TRIM,
        Command::WriteZeroes { .. } => export_flag::SEND_WRITE_ZEROES,
        Command::Cache { .. } => export_flag::SEND_CACHE,
        _ => 0,
    };
    command.header(0).command(offered).map_err(|(error, why)| SubmitError::Refused(error, why))?;
    if offered.flags & needed != needed {
        return Err(SubmitError::Refused(ErrorNumber::Invalid, "the server does not offer this command"));
    }
    Ok(())
}
