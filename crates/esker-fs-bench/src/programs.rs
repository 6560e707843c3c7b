//! Programs of others that do the paper's work in a folder: Debian's Postmark, and fio for mappings.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use esker_core::Bytes;
use esker_scm::bench::Postmark;

use crate::BenchError;

/// How often a program is looked at: whether it has ended, or has to.
const LOOK: Duration = Duration::from_millis(10);

/// Transactions per second of the program `postmark` in `folder`. It counts whole seconds.
///
/// # Errors
/// It is not installed, fails, or was stopped.
pub fn postmark_program(folder: &Path, what: &Postmark, stop: &AtomicBool) -> Result<f64, BenchError> {
    let commands = format!(
        "set location {}\nset number {}\nset transactions {}\nset size {} {}\nset subdirectories {}\n\
         set bias read {}\nset bias create 5\nset buffering false\nset seed {}\nset read 4096\nset write 4096\n\
         run\nquit\n",
        folder.display(),
        what.files,
        what.transactions,
        what.size_min,
        what.size_max,
        what.directories,
        what.reads_of_ten,
        what.seed,
    );
    let said = output_of(&mut Command::new("postmark"), "postmark", &commands, stop)?;
    transactions_per_second(&said).ok_or(BenchError::Program { program: "postmark", said })
}

/// Reads "12 seconds of transactions (33333 per second)".
fn transactions_per_second(said: &str) -> Option<f64> {
    let line = said.lines().find(|line| line.contains("seconds of transactions"))?;
    line.split_once('(')?.1.split(' ').next()?.parse().ok()
}

/// Reads or writes by fio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FioJob {
    /// Whether the file is mapped; else it is read and written by system calls.
    pub is_mapped: bool,
    /// Whether it is written.
    pub is_write: bool,
    /// Threads, each with a file of its own.
    pub threads: usize,
    /// Size of each file.
    pub file: Bytes,
    /// Bytes of a record.
    pub record: Bytes,
    /// How often each file is gone through.
    pub loops: u32,
}

/// Bytes per second of a job of fio in `folder`, in order.
///
/// # Errors
/// It is not installed, fails, or was stopped.
pub fn fio(folder: &Path, job: &FioJob, stop: &AtomicBool) -> Result<f64, BenchError> {
    let mut command = Command::new("fio");
    command.arg(format!("--directory={}", folder.display()));
    command.args(["--name=esker", "--thread", "--group_reporting", "--output-format=json", "--invalidate=0"]);
    // Written once before, so that the writes that are timed overwrite, and reads find no holes.
    command.args(["--overwrite=1", "--fallocate=none", "--randrepeat=1"]);
    command.arg(format!("--ioengine={}", if job.is_mapped { "mmap" } else { "psync" }));
    command.arg(format!("--rw={}", if job.is_write { "write" } else { "read" }));
    command.arg(format!("--numjobs={}", job.threads));
    command.arg(format!("--size={}", job.file.0));
    command.arg(format!("--bs={}", job.record.0));
    command.arg(format!("--loops={}", job.loops));
    let said = output_of(&mut command, "fio", "", stop)?;
    bytes_per_second(&said, job.is_write).ok_or(BenchError::Program { program: "fio", said })
}

fn bytes_per_second(said: &str, is_write: bool) -> Option<f64> {
    // Warnings may come before.
    let json: serde_json::Value = serde_json::from_str(said.get(said.find('{')?..)?).ok()?;
    let rate = json["jobs"][0][if is_write { "write" } else { "read" }]["bw_bytes"].as_f64()?;
    (rate > 0.0).then_some(rate)
}

/// What a program says, once it has ended well. It is ended if `stop` is set.
fn output_of(
    command: &mut Command,
    program: &'static str,
    input: &str,
    stop: &AtomicBool,
) -> Result<String, BenchError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => BenchError::Missing(format!("needs {program} (Debian: {program})")),
        _ => BenchError::Program { program, said: error.to_string() },
    };
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = Ended(child.map_err(failed)?);
    child.0.stdin.take().expect("it is piped").write_all(input.as_bytes()).map_err(failed)?;
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
    fn the_rate_of_postmark_is_read() {
        let said = "Time:\n\t13 seconds total\n\t12 seconds of transactions (33333 per second)\n\nFiles:\n";
        assert_eq!(transactions_per_second(said), Some(33333.0));
        assert_eq!(transactions_per_second("Error: cannot create"), None);
    }

    #[test]
    fn the_rate_of_fio_is_read() {
        let said = "fio: a warning\n{\"jobs\": [{\"read\": {\"bw_bytes\": 0}, \"write\": {\"bw_bytes\": 5000}}]}";
        assert_eq!(bytes_per_second(said, true), Some(5000.0));
        assert_eq!(bytes_per_second(said, false), None);
    }

    #[test]
    fn a_missing_program_is_said_to_be_missing() {
        let run = output_of(&mut Command::new("no-such-program-here"), "postmark", "", &AtomicBool::new(false));
        assert_eq!(run.unwrap_err().to_string(), "needs postmark (Debian: postmark)");
    }

    #[test]
    fn a_program_that_is_stopped_is_ended() {
        let run = output_of(Command::new("sleep").arg("1000"), "fio", "", &AtomicBool::new(true));
        assert!(matches!(run, Err(BenchError::Stopped)));
    }
}
