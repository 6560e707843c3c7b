//! The arguments of `esker validate`.

use std::path::PathBuf;

use clap::Args;

use super::{JsonArguments, ReadArguments};

/// Arguments of `esker validate`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker validate atlas10k.toml --measured atlas10k.trace\n  \
        esker validate experiment.toml --measured atlas10k.trace -o validation.html\n\
        \n\
        The requests are served one after another, with the host's pauses in between. The demerit is the root \
        mean square difference of the two sorted lists of response times (Ruemmler and Wilkes 1994).")]
pub(crate) struct ValidateArguments {
    /// The device: a preset, the file of one, or an experiment, of which the devices and the target count
    #[arg(value_name = "DEVICE")]
    pub(crate) device: String,
    /// Measured response times: a trace that has them, or one of DiskSim's validation files
    #[arg(long, value_name = "FILE")]
    pub(crate) measured: PathBuf,
    /// Write one page with both distributions to FILE
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Where to write the result as JSON.
    #[command(flatten)]
    pub(crate) json: JsonArguments,
    /// Options for reading.
    #[command(flatten)]
    pub(crate) read: ReadArguments,
}
