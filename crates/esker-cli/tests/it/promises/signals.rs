//! The first signal ends a command, whatever it waits for. The file that it waits for is a FIFO that nobody writes to
//! or reads, so that no command can end by itself before the signal.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{Ground, READING, WRITING};

const SIGNALS: [(Signal, i32); 3] = [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 129)];
/// Far longer than anything takes on a busy machine.
const HANGS: Duration = Duration::from_secs(300);

fn fifo(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Waits until `done` gives something, for a bounded time.
#[expect(clippy::disallowed_methods, reason = "a test is bounded in time")]
fn bounded<T>(child: &mut Child, shown: &str, mut done: impl FnMut(&mut Child) -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = done(child) {
            return found;
        }
        if begin.elapsed() > HANGS {
            child.kill().unwrap();
            panic!("{shown} hangs");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Starts the program, waits until it heeds signals, sends these, and returns its exit status and what it said.
fn signalled(ground: &Ground, arguments: &[String], signals: &[Signal]) -> (Option<i32>, String) {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let shown = words.join(" ");
    let mut child = crate::support::command(ground.0.path(), &words).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    // It waits for signals with a thread of its own, and blocks them in all others.
    bounded(&mut child, &shown, |child| {
        assert!(child.try_wait().unwrap().is_none(), "esker {shown} ended before the signal");
        let text = fs::read_to_string(&status).unwrap_or_default();
        let blocked = text.lines().find_map(|line| line.strip_prefix("SigBlk:"))?;
        (u64::from_str_radix(blocked.trim(), 16).ok()? & 2 != 0).then_some(())
    });
    for signal in signals {
        kill(Pid::from_raw(child.id() as i32), *signal).unwrap();
    }
    let code = bounded(&mut child, &shown, |child| child.try_wait().unwrap()).code();
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
    (code, said)
}

fn ends(ground: &Ground, arguments: &[String], (signal, code): (Signal, i32)) {
    let names = ground.names();
    let (found, said) = signalled(ground, arguments, &[signal]);
    assert_eq!(found, Some(code), "esker {} by {signal}: {said}", arguments.join(" "));
    assert!(said.contains("error: interrupted; nothing half-written was left"), "{said}");
    assert_eq!(ground.names(), names, "esker {}", arguments.join(" "));
}

#[test]
fn the_first_signal_ends_a_command_that_waits_for_its_input() {
    let ground = Ground::new();
    fifo(&ground.path("fifo.toml"));
    // Nobody has opened it: opening waits.
    all_end(&ground, 0);
    // Somebody has, and writes nothing: reading waits.
    let _writer = OpenOptions::new().read(true).write(true).open(ground.path("fifo.toml")).unwrap();
    all_end(&ground, 1);
}

/// Sends a signal to each command that reads, several at a time: after a signal, each has half a second to end in good
/// order.
fn all_end(ground: &Ground, first_signal: usize) {
    let next = AtomicUsize::new(0);
    let work = || {
        while let (index, Some((_, arguments))) = taken(&next, READING) {
            let arguments: Vec<String> = arguments.iter().map(|word| word.replace("IN", "fifo.toml")).collect();
            ends(ground, &arguments, SIGNALS[(index + first_signal) % 3]);
        }
    };
    std::thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(work))));
}

/// Takes the next of `all`.
fn taken<'a, T>(next: &AtomicUsize, all: &'a [T]) -> (usize, Option<&'a T>) {
    let index = next.fetch_add(1, Ordering::Relaxed);
    (index, all.get(index))
}

#[test]
fn the_first_signal_ends_a_command_that_waits_for_the_reader_of_its_output() {
    let ground = Ground::new();
    // The disk of these tests is too small to be measured, and the folder of a plan has to be empty, so that nothing
    // gets as far as writing.
    let never = ["devices measure --output", "plan --output"];
    let written = WRITING.iter().filter(|writing| !never.contains(&writing.row));
    for (index, writing) in written.enumerate() {
        let (out, path) = writing.place(&ground, "fifo");
        fifo(&path);
        // What a sweep and a study write before that may stay: it is whole.
        let names = ground.names();
        let (signal, code) = SIGNALS[index % 3];
        let (found, said) = signalled(&ground, &writing.to(&out), &[signal]);
        assert_eq!(found, Some(code), "{} by {signal}: {said}", writing.row);
        let left = ground.names().into_iter().find(|name| name.starts_with(".esker-"));
        assert_eq!(left, None, "{}: {names:?}", writing.row);
        fs::remove_file(&path).unwrap();
        for made in ["points", "tables", "new.html"] {
            fs::remove_dir_all(ground.path(made)).or_else(|_| fs::remove_file(ground.path(made))).ok();
        }
    }
}

#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    let ground = Ground::new();
    fifo(&ground.path("fifo.toml"));
    let script = "trap '' HUP; exec \"$0\" trace info fifo.toml";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_esker")]).current_dir(ground.0.path());
    let mut child = shell.stderr(std::process::Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    bounded(&mut child, script, |_| {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let blocked = text.lines().find_map(|line| line.strip_prefix("SigBlk:"))?;
        (u64::from_str_radix(blocked.trim(), 16).ok()? & 2 != 0).then_some(())
    });
    let process = Pid::from_raw(child.id() as i32);
    kill(process, Signal::SIGHUP).unwrap();
    kill(process, Signal::SIGTERM).unwrap();
    assert_eq!(bounded(&mut child, script, |child| child.try_wait().unwrap()).code(), Some(143));
}
