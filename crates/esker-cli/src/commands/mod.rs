//! One file per command.

mod assignments;
mod cache;
mod cluster;
mod complete;
mod devices;
mod emulate;
mod fs;
mod model;
mod mrc;
mod plan;
mod report;
mod reproduce;
mod sampled;
mod schema;
mod serving;
mod sim;
mod study;
mod study_tables;
mod sweep;
mod trace;
mod transfers;
mod validate;
mod volume;
mod workload_preset;

use std::process::ExitCode;

use crate::args::{Arguments, Command};
use crate::failure::Failure;

/// Runs the command.
pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let common = arguments.common;
    match arguments.command {
        Command::Study(arguments) => study::run(arguments, &common),
        Command::Plan(arguments) => plan::run(&arguments, &common),
        Command::Report(arguments) => report::run(&arguments),
        Command::Trace(command) => trace::run(command, &common),
        Command::Sim(arguments) => sim::run(&arguments, &common),
        Command::Sweep(arguments) => sweep::run(&arguments, &common),
        Command::Mrc(arguments) => mrc::run(&arguments, &common),
        Command::Cache(arguments) => cache::run(&arguments, &common),
        Command::Devices(arguments) => devices::run(&arguments, &common),
        Command::Cluster(command) => cluster::run(command, &common),
        Command::Emulate(arguments) => emulate::run(&arguments, &common),
        Command::Fs(command) => fs::run(command, &common),
        Command::Volume(command) => volume::run(command, &common),
        Command::Validate(arguments) => validate::run(&arguments, &common),
        Command::Model(command) => model::run(command, &common),
        Command::Reproduce(arguments) => reproduce::run(&arguments, &common),
        Command::Schema(arguments) => schema::run(&arguments),
        Command::Completions { shell } => complete::completions(shell),
        Command::Man { folder } => complete::man(&folder),
    }
}
