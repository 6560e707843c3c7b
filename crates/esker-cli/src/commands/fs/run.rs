//! `esker fs run`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::args::FsRunArguments;
use crate::cancel;
use crate::failure::Failure;

const LIBRARY: &str = "libesker_scm_preload.so";
/// Libraries that are loaded before those of a program.
const PRELOAD: &str = "LD_PRELOAD";

/// Becomes the program, which has the library loaded.
pub(super) fn run(arguments: &FsRunArguments) -> Result<ExitCode, Failure> {
    let library = match &arguments.library {
        Some(library) => library
            .canonicalize()
            .map_err(|error| Failure::input(format!("{}: {error}", library.display())).with_hint(HINT))?,
        None => installed().ok_or_else(|| {
            Failure::input(format!("{LIBRARY} is neither beside this program nor in ../lib")).with_hint(HINT)
        })?,
    };
    // The loader takes blanks and colons for the end of a name.
    if library.as_os_str().as_encoded_bytes().iter().any(|byte| b" :".contains(byte)) {
        let failure = Failure::input(format!("{}: no name of a library for the loader", library.display()));
        return Err(failure.with_hint("put it into a folder without blanks and colons in its path"));
    }
    let mut preload = OsString::from(library);
    if let Some(others) = std::env::var_os(PRELOAD).filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    let (program, rest) = arguments.command.split_first().expect("the arguments ask for a command");
    let error = cancel::as_found(Command::new(program).args(rest).env(PRELOAD, preload)).exec();
    Err(Failure::input(format!("{}: {error}", program.display()))
        .with_hint("give the program as a shell would find it"))
}

const HINT: &str = "`make build` builds it beside the program; --library says where it is";

fn installed() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?.canonicalize().ok()?;
    let folder = program.parent()?;
    [folder.join(LIBRARY), folder.parent()?.join("lib").join(LIBRARY)].into_iter().find(|library| library.is_file())
}
