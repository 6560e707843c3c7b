//! What is wrong with certificates.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

use esker_core::Hint;
use thiserror::Error;

/// Why a server cannot encrypt with the files of a folder.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Nothing of the kind is in the file.
    #[error("{}: there is no {what} in PEM form", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// What it has to hold.
        what: &'static str,
    },
    /// What is in the file cannot be used.
    #[error("{}: {why}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The key is that of another certificate.
    #[error("{}: it is not the key of the certificate", path.display())]
    OtherKey {
        /// The file of the key.
        path: PathBuf,
    },
    /// The certificate has expired, or is not valid yet.
    #[error("{}: the certificate {when}", path.display())]
    OutOfTime {
        /// The file.
        path: PathBuf,
        /// The end of the sentence.
        when: &'static str,
    },
}

impl Hint for TlsError {
    fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Read { error, .. } if error.kind() == ErrorKind::PermissionDenied => {
                "the user who serves has to be able to read it"
            }
            Self::Read { .. } => {
                "the folder has server-cert.pem and server-key.pem, and ca-cert.pem, which signs the certificates of \
                 clients; --tls-any-client does without the last one"
            }
            Self::Missing { what: "private key", .. } => {
                "the file has a line `-----BEGIN PRIVATE KEY-----`, and the key has no password"
            }
            Self::Missing { .. } => "`openssl x509 -in FILE` writes a certificate in PEM form",
            Self::Unusable { .. } => {
                "certificates are of X.509 version 3; keys are RSA of 2048 bits or more, ECDSA on P-256 or P-384, or \
                 Ed25519"
            }
            Self::OtherKey { .. } => "make certificate and key together, or copy the two that belong together",
            Self::OutOfTime { .. } => "have it made anew, and look at the clock of this machine",
        };
        Some(text.to_string())
    }
}
