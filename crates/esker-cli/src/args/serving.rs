//! The options of all commands that serve something.

use clap::Args;
use esker_serve::Address;

use crate::values;

/// Options for serving.
#[derive(Debug, Args)]
pub(crate) struct ServingArguments {
    /// Where Prometheus fetches figures over HTTP, from /metrics
    #[arg(long, value_name = "ADDRESS", value_parser = values::address)]
    pub(crate) metrics: Option<Address>,
    /// Serve while this shell command runs; $uri is where its clients connect
    #[arg(long, value_name = "COMMAND")]
    pub(crate) run: Option<String>,
    /// The most clients at a time; others wait
    #[arg(long, value_name = "N", default_value = "64", value_parser = values::at_least_one::<u32>)]
    pub(crate) clients: u32,
}
