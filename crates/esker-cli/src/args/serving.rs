//! The options of all commands that serve something, and those of TLS.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use esker_serve::Address;

use crate::values;

/// Options for serving.
#[derive(Debug, Args)]
pub(crate) struct ServingArguments {
    /// Where Prometheus fetches figures over HTTP, from /metrics
    #[arg(long, value_name = "ADDRESS", value_parser = values::address)]
    pub(crate) metrics: Option<Address>,
    /// Serve while this shell command runs; $uri is where its clients connect, $uris names each export
    #[arg(long, value_name = "COMMAND")]
    pub(crate) run: Option<String>,
    /// The most clients at a time; others take the place of one that still negotiates, or wait
    #[arg(long, value_name = "N", default_value = "64", value_parser = values::at_least_one::<u32>)]
    pub(crate) clients: u32,
    /// How it says what happens, on standard error
    #[arg(long, value_name = "FORM", value_enum, ignore_case = true, default_value_t = LogForm::Text)]
    pub(crate) log: LogForm,
    /// Record the requests of clients, with their response times, as a trace: .esker keeps everything
    #[arg(long, value_name = "TRACE")]
    pub(crate) record: Option<PathBuf>,
    /// Format of the recording [default: what its name ends in]
    #[arg(long, value_name = "NAME", requires = "record")]
    pub(crate) record_as: Option<String>,
    /// Leave the date and the names of exports out of the recording
    #[arg(long, requires = "record")]
    pub(crate) anonymise: bool,
    /// Replace a recording that is there already
    #[arg(long, requires = "record")]
    pub(crate) force: bool,
}

/// How a server says what happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogForm {
    /// A line of text for what somebody should know
    Text,
    /// A JSON object a line, for all that happens
    Json,
}

/// Options for TLS.
#[derive(Debug, Args)]
pub(crate) struct TlsArguments {
    /// Serve over TLS: server-cert.pem and server-key.pem are there, and the ca-cert.pem that signs clients
    #[arg(long, value_name = "FOLDER")]
    pub(crate) tls_certificates: Option<PathBuf>,
    /// Take clients without a certificate, too
    #[arg(long, requires = "tls_certificates")]
    pub(crate) tls_any_client: bool,
    /// Whether clients may do without TLS
    #[arg(long, value_name = "WHEN", value_enum, ignore_case = true, default_value_t = TlsUse::Required)]
    #[arg(requires = "tls_certificates")]
    pub(crate) tls: TlsUse,
}

/// Whether clients may do without TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TlsUse {
    /// Clients without TLS are refused
    Required,
    /// Clients without TLS read and write, too
    Offered,
}
