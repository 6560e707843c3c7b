//! What a server decides for its connections.

use esker_core::Bytes;
use thiserror::Error;

/// Whether connections are encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsPolicy {
    /// There is no TLS.
    #[default]
    None,
    /// A client may ask for it.
    Offered,
    /// A client has to ask for it before anything else.
    Required,
}

/// What a server decides for a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// Whether the connection is encrypted.
    pub tls: TlsPolicy,
    /// The most requests under way: from the header of a request until its reply is sent.
    pub requests_max: u32,
    /// The most bytes that reads and writes under way transfer. One request is always taken, however long.
    pub bytes_max: Bytes,
    /// The receive buffer, at least 32 KiB. Small requests are parsed from it, many of one read of the connection.
    pub receive_buffer: Bytes,
}

impl Default for ServerSettings {
    fn default() -> Self {
        let (bytes_max, receive_buffer) = (Bytes::mib(64), Bytes::kib(64));
        Self { tls: TlsPolicy::None, requests_max: 256, bytes_max, receive_buffer }
    }
}

/// Why a session ended before the client wanted it. It is one sentence, for a log.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ServerError {
    /// The client sets flags that the document does not have.
    #[error("the client sent the unknown handshake flags {0:#x}")]
    ClientFlags(u32),
    /// TLS is required, and a client without fixed newstyle handshake cannot ask for it.
    #[error("the client does not speak the fixed newstyle handshake, which TLS needs")]
    NotFixed,
    /// The client sends something else than an option.
    #[error("the client sent {0:#018x} instead of an option")]
    OptionMagic(u64),
    /// The client keeps asking.
    #[error("the client sent more than {0} options")]
    Options(u32),
    /// The client asks with `NBD_OPT_EXPORT_NAME` for an export that it does not get. That option has no error reply.
    #[error("the client asked for the export {name:?}, which {why}")]
    ExportName {
        /// What the client asked for.
        name: String,
        /// The end of the sentence.
        why: &'static str,
    },
    /// Bytes came in plain text behind the request for TLS. Somebody between client and server may have added them.
    #[error("{0} bytes came in plain text behind the request for TLS")]
    PlainBytes(usize),
    /// The client sends something else than a request.
    #[error("the client sent {0:#010x} instead of a request")]
    RequestMagic(u32),
    /// The client begins a write that is too long to be received only to be refused.
    #[error("the client sent a write of {0} bytes")]
    WriteLength(u32),
}
