//! How a server encrypts: files of certificates as settings of rustls.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, VerifierBuilderError, WebPkiClientVerifier};
use rustls::{CertificateError, Error, RootCertStore, ServerConfig};

use super::error::TlsError;

/// The files of a folder, under the names that QEMU, nbdkit and libnbd know.
const CERTIFICATE: &str = "server-cert.pem";
const KEY: &str = "server-key.pem";
const AUTHORITY: &str = "ca-cert.pem";
const REVOKED: &str = "ca-crl.pem";

/// Which clients may connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsClients {
    /// Those with a certificate that `ca-cert.pem` has signed and that `ca-crl.pem`, if there is one, does not revoke.
    Certified,
    /// Everybody.
    Any,
}

/// How the connections of clients are encrypted.
#[derive(Clone, Debug)]
pub struct Tls {
    pub(crate) config: Arc<ServerConfig>,
    /// Whether clients without TLS are refused.
    pub is_required: bool,
}

impl Tls {
    /// The files that [`Self::of_folder`] reads; the last two only for [`TlsClients::Certified`].
    pub const FILES: [&str; 4] = [CERTIFICATE, KEY, AUTHORITY, REVOKED];

    /// Requires TLS, with the server's certificate and key in `folder`: TLS 1.2 or 1.3. Sessions are not resumed, so
    /// that certificates are checked each time.
    ///
    /// # Errors
    /// If a file cannot be read, or is not what it has to be, or if the certificate has expired.
    pub fn of_folder(folder: &Path, clients: TlsClients) -> Result<Self, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let verifier = match clients {
            TlsClients::Certified => verifier(folder, &provider)?,
            TlsClients::Any => WebPkiClientVerifier::no_client_auth(),
        };
        let (path, key_path) = (folder.join(CERTIFICATE), folder.join(KEY));
        let chain: Vec<CertificateDer<'static>> = all(&path, "certificate")?;
        check_time(&path, &chain, &provider)?;
        let Ok(key) = PrivateKeyDer::from_pem_slice(&read(&key_path)?) else {
            return Err(TlsError::Missing { path: key_path, what: "private key" });
        };
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.expect("ring has all versions").with_client_cert_verifier(verifier);
        let mut config = config.with_single_cert(chain, key).map_err(|error| match error {
            Error::InconsistentKeys(_) => TlsError::OtherKey { path: key_path },
            Error::InvalidCertificate(_) => unusable(&path, &error),
            _ => unusable(&key_path, &error),
        })?;
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Self { config: Arc::new(config), is_required: true })
    }
}

/// Who checks the certificates of clients.
fn verifier(folder: &Path, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let (path, revoked) = (folder.join(AUTHORITY), folder.join(REVOKED));
    let roots = roots(&path, all(&path, "certificate")?)?;
    let mut verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    if revoked.exists() {
        let lists: Vec<CertificateRevocationListDer<'static>> = all(&revoked, "list of revoked certificates")?;
        // Of authorities without a list nothing is revoked.
        verifier = verifier.with_crls(lists).allow_unknown_revocation_status();
    }
    verifier.build().map_err(|error| match error {
        VerifierBuilderError::InvalidCrl(error) => unusable(&revoked, &Error::from(error)),
        error => unusable(&path, &error),
    })
}

fn roots(path: &Path, certificates: Vec<CertificateDer<'static>>) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    certificates.into_iter().try_for_each(|root| roots.add(root)).map_err(|error| unusable(path, &error))?;
    Ok(roots)
}

/// Refuses a certificate that clients would refuse now. Who has signed it is the clients' concern.
fn check_time(path: &Path, chain: &[CertificateDer<'static>], provider: &Arc<CryptoProvider>) -> Result<(), TlsError> {
    let Some(first) = chain.first() else { return Ok(()) };
    let roots = Arc::new(roots(path, vec![first.clone()])?);
    let verifier = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(provider)).build();
    let verifier = verifier.map_err(|error| unusable(path, &error))?;
    let name = ServerName::try_from("localhost").expect("a name");
    let when = match verifier.verify_server_cert(first, &chain[1..], &name, &[], UnixTime::now()) {
        Err(Error::InvalidCertificate(CertificateError::ExpiredContext { .. })) => "has expired",
        Err(Error::InvalidCertificate(CertificateError::NotValidYetContext { .. })) => "is not valid yet",
        _ => return Ok(()),
    };
    Err(TlsError::OutOfTime { path: path.to_path_buf(), when })
}

/// Everything of one kind that is in a file, at least one.
fn all<T: PemObject>(path: &Path, what: &'static str) -> Result<Vec<T>, TlsError> {
    let bytes = read(path)?;
    let found: Result<Vec<T>, _> = T::pem_slice_iter(&bytes).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(TlsError::Missing { path: path.to_path_buf(), what }),
        Err(error) => Err(unusable(path, &error)),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|error| TlsError::Read { path: path.to_path_buf(), error })
}

fn unusable(path: &Path, error: &impl std::fmt::Display) -> TlsError {
    TlsError::Unusable { path: PathBuf::from(path), why: error.to_string() }
}
