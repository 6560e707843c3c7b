//! Exports of NBD servers as devices of volumes.
//!
//! ```text
//!  NbdUri ──► ExportDevice ──► ExportBackend ──► Connection ──► ClientSession (esker-nbd)
//!             blocking()       operations          │
//!             into_backend()   in pieces           ├──────────► Wire: socket, Watch
//!                                                  └─ TLS ──► TlsSession ──► the same
//! ```
//!
//! A device has one connection. While a volume is created or opened, calls wait for their answers; while it serves, the
//! thread of the volume sends many requests at a time, and [`DeviceIo`](esker_volume::DeviceIo) watches the socket.
//! `docs/volume.md` says what is asked of a server, and what a lost connection means.

mod backend;
mod connection;
mod device;
mod payload;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests are bounded in time")]
mod tests;
mod tls;
mod uri;
mod wire;

pub use connection::ConnectError;
pub use device::{ExportDevice, ExportError};
pub use tls::{CERTIFICATE_FILES, CertificateError};
pub use uri::{NbdServer, NbdUri, UriError, is_nbd_uri};
