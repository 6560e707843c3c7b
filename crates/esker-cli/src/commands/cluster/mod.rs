//! `esker cluster`: wear across servers.

mod sim;

use std::process::ExitCode;

use crate::args::{ClusterCommand, Common};
use crate::failure::Failure;

/// Runs the command.
pub(crate) fn run(command: ClusterCommand, common: &Common) -> Result<ExitCode, Failure> {
    match command {
        ClusterCommand::Sim(arguments) => sim::run(&arguments, common),
    }
}
