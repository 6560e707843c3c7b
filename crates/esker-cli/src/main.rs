//! The `esker` command: results go to standard output, messages to standard error. The exit status tells the kind of
//! failure.

mod allocator;
mod args;
mod cancel;
mod commands;
mod failure;
mod log_lines;
mod memory;
mod output;
mod progress;
mod recording;
mod table;
mod trace_ending;
mod usage;
mod values;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    memory::give_large_buffers_back();
    let arguments = match args::Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage::report(&error),
    };
    cancel::install(|| {
        failure::Failure::cancelled().report();
    });
    match commands::run(arguments) {
        Ok(code) => code,
        Err(failure) => usage::with_hint_about_json(failure).report(),
    }
}
