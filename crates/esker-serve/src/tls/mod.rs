//! TLS: certificates of the server, whom they let in, and what is inside of it.
//!
//! rustls encrypts, and knows no sockets: [`TlsSession`] gives it what a socket has, and sends what it makes of
//! replies.

mod error;
mod session;
mod settings;
#[cfg(test)]
mod tests;

pub use error::TlsError;
pub(crate) use session::TlsSession;
pub use settings::{Tls, TlsClients};
