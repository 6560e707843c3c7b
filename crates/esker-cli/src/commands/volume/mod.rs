//! `esker volume`: volumes on files and disks.

mod away;
mod check;
mod copy;
mod create;
mod device;
mod doer;
mod dump;
mod exports;
mod file;
mod file_on_disk;
mod made;
mod operate;
mod policy;
mod range_map;
mod replay;
mod serve;
mod server;
mod session;
mod set;
mod take_over;
mod wear;

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
        VolumeCommand::Serve(arguments) => serve::run(&arguments, common),
        VolumeCommand::Status(arguments) => operate::status(&arguments),
        VolumeCommand::AddDevice(arguments) => operate::add_device(&arguments, common),
        VolumeCommand::Drain(arguments) => operate::drain(&arguments, common),
        VolumeCommand::RemoveDevice(arguments) => operate::remove_device(&arguments, common),
        VolumeCommand::Grow(arguments) => operate::grow(&arguments, common),
        VolumeCommand::Set(arguments) => set::run(&arguments, common),
    }
}
