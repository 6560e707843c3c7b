//! Runs the program on one case after another and checks how it ended.
#![allow(dead_code, reason = "not everybody who runs cases looks at their memory")]

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A number from the environment.
pub(crate) fn asked_for(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().map_or(usual, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

/// The seed of all cases.
pub(crate) fn seed() -> u64 {
    asked_for("ESKER_SOAK_SEED", 1)
}

/// A run that takes this long hangs: far longer than any case takes on a busy machine.
pub(crate) const HANGS: Duration = Duration::from_secs(120);

/// Returns the peak resident memory of the running process `id` since its program began, in bytes; `None` before that,
/// and after its end. The kernel's figures for ended children cannot be used: children start as a copy of this process,
/// and the figures include its memory.
fn peak_memory(id: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    // Until it has its own name it is still a copy of this process.
    if !status.starts_with("Name:\tesker\n") {
        return None;
    }
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = peak.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// How a run ended, if it ended properly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Done,
    Refused,
}

/// Runs `esker ARGUMENTS` in `folder`. The error tells what is wrong with its end.
pub(crate) fn run(folder: &Path, arguments: &[String]) -> Result<Ended, String> {
    run_within(folder, arguments, u64::MAX)
}

/// Runs `esker ARGUMENTS` in `folder` with at most `memory_max` bytes resident.
pub(crate) fn run_within(folder: &Path, arguments: &[String], memory_max: u64) -> Result<Ended, String> {
    run_for(folder, arguments, memory_max, HANGS)
}

/// Runs `esker ARGUMENTS` in `folder` with at most `memory_max` bytes resident, for at most `time_max`. Memory is
/// checked every 20 ms, and more often at the beginning, so a peak in the last moment may be missed.
#[expect(clippy::disallowed_methods, reason = "a test is bounded in time")]
pub(crate) fn run_for(
    folder: &Path,
    arguments: &[String],
    memory_max: u64,
    time_max: Duration,
) -> Result<Ended, String> {
    let name = format!("stderr-{:?}", std::thread::current().id());
    let mut errors =
        File::options().read(true).write(true).create(true).truncate(true).open(folder.join(name)).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_esker"))
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors.try_clone().expect("a file can be cloned"))
        .spawn()
        .expect("the program starts");
    let begin = Instant::now();
    let mut wait = Duration::from_micros(200);
    let mut peak = 0;
    let status = loop {
        peak = peak_memory(child.id()).unwrap_or(0).max(peak);
        if let Some(status) = child.try_wait().expect("the program can be waited for") {
            break status;
        }
        if begin.elapsed() > time_max {
            child.kill().expect("the program can be ended");
            child.wait().expect("the program can be waited for");
            return Err(format!("it did not end within {} s", time_max.as_secs()));
        }
        std::thread::sleep(wait);
        wait = (wait * 5 / 4).min(Duration::from_millis(20));
    };
    if peak > memory_max {
        return Err(format!("it took {} MiB", peak >> 20));
    }
    let mut said = Vec::new();
    errors.seek(SeekFrom::Start(0)).and_then(|_| errors.read_to_end(&mut said)).expect("it can be read");
    judge(status, &String::from_utf8_lossy(&said))
}

fn judge(status: ExitStatus, said: &str) -> Result<Ended, String> {
    let panicked = said.contains("panicked at");
    match status.code() {
        Some(0) if !panicked => Ok(Ended::Done),
        Some(1 | 2) if !panicked && said.contains("error: ") => Ok(Ended::Refused),
        _ => Err(format!("{status}:\n{said}")),
    }
}

/// Tries `cases` cases on two threads, each in its own folder. `case` runs one and returns what is wrong with it.
/// Returns how many were accepted.
pub(crate) fn try_all(cases: u64, case: impl Fn(&Path, u64) -> Result<Ended, String> + Sync) -> u64 {
    let (next, done, faults) = (AtomicU64::new(0), AtomicU64::new(0), Mutex::new(Vec::new()));
    let work = || {
        let folder = tempfile::tempdir().expect("a temporary folder");
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= cases || faults.lock().unwrap().len() >= 5 {
                return;
            }
            match case(folder.path(), index) {
                Ok(Ended::Done) => drop(done.fetch_add(1, Ordering::Relaxed)),
                Ok(Ended::Refused) => {}
                Err(fault) => faults.lock().unwrap().push(format!("case {index}: {fault}")),
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    done.into_inner()
}
