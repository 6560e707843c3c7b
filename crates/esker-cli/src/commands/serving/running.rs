//! The command of `--run`.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use esker_volume::Signal as WakeSignal;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::cancel;
use crate::failure::Failure;

/// A command that runs while something is served.
pub(super) struct Running {
    process: Pid,
    thread: std::thread::JoinHandle<std::io::Result<std::process::ExitStatus>>,
    has_ended: Arc<AtomicBool>,
}

impl Running {
    /// Starts the command, which has the first of `uris` as `uri` in its environment, and all of them, with blanks
    /// between, as `uris`. The signal is given when it has ended.
    pub(super) fn start(command: &str, uris: &[String], signal: WakeSignal) -> Result<Self, Failure> {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).env("uri", uris.first().map_or("", |uri| uri)).env("uris", uris.join(" "));
        let mut child: Child = cancel::as_found(&mut shell)
            .spawn()
            .map_err(|error| Failure::work(format!("cannot run a shell: {error}")))?;
        let process = Pid::from_raw(child.id().cast_signed());
        let has_ended = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&has_ended);
        let thread = std::thread::spawn(move || {
            let status = child.wait();
            ended.store(true, Ordering::SeqCst);
            signal.give();
            status
        });
        Ok(Self { process, thread, has_ended })
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::SeqCst)
    }

    /// Asks the command to end: nobody serves any more.
    pub(super) fn end(&self) {
        if !self.has_ended() {
            // It may have ended at this moment.
            let _ = kill(self.process, Signal::SIGTERM);
        }
    }

    /// The exit status of the command, as a shell has it: 128 and the number of the signal that ended it.
    pub(super) fn status(self) -> Result<u8, Failure> {
        let status = self.thread.join().map_err(|_| Failure::work("the command was lost"))?;
        let status = status.map_err(|error| Failure::work(format!("the command was lost: {error}")))?;
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
        Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
    }
}
