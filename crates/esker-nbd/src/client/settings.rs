//! What a client wants of its connection.

use thiserror::Error;

use crate::protocol::ErrorNumber;

/// What a connection is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Requests to the export of this name; the empty name is that of the server's default.
    Open(String),
    /// The names of all exports.
    List,
}

/// Whether a client wants its connection encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsWish {
    /// It goes without TLS.
    #[default]
    No,
    /// It takes TLS if the server has it. Somebody between the two can prevent that.
    IfOffered,
    /// It leaves a server without TLS.
    Must,
}

/// What a client wants of its connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientSettings {
    /// What the connection is for.
    pub goal: Goal,
    /// Whether it is encrypted.
    pub tls: TlsWish,
    /// Asks for structured replies: reads may come in pieces, and holes are not transferred.
    pub structured: bool,
    /// Asks for `base:allocation`, which [`crate::Command::BlockStatus`] needs; it needs structured replies itself.
    pub block_status: bool,
    /// The most requests under way.
    pub requests_max: u32,
}

impl ClientSettings {
    /// Everything that the server offers, without TLS.
    pub fn open(export: impl Into<String>) -> Self {
        let goal = Goal::Open(export.into());
        Self { goal, tls: TlsWish::No, structured: true, block_status: true, requests_max: 256 }
    }

    /// The names of all exports, without TLS.
    pub fn list() -> Self {
        Self { goal: Goal::List, ..Self::open("") }
    }
}

/// Why a session ended before the client wanted it. It is one sentence, for people.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ClientError {
    /// It is no NBD server, or one that knows only the handshake used until 2011.
    #[error("the server does not speak the newstyle handshake")]
    NotNewstyle,
    /// The server has no options, which TLS and lists need.
    #[error("the server does not speak the fixed newstyle handshake, which {0} needs")]
    NotFixed(&'static str),
    /// The server has answered with an error, and the client leaves in order.
    #[error("the server refused {option}: {reply}{}", said(.message))]
    Refused {
        /// What the client asked for.
        option: &'static str,
        /// The error.
        reply: &'static str,
        /// What the server said about it, or nothing.
        message: String,
    },
    /// Bytes came in plain text behind the agreement on TLS. Somebody between server and client may have added them.
    #[error("{0} bytes came in plain text behind the agreement on TLS")]
    PlainBytes(usize),
    /// The server broke the protocol in the handshake.
    #[error("the server broke the protocol: {0}")]
    Handshake(&'static str),
    /// The server broke the protocol in a reply to a request.
    #[error("the server broke the protocol in a reply: {0}")]
    Reply(&'static str),
}

/// What the server said, in one line.
fn said(message: &str) -> String {
    let words: Vec<&str> = message.split(|c: char| c.is_control() || c.is_whitespace()).collect();
    let line = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    if line.is_empty() { line } else { format!(" ({line})") }
}

/// Why a request is not sent.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum SubmitError {
    /// The server would refuse it with this error.
    #[error("{1} ({0})")]
    Refused(ErrorNumber, &'static str),
    /// As many requests are under way as may be.
    #[error("too many requests are under way")]
    TooMany,
    /// No export is open, or the session is ending.
    #[error("the connection takes no requests")]
    Closed,
    /// A read or a write without a buffer, or one of another length, or another command with one.
    #[error("the buffer does not fit the command")]
    Buffer,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_is_one_line() {
        let error = |message: &str| ClientError::Refused {
            option: "the export",
            reply: "there is no such export",
            message: message.to_string(),
        };
        let text = error("gone\n\x1b[31m: ask\r\nus\n").to_string();
        assert_eq!(text, "the server refused the export: there is no such export (gone [31m: ask us)");
        assert_eq!(error("\n").to_string(), "the server refused the export: there is no such export");
    }
}
