//! The NBD protocol, server and client, as state machines without I/O: no sockets, no TLS, no threads, no clock.
//!
//! A session takes the bytes that were received, says what happened, and lists the bytes to be sent. Payloads of writes
//! land in memory of the embedder; data of reads are sent from where they lie. `docs/nbd.md` says what is answered, and
//! with what.

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
    ClientError, ClientEvent, ClientSession, ClientSettings, Done, ExportInfo, Goal, Rejected, SubmitError, TlsWish,
};
pub use export::{Export, ExportError, Exports};
pub use outbox::Slices;
pub use protocol::{BlockSizes, Command, ErrorNumber, Extent};
pub use server::{
    Memory, NotIdle, Outcome, Request, RestoreError, Run, ServerError, ServerEvent, ServerSession, ServerSettings,
    TlsPolicy,
};
