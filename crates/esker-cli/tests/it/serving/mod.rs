//! `esker volume serve`, and the operations on a volume that is served, as a user runs them.

mod client;
pub(crate) mod clients;
mod clusters;
mod emulated;
mod emulated_pair;
mod encrypted;
mod ends;
mod exports;
mod kills;
mod log;
mod mistakes;
mod moving;
mod nbdsh;
mod operations;
mod range_maps;
mod recording;
mod stamped;
mod taking_over;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::support::{command, esker_ok};
use client::Client;

/// A folder with `home.volume`: two files, and extents of 64 KiB.
fn home() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let devices = ["--device", "flash=flash.img,8MiB", "--device", "disk=disk.img,16MiB"];
    esker_ok(folder.path(), &[&["volume", "create", "home.volume", "--set", "extent=64KiB"], &devices[..]].concat());
    folder
}

/// Adds `db.volume` to the folder, of another size than `home.volume`.
fn another(folder: &Path) {
    let devices = ["--device", "quick=quick.img,8MiB", "--device", "slow=slow.img,24MiB"];
    esker_ok(folder, &[&["volume", "create", "db.volume", "--set", "extent=64KiB"], &devices[..]].concat());
}

/// A server of `home.volume`, and of those volumes that its options name. It is killed when it is dropped.
struct Server {
    folder: PathBuf,
    child: Child,
    said: BufReader<ChildStderr>,
    /// What it said before it served.
    announced: String,
}

impl Server {
    /// Serves, and returns once clients can connect.
    fn start(folder: &Path, options: &[&str]) -> Self {
        Self::start_with(folder, options, &[])
    }

    /// Also with these variables in its environment.
    fn start_with(folder: &Path, options: &[&str], variables: &[(&str, &Path)]) -> Self {
        let mut command = command(folder, &[&["volume", "serve", "home.volume"], options].concat());
        let mut child = command.envs(variables.iter().copied()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut announced = String::new();
        while !announced.contains("clients connect at") {
            let count = said.read_line(&mut announced).unwrap();
            assert!(count > 0, "it serves not: {announced}");
        }
        Self { folder: folder.to_path_buf(), child, said, announced }
    }

    fn socket(&self) -> PathBuf {
        self.folder.join("home.volume.nbd")
    }

    fn client(&self) -> Client {
        Client::connect(&self.socket())
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }

    /// Waits for the end. Returns the exit status, and what it said meanwhile.
    fn ended(&mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.said.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }

    /// Asks the server to end, which has to finish its work.
    fn stop(mut self) {
        self.signal(Signal::SIGTERM);
        let (code, said) = self.ended();
        assert_eq!(code, Some(0), "{said}");
        let sockets = ["home.volume.nbd", "home.volume.control"].map(|name| self.folder.join(name).exists());
        assert_eq!(sockets, [false, false], "both sockets are removed");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The text of the volume's file.
fn file_of(folder: &Path) -> String {
    fs::read_to_string(folder.join("home.volume")).unwrap()
}
