//! `esker emulate`: simulated devices that serve real data in real time.

mod devices;
mod operate;
mod report;
mod serve;

use std::process::ExitCode;

use crate::args::{Common, EmulateArguments};
use crate::failure::Failure;

/// Emulates devices, or does something at one that is being emulated.
pub(crate) fn run(arguments: &EmulateArguments, common: &Common) -> Result<ExitCode, Failure> {
    match &arguments.operation {
        Some(operation) => operate::run(operation),
        None => serve::run(arguments, common),
    }
}
