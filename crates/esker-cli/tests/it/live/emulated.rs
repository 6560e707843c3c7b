//! The program while it emulates devices, and serves volumes.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Child;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{command, esker_ok};

/// The program while it serves. It is killed when this is dropped.
pub(super) struct Running(Child);

impl Running {
    /// Starts it. Returns once clients can connect.
    pub(super) fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut child = command(folder, arguments).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut announced = String::new();
        while !announced.contains("clients connect at") {
            assert!(said.read_line(&mut announced).unwrap() > 0, "it serves not: {announced}");
        }
        Self(child)
    }

    /// Asks it to end, and waits for that.
    pub(super) fn stop(mut self) {
        kill(Pid::from_raw(self.0.id().cast_signed()), Signal::SIGTERM).unwrap();
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A device that is emulated until this is dropped.
pub(super) struct Emulated {
    pub(super) name: String,
    folder: PathBuf,
    _running: Running,
}

impl Emulated {
    /// Emulates the device that `table` describes, which is called `name`.
    pub(super) fn start(folder: &Path, name: &str, table: &str) -> Self {
        let file = format!("{name}.toml");
        std::fs::write(folder.join(&file), table).unwrap();
        let running = Running::start(folder, &["emulate", &file]);
        Self { name: name.to_string(), folder: folder.to_path_buf(), _running: running }
    }

    /// Where its clients connect.
    pub(super) fn uri(&self) -> String {
        format!("nbd+unix:///{0}?socket={1}/{0}.nbd", self.name, self.folder.display())
    }

    /// Does something at it, such as `slow 10`.
    pub(super) fn operate(&self, operation: &[&str; 2]) {
        esker_ok(&self.folder, &["emulate", operation[0], &format!("{}.control", self.name), operation[1]]);
    }

    /// Reads and writes that it has served.
    pub(super) fn served(&self) -> f64 {
        let control = format!("{}.control", self.name);
        let status = esker_ok(&self.folder, &["emulate", "status", &control, "--json"]).stdout;
        let status: serde_json::Value = serde_json::from_str(&status).unwrap();
        ["reads", "writes"].map(|kind| status["requests"][kind].as_f64().unwrap()).iter().sum()
    }

    pub(super) fn status(&self) -> String {
        esker_ok(&self.folder, &["emulate", "status", &format!("{}.control", self.name)]).stdout
    }
}
