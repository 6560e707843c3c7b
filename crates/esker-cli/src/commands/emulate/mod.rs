//! `esker emulate`: simulated devices that serve real data in real time.

mod operate;
mod report;
mod serve;

use std::process::ExitCode;

use crate::args::{Common, EmulateArguments};
use crate::failure::Failure;

/// Emulates a device, or does something at one that is being emulated.
pub(crate) fn run(arguments: &EmulateArguments, common: &Common) -> Result<ExitCode, Failure> {
    match (&arguments.operation, &arguments.simulated) {
        (Some(operation), _) => operate::run(operation),
        (None, Some(simulated)) => serve::run(simulated, arguments, common),
        (None, None) => unreachable!("clap asks for one of them"),
    }
}
