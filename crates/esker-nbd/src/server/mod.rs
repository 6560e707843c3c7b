//! The server's side of one connection.

mod handshake;
mod memory;
mod replies;
mod settings;
mod state;
#[cfg(test)]
mod tests;
mod transmission;

use std::io::IoSlice;
use std::sync::Arc;

use esker_core::Tag;

use crate::export::{Export, Exports};
use crate::inbox::Inbox;
use crate::outbox::{Outbox, SentPart, Slices};
use crate::protocol::Command;
use handshake::{Handshake, Step};
pub use replies::{Outcome, Run};
pub use settings::{ServerError, ServerSettings, TlsPolicy};
pub use state::{NotIdle, RestoreError};
use transmission::{Next, Rules, Transmission};

/// The number of `base:allocation` in replies.
const CONTEXT_ID: u32 = 1;

/// The smallest receive buffer: it has to hold a whole option.
const RECEIVE_BUFFER_MIN: u64 = 32 << 10;
const _: () = assert!(RECEIVE_BUFFER_MIN as usize > handshake::OPTION_DATA_MAX + 16);

/// Where the payloads of writes are put.
pub trait Memory {
    /// Memory of one payload.
    type Payload: AsMut<[u8]>;

    /// Returns memory of `length` bytes, whatever they are: all of them are overwritten.
    fn take(&mut self, length: usize) -> Self::Payload;
}

/// A request that the embedder has to answer, once, with [`ServerSession::reply`].
#[derive(Debug)]
pub struct Request<B> {
    /// What the answer is for. Small slot numbers are used again, with another generation.
    pub id: Tag,
    /// What the client wants. It was checked against the export: what arrives here lies within it, on its blocks.
    pub command: Command,
    /// The bytes of a write.
    pub payload: Option<B>,
}

/// What happens on a connection.
#[derive(Debug)]
pub enum ServerEvent<B> {
    /// The client has chosen this export; requests follow.
    Opened(Arc<Export>),
    /// A request to be answered.
    Request(Request<B>),
    /// TLS has to be started on the connection, then [`ServerSession::tls_started`] called. All that was to be sent in
    /// plain text has been sent.
    StartTls,
    /// The client leaves in order. What is under way is still to be answered.
    Disconnected,
    /// The client broke the protocol. What is to be sent may still be sent; replies are dropped.
    Failed(ServerError),
}

/// The server's side of one connection, without I/O. The embedder moves bytes and answers requests:
///
/// 1. read into [`space`](Self::space), then [`received`](Self::received);
/// 2. call [`next_event`](Self::next_event) until it returns `None`, also after [`sent`](Self::sent);
/// 3. [`reply`](Self::reply) to requests, in any order;
/// 4. write what [`gather`](Self::gather) lists, then [`sent`](Self::sent);
/// 5. close the connection when [`is_finished`](Self::is_finished).
///
/// `B` is memory of a write's payload, `D` the data of a read.
#[derive(Debug)]
pub struct ServerSession<B, D> {
    settings: ServerSettings,
    inbox: Inbox,
    outbox: Outbox<D>,
    stage: Stage<B>,
    tls: TlsStart,
    end: Option<End>,
    is_encrypted: bool,
    is_shutting_down: bool,
    /// No further request is taken.
    is_held: bool,
}

#[derive(Debug)]
enum Stage<B> {
    Handshake(Box<Handshake>),
    Transmission(Box<Transmission<B>>),
}

/// How far the start of TLS is.
#[derive(Debug, PartialEq, Eq)]
enum TlsStart {
    NotUnderWay,
    /// The acknowledgement may not be sent yet.
    Acknowledged,
    /// The embedder is starting it.
    Reported,
}

#[derive(Debug, PartialEq, Eq)]
enum End {
    Disconnected,
    Failed,
}

impl<B: AsMut<[u8]>, D: Slices> ServerSession<B, D> {
    /// Begins with the greeting, which is to be sent at once.
    pub fn new(settings: ServerSettings, exports: Arc<Exports>) -> Self {
        let mut outbox = Outbox::new();
        let handshake = Handshake::new(exports, settings.tls, outbox.header());
        outbox.finish(0, 0, None, None);
        let inbox = Inbox::new(receive_buffer(&settings));
        Self::with(settings, inbox, outbox, Stage::Handshake(Box::new(handshake)))
    }

    fn with(settings: ServerSettings, inbox: Inbox, outbox: Outbox<D>, stage: Stage<B>) -> Self {
        let tls = TlsStart::NotUnderWay;
        Self {
            settings,
            inbox,
            outbox,
            stage,
            tls,
            end: None,
            is_encrypted: false,
            is_shutting_down: false,
            is_held: false,
        }
    }

    /// Where the next bytes of the connection go: into the receive buffer, or straight into the payload of a long
    /// write. `None`: read nothing now, because enough is under way, TLS is being started, or the session has ended.
    pub fn space(&mut self) -> Option<&mut [u8]> {
        if self.end.is_some() || self.tls != TlsStart::NotUnderWay {
            return None;
        }
        if let Stage::Transmission(transmission) = &mut self.stage {
            if transmission.is_full(self.is_held) {
                return None;
            }
            if let Some(filling) = transmission.straight(&self.inbox) {
                return Some(filling.space());
            }
        }
        Some(self.inbox.space()).filter(|space| !space.is_empty())
    }

    /// `count` bytes were read to where [`Self::space`] said.
    pub fn received(&mut self, count: usize) {
        if let Stage::Transmission(transmission) = &mut self.stage
            && let Some(filling) = transmission.straight(&self.inbox)
        {
            return filling.received(count);
        }
        self.inbox.received(count);
    }

    /// Returns what happens next of what was received. `None` if more bytes have to be received, or others sent.
    pub fn next_event(&mut self, memory: &mut impl Memory<Payload = B>) -> Option<ServerEvent<B>> {
        if self.end.is_some() {
            return None;
        }
        let event = match &mut self.stage {
            Stage::Handshake(_) => self.next_of_handshake(),
            Stage::Transmission(transmission) => {
                let (is_shutting_down, is_held) = (self.is_shutting_down, self.is_held);
                let rules = Rules { settings: &self.settings, is_shutting_down, is_held };
                match transmission.next(&mut self.inbox, &mut self.outbox, &rules, memory) {
                    Ok(Next::Nothing) => return None,
                    Ok(Next::Request(request)) => return Some(ServerEvent::Request(request)),
                    Ok(Next::Disconnect) => Ok(Some(ServerEvent::Disconnected)),
                    Err(error) => Err(error),
                }
            }
        };
        let event = event.unwrap_or_else(|error| Some(ServerEvent::Failed(error)));
        self.end = match event {
            Some(ServerEvent::Disconnected) => Some(End::Disconnected),
            Some(ServerEvent::Failed(_)) => Some(End::Failed),
            _ => None,
        };
        event
    }

    /// One option is answered at a time: nobody can make replies pile up.
    fn next_of_handshake(&mut self) -> Result<Option<ServerEvent<B>>, ServerError> {
        let Stage::Handshake(handshake) = &mut self.stage else { return Ok(None) };
        while self.outbox.is_empty() && self.tls != TlsStart::Reported {
            if self.tls == TlsStart::Acknowledged {
                self.tls = TlsStart::Reported;
                return Ok(Some(ServerEvent::StartTls));
            }
            let step = handshake.step(&mut self.inbox, self.outbox.header());
            self.outbox.finish_if_any();
            match step? {
                Step::NeedsBytes => return Ok(None),
                Step::Answered => {}
                Step::StartTls => self.tls = TlsStart::Acknowledged,
                Step::Aborted => return Ok(Some(ServerEvent::Disconnected)),
                Step::Opened(export, offered) => {
                    self.stage = Stage::Transmission(Box::new(Transmission::new(export.clone(), offered)));
                    return Ok(Some(ServerEvent::Opened(export)));
                }
            }
        }
        Ok(None)
    }

    /// TLS was started: from now on, bytes are those inside of it.
    ///
    /// # Panics
    /// If [`ServerEvent::StartTls`] did not ask for it.
    pub fn tls_started(&mut self) {
        assert_eq!(self.tls, TlsStart::Reported, "nobody asked for TLS");
        self.tls = TlsStart::NotUnderWay;
        self.is_encrypted = true;
        if let Stage::Handshake(handshake) = &mut self.stage {
            handshake.tls_started();
        }
    }

    /// Answers a request. `data` are the bytes of a read. They are returned if they will not be sent, because the
    /// request failed, or the session did.
    ///
    /// # Panics
    /// If the request was answered before, or if `outcome` or the number of bytes in `data` do not fit the request.
    pub fn reply(&mut self, id: Tag, outcome: Outcome<'_>, data: Option<D>) -> Option<D> {
        let Stage::Transmission(transmission) = &mut self.stage else { panic!("no request is under way") };
        let request = transmission.answered(id);
        if self.end == Some(End::Failed) {
            return data;
        }
        let is_sent = matches!((outcome, request.command), (Outcome::Done | Outcome::Runs(_), Command::Read { .. }));
        let (sent, returned) = if is_sent { (data, None) } else { (None, data) };
        replies::write_reply(&mut self.outbox, &transmission.offered, &request, outcome, sent);
        returned
    }

    /// Lists what is to be sent, for one vectored write, and returns the number of slices. Data of reads are not
    /// copied.
    pub fn gather<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        self.outbox.gather(slices)
    }

    /// The first `count` bytes of what [`Self::gather`] listed were written. Data that were sent are given to
    /// `recycle`.
    ///
    /// # Panics
    /// If there were fewer bytes to send.
    pub fn sent(&mut self, count: usize, mut recycle: impl FnMut(D)) {
        let mut transmission = match &mut self.stage {
            Stage::Transmission(transmission) => Some(transmission),
            Stage::Handshake(_) => None,
        };
        self.outbox.sent(count, |sent| match (sent, &mut transmission) {
            (SentPart::Data(data), _) => recycle(data),
            (SentPart::Message(bytes), Some(transmission)) => transmission.reply_sent(bytes),
            (SentPart::Message(_), None) => {}
        });
    }

    /// Returns true if bytes are to be sent.
    pub fn has_output(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Returns true as long as the client has not chosen an export. An embedder limits how long that may take.
    pub fn is_negotiating(&self) -> bool {
        matches!(self.stage, Stage::Handshake(_))
    }

    /// The export that the client has chosen; `None` as long as it has not.
    pub fn export(&self) -> Option<&Arc<Export>> {
        self.transmission().map(|transmission| &transmission.export)
    }

    /// Requests under way: those that are to be answered, and those whose reply is not sent yet.
    pub fn under_way(&self) -> u32 {
        self.transmission().map_or(0, Transmission::under_way)
    }

    fn transmission(&self) -> Option<&Transmission<B>> {
        match &self.stage {
            Stage::Transmission(transmission) => Some(transmission),
            Stage::Handshake(_) => None,
        }
    }

    /// Has further options and requests refused. Requests under way are finished.
    pub fn shut_down(&mut self) {
        self.is_shutting_down = true;
        if let Stage::Handshake(handshake) = &mut self.stage {
            handshake.is_shutting_down = true;
        }
    }

    /// With `true`, no further request is taken from the connection, so that the session becomes idle and
    /// [`Self::state`] can be taken. A client that has not chosen an export may do so, and its requests wait.
    pub fn hold(&mut self, is_held: bool) {
        self.is_held = is_held;
    }

    /// Returns true if the connection is to be closed: the session has ended or is being shut down, and nothing is left
    /// to be answered or sent. After [`Self::shut_down`] that includes a client that has not chosen an export: an
    /// embedder may keep it a while to have its next option refused.
    pub fn is_finished(&self) -> bool {
        let is_idle = self.outbox.is_empty() && self.under_way() == 0;
        match self.end {
            Some(End::Failed) => self.outbox.is_empty(),
            Some(End::Disconnected) => is_idle,
            None => self.is_shutting_down && is_idle,
        }
    }
}

fn receive_buffer(settings: &ServerSettings) -> usize {
    settings.receive_buffer.0.max(RECEIVE_BUFFER_MIN) as usize
}
