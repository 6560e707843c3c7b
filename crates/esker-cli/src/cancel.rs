//! Ctrl-C and the other signals that ask a program to end. The first one asks the work to stop, and ends the program
//! itself if the work does not: it may wait for a pipe, a terminal or an open file that never comes. A second one ends
//! it at once.

use std::io::{Error, IsTerminal, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, mpsc};
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};

/// The signals that ask a program to end: Ctrl-C, the usual one of `kill`, and the end of the terminal.
const SIGNALS: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];
/// Work that looks whether it should stop does so far sooner.
const PATIENCE: Duration = Duration::from_millis(500);

static CANCELLED: AtomicBool = AtomicBool::new(false);
/// The signals that were blocked already when the program began.
static FOUND: OnceLock<SigSet> = OnceLock::new();
/// The exit status, as shells have it: 128 and the number of the signal.
static STATUS: AtomicU8 = AtomicU8::new(128 + Signal::SIGINT as u8);

/// Begins to wait for signals. `report` says that the program was interrupted, where the work cannot.
pub(crate) fn install(report: fn()) {
    if let Ok(found) = SigSet::thread_get_mask() {
        FOUND.get_or_init(|| found);
    }
    // A write beyond the largest size of a file that is allowed (`ulimit -f`) fails like any other once the signal
    // that comes with it is blocked, and what was begun is removed.
    let _ = SigSet::from_iter([Signal::SIGXFSZ]).thread_block();
    let signals = heeded(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
    // Blocked here and in all threads that this one starts, so that they come to the thread that waits for them.
    // Without that thread a signal ends the program at once, which is safe, too: files are put in place when complete.
    if signals.thread_block().is_ok() {
        let wait = move || wait(&signals, report);
        if std::thread::Builder::new().name("signals".into()).spawn(wait).is_err() {
            let _ = signals.thread_unblock();
        }
    }
}

/// Has `command` begin with the signals as this program found them. It would inherit that they are blocked, and so
/// would all that it starts: none of that could be ended by them.
pub(crate) fn as_found(command: &mut Command) -> &mut Command {
    let Some(found) = FOUND.get().copied() else { return command };
    // SAFETY: the closure makes one system call, and needs neither a lock nor memory.
    unsafe { command.pre_exec(move || found.thread_set_mask().map_err(Error::from)) }
}

/// The signals that are not ignored. Programs under `nohup`, and those in the background of a script, inherit that some
/// are; a blocked signal would come all the same.
fn heeded(status: &str) -> SigSet {
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    SIGNALS.into_iter().filter(|signal| ignored >> (*signal as u32 - 1) & 1 == 0).collect()
}

/// Wakes work that ends by itself, however long that takes.
static WAKE: Mutex<Option<Wake>> = Mutex::new(None);

type Wake = Box<dyn Fn() + Send>;

/// From now on, the work ends by itself once it is asked to and `wake` has woken it. Only a second signal ends the
/// program before.
pub(crate) fn ends_by_itself(wake: impl Fn() + Send + 'static) {
    *WAKE.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(wake));
}

/// That work is done: from now on a signal ends the program itself again, if nothing else does. Whether one came
/// before.
pub(crate) fn ends_as_usual() -> bool {
    *WAKE.lock().unwrap_or_else(PoisonError::into_inner) = None;
    // A signal that found the work still there is known by now.
    requested()
}

fn wait(signals: &SigSet, report: fn()) {
    let Ok(signal) = signals.wait() else { return };
    STATUS.store(128 + signal as u8, Ordering::SeqCst);
    CANCELLED.store(true, Ordering::SeqCst);
    let later = move || {
        std::thread::sleep(PATIENCE);
        end(report);
    };
    match &*WAKE.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(wake) => wake(),
        // Where no thread can be started, the second signal ends the program.
        None => _ = std::thread::Builder::new().name("end".into()).spawn(later),
    }
    let _ = signals.wait();
    end(report);
}

/// Ends the program while its threads are at work.
fn end(report: fn()) -> ! {
    esker_files::abandon();
    // Nobody may read standard error: its pipe may be full, or another thread may wait for it.
    let (done, told) = mpsc::channel();
    let tell = move || {
        let mut stderr = std::io::stderr();
        if stderr.is_terminal() {
            // Below a progress bar.
            let _ = writeln!(stderr);
        }
        report();
        let _ = done.send(());
    };
    if std::thread::Builder::new().name("report".into()).spawn(tell).is_ok() {
        let _ = told.recv_timeout(PATIENCE);
    }
    std::process::exit(i32::from(status()));
}

/// The flag that long work checks.
pub(crate) fn flag() -> &'static AtomicBool {
    &CANCELLED
}

/// What is left if the program is ended.
static LEFT: Mutex<&str> = Mutex::new("nothing half-written was left");

/// Says what is left from now on if the program is ended.
pub(crate) fn leaves(what: &'static str) {
    *LEFT.lock().unwrap_or_else(PoisonError::into_inner) = what;
}

/// What is left if the program is ended now.
pub(crate) fn left() -> &'static str {
    *LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the user asked the program to end.
pub(crate) fn requested() -> bool {
    CANCELLED.load(Ordering::SeqCst)
}

/// The exit status of a program that was asked to end.
pub(crate) fn status() -> u8 {
    STATUS.load(Ordering::SeqCst)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_stay_ignored() {
        let heeded =
            |mask: &str| -> Vec<Signal> { heeded(&format!("Name:\tesker\nSigIgn:\t{mask}\n")).iter().collect() };
        let mut all = heeded("0000000000001000");
        all.sort();
        let mut expected = SIGNALS;
        expected.sort();
        assert_eq!(all, expected);
        assert!(!heeded("0000000000000001").contains(&Signal::SIGHUP), "nohup");
        assert_eq!(heeded("0000000000000006").len(), 2, "quit and interrupt, as `sh -c 'esker ... &'` has them");
    }
}
