//! The NBD protocol, server and client, as state machines without I/O: no sockets, no TLS, no threads, no clock.
//!
//! A session takes the bytes that were received, says what happened, and lists the bytes to be sent. Payloads of writes
//! land in memory of the embedder; data of reads are sent from where they lie. `docs/nbd.md` says what is answered, and
//! with what.
//!
//! ```
//! use std::{io::IoSlice, sync::Arc};
//!
//! use esker_core::Bytes;
//! use esker_nbd::{Export, Exports, ServerSession, ServerSettings};
//!
//! let exports = Exports::new(vec![Export::new("disk", Bytes::mib(1))], Some("disk"))?;
//! let mut session = ServerSession::<Vec<u8>, Vec<u8>>::new(ServerSettings::default(), Arc::new(exports));
//! // What is to be written to the connection: the greeting.
//! let mut slices = [IoSlice::new(&[]); 64];
//! let count = session.gather(&mut slices);
//! assert_eq!(&slices[..count].iter().map(|slice| slice.escape_ascii().to_string()).collect::<String>(),
//!     r"NBDMAGICIHAVEOPT\x00\x03");
//! session.sent(18, drop);
//! // Where what the connection brings is to be read to.
//! assert_eq!(session.space().map(|space| space.len()), Some(64 << 10));
//! # Ok::<(), esker_nbd::ExportError>(())
//! ```

// The common parts of tests name the crate as others do.
#[cfg(test)]
extern crate self as esker_nbd;

mod client;
#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod common;
mod export;
mod inbox;
mod outbox;
#[cfg(test)]
mod properties;
mod protocol;
mod server;
#[cfg(test)]
mod testing;

pub use client::{
    ClientError, ClientEvent, ClientSession, ClientSettings, ExportInfo, Goal, Rejection, RequestEnd, SubmitError,
    TlsWish,
};
pub use export::{Export, ExportError, Exports};
pub use outbox::Slices;
pub use protocol::{BlockSizes, Command, ErrorNumber, Extent};
pub use server::{
    Memory, NotIdle, Outcome, Request, RestoreError, Run, ServerError, ServerEvent, ServerSession, ServerSettings,
    TlsPolicy,
};
