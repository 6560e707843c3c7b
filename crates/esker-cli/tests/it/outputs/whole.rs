//! A file appears as a whole or not at all: killed runs, interrupted runs, two runs at once.

use std::io::Write;
use std::process::{Child, Stdio};

use super::Ground;

/// Starts a conversion that has begun to write `out` and waits for the rest of its trace.
fn begun(ground: &Ground, arguments: &[&str], half: &[u8]) -> Child {
    let mut command = ground.command(arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // A pipe holds 64 KiB, so most of this has been read when the write returns.
    child.stdin.as_mut().unwrap().write_all(half).unwrap();
    child
}

/// Lines of an SPC trace that begin at sector `first`, several megabytes.
fn trace(first: u32) -> Vec<u8> {
    (0..150_000u32).map(|line| format!("0,{},4096,R,{line}.5\n", first + 8 * line)).collect::<String>().into_bytes()
}

const CONVERT: &[&str] = &["trace", "convert", "-", "-q", "--force", "-o", "out.spc"];

#[test]
fn a_killed_run_leaves_the_old_file_and_nothing_else() {
    for ground in Ground::each() {
        ground.write("out.spc", "0,8,4096,R,0.5\n");
        let names = ground.names();
        let mut child = begun(&ground, CONVERT, &trace(0));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(ground.read("out.spc"), b"0,8,4096,R,0.5\n");
        assert_eq!(ground.names(), names);
    }
}

#[test]
fn an_interrupted_run_leaves_the_old_file_and_nothing_else() {
    let ground = Ground::new(None);
    ground.write("out.spc", "0,8,4096,R,0.5\n");
    let names = ground.names();
    let mut child = begun(&ground, CONVERT, &trace(0));
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    // The flag is checked between two pieces of the trace.
    let input = child.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || {
        let mut input = input;
        let more = trace(8 * 150_000);
        while input.write_all(&more).is_ok() {}
    });
    let run = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    assert_eq!(run.status.code(), Some(130), "{run:?}");
    assert_eq!(ground.read("out.spc"), b"0,8,4096,R,0.5\n");
    assert_eq!(ground.names(), names);
}

#[test]
fn of_two_runs_at_once_one_wins_whole() {
    for ground in Ground::each() {
        let halves = [trace(0), trace(1 << 24)];
        let mut runs: Vec<Child> = halves.iter().map(|half| begun(&ground, CONVERT, half)).collect();
        for child in &mut runs {
            drop(child.stdin.take());
        }
        for child in runs {
            let run = child.wait_with_output().unwrap();
            assert!(run.status.success(), "{run:?}");
        }
        let written = ground.read("out.spc");
        ground.no_rest(CONVERT);
        let alone = |half: &[u8]| {
            let mut child = begun(&ground, &["trace", "convert", "-", "-q", "--force", "-o", "alone.spc"], half);
            drop(child.stdin.take());
            assert!(child.wait().unwrap().success());
            ground.read("alone.spc")
        };
        assert!(halves.iter().any(|half| alone(half) == written), "a mixture of two");
    }
}
