//! Arguments of `esker cluster sim`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use esker_cluster::BALANCERS;

use crate::args::JsonArguments;

/// Arguments of `esker cluster sim`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker cluster sim examples/fleet-unlike.toml\n  \
        esker cluster sim examples/fleet-unlike.toml --balancer life --set load.zipf=1.1\n  \
        esker cluster sim examples/fleet-unlike.toml --set copies.rate=20MB/s --seed 7 --json=fleet.json\n  \
        esker cluster sim examples/fleet-unlike.toml -o fleet.html\n\
        \n\
        The file is described in docs/cluster.md. Balancers are simulated side by side, one on each thread.")]
pub(crate) struct ClusterSimArguments {
    /// The fleet
    #[arg(value_name = "FLEET.toml")]
    pub(crate) file: PathBuf,
    /// Balancers to compare, with their defaults, in place of the file's
    #[arg(long, value_name = "NAME", value_delimiter = ',', ignore_case = true, value_parser = balancers())]
    pub(crate) balancer: Vec<String>,
    /// Set a key of the file, such as load.zipf=1.1; items of lists have numbers: group.0.count=20
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Where to write the result as a page
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Where to write the result as JSON.
    #[command(flatten)]
    pub(crate) json: JsonArguments,
}

fn balancers() -> PossibleValuesParser {
    PossibleValuesParser::new(BALANCERS.iter().map(|entry| entry.name))
}
