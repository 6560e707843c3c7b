//! Programs of others, as they come from Debian, with a volume. What is not installed is skipped, and the log says what
//! ran: `make setup-test` installs all of them.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Server, home};
use crate::support::{Run, esker_ok, run_to_its_end};

/// Whether the programs are there. Says so on standard error, also if the test succeeds.
pub(crate) fn are_installed(programs: &[&str]) -> bool {
    let is_there = |program: &&&str| {
        let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).stdout(Stdio::null()).status();
        found.is_ok_and(|status| status.success())
    };
    let missing: Vec<_> = programs.iter().filter(|program| !is_there(program)).copied().collect();
    match missing.is_empty() {
        true => log(&format!("served to {}", programs.join(", "))),
        false => log(&format!("skipped: {} is not installed; make setup-test installs it", missing.join(", "))),
    }
    missing.is_empty()
}

/// Writes past what the test program captures.
pub(super) fn log(line: &str) {
    std::io::stderr().write_all(format!("serving: {line}\n").as_bytes()).unwrap();
}

/// Runs a shell script while the volume is served; `$uri` is where. Stops at the first command that fails.
pub(super) fn run_served(folder: &Path, script: &str) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_esker"));
    let script = format!("set -e\n{script}");
    command.args(["volume", "serve", "home.volume", "--quiet", "--run", &script]);
    command.current_dir(folder).stdin(Stdio::null());
    let run = run_to_its_end(command, "volume serve --run");
    assert_eq!(run.code, 0, "{script}:\n{}{}", run.stdout, run.stderr);
    run
}

/// An image of 6 MiB, with data in some places.
fn image() -> Vec<u8> {
    let mut bytes = vec![0; 6 << 20];
    let byte = |index: usize| (index * 7 + index / 251) as u8 | 1;
    (0..300_000).chain(3_000_000..3_100_001).for_each(|index| bytes[index] = byte(index));
    bytes
}

#[test]
fn nbdinfo_finds_what_is_offered_and_where_data_are() {
    if !are_installed(&["nbdinfo"]) {
        return;
    }
    let home = home();
    let server = Server::start(home.path(), &[]);
    server.client().write(128 << 10, &[1; 8192]).unwrap();
    let uri = format!("nbd+unix:///?socket={}", server.socket().display());
    let info = |arguments: &[&str]| {
        let mut command = Command::new("nbdinfo");
        command.args(arguments).arg(&uri);
        run_to_its_end(command, "nbdinfo")
    };
    let shown = info(&[]).stdout;
    for words in ["export=\"home\"", "newstyle-fixed without TLS", "using structured", "block_size_minimum: 512"] {
        assert!(shown.contains(words), "{words} is not in:\n{shown}");
    }
    let map = info(&["--map"]).stdout;
    let rows: Vec<Vec<&str>> = map.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0][..], ["0", "131072", "3", "hole,zero"], "{map}");
    assert_eq!(rows[1][..], ["131072", "8192", "0", "data"], "{map}");
    assert_eq!(rows[2][3], "hole,zero", "{map}");
    for (what, can) in [("cache", true), ("df", true), ("fast-zero", true), ("flush", true), ("fua", true)]
        .into_iter()
        .chain([("multi-conn", true), ("trim", true), ("write", true), ("zero", true)])
        .chain([("block-status-payload", false), ("extended-headers", false)])
    {
        let run = info(&["--can", what]);
        // Old versions do not know all of them.
        let is_known = !run.stderr.contains("invalid") && !run.stderr.contains("unrecognized");
        assert!(!is_known || (run.code == 0) == can, "{what}: {} {}", run.code, run.stderr);
    }
    assert_eq!((info(&["--is", "read-only"]).code, info(&["--is", "tls"]).code), (2, 2));
    assert!(info(&["--list"]).stdout.contains("export=\"home\""));
    server.stop();
}

#[test]
fn nbdcopy_copies_in_and_out() {
    if !are_installed(&["nbdcopy"]) {
        return;
    }
    let home = home();
    fs::write(home.path().join("in.img"), image()).unwrap();
    // Over four connections, of which each has many requests under way.
    run_served(home.path(), "nbdcopy --connections=4 --flush in.img $uri\nnbdcopy --connections=4 $uri out.img");
    let out = fs::read(home.path().join("out.img")).unwrap();
    assert!(out[..6 << 20] == image() && out[6 << 20..].iter().all(|&byte| byte == 0));
    // A copy without a server has the same bytes.
    esker_ok(home.path(), &["volume", "copy", "home.volume", "--to", "copied.img"]);
    assert!(fs::read(home.path().join("copied.img")).unwrap() == out);
}

#[test]
fn qemu_img_converts_and_compares() {
    if !are_installed(&["qemu-img"]) {
        return;
    }
    let home = home();
    fs::write(home.path().join("in.img"), image()).unwrap();
    let run = run_served(
        home.path(),
        "qemu-img info $uri\n\
         qemu-img convert -n -W -m 8 -f raw -O raw in.img $uri\n\
         qemu-img compare -f raw -F raw in.img $uri\n\
         qemu-img convert -f raw -O qcow2 $uri out.qcow2\n\
         qemu-img compare -f qcow2 -F raw out.qcow2 $uri\n\
         qemu-img map -f raw --output=json $uri",
    );
    assert_eq!(run.stdout.matches("Images are identical").count(), 2, "{}", run.stdout);
    assert!(run.stdout.contains("\"zero\": true"), "{}", run.stdout);
}

#[test]
fn qemu_io_reads_what_it_wrote_discarded_and_zeroed() {
    if !are_installed(&["qemu-io"]) {
        return;
    }
    let home = home();
    let run = run_served(
        home.path(),
        "qemu-io -f raw -d unmap $uri \
         -c 'write -P 0xaa 0 2M' -c 'write -f -P 0xbb 1M 64k' -c 'flush' \
         -c 'read -P 0xaa 0 1M' -c 'read -P 0xbb 1M 64k' -c 'read -P 0xaa 1088k 960k' \
         -c 'discard 0 512k' -c 'read -P 0 0 512k' -c 'write -z 512k 256k' -c 'write -z -u 768k 128k' \
         -c 'read -P 0 512k 384k' -c 'read -P 0xaa 896k 128k' -c 'write -P 0xcc 1537 513' \
         -c 'read -P 0xcc 1537 513' -c 'read -P 0 1024 513' -c 'aio_write -P 0xdd 3M 1M' \
         -c 'aio_write -P 0xee 4M 1M' -c 'aio_flush' -c 'read -P 0xdd 3M 1M' -c 'read -P 0xee 4M 1M'\n\
         qemu-io -r -f raw $uri -c 'read -P 0xbb 1M 64k' -c 'read -P 0xee 4M 1M'",
    );
    let all = run.stdout + &run.stderr;
    assert!(!all.contains("verification failed") && !all.contains("error"), "{all}");
    assert_eq!(all.matches("read 1048576/1048576 bytes").count(), 4, "{all}");
}

#[test]
fn a_file_system_is_made_and_checked_through_nbdfuse() {
    if !are_installed(&["nbdfuse", "mke2fs", "e2fsck", "debugfs"]) {
        return;
    }
    let home = home();
    fs::create_dir(home.path().join("files")).unwrap();
    fs::write(home.path().join("files/notes"), image()).unwrap();
    fs::write(home.path().join("disk"), "").unwrap();
    let run = run_served(
        home.path(),
        "nbdfuse disk $uri 2>nbdfuse.log &\n\
         for i in $(seq 500); do test -s disk && break; kill -0 $! || break; sleep 0.01; done\n\
         test -s disk || { cat nbdfuse.log; echo no FUSE; exit 0; }\n\
         mke2fs -q -F -d files disk\n\
         e2fsck -fn disk\n\
         umount disk 2>umount.log || fusermount3 -u disk\n\
         wait",
    );
    if run.stdout.contains("no FUSE") {
        return log(&format!("skipped: FUSE cannot be used here: {}", run.stdout.trim()));
    }
    esker_ok(home.path(), &["volume", "copy", "home.volume", "--to", "out.img"]);
    let mut debugfs = Command::new("debugfs");
    debugfs.args(["-R", "cat notes", "out.img"]).current_dir(home.path());
    let found = debugfs.output().unwrap().stdout;
    assert!(found == image(), "{} bytes", found.len());
}
