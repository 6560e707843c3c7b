//! The handshake: greeting, options, replies to them.

mod contexts;
mod info;

use std::sync::Arc;

use super::settings::{ServerError, TlsPolicy};
use crate::export::{Export, Exports};
use crate::inbox::Inbox;
use crate::protocol::numbers::{
    EXPORT_NAME_ZEROES, GREETING, OPTION_HEADER, OPTION_MAGIC, OPTION_REPLY_MAGIC, client_flag, greeting_flag, option,
    option_reply,
};
use crate::protocol::{Fields, Offer, string};

/// The longest data of an option; longer ones are refused. It holds a name and a dozen long queries.
pub(crate) const OPTION_DATA_MAX: usize = 16 << 10;

/// The most options of a connection: a client needs half a dozen.
pub(crate) const OPTIONS_MAX: u32 = 1024;

/// What a step of the handshake leads to.
#[derive(Debug)]
pub(crate) enum Step {
    /// More bytes are needed.
    NeedsBytes,
    /// An option was answered.
    Answered,
    /// The client wants TLS, and was told that it gets it.
    StartTls,
    /// The client has chosen an export.
    Opened(Arc<Export>, Offer),
    /// The client leaves.
    Aborted,
}

/// The server's side of a handshake.
#[derive(Debug)]
pub(crate) struct Handshake {
    exports: Arc<Exports>,
    tls: TlsPolicy,
    is_encrypted: bool,
    /// What the client said to the greeting.
    client_flags: Option<u32>,
    options: u32,
    /// Structured replies were agreed on.
    structured: bool,
    /// The export for which `base:allocation` was agreed on.
    context: Option<Arc<Export>>,
    pub(crate) is_shutting_down: bool,
}

/// One option that the client sent.
struct ClientOption<'a> {
    number: u32,
    data: &'a [u8],
}

/// A reply type and a sentence for people, for an option that is refused.
type Refused = (u32, &'static str);

impl Handshake {
    /// Begins a handshake by greeting the client.
    pub(crate) fn new(exports: Arc<Exports>, tls: TlsPolicy, out: &mut Vec<u8>) -> Self {
        out.extend_from_slice(&GREETING.to_be_bytes());
        out.extend_from_slice(&OPTION_MAGIC.to_be_bytes());
        out.extend_from_slice(&(greeting_flag::FIXED_NEWSTYLE | greeting_flag::NO_ZEROES).to_be_bytes());
        Self {
            exports,
            tls,
            is_encrypted: false,
            client_flags: None,
            options: 0,
            structured: false,
            context: None,
            is_shutting_down: false,
        }
    }

    /// The connection is encrypted now. Nothing counts that was agreed on in plain text.
    pub(crate) fn tls_started(&mut self) {
        self.is_encrypted = true;
        self.structured = false;
        self.context = None;
    }

    /// Takes the next message of the client, if it is there, and answers it.
    pub(crate) fn step(&mut self, inbox: &mut Inbox, out: &mut Vec<u8>) -> Result<Step, ServerError> {
        if self.client_flags.is_none() {
            return self.take_client_flags(inbox);
        }
        let Some(header) = inbox.first::<OPTION_HEADER>() else { return Ok(Step::NeedsBytes) };
        let mut fields = Fields(header);
        let (magic, number, length) = (fields.u64(), fields.u32().unwrap_or(0), fields.u32().unwrap_or(0) as usize);
        if magic != Some(OPTION_MAGIC) {
            return Err(ServerError::OptionMagic(magic.unwrap_or(0)));
        }
        let whole = OPTION_HEADER.saturating_add(length);
        let is_too_long = length > OPTION_DATA_MAX;
        if !is_too_long && inbox.pending().len() < whole {
            return Ok(Step::NeedsBytes);
        }
        self.options += 1;
        if self.options > OPTIONS_MAX {
            return Err(ServerError::Options(OPTIONS_MAX));
        }
        let data = if is_too_long { &[] } else { &inbox.pending()[OPTION_HEADER..whole] };
        let behind = inbox.pending().len().saturating_sub(whole);
        let step = self.answer(&ClientOption { number, data }, is_too_long, behind, out);
        inbox.drop_next(whole as u64);
        step
    }

    fn take_client_flags(&mut self, inbox: &mut Inbox) -> Result<Step, ServerError> {
        let Some(flags) = inbox.first::<4>().copied().map(u32::from_be_bytes) else { return Ok(Step::NeedsBytes) };
        inbox.consume(4);
        if flags & !(client_flag::FIXED_NEWSTYLE | client_flag::NO_ZEROES) != 0 {
            return Err(ServerError::ClientFlags(flags));
        }
        if flags & client_flag::FIXED_NEWSTYLE == 0 && self.tls == TlsPolicy::Required {
            return Err(ServerError::NotFixed);
        }
        self.client_flags = Some(flags);
        Ok(Step::Answered)
    }

    fn client_has(&self, flag: u32) -> bool {
        self.client_flags.is_some_and(|flags| flags & flag != 0)
    }

    /// Answers an option. `behind` bytes have come after it.
    fn answer(
        &mut self,
        asked: &ClientOption<'_>,
        is_too_long: bool,
        behind: usize,
        out: &mut Vec<u8>,
    ) -> Result<Step, ServerError> {
        if asked.number == option::EXPORT_NAME {
            return self.export_name(asked.data, is_too_long, out);
        }
        if asked.number == option::ABORT {
            asked.reply(out, option_reply::ACK, &[]);
            return Ok(Step::Aborted);
        }
        // It replaces the contexts even if it fails.
        if asked.number == option::SET_META_CONTEXT {
            self.context = None;
        }
        match self.check_policy(asked.number, is_too_long).and_then(|()| self.perform(asked, out)) {
            Ok(Step::StartTls) if behind > 0 => Err(ServerError::PlainBytes(behind)),
            Ok(step) => {
                asked.reply(out, option_reply::ACK, &[]);
                Ok(step)
            }
            Err((reply, why)) => {
                asked.reply(out, reply, why.as_bytes());
                Ok(Step::Answered)
            }
        }
    }

    /// What is refused whatever the option is.
    fn check_policy(&self, number: u32, is_too_long: bool) -> Result<(), Refused> {
        if self.is_shutting_down {
            return Err((option_reply::SHUTDOWN, "the server is being shut down"));
        }
        if self.needs_tls() && number != option::STARTTLS {
            return Err((option_reply::TLS_REQUIRED, "TLS has to be started first"));
        }
        if is_too_long {
            return Err((option_reply::TOO_BIG, "the option is too long"));
        }
        Ok(())
    }

    fn needs_tls(&self) -> bool {
        self.tls == TlsPolicy::Required && !self.is_encrypted
    }

    /// Does what an option asks for, and writes all replies but the last one.
    fn perform(&mut self, asked: &ClientOption<'_>, out: &mut Vec<u8>) -> Result<Step, Refused> {
        match asked.number {
            option::LIST => {
                asked.expect_no_data()?;
                for export in self.exports.iter() {
                    let length = (export.name.len() as u32).to_be_bytes();
                    let texts = [&length, export.name.as_bytes(), export.description.as_bytes()];
                    asked.reply_parts(out, option_reply::SERVER, &texts);
                }
            }
            option::STARTTLS => return self.start_tls(asked),
            option::INFO | option::GO => return self.info(asked, out),
            option::STRUCTURED_REPLY => {
                asked.expect_no_data()?;
                self.structured = true;
            }
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => self.contexts(asked, out)?,
            _ => return Err((option_reply::UNSUPPORTED, "the option is unknown")),
        }
        Ok(Step::Answered)
    }

    fn start_tls(&self, asked: &ClientOption<'_>) -> Result<Step, Refused> {
        if self.tls == TlsPolicy::None || !self.client_has(client_flag::FIXED_NEWSTYLE) {
            return Err((option_reply::POLICY, "this server has no TLS"));
        }
        if self.is_encrypted {
            return Err((option_reply::INVALID, "TLS was started before"));
        }
        asked.expect_no_data()?;
        Ok(Step::StartTls)
    }

    /// The old way to choose an export, which has no error replies.
    fn export_name(&self, name: &[u8], is_too_long: bool, out: &mut Vec<u8>) -> Result<Step, ServerError> {
        let error = |why| Err(ServerError::ExportName { name: String::from_utf8_lossy(name).into_owned(), why });
        if self.needs_tls() {
            return error("needs TLS");
        }
        if self.is_shutting_down {
            return error("is being shut down");
        }
        let Some(name) = string(name).filter(|_| !is_too_long) else { return error("is no name") };
        let Some(export) = self.exports.find(name) else { return error("is unknown") };
        let offered = self.offered(export);
        out.extend_from_slice(&offered.size.to_be_bytes());
        out.extend_from_slice(&offered.flags.to_be_bytes());
        if !self.client_has(client_flag::NO_ZEROES) {
            out.extend_from_slice(&[0; EXPORT_NAME_ZEROES]);
        }
        Ok(Step::Opened(export.clone(), offered))
    }

    /// What the client is told of `export`.
    fn offered(&self, export: &Arc<Export>) -> Offer {
        let has_context = self.context.as_ref().is_some_and(|context| Arc::ptr_eq(context, export));
        export.offered(self.structured, has_context)
    }
}

impl ClientOption<'_> {
    fn expect_no_data(&self) -> Result<(), Refused> {
        if self.data.is_empty() { Ok(()) } else { Err((option_reply::INVALID, "the option has no data")) }
    }

    fn reply(&self, out: &mut Vec<u8>, kind: u32, data: &[u8]) {
        self.reply_parts(out, kind, &[data]);
    }

    fn reply_parts(&self, out: &mut Vec<u8>, kind: u32, parts: &[&[u8]]) {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        out.extend_from_slice(&OPTION_REPLY_MAGIC.to_be_bytes());
        out.extend_from_slice(&self.number.to_be_bytes());
        out.extend_from_slice(&kind.to_be_bytes());
        out.extend_from_slice(&(length as u32).to_be_bytes());
        parts.iter().for_each(|part| out.extend_from_slice(part));
    }
}
