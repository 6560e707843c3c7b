//! Functions to run the program.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A study written by `esker study --json`.
pub(crate) const RECORDED_STUDY: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../esker-report/tests/fixtures/no-times.json");

/// What a run printed, and its exit status.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The program with these arguments, in `folder`.
pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_esker"));
    command.args(arguments).current_dir(folder).env("NO_COLOR", "1").env("COLUMNS", "100");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs `esker` in `folder`.
pub(crate) fn esker_in(folder: &Path, arguments: &[&str]) -> Run {
    run(&mut command(folder, arguments), &arguments.join(" ")).expect("the program starts")
}

/// Runs `command`, called `shown` in messages, without standard input.
pub(crate) fn run_to_its_end(mut command: Command, shown: &str) -> Run {
    command.env("NO_COLOR", "1").env("COLUMNS", "100").stdout(Stdio::piped()).stderr(Stdio::piped());
    run(&mut command, shown).expect("the program starts")
}

/// Runs `command`, and kills it after ten minutes. Output that was redirected is empty here.
#[expect(clippy::disallowed_methods, reason = "a test is bounded in time")]
pub(crate) fn run(command: &mut Command, shown: &str) -> std::io::Result<Run> {
    let mut child = command.spawn()?;
    let drain = |pipe: Option<Box<dyn std::io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            pipe.map(|mut pipe| pipe.read_to_end(&mut bytes).expect("a pipe can be read"));
            bytes
        })
    };
    let stdout = drain(child.stdout.take().map(|pipe| Box::new(pipe) as _));
    let stderr = drain(child.stderr.take().map(|pipe| Box::new(pipe) as _));
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if begin.elapsed() > Duration::from_secs(600) {
            child.kill()?;
            panic!("esker {shown} did not end within ten minutes");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let output = Output { status, stdout: stdout.join().expect("no panic"), stderr: stderr.join().expect("no panic") };
    Ok(Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// Runs the program and expects success.
pub(crate) fn esker_ok(folder: &Path, arguments: &[&str]) -> Run {
    let run = esker_in(folder, arguments);
    assert_eq!(run.code, 0, "esker {arguments:?}:\n{}", run.stderr);
    run
}

/// Runs the program and expects bad input: one error, exit status 2, nothing on standard output, no new file.
pub(crate) fn esker_refuses(folder: &Path, arguments: &[&str]) -> String {
    let before = files(folder);
    let run = esker_in(folder, arguments);
    assert_eq!(run.code, 2, "esker {arguments:?} ended with {}:\n{}{}", run.code, run.stdout, run.stderr);
    assert_eq!(run.stdout, "", "nothing half-written");
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    assert_eq!(run.stderr.matches("error:").count(), 1, "one error: {}", run.stderr);
    assert_eq!(files(folder), before, "no file is left");
    run.stderr
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

/// A folder with a small MSR trace of mixed requests, `small.csv`.
pub(crate) fn folder_with_trace(requests: u32) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut text = String::new();
    let mut rng = esker_core::Rng::new(11);
    let mut at = 128_166_372_000_000_000u64;
    for _ in 0..requests {
        at += rng.below(40_000);
        let kind = if rng.chance(1, 3) { "Read" } else { "Write" };
        let offset = (1 << 33) + rng.below(20_000) * 4096;
        let length = 4096 << rng.below(4);
        text += &format!("{at},host,0,{kind},{offset},{length},{}\n", 1_000 + rng.below(90_000));
    }
    std::fs::write(folder.path().join("small.csv"), text).expect("the folder can be written");
    folder
}
