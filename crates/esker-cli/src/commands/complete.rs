//! `esker completions` and `esker man`, generated from the arguments.

use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;

use crate::args::Arguments;
use crate::failure::Failure;
use crate::output::{self, Content, Outputs};

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
    let made = tempfile::tempdir().map_err(Failure::work)?;
    clap_mangen::generate_to(Arguments::command(), made.path()).map_err(Failure::work)?;
    let mut outputs = Outputs::new(false, &[])?;
    for page in std::fs::read_dir(made.path()).map_err(Failure::work)? {
        let page = page.map_err(Failure::work)?;
        let text = std::fs::read_to_string(page.path()).map_err(Failure::work)?;
        outputs.claim("", &folder.join(page.file_name()), Content::Manual)?.write_text(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}
