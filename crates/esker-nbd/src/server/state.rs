//! Handing a connection over to another process: what was agreed on, as bytes.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `ESKERNBD` |
//! | 1 | 1: the layout |
//! | 1 | bit 0: structured replies; bit 1: `base:allocation` |
//! | 8 | size of the export that the client was told |
//! | 2 | transmission flags that it was told |
//! | 12 | minimum, preferred and maximum block size that it was told |
//! | 8 | bytes that are still to come and to be dropped |
//! | 4, then the name | length and name of the export |
//! | the rest | bytes received and not parsed |
//!
//! Numbers are big-endian, like those of the protocol.

use std::sync::Arc;

use thiserror::Error;

use super::transmission::Transmission;
use super::{ServerSession, ServerSettings, Stage, TlsPolicy, receive_buffer};
use crate::export::Exports;
use crate::inbox::Inbox;
use crate::outbox::{Outbox, Slices};
use crate::protocol::{BlockSizes, Fields, Offer};

const MAGIC: &[u8; 8] = b"ESKERNBD";
const LAYOUT: u8 = 1;

/// Why a session cannot be written down now.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum NotIdle {
    /// No export is chosen yet, or the session has ended.
    #[error("the connection serves no export")]
    NotOpen,
    /// Encryption is a state of its own, which is not written down.
    #[error("the connection is encrypted")]
    Encrypted,
    /// Requests are to be answered, or replies to be sent.
    #[error("requests are under way")]
    UnderWay,
}

/// Why a session cannot be made again.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RestoreError {
    /// They are not the bytes of a session, or too many.
    #[error("these bytes are not those of a session")]
    Malformed,
    /// The export is not there.
    #[error("the export `{0}` is not there")]
    Unknown(String),
    /// The export is not what the client was told.
    #[error("the export `{0}` is not what the client was told: it is smaller, or has other flags or block sizes")]
    Changed(String),
    /// The server requires TLS, and only connections in plain text are handed over.
    #[error("the connection is not encrypted, but TLS is required")]
    NeedsTls,
}

impl<B: AsMut<[u8]>, D: Slices> ServerSession<B, D> {
    /// Writes the session down, for [`Self::restore`] in another process. No request may be under way: see
    /// [`Self::hold`]. Bytes that were received and not parsed are part of it.
    pub fn state(&self) -> Result<Vec<u8>, NotIdle> {
        let Stage::Transmission(transmission) = &self.stage else { return Err(NotIdle::NotOpen) };
        if self.end.is_some() {
            return Err(NotIdle::NotOpen);
        }
        if self.is_encrypted {
            return Err(NotIdle::Encrypted);
        }
        if transmission.under_way() > 0 || self.has_output() {
            return Err(NotIdle::UnderWay);
        }
        let Offer { size, flags, sizes, structured, block_status } = transmission.offered;
        let name = transmission.export.name.as_bytes();
        let mut state = Vec::new();
        state.extend_from_slice(MAGIC);
        state.extend_from_slice(&[LAYOUT, u8::from(structured) | u8::from(block_status) << 1]);
        state.extend_from_slice(&size.to_be_bytes());
        state.extend_from_slice(&flags.to_be_bytes());
        for bytes in [sizes.minimum, sizes.preferred, sizes.maximum] {
            state.extend_from_slice(&bytes.to_be_bytes());
        }
        state.extend_from_slice(&self.inbox.unwanted().to_be_bytes());
        state.extend_from_slice(&(name.len() as u32).to_be_bytes());
        state.extend_from_slice(name);
        state.extend_from_slice(self.inbox.pending());
        Ok(state)
    }

    /// Goes on with a session that another process has written down. The client keeps the size that it was told.
    pub fn restore(settings: ServerSettings, exports: &Exports, state: &[u8]) -> Result<Self, RestoreError> {
        let State { name, offered, unwanted, pending } = State::read(state).ok_or(RestoreError::Malformed)?;
        if settings.tls == TlsPolicy::Required {
            return Err(RestoreError::NeedsTls);
        }
        let found = exports.iter().find(|export| export.name == name);
        let export = found.ok_or_else(|| RestoreError::Unknown(name.to_string()))?;
        let now = export.offered(offered.structured, offered.block_status);
        if now.size < offered.size || (Offer { size: offered.size, ..now }) != offered {
            return Err(RestoreError::Changed(name.to_string()));
        }
        let inbox = Inbox::restored(receive_buffer(&settings), unwanted, pending).ok_or(RestoreError::Malformed)?;
        let stage = Stage::Transmission(Box::new(Transmission::new(Arc::clone(export), offered)));
        Ok(Self::with(settings, inbox, Outbox::new(), stage))
    }
}

struct State<'a> {
    name: &'a str,
    offered: Offer,
    unwanted: u64,
    pending: &'a [u8],
}

impl<'a> State<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let is_known = fields.bytes(MAGIC.len())? == MAGIC && fields.u8()? == LAYOUT;
        let agreed = fields.u8().filter(|agreed| is_known && agreed & !3 == 0)?;
        let (size, flags) = (fields.u64()?, fields.u16()?);
        let sizes = BlockSizes { minimum: fields.u32()?, preferred: fields.u32()?, maximum: fields.u32()? };
        let unwanted = fields.u64()?;
        let name = fields.string()?;
        let (structured, block_status) = (agreed & 1 != 0, agreed & 2 != 0);
        // Contexts need structured replies.
        if block_status && !structured {
            return None;
        }
        let offered = Offer { size, flags, sizes, structured, block_status };
        Some(Self { name, offered, unwanted, pending: fields.0 })
    }
}
