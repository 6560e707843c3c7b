//! fio, which reads and writes through mappings.
//!
//! It is a process of its own for a reason: when two threads of the process that serves a mount by FUSE mapped files of
//! that mount, both times all of it stood still for more than five minutes, and its memory map could not be read.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use esker_scm::bench::{Pattern, Transfer};

use crate::BenchError;

/// How often a program is looked at: whether it has ended, or has to.
const LOOK: Duration = Duration::from_millis(10);

/// How fio reaches a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FioEngine {
    /// It maps the file, and copies into and out of it.
    Mapped,
    /// By system calls.
    Calls,
}

/// Bytes that a thread moves in a job, as far as `LOOPS_MAX` passes over its file allow: fio counts milliseconds.
const BYTES: u64 = 512 << 20;
/// Most passes over a file.
const LOOPS_MAX: u64 = 32;

/// Bytes per second that fio writes to files that are there, and reads, in `folder`. Each pass over a file opens it
/// again.
///
/// # Errors
/// It is not installed, fails, or was stopped.
pub(crate) fn fio(
    folder: &Path,
    what: &Transfer,
    engine: FioEngine,
    stop: &AtomicBool,
) -> Result<(f64, f64), BenchError> {
    let one = |is_write| {
        let said = output_of(&mut command(folder, what, engine, is_write), "fio", stop)?;
        let short = || BenchError::Program { program: "fio", said: "it gave no rate; give it more to do".into() };
        bytes_per_second(&said, is_write).ok_or_else(short)
    };
    Ok((one(true)?, one(false)?))
}

fn command(folder: &Path, what: &Transfer, engine: FioEngine, is_write: bool) -> Command {
    let file = what.records() * what.record.0;
    let mut command = Command::new("fio");
    command.arg(format!("--directory={}", folder.display()));
    command.args(["--name=esker", "--thread", "--group_reporting", "--output-format=json", "--invalidate=0"]);
    // Written once before, so that the writes that are timed overwrite, and reads find no holes.
    command.args(["--overwrite=1", "--fallocate=none", "--randrepeat=1"]);
    command.arg(format!("--ioengine={}", if engine == FioEngine::Mapped { "mmap" } else { "psync" }));
    let order = if what.pattern == Pattern::Random { "rand" } else { "" };
    command.arg(format!("--rw={order}{}", if is_write { "write" } else { "read" }));
    command.arg(format!("--numjobs={}", what.threads));
    command.arg(format!("--size={file}"));
    command.arg(format!("--bs={}", what.record.0));
    command.arg(format!("--loops={}", BYTES.div_ceil(file).min(LOOPS_MAX)));
    command
}

fn bytes_per_second(said: &str, is_write: bool) -> Option<f64> {
    // Warnings may come before.
    let json: serde_json::Value = serde_json::from_str(said.get(said.find('{')?..)?).ok()?;
    let rate = json["jobs"][0][if is_write { "write" } else { "read" }]["bw_bytes"].as_f64()?;
    (rate > 0.0).then_some(rate)
}

/// What a program says, once it has ended well. It is ended if `stop` is set.
fn output_of(command: &mut Command, program: &'static str, stop: &AtomicBool) -> Result<String, BenchError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => BenchError::Missing(format!("needs {program} (Debian: {program})")),
        _ => BenchError::Program { program, said: error.to_string() },
    };
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = Ended(child.map_err(failed)?);
    let mut stdout = child.0.stdout.take().expect("it is piped");
    let reader = std::thread::spawn(move || {
        let mut said = Vec::new();
        stdout.read_to_end(&mut said).map(|_| String::from_utf8_lossy(&said).into_owned())
    });
    let status = loop {
        if let Some(status) = child.0.try_wait().map_err(failed)? {
            break status;
        }
        if stop.load(Ordering::Relaxed) {
            return Err(BenchError::Stopped);
        }
        std::thread::sleep(LOOK);
    };
    let said = reader.join().expect("reading does not panic").map_err(failed)?;
    if status.success() { Ok(said) } else { Err(BenchError::Program { program, said: format!("{status}: {said}") }) }
}

/// A program that does not outlive whoever waits for it.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_fio_is_read() {
        let said = "fio: a warning\n{\"jobs\": [{\"read\": {\"bw_bytes\": 0}, \"write\": {\"bw_bytes\": 5000}}]}";
        assert_eq!(bytes_per_second(said, true), Some(5000.0));
        assert_eq!(bytes_per_second(said, false), None);
    }

    #[test]
    fn a_missing_program_is_said_to_be_missing() {
        let run = output_of(&mut Command::new("no-such-program-here"), "fio", &AtomicBool::new(false));
        assert_eq!(run.unwrap_err().to_string(), "needs fio (Debian: fio)");
    }

    #[test]
    fn a_program_that_is_stopped_is_ended() {
        let run = output_of(Command::new("sleep").arg("1000"), "fio", &AtomicBool::new(true));
        assert!(matches!(run, Err(BenchError::Stopped)));
    }
}
