//! Mounts that are served in the background: this program, started once more.
//!
//! It writes a line to standard output when it serves, and lets both outputs go. Before that, what it says on standard
//! error is said here.

use std::io::{Read, Write};
use std::process::{Command, ExitCode, Stdio};

use super::absolute;
use crate::args::{FsMode, FsMountArguments};
use crate::failure::Failure;

const READY: &str = "ready\n";

/// Starts the process in the background, and waits until it serves.
pub(super) fn start(arguments: &FsMountArguments) -> Result<ExitCode, Failure> {
    let failed = |error: std::io::Error| Failure::work(format!("no process in the background: {error}"));
    let program = std::env::current_exe().map_err(failed)?;
    let mode = match arguments.mode {
        FsMode::None => "none",
        FsMode::Metadata => "metadata",
        FsMode::Data => "data",
    };
    let mut child = Command::new(program)
        .args(["fs", "mount", "--background", "--mode", mode])
        .args(arguments.populate.then_some("--populate"))
        .arg("--")
        .args([absolute(&arguments.pool)?, absolute(&arguments.directory)?])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut said = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut said).map_err(failed)?;
    if said == READY {
        return Ok(ExitCode::SUCCESS);
    }
    let mut errors = Vec::new();
    child.stderr.take().expect("a pipe").read_to_end(&mut errors).map_err(failed)?;
    // A closed standard error is no further error.
    let _ = std::io::stderr().write_all(&errors);
    let code = child.wait().map_err(failed)?.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(1)))
}

/// Leaves the session and the directory of who started this, says that it serves, and lets the outputs go.
pub(super) fn say_ready() -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::work(format!("cannot go into the background: {error}"));
    // Who leads a session already has been started by something else; it may stay there.
    let _ = rustix::process::setsid();
    rustix::process::chdir("/").map_err(|error| failed(error.into()))?;
    let mut output = std::io::stdout();
    output.write_all(READY.as_bytes()).and_then(|()| output.flush()).map_err(failed)?;
    let nothing = std::fs::File::options().read(true).write(true).open("/dev/null").map_err(failed)?;
    rustix::stdio::dup2_stdout(&nothing).map_err(|error| failed(error.into()))?;
    rustix::stdio::dup2_stderr(&nothing).map_err(|error| failed(error.into()))
}
