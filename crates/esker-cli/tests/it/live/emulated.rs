//! The program while it emulates devices, and serves volumes.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::rc::Rc;

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

/// A device that is emulated as long as one of its server is there.
pub(super) struct Emulated {
    pub(super) name: String,
    folder: PathBuf,
    /// The socket of clients, in the folder.
    socket: String,
    _running: Rc<Running>,
}

impl Emulated {
    /// Emulates two devices of a file by one server.
    pub(super) fn pair(folder: &Path, file: &str, names: [&str; 2]) -> [Self; 2] {
        let arguments = ["emulate", file, "--device", names[0], "--device", names[1]];
        let running = Rc::new(Running::start(folder, &arguments));
        names.map(|name| Self {
            name: name.to_string(),
            folder: folder.to_path_buf(),
            socket: format!("{}.nbd", names[0]),
            _running: Rc::clone(&running),
        })
    }

    /// Where its clients connect.
    pub(super) fn uri(&self) -> String {
        format!("nbd+unix:///{}?socket={}/{}", self.name, self.folder.display(), self.socket)
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
