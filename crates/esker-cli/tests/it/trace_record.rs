//! `esker trace record`, with a program in blktrace's place that "records" a trace which is there already.

use std::io::Write;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{Run, command, esker_ok, folder_with_trace, run};

/// It runs until SIGINT, as blktrace does.
const RECORDS: &str = r#"#!/bin/sh
trap 'echo "  Total:  300 events (dropped 3),  9 KiB data"; exit 0' INT
while [ $# -gt 0 ]; do
    [ "$1" = -D ] && folder=$2
    shift
done
cp recorded.blktrace "$folder/disk.blktrace.0"
: >"$folder/disk.blktrace.1"
echo ready >recording
while :; do sleep 0.05; done
"#;

const IS_REFUSED: &str = "#!/bin/sh\necho 'Thread 0 failed open trace0: Operation not permitted' >&2\n";

fn skipped(why: &str) {
    // Past what the test program captures.
    std::io::stderr().write_all(format!("trace record: skipped: {why}\n").as_bytes()).unwrap();
}

/// A block device of this machine. Nothing opens it.
fn block_device() -> Option<PathBuf> {
    let entries = std::fs::read_dir("/dev").ok()?.filter_map(Result::ok);
    let is_block = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device());
    entries.map(|entry| entry.path()).find(is_block)
}

/// A folder with a trace, the same in blktrace's format, and this program in blktrace's place.
fn folder_with(blktrace: &str) -> tempfile::TempDir {
    let folder = folder_with_trace(100);
    esker_ok(folder.path(), &["trace", "convert", "small.csv", "--to", "blktrace", "-o", "recorded.blktrace"]);
    let program = folder.path().join("blktrace");
    std::fs::write(&program, blktrace).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn record(folder: &Path, device: &Path, arguments: &[&str]) -> Command {
    let mut command = command(folder, &["trace", "record", device.to_str().unwrap()]);
    let path = std::env::var("PATH").unwrap_or_default();
    command.args(arguments).env("PATH", format!("{}:{path}", folder.display()));
    command
}

fn requests(folder: &Path, trace: &str) -> u64 {
    let info: serde_json::Value =
        serde_json::from_str(&esker_ok(folder, &["trace", "info", trace, "--json"]).stdout).unwrap();
    info["requests"].as_u64().unwrap()
}

#[test]
fn a_recording_becomes_a_trace_when_its_time_is_up() {
    let Some(device) = block_device() else { return skipped("this machine has no block device") };
    let folder = folder_with(RECORDS);
    let Run { code, stderr, .. } =
        run(&mut record(folder.path(), &device, &["--for", "2s", "-o", "new.esker"]), "trace record").unwrap();
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("3 events were lost"), "{stderr}");
    assert_eq!(requests(folder.path(), "new.esker"), 100);
    assert!(!folder.path().join("new.esker.recording").exists());
}

#[test]
fn a_signal_ends_a_recording_and_loses_nothing() {
    let Some(device) = block_device() else { return skipped("this machine has no block device") };
    let folder = folder_with(RECORDS);
    let mut command = record(folder.path(), &device, &["--anonymise", "-o", "new.esker"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !folder.path().join("recording").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        std::thread::sleep(Duration::from_millis(10));
    }
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(requests(folder.path(), "new.esker"), 100);
    let volume = ["trace", "filter", "new.esker", "--volume", "volume-1", "-o", "named.esker"];
    esker_ok(folder.path(), &volume);
    assert_eq!(requests(folder.path(), "named.esker"), 100);
}

#[test]
fn what_blktrace_refuses_is_said_and_nothing_is_left() {
    let Some(device) = block_device() else { return skipped("this machine has no block device") };
    let folder = folder_with(IS_REFUSED);
    let Run { code, stderr, .. } =
        run(&mut record(folder.path(), &device, &["-o", "new.esker"]), "trace record").unwrap();
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains("Operation not permitted") && stderr.contains("hint: "), "{stderr}");
    assert!(!folder.path().join("new.esker").exists() && !folder.path().join("new.esker.recording").exists());
}
