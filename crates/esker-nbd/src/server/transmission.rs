//! The transmission phase: requests, checked and handed out, and how many are under way.

use std::sync::Arc;

use esker_core::{Tag, TagSlab};

use super::replies::{PendingRequest, refuse};
use super::settings::{ServerError, ServerSettings};
use super::{Memory, Request};
use crate::export::Export;
use crate::inbox::{Filling, Inbox};
use crate::outbox::{Outbox, Slices};
use crate::protocol::numbers::{PAYLOAD_ALWAYS_TAKEN, REQUEST_HEADER, command};
use crate::protocol::{Command, ErrorNumber, Header, Offer};

/// What comes next of what was received.
pub(crate) enum Next<B> {
    /// Nothing: more bytes, or answers to earlier requests, are needed.
    Nothing,
    /// A request that the embedder has to answer.
    Request(Request<B>),
    /// The client leaves.
    Disconnect,
}

#[derive(Debug)]
pub(crate) struct Transmission<B> {
    pub(crate) export: Arc<Export>,
    pub(crate) offered: Offer,
    /// Requests that the embedder has not answered yet.
    requests: TagSlab<PendingRequest>,
    /// Requests whose replies are not sent yet.
    under_way: u32,
    /// Bytes that they transfer.
    bytes: u64,
    /// A write whose payload is being received.
    filling: Option<(Tag, Command, Filling<B>)>,
    /// The next request has to wait for replies to be sent.
    is_blocked: bool,
}

impl<B: AsMut<[u8]>> Transmission<B> {
    pub(crate) fn new(export: Arc<Export>, offered: Offer) -> Self {
        Self { export, offered, requests: TagSlab::default(), under_way: 0, bytes: 0, filling: None, is_blocked: false }
    }

    pub(crate) fn under_way(&self) -> u32 {
        self.under_way
    }

    /// The payload to which the next bytes go straight.
    pub(crate) fn straight(&mut self, inbox: &Inbox) -> Option<&mut Filling<B>> {
        self.filling.as_mut().map(|(_, _, filling)| filling).filter(|filling| filling.is_straight(inbox))
    }

    /// Returns true if no bytes are wanted now.
    pub(crate) fn is_full(&self, is_held: bool) -> bool {
        self.filling.is_none() && (self.is_blocked || is_held)
    }

    /// The reply to a request is sent, which transferred so many bytes.
    pub(crate) fn reply_sent(&mut self, bytes: u32) {
        self.under_way -= 1;
        self.bytes -= u64::from(bytes);
        self.is_blocked = false;
    }

    /// The embedder answers a request.
    pub(crate) fn answered(&mut self, id: Tag) -> PendingRequest {
        self.requests.remove(id)
    }

    /// Takes requests from what was received until there is one for the embedder.
    pub(crate) fn next<D: Slices>(
        &mut self,
        inbox: &mut Inbox,
        outbox: &mut Outbox<D>,
        rules: &Rules<'_>,
        memory: &mut impl Memory<Payload = B>,
    ) -> Result<Next<B>, ServerError> {
        loop {
            if let Some((id, command, mut filling)) = self.filling.take() {
                filling.take_pending(inbox);
                if filling.is_full() {
                    return Ok(Next::Request(Request { id, command, payload: Some(filling.buffer) }));
                }
                self.filling = Some((id, command, filling));
                return Ok(Next::Nothing);
            }
            if rules.is_held {
                return Ok(Next::Nothing);
            }
            let Some(header) = self.header(inbox)? else { return Ok(Next::Nothing) };
            if header.kind == command::DISCONNECT {
                return Ok(Next::Disconnect);
            }
            let checked = match rules.is_shutting_down {
                true => Err((ErrorNumber::ShuttingDown, "the server is being shut down")),
                false => header.command(&self.offered),
            };
            let bytes = checked.map_or(0, Command::payload);
            if !self.has_room_for(bytes, rules.settings) {
                self.is_blocked = true;
                return Ok(Next::Nothing);
            }
            inbox.consume(REQUEST_HEADER);
            self.under_way += 1;
            self.bytes += u64::from(bytes);
            match checked {
                Ok(command) => {
                    if let Some(request) = self.begin(header.cookie, command, inbox, memory) {
                        return Ok(Next::Request(request));
                    }
                }
                Err(refusal) => {
                    refuse(outbox, &self.offered, header.cookie, refusal);
                    if header.kind == command::WRITE {
                        inbox.drop_next(u64::from(header.length));
                    }
                }
            }
        }
    }

    /// The next request, if it is there. One that cannot even be refused is an error.
    fn header(&self, inbox: &Inbox) -> Result<Option<Header>, ServerError> {
        let Some(bytes) = inbox.first::<REQUEST_HEADER>() else { return Ok(None) };
        let Some(header) = Header::read(bytes) else {
            let magic = inbox.first::<4>().copied().map_or(0, u32::from_be_bytes);
            return Err(ServerError::RequestMagic(magic));
        };
        if header.kind == command::WRITE && header.length > self.offered.sizes.maximum.max(PAYLOAD_ALWAYS_TAKEN) {
            return Err(ServerError::WriteLength(header.length));
        }
        Ok(Some(header))
    }

    fn has_room_for(&self, bytes: u32, settings: &ServerSettings) -> bool {
        let all = self.bytes + u64::from(bytes);
        self.under_way < settings.requests_max.max(1) && (self.bytes == 0 || all <= settings.bytes_max.0)
    }

    /// Begins a request. It is returned at once, unless it is a write whose payload has to be received first.
    fn begin(
        &mut self,
        cookie: u64,
        command: Command,
        inbox: &mut Inbox,
        memory: &mut impl Memory<Payload = B>,
    ) -> Option<Request<B>> {
        let id = self.requests.insert(PendingRequest { cookie, command });
        let Command::Write { length, .. } = command else { return Some(Request { id, command, payload: None }) };
        let payload = memory.take(length as usize);
        let filling = Filling::begin(payload, 0, length as usize, inbox);
        if filling.is_full() {
            return Some(Request { id, command, payload: Some(filling.buffer) });
        }
        self.filling = Some((id, command, filling));
        None
    }
}

/// What requests have to keep to beyond what was offered.
pub(crate) struct Rules<'a> {
    pub(crate) settings: &'a ServerSettings,
    pub(crate) is_shutting_down: bool,
    /// No further request is taken.
    pub(crate) is_held: bool,
}
