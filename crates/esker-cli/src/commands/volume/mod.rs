//! `esker volume`: volumes on files and disks.

mod check;
mod copy;
mod create;
mod dump;
mod file;
mod replay;
mod session;

use std::process::ExitCode;

use crate::args::{Common, VolumeCommand};
use crate::failure::Failure;

/// Runs the command.
pub(crate) fn run(command: VolumeCommand, common: &Common) -> Result<ExitCode, Failure> {
    match command {
        VolumeCommand::Create(arguments) => create::run(&arguments),
        VolumeCommand::Check(arguments) => check::run(&arguments, common),
        VolumeCommand::Dump(arguments) => dump::run(&arguments, common),
        VolumeCommand::Copy(arguments) => copy::run(&arguments, common),
        VolumeCommand::Replay(arguments) => replay::run(&arguments, common),
    }
}
