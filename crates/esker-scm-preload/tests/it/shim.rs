//! What children do is what it should be, for them and for others.

use crate::ground::Ground;
use std::fs;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// The library, which is built for these tests.
pub(crate) fn library() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let built = program.parent().unwrap().join("libesker_scm_preload.so");
    assert!(built.exists(), "{} is not there", built.display());
    built
}

/// A program with the library loaded before it.
pub(crate) fn with_library(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env("LD_PRELOAD", library()).stdin(Stdio::null());
    command
}

fn start(ground: &Ground, child: &str) -> Child {
    let mut command = with_library(std::env::current_exe().unwrap());
    command.args([&format!("::{child}"), "--ignored", "--nocapture", "--test-threads", "1"]);
    command.env("ESKER_TEST_DIRECTORY", ground.path("")).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Runs a test of `children` with the library.
fn run(ground: &Ground, child: &str) {
    let output = start(ground, child).wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success() && said.contains("1 passed"), "{child}: {}\n{said}", output.status);
}

fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index * 7) as u8 ^ (index >> 8) as u8).collect()
}

#[test]
fn files_are_read_and_written_as_anywhere() {
    let Some(mut ground) = Ground::new() else { return };
    run(&ground, "reads_and_writes");
    assert!(fs::read(ground.path("large")).unwrap() == bytes(3_000_000));
    assert_eq!(fs::read(ground.path("appended")).unwrap(), b"onetwothree");
    run(&ground, "is_told_the_same_as_by_the_kernel");
    run(&ground, "makes_and_removes_names");
    ground.remount();
    assert!(fs::read(ground.path("large")).unwrap() == bytes(3_000_000));
}

#[test]
fn descriptors_are_those_of_any_program() {
    let Some(ground) = Ground::new() else { return };
    run(&ground, "duplicates_and_closes");
    run(&ground, "closes_everything_and_goes_on");
}

#[test]
fn what_only_the_kernel_can_do_is_done_by_it() {
    let Some(ground) = Ground::new() else { return };
    run(&ground, "forks");
    run(&ground, "runs_programs");
    run(&ground, "maps");
    run(&ground, "sees_no_old_pages_in_a_mapping");
    run(&ground, "is_told_of_stores_into_holes_of_a_full_pool");
    fs::remove_file(ground.path("filler")).unwrap();
    run(&ground, "prints");
    run(&ground, "redirects_standard_output");
}

#[test]
fn two_ways_and_mappings_agree_with_a_model() {
    let Some(mut ground) = Ground::new() else { return };
    run(&ground, "agrees_with_a_model");
    ground.remount();
}

#[test]
fn locks_exclude_other_processes() {
    let Some(ground) = Ground::new() else { return };
    let file = fs::File::create(ground.path("locked")).unwrap();
    file.set_len(100).unwrap();
    let lock = |kind: i32, start: i64| {
        let mut lock =
            libc::flock { l_type: kind as i16, l_whence: libc::SEEK_SET as i16, l_start: start, l_len: 10, l_pid: 0 };
        // SAFETY: the lock is here.
        let answer = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &raw mut lock) };
        assert_eq!(answer, 0);
    };
    lock(libc::F_WRLCK, 20);
    run(&ground, "finds_a_lock_and_makes_some");
    // They went with the process.
    lock(libc::F_WRLCK, 40);
    run(&ground, "loses_record_locks_by_a_close");
}

#[test]
fn who_becomes_somebody_else_may_what_they_may() {
    let Some(ground) = Ground::new() else { return };
    fs::write(ground.path("secret"), "x").unwrap();
    fs::set_permissions(ground.path("secret"), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    run(&ground, "becomes_nobody");
}

#[test]
fn a_program_that_is_killed_leaves_the_pool_sound() {
    let Some(mut ground) = Ground::new() else { return };
    for round in 0..3 {
        let mut child = start(&ground, "writes_for_ever");
        let path = ground.path("growing");
        while fs::metadata(&path).map_or(0, |found| found.len()) < 100_000 * (round + 1) {
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        fs::write(ground.path("after"), "others go on").unwrap();
    }
    ground.remount();
    assert_eq!(fs::read(ground.path("after")).unwrap(), b"others go on");
}
