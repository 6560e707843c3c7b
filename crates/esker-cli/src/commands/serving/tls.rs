//! How connections are encrypted.

use esker_serve::{Tls, TlsClients};

use crate::args::{TlsArguments, TlsUse};
use crate::failure::Failure;

/// How connections are encrypted, if they are.
pub(super) fn tls(arguments: &TlsArguments) -> Result<Option<Tls>, Failure> {
    let Some(folder) = &arguments.tls_certificates else { return Ok(None) };
    Tls::FILES.iter().for_each(|name| esker_files::protect(&folder.join(name)));
    let clients = if arguments.tls_any_client { TlsClients::Any } else { TlsClients::Certified };
    let mut tls = Tls::of_folder(folder, clients)?;
    tls.is_required = arguments.tls == TlsUse::Required;
    Ok(Some(tls))
}

/// That in words, behind what is served.
pub(in crate::commands) fn describe_tls(arguments: &TlsArguments) -> &'static str {
    match (&arguments.tls_certificates, arguments.tls, arguments.tls_any_client) {
        (None, ..) => "",
        (_, TlsUse::Offered, _) => ", with and without TLS",
        (_, TlsUse::Required, true) => ", with TLS",
        (_, TlsUse::Required, false) => ", with TLS to clients that have a certificate",
    }
}
