//! `esker completions` and `esker man`: generated from the arguments.

use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;

use crate::args::Arguments;
use crate::failure::Failure;
use crate::output;

/// Prints the completion script of a shell.
pub(crate) fn completions(shell: clap_complete::Shell) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "esker", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes one man page per command into `folder`.
pub(crate) fn man(folder: &Path) -> Result<ExitCode, Failure> {
    let unwritable = |error| Failure::input(format!("cannot write to {}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(unwritable)?;
    clap_mangen::generate_to(Arguments::command(), folder).map_err(unwritable)?;
    Ok(ExitCode::SUCCESS)
}
