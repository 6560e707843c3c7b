//! The handshake: what the client asks for, one option after the other.

use esker_core::Bytes;

use super::ExportInfo;
use super::settings::{ClientError, ClientSettings, Goal, TlsWish};
use crate::inbox::Inbox;
use crate::protocol::numbers::{
    ALLOCATION, EXPORT_NAME_ZEROES, GREETING, OPTION_MAGIC, OPTION_REPLY_HEADER, OPTION_REPLY_MAGIC, STRING_MAX,
    client_flag, export_flag, greeting_flag, info, option, option_reply,
};
use crate::protocol::{BlockSizes, Fields, Offer, string};

/// The longest reply to an option: name and description of an export, with room to spare.
pub(crate) const REPLY_DATA_MAX: usize = 16 << 10;

/// The most replies to one option: exports of a list.
const REPLIES_MAX: u32 = 1 << 16;

/// What a step of the handshake leads to.
#[derive(Debug)]
pub(crate) enum Step {
    /// More bytes are needed.
    NeedsBytes,
    /// A message was taken, and what follows was written.
    Answered,
    /// TLS has to be started.
    StartTls,
    /// An export of a list.
    Listed { name: String, description: String },
    /// The list is complete.
    ListEnd,
    /// Requests follow.
    Opened(ExportInfo),
}

/// What the client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    Greeting,
    /// The reply to this option.
    Reply(u32),
    /// What follows the old way to choose an export.
    ExportName,
    /// Nothing: the embedder is starting TLS, or the handshake is over.
    Nothing,
}

/// The client's side of a handshake.
#[derive(Debug)]
pub(crate) struct Handshake {
    settings: ClientSettings,
    awaited: Awaited,
    has_no_zeroes: bool,
    replies: u32,
    structured: bool,
    /// The number that the server gave to `base:allocation`.
    context: Option<u32>,
    info: ExportInfo,
    /// Size and flags are known.
    has_export: bool,
}

/// A reply to an option.
struct OptionReply<'a> {
    kind: u32,
    data: &'a [u8],
}

const fn broken<T>(what: &'static str) -> Result<T, ClientError> {
    Err(ClientError::Handshake(what))
}

impl Handshake {
    pub(crate) fn new(settings: ClientSettings) -> Self {
        Self {
            settings,
            awaited: Awaited::Greeting,
            has_no_zeroes: false,
            replies: 0,
            structured: false,
            context: None,
            info: ExportInfo::default(),
            has_export: false,
        }
    }

    /// The number of `base:allocation`, if it was agreed on.
    pub(crate) fn context(&self) -> Option<u32> {
        self.context
    }

    /// Takes the next message of the server, if it is there, and writes what follows.
    pub(crate) fn step(&mut self, inbox: &mut Inbox, out: &mut Vec<u8>) -> Result<Step, ClientError> {
        match self.awaited {
            Awaited::Greeting => self.take_greeting(inbox, out),
            Awaited::Reply(asked) => self.take_reply(asked, inbox, out),
            Awaited::ExportName => self.take_export(inbox),
            Awaited::Nothing => Ok(Step::NeedsBytes),
        }
    }

    fn take_greeting(&mut self, inbox: &mut Inbox, out: &mut Vec<u8>) -> Result<Step, ClientError> {
        let Some(greeting) = inbox.first::<18>() else { return Ok(Step::NeedsBytes) };
        let mut fields = Fields(greeting);
        if fields.u64() != Some(GREETING) || fields.u64() != Some(OPTION_MAGIC) {
            return Err(ClientError::NotNewstyle);
        }
        let flags = fields.u16().unwrap_or(0);
        inbox.consume(18);
        let is_fixed = flags & greeting_flag::FIXED_NEWSTYLE != 0;
        self.has_no_zeroes = flags & greeting_flag::NO_ZEROES != 0;
        let no_zeroes = if self.has_no_zeroes { client_flag::NO_ZEROES } else { 0 };
        let fixed = if is_fixed { client_flag::FIXED_NEWSTYLE } else { 0 };
        out.extend_from_slice(&(fixed | no_zeroes).to_be_bytes());
        if !is_fixed {
            return match (self.settings.tls, &self.settings.goal) {
                (TlsWish::Must, _) => Err(ClientError::NotFixed("TLS")),
                (_, Goal::List) => Err(ClientError::NotFixed("a list of exports")),
                (_, Goal::Open(_)) => Ok(self.ask_by_name(out)),
            };
        }
        match self.settings.tls {
            TlsWish::No => self.ask_after_tls(out),
            TlsWish::IfOffered | TlsWish::Must => self.ask(option::STARTTLS, &[], out),
        }
        Ok(Step::Answered)
    }

    fn ask(&mut self, number: u32, parts: &[&[u8]], out: &mut Vec<u8>) {
        write_option(number, parts, out);
        (self.awaited, self.replies) = (Awaited::Reply(number), 0);
    }

    fn ask_by_name(&mut self, out: &mut Vec<u8>) -> Step {
        write_option(option::EXPORT_NAME, &[self.name().as_bytes()], out);
        self.awaited = Awaited::ExportName;
        Step::Answered
    }

    fn name(&self) -> &str {
        match &self.settings.goal {
            Goal::Open(name) => name,
            Goal::List => "",
        }
    }

    /// Goes on when TLS is started, or will not be.
    pub(crate) fn ask_after_tls(&mut self, out: &mut Vec<u8>) {
        match self.settings.goal {
            Goal::List => self.ask(option::LIST, &[], out),
            Goal::Open(_) if self.settings.structured => self.ask(option::STRUCTURED_REPLY, &[], out),
            Goal::Open(_) => self.go(out),
        }
    }

    fn ask_for_context(&mut self, out: &mut Vec<u8>) {
        let name = self.name().as_bytes().to_vec();
        let length = |bytes: &[u8]| (bytes.len() as u32).to_be_bytes();
        let (name_length, queries, query_length) = (length(&name), 1u32.to_be_bytes(), length(ALLOCATION.as_bytes()));
        let parts: [&[u8]; 5] = [&name_length, &name, &queries, &query_length, ALLOCATION.as_bytes()];
        self.ask(option::SET_META_CONTEXT, &parts, out);
    }

    /// Chooses the export, and promises to keep to its block sizes.
    fn go(&mut self, out: &mut Vec<u8>) {
        let name = self.name().as_bytes().to_vec();
        let wanted = [info::NAME, info::DESCRIPTION, info::BLOCK_SIZE].map(u16::to_be_bytes);
        let (length, count) = ((name.len() as u32).to_be_bytes(), (wanted.len() as u16).to_be_bytes());
        let parts: [&[u8]; 4] = [&length, &name, &count, wanted.as_flattened()];
        self.ask(option::GO, &parts, out);
    }

    fn take_reply(&mut self, asked: u32, inbox: &mut Inbox, out: &mut Vec<u8>) -> Result<Step, ClientError> {
        let Some(header) = inbox.first::<OPTION_REPLY_HEADER>() else { return Ok(Step::NeedsBytes) };
        let mut fields = Fields(header);
        if fields.u64() != Some(OPTION_REPLY_MAGIC) {
            return broken("a reply to an option has another magic number");
        }
        if fields.u32() != Some(asked) {
            return broken("the reply is to another option");
        }
        let (kind, length) = (fields.u32().unwrap_or(0), fields.u32().unwrap_or(0) as usize);
        if length > REPLY_DATA_MAX {
            return broken("a reply to an option is too long");
        }
        let whole = OPTION_REPLY_HEADER + length;
        if inbox.pending().len() < whole {
            return Ok(Step::NeedsBytes);
        }
        self.replies += 1;
        if self.replies > REPLIES_MAX {
            return broken("an option has too many replies");
        }
        let reply = OptionReply { kind, data: &inbox.pending()[OPTION_REPLY_HEADER..whole] };
        let behind = inbox.pending().len() - whole;
        let step = match kind {
            option_reply::ACK => self.acknowledged(asked, behind, out),
            _ if kind & option_reply::IS_ERROR != 0 => self.refused(asked, &reply, out),
            _ => self.told(asked, &reply),
        };
        inbox.consume(whole);
        step
    }

    fn acknowledged(&mut self, asked: u32, behind: usize, out: &mut Vec<u8>) -> Result<Step, ClientError> {
        match asked {
            option::STARTTLS if behind > 0 => return Err(ClientError::PlainBytes(behind)),
            option::STARTTLS => {
                self.awaited = Awaited::Nothing;
                return Ok(Step::StartTls);
            }
            option::STRUCTURED_REPLY => {
                self.structured = true;
                if self.settings.block_status { self.ask_for_context(out) } else { self.go(out) }
            }
            option::SET_META_CONTEXT => self.go(out),
            option::LIST => {
                self.awaited = Awaited::Nothing;
                return Ok(Step::ListEnd);
            }
            _ => return self.opened(),
        }
        Ok(Step::Answered)
    }

    /// Does without what the server does not have, where that is possible.
    fn refused(&mut self, asked: u32, reply: &OptionReply<'_>, out: &mut Vec<u8>) -> Result<Step, ClientError> {
        // Nothing will succeed after these two.
        let is_final = matches!(reply.kind, option_reply::SHUTDOWN | option_reply::TLS_REQUIRED);
        match asked {
            option::STARTTLS if !is_final && self.settings.tls == TlsWish::IfOffered => self.ask_after_tls(out),
            option::STRUCTURED_REPLY if !is_final => self.go(out),
            option::SET_META_CONTEXT if !is_final => {
                self.context = None;
                self.go(out);
            }
            option::GO if reply.kind == option_reply::UNSUPPORTED => return Ok(self.ask_by_name(out)),
            _ => {
                let message = string(reply.data).unwrap_or_default().to_string();
                return Err(ClientError::Refused {
                    option: option_name(asked),
                    reply: reply_name(reply.kind),
                    message,
                });
            }
        }
        Ok(Step::Answered)
    }

    /// Takes what a reply says beside yes or no.
    fn told(&mut self, asked: u32, reply: &OptionReply<'_>) -> Result<Step, ClientError> {
        let mut fields = Fields(reply.data);
        match (asked, reply.kind) {
            (option::SET_META_CONTEXT, option_reply::META_CONTEXT) => {
                let (Some(id), Some(name)) = (fields.u32(), string(fields.0)) else {
                    return broken("a metadata context is malformed");
                };
                if name == ALLOCATION && self.context.replace(id).is_some() {
                    return broken("a metadata context comes twice");
                }
            }
            (option::GO, option_reply::INFO) => {
                if self.take_info(fields).is_none() {
                    return broken("what the server tells of the export is malformed");
                }
            }
            (option::LIST, option_reply::SERVER) => {
                let (Some(name), Some(description)) = (fields.string(), string(fields.0)) else {
                    return broken("an export of the list is malformed");
                };
                return Ok(Step::Listed { name: name.to_string(), description: description.to_string() });
            }
            _ => return broken("the reply does not fit the option"),
        }
        Ok(Step::Answered)
    }

    fn take_info(&mut self, mut fields: Fields<'_>) -> Option<()> {
        match fields.u16()? {
            info::EXPORT => {
                (self.info.size, self.info.flags) = (Bytes(fields.u64()?), fields.u16()?);
                self.has_export = true;
                fields.is_empty().then_some(())
            }
            info::NAME => string(fields.0).map(|name| self.info.name = Some(name.to_string())),
            info::DESCRIPTION => string(fields.0).map(|text| self.info.description = Some(text.to_string())),
            info::BLOCK_SIZE => {
                let [minimum, preferred, maximum] = [fields.u32()?, fields.u32()?, fields.u32()?];
                self.info.block_sizes = BlockSizes { minimum, preferred, maximum };
                (fields.is_empty() && self.info.block_sizes.are_allowed()).then_some(())
            }
            _ => Some(()),
        }
    }

    fn take_export(&mut self, inbox: &mut Inbox) -> Result<Step, ClientError> {
        let zeroes = if self.has_no_zeroes { 0 } else { EXPORT_NAME_ZEROES };
        let mut fields = Fields(inbox.pending());
        let (Some(size), Some(flags), Some(_)) = (fields.u64(), fields.u16(), fields.bytes(zeroes)) else {
            return Ok(Step::NeedsBytes);
        };
        inbox.consume(10 + zeroes);
        (self.info.size, self.info.flags, self.has_export) = (Bytes(size), flags, true);
        self.opened()
    }

    fn opened(&mut self) -> Result<Step, ClientError> {
        if !self.has_export || self.info.flags & export_flag::HAS_FLAGS == 0 {
            return broken("the server says neither size nor flags of the export");
        }
        self.awaited = Awaited::Nothing;
        self.info.structured = self.structured;
        self.info.block_status = self.context.is_some();
        Ok(Step::Opened(self.info.clone()))
    }
}

impl ExportInfo {
    /// What requests have to keep to.
    pub(crate) fn offered(&self) -> Offer {
        let &Self { size, flags, block_sizes: sizes, structured, block_status, .. } = self;
        Offer { size: size.0, flags, sizes, structured, block_status }
    }
}

pub(crate) fn write_option(number: u32, parts: &[&[u8]], out: &mut Vec<u8>) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    out.extend_from_slice(&OPTION_MAGIC.to_be_bytes());
    out.extend_from_slice(&number.to_be_bytes());
    out.extend_from_slice(&(length as u32).to_be_bytes());
    parts.iter().for_each(|part| out.extend_from_slice(part));
}

fn option_name(number: u32) -> &'static str {
    match number {
        option::LIST => "the list of exports",
        option::STARTTLS => "TLS",
        option::GO => "the export",
        option::STRUCTURED_REPLY => "structured replies",
        _ => "the metadata context",
    }
}

fn reply_name(kind: u32) -> &'static str {
    match kind {
        option_reply::UNSUPPORTED => "it is unknown there",
        option_reply::POLICY => "its policy forbids it",
        option_reply::INVALID => "the question is invalid",
        option_reply::PLATFORM => "its platform cannot do it",
        option_reply::TLS_REQUIRED => "TLS is required",
        option_reply::UNKNOWN => "there is no such export",
        option_reply::SHUTDOWN => "it is being shut down",
        option_reply::BLOCK_SIZE_REQUIRED => "it requires that block sizes are asked for",
        option_reply::TOO_BIG => "the question or its answer is too long",
        _ => "an unknown error",
    }
}

/// Returns true if `name` may be sent: the document bounds strings.
pub(crate) fn is_name(name: &str) -> bool {
    name.len() <= STRING_MAX && string(name.as_bytes()).is_some()
}
