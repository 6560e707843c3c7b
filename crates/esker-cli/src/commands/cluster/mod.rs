//! `esker cluster`: servers with flash, and how they wear.

mod advise;
mod advise_text;
mod calibrate;
mod sim;

use std::process::ExitCode;

use crate::args::{ClusterCommand, Common};
use crate::failure::Failure;

/// Runs the command.
pub(crate) fn run(command: ClusterCommand, common: &Common) -> Result<ExitCode, Failure> {
    match command {
        ClusterCommand::Sim(arguments) => sim::run(&arguments, common),
        ClusterCommand::Advise(arguments) => advise::run(&arguments, common),
        ClusterCommand::Calibrate(arguments) => calibrate::run(&arguments, common),
    }
}
