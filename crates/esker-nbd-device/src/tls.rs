//! TLS to a server: what a folder of certificates says, and what is inside of the connection. rustls encrypts, and
//! knows no sockets.

use std::fs;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use thiserror::Error;

use crate::uri::NbdServer;

/// The files of a folder, under the names that QEMU and libnbd know.
const AUTHORITY: &str = "ca-cert.pem";
const REVOKED: &str = "ca-crl.pem";
const CERTIFICATE: &str = "client-cert.pem";
const KEY: &str = "client-key.pem";

/// What certificates of servers at Unix sockets are made out to.
const LOCAL: &str = "localhost";

/// The files of [`NbdUri::certificates`](crate::NbdUri::certificates): `ca-cert.pem` is the authority whose servers are
/// trusted, but for those that `ca-crl.pem` revokes; `client-cert.pem` and `client-key.pem` are shown to servers that
/// ask for them. Only the first has to be there.
pub const CERTIFICATE_FILES: [&str; 4] = [AUTHORITY, REVOKED, CERTIFICATE, KEY];

/// Why the files of a folder are of no use.
#[derive(Debug, Error)]
#[error("{}: {why}", path.display())]
pub struct CertificateError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub why: String,
}

/// The client's side of TLS.
pub(crate) struct TlsSession(ClientConnection);

impl TlsSession {
    /// Begins with the handshake. The certificate of the server has to be made out to its host, or to `localhost` at a
    /// Unix socket. Sessions are not resumed, so that certificates are checked each time.
    pub(crate) fn new(folder: &Path, server: &NbdServer) -> Result<Self, CertificateError> {
        let name = match server {
            NbdServer::Tcp(host, _) => host,
            NbdServer::Unix(_) => LOCAL,
        };
        let unusable = |why: String| CertificateError { path: folder.join(AUTHORITY), why };
        let name = ServerName::try_from(name.to_string())
            .map_err(|_| unusable(format!("no certificate can be made out to `{name}`")))?;
        let connection = ClientConnection::new(Arc::new(config(folder)?), name);
        Ok(Self(connection.map_err(|error| unusable(error.to_string()))?))
    }

    /// Returns true if encrypted bytes are to be sent.
    pub(crate) fn has_output(&self) -> bool {
        self.0.wants_write()
    }

    /// Encrypts the first of `slices`, and returns the number of their bytes; 0 as long as earlier ones are not sent.
    pub(crate) fn encrypt(&mut self, slices: &[IoSlice<'_>]) -> usize {
        if self.has_output() { 0 } else { self.0.writer().write_vectored(slices).unwrap_or(0) }
    }

    /// Sends encrypted bytes, if there are any.
    pub(crate) fn send(&mut self, socket: &mut impl Write) -> io::Result<()> {
        while self.has_output() {
            self.0.write_tls(socket)?;
        }
        Ok(())
    }

    /// Reads what the server has encrypted. Returns the number of bytes, 0 at the end. If there is nothing
    /// now, that is the error [`ErrorKind::WouldBlock`], as of the socket.
    pub(crate) fn read(&mut self, socket: &mut (impl Read + Write), space: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.reader().read(space) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                read => return read,
            }
            match self.0.read_tls(socket) {
                Ok(0) => return Ok(0),
                Ok(_) => {}
                Err(error) => return Err(error),
            }
            if let Err(error) = self.0.process_new_packets() {
                // An alert tells the server, if it still listens.
                let _ = self.send(socket);
                return Err(io::Error::new(ErrorKind::InvalidData, format!("TLS: {error}")));
            }
        }
    }

    /// Has the server told that nothing more comes.
    pub(crate) fn close(&mut self) {
        self.0.send_close_notify();
    }
}

/// The files of a folder as settings of rustls.
fn config(folder: &Path) -> Result<ClientConfig, CertificateError> {
    let [authority, revoked, certificate, key] = CERTIFICATE_FILES.map(|name| folder.join(name));
    let provider = Arc::new(ring::default_provider());
    let mut roots = RootCertStore::empty();
    for root in all::<CertificateDer<'static>>(&authority, "certificate")? {
        roots.add(root).map_err(|error| wrong(&authority, &error))?;
    }
    let mut verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    if revoked.exists() {
        let lists: Vec<CertificateRevocationListDer<'static>> = all(&revoked, "list of revoked certificates")?;
        // Of authorities without a list nothing is revoked.
        verifier = verifier.with_crls(lists).allow_unknown_revocation_status();
    }
    let verifier = verifier.build().map_err(|error| wrong(&revoked, &error))?;
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.expect("ring has all versions").with_webpki_verifier(verifier);
    let mut config = if certificate.exists() || key.exists() {
        let chain = all(&certificate, "certificate")?;
        let key_bytes = PrivateKeyDer::from_pem_slice(&read(&key)?);
        let key_bytes = key_bytes.map_err(|_| wrong(&key, &"there is no private key in PEM form"))?;
        config.with_client_auth_cert(chain, key_bytes).map_err(|error| wrong(&key, &error))?
    } else {
        config.with_no_client_auth()
    };
    config.resumption = Resumption::disabled();
    Ok(config)
}

/// Everything of one kind that is in a file, at least one.
fn all<T: PemObject>(path: &Path, what: &str) -> Result<Vec<T>, CertificateError> {
    let found: Result<Vec<T>, _> = T::pem_slice_iter(&read(path)?).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(wrong(path, &format!("there is no {what} in PEM form"))),
        Err(error) => Err(wrong(path, &error)),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, CertificateError> {
    fs::read(path).map_err(|error| wrong(path, &error))
}

fn wrong(path: &Path, why: &impl ToString) -> CertificateError {
    CertificateError { path: path.to_path_buf(), why: why.to_string() }
}
