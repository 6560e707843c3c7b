//! The client's side of one connection.

mod coverage;
mod handshake;
mod memory;
mod replies;
mod requests;
mod settings;
#[cfg(test)]
mod tests;

use std::io::IoSlice;

use esker_core::Bytes;

use crate::inbox::Inbox;
use crate::outbox::{Outbox, SentPart, Slices};
use crate::protocol::numbers::{command, export_flag, option};
use crate::protocol::{BlockSizes, Command, ErrorNumber, Extent, Header, Offer};
use handshake::{Handshake, Step, is_name, write_option};
use replies::{Next, Replies};
use requests::Requests;
pub use settings::{ClientError, ClientSettings, Goal, SubmitError, TlsWish};

/// The receive buffer.
const RECEIVE_BUFFER: usize = 64 << 10;

/// What the server tells of the export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportInfo {
    /// Its size.
    pub size: Bytes,
    flags: u16,
    /// What requests have to keep to.
    pub block_sizes: BlockSizes,
    /// Its name, if the server tells it.
    pub name: Option<String>,
    /// A line for people, if the server tells one.
    pub description: Option<String>,
    /// Structured replies were agreed on.
    pub structured: bool,
    /// [`Command::BlockStatus`] was agreed on.
    pub block_status: bool,
}

impl ExportInfo {
    fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// Returns true if it cannot be written.
    pub fn is_read_only(&self) -> bool {
        self.has(export_flag::READ_ONLY)
    }

    /// Returns true if it is faster read in order.
    pub fn is_rotational(&self) -> bool {
        self.has(export_flag::ROTATIONAL)
    }

    /// Returns true if a flush on one connection covers writes of all.
    pub fn can_multi_conn(&self) -> bool {
        self.has(export_flag::CAN_MULTI_CONN)
    }

    /// Returns true if it takes this command with these flags, within its range.
    pub fn takes(&self, command: Command) -> bool {
        requests::is_offered(command, &self.offered()).is_ok()
    }
}

/// The end of a request.
#[derive(Debug, PartialEq, Eq)]
pub struct RequestEnd<B, I> {
    /// What [`ClientSession::submit`] was given.
    pub id: I,
    /// Whether it was done. After an error, the bytes of a read's buffer are of no use.
    pub result: Result<(), ErrorNumber>,
    /// The buffer of a read or a write.
    pub buffer: Option<B>,
    /// The answer to [`Command::BlockStatus`].
    pub extents: Vec<Extent>,
}

/// A request that is not sent, with its buffer.
#[derive(Debug, PartialEq, Eq)]
pub struct Rejection<B> {
    /// Why it is not sent.
    pub why: SubmitError,
    /// Its buffer.
    pub buffer: Option<B>,
}

/// What happens on a connection.
#[derive(Debug, PartialEq, Eq)]
pub enum ClientEvent<B, I> {
    /// TLS has to be started on the connection, then [`ClientSession::tls_started`] called.
    StartTls,
    /// An export of a list.
    Listed {
        /// Its name.
        name: String,
        /// A line for people; empty if there is none.
        description: String,
    },
    /// The list is complete; the client leaves.
    ListEnd,
    /// Requests may be submitted.
    Opened(ExportInfo),
    /// The end of a request.
    Done(RequestEnd<B, I>),
    /// The server refused what is needed, or broke the protocol. Requests under way have no answer.
    Failed(ClientError),
}

/// The client's side of one connection, without I/O. The embedder moves bytes, as with [`crate::ServerSession`]: from
/// the connection to [`space`](Self::space), and what [`gather`](Self::gather) lists to the connection.
///
/// `B` is the buffer of a read, which is filled, or of a write, whose slices are sent as they lie. `I` is what the
/// embedder calls a request.
#[derive(Debug)]
pub struct ClientSession<B, I> {
    inbox: Inbox,
    outbox: Outbox<B>,
    stage: Stage<B>,
    requests: Requests<B, I>,
    requests_max: usize,
    /// The embedder is starting TLS.
    awaits_tls: bool,
    /// No further request is sent.
    is_leaving: bool,
    is_ended: bool,
}

#[derive(Debug)]
enum Stage<B> {
    Handshake(Box<Handshake>),
    Transmission(Offer, Replies<B>),
}

impl<B: Slices + AsMut<[u8]>, I> ClientSession<B, I> {
    /// Waits for the server's greeting.
    ///
    /// # Panics
    /// If the protocol does not allow the export's name: more than 4,096 bytes, or a NUL.
    pub fn new(settings: ClientSettings) -> Self {
        if let Goal::Open(name) = &settings.goal {
            assert!(is_name(name), "the protocol does not allow the name {name:?}");
        }
        Self {
            inbox: Inbox::new(RECEIVE_BUFFER),
            outbox: Outbox::new(),
            requests: Requests::new(),
            requests_max: settings.requests_max.max(1) as usize,
            stage: Stage::Handshake(Box::new(Handshake::new(settings))),
            awaits_tls: false,
            is_leaving: false,
            is_ended: false,
        }
    }

    /// Where the next bytes of the connection go: into the receive buffer, or straight into the buffer of a long read.
    /// `None`: read nothing now, because TLS is being started, or the session has ended.
    pub fn space(&mut self) -> Option<&mut [u8]> {
        if self.is_ended || self.awaits_tls {
            return None;
        }
        if let Stage::Transmission(_, replies) = &mut self.stage
            && let Some(filling) = replies.straight(&self.inbox)
        {
            return Some(filling.space());
        }
        Some(self.inbox.space()).filter(|space| !space.is_empty())
    }

    /// `count` bytes were read to where [`Self::space`] said.
    pub fn received(&mut self, count: usize) {
        if let Stage::Transmission(_, replies) = &mut self.stage
            && let Some(filling) = replies.straight(&self.inbox)
        {
            return filling.received(count);
        }
        self.inbox.received(count);
    }

    /// Returns what happens next of what was received. `None` if more bytes have to be received.
    pub fn next_event(&mut self) -> Option<ClientEvent<B, I>> {
        if self.is_ended {
            return None;
        }
        match self.advance() {
            Ok(event) => event,
            Err(error) => {
                // What was refused is left in order.
                if matches!(error, ClientError::Refused { .. }) {
                    self.abort();
                }
                self.is_ended = true;
                Some(ClientEvent::Failed(error))
            }
        }
    }

    fn advance(&mut self) -> Result<Option<ClientEvent<B, I>>, ClientError> {
        while !self.awaits_tls && !self.is_ended {
            let event = match &mut self.stage {
                Stage::Handshake(handshake) => {
                    let step = handshake.step(&mut self.inbox, self.outbox.header());
                    self.outbox.finish_if_any();
                    match step? {
                        Step::NeedsBytes => return Ok(None),
                        step => self.handshake_event(step),
                    }
                }
                Stage::Transmission(_, replies) => {
                    if let Some(done) = self.requests.next_ended() {
                        Some(self.ended(done))
                    } else {
                        match replies.next(&mut self.inbox, &mut self.requests)? {
                            Next::NeedsBytes => return Ok(None),
                            Next::Taken => None,
                            Next::Done(done) => Some(self.ended(done)),
                        }
                    }
                }
            };
            if event.is_some() {
                return Ok(event);
            }
        }
        Ok(None)
    }

    fn handshake_event(&mut self, step: Step) -> Option<ClientEvent<B, I>> {
        match step {
            Step::NeedsBytes | Step::Answered => None,
            Step::StartTls => {
                self.awaits_tls = true;
                Some(ClientEvent::StartTls)
            }
            Step::Listed { name, description } => Some(ClientEvent::Listed { name, description }),
            Step::ListEnd => {
                self.abort();
                Some(ClientEvent::ListEnd)
            }
            Step::Opened(info) => {
                let Stage::Handshake(handshake) = &self.stage else { return None };
                let replies = Replies::new(info.structured, handshake.context());
                self.stage = Stage::Transmission(info.offered(), replies);
                Some(ClientEvent::Opened(info))
            }
        }
    }

    /// A server that is being shut down is left as soon as nothing is under way.
    fn ended(&mut self, done: RequestEnd<B, I>) -> ClientEvent<B, I> {
        if done.result == Err(ErrorNumber::ShuttingDown) {
            self.is_leaving = true;
        }
        self.leave_if_idle();
        ClientEvent::Done(done)
    }

    /// Ends the handshake in order.
    fn abort(&mut self) {
        write_option(option::ABORT, &[], self.outbox.header());
        self.outbox.finish_if_any();
        self.is_ended = true;
    }

    /// TLS was started: from now on, bytes are those inside of it.
    ///
    /// # Panics
    /// If [`ClientEvent::StartTls`] did not ask for it.
    pub fn tls_started(&mut self) {
        assert!(self.awaits_tls, "nobody asked for TLS");
        self.awaits_tls = false;
        if let Stage::Handshake(handshake) = &mut self.stage {
            handshake.ask_after_tls(self.outbox.header());
            self.outbox.finish_if_any();
        }
    }

    /// Begins a request. A read and a write come with a buffer of their length; the bytes of a read will be there when
    /// it ends.
    pub fn submit(&mut self, command: Command, id: I, buffer: Option<B>) -> Result<(), Rejection<B>> {
        let why = match &self.stage {
            Stage::Transmission(..) if self.is_leaving || self.is_ended => SubmitError::Closed,
            Stage::Handshake(_) => SubmitError::Closed,
            Stage::Transmission(..) if self.requests.under_way() >= self.requests_max => SubmitError::TooMany,
            Stage::Transmission(offered, _) => {
                return self.requests.begin(&mut self.outbox, offered, (command, id), buffer);
            }
        };
        Err(Rejection { why, buffer })
    }

    /// Lists what is to be sent, for one vectored write, and returns the number of slices.
    pub fn gather<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        self.outbox.gather(slices)
    }

    /// The first `count` bytes of what [`Self::gather`] listed were written.
    ///
    /// # Panics
    /// If there were fewer bytes to send.
    pub fn sent(&mut self, count: usize) {
        let (requests, mut buffer) = (&mut self.requests, None);
        self.outbox.sent(count, |sent| match sent {
            SentPart::Data(data) => buffer = Some(data),
            SentPart::Message(slot) => requests.sent(slot, buffer.take()),
        });
    }

    /// Returns true if bytes are to be sent.
    pub fn has_output(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Returns true as long as no export is open. An embedder limits how long that may take.
    pub fn is_negotiating(&self) -> bool {
        matches!(self.stage, Stage::Handshake(_))
    }

    /// Requests under way.
    pub fn under_way(&self) -> usize {
        self.requests.under_way()
    }

    /// Leaves in order, once no request is under way. No further one is sent.
    pub fn disconnect(&mut self) {
        self.is_leaving = true;
        match self.stage {
            Stage::Handshake(_) if !self.is_ended => self.abort(),
            _ => self.leave_if_idle(),
        }
    }

    fn leave_if_idle(&mut self) {
        if self.is_leaving && !self.is_ended && self.requests.under_way() == 0 {
            let leave = Header { flags: 0, kind: command::DISCONNECT, cookie: 0, offset: 0, length: 0 };
            leave.write(self.outbox.header());
            self.outbox.finish_if_any();
            self.is_ended = true;
        }
    }

    /// Returns true if the connection is to be closed: the session has ended, and nothing is left to be sent.
    pub fn is_finished(&self) -> bool {
        self.is_ended && self.outbox.is_empty()
    }

    /// Returns the requests that will have no answer, after the session failed or the connection was lost. A
    /// buffer that was being sent or filled stays with the session.
    pub fn abandon(&mut self) -> impl Iterator<Item = (I, Option<B>)> {
        self.is_ended = true;
        self.requests.abandon()
    }
}
