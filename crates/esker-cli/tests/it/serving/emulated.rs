//! `esker emulate`, and what is done at a device that is being emulated.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use super::client::{Client, Failed};
use super::clients::are_installed;
use crate::support::{command, esker_in, esker_ok, run_to_its_end};

/// A folder with `disk.toml`: a device of 1,000 requests a second.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text = "kind = \"constant\"\nservice_time = \"1ms\"\ncapacity = \"8MiB\"\n";
    fs::write(folder.path().join("disk.toml"), text).unwrap();
    folder
}

/// An emulation of a device that a file describes. It is killed when it is dropped.
pub(super) struct Emulation {
    folder: PathBuf,
    /// The name of its file, without the ending.
    name: String,
    child: Child,
    said: BufReader<ChildStderr>,
}

impl Emulation {
    fn start(folder: &Path, options: &[&str]) -> Self {
        Self::of(folder, "disk", options)
    }

    /// Emulates what `NAME.toml` describes.
    pub(super) fn of(folder: &Path, name: &str, options: &[&str]) -> Self {
        let mut child = command(folder, &[&["emulate", &format!("{name}.toml")], options].concat()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut announced = String::new();
        while !announced.contains("clients connect at") {
            assert!(said.read_line(&mut announced).unwrap() > 0, "it serves not: {announced}");
        }
        assert!(announced.contains("serving device (constant) of "), "{announced}");
        Self { folder: folder.to_path_buf(), name: name.to_string(), child, said }
    }

    fn client(&self) -> Client {
        Client::connect(&self.folder.join(format!("{}.nbd", self.name)))
    }

    pub(super) fn operate(&self, operation: &str, options: &[&str]) {
        esker_ok(&self.folder, &[&["emulate", operation, &self.control()], options].concat());
    }

    fn control(&self) -> String {
        format!("{}.control", self.name)
    }

    pub(super) fn status(&self) -> Value {
        let shown = esker_ok(&self.folder, &["emulate", "status", &self.control(), "--json"]).stdout;
        serde_json::from_str(&shown).unwrap()
    }

    /// Asks it to end. Returns what it said of itself.
    fn stop(mut self) -> String {
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM).unwrap();
        let mut said = String::new();
        self.said.read_to_string(&mut said).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "{said}");
        let sockets = [".nbd", ".control"].map(|end| self.folder.join(format!("{}.toml{end}", self.name)).exists());
        assert_eq!(sockets, [false, false], "both sockets are removed");
        said
    }
}

impl Drop for Emulation {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[expect(clippy::disallowed_methods, reason = "how long a device takes is what an emulation is about")]
fn timed(work: impl FnOnce()) -> Duration {
    let begin = Instant::now();
    work();
    begin.elapsed()
}

#[test]
fn requests_take_as_long_as_those_of_the_simulated_device() {
    let folder = folder();
    let emulation = Emulation::start(folder.path(), &[]);
    let mut client = emulation.client();
    assert_eq!((client.size, client.is_read_only), (8 << 20, false));
    client.write(4096, &[7; 8192]).unwrap();
    let mut read =
        |count: u32| timed(|| (0..count).for_each(|_| assert_eq!(client.read(4096, 8192).unwrap(), [7; 8192])));
    assert!(read(200) >= Duration::from_millis(200));
    emulation.operate("slow", &["10"]);
    assert!(read(20) >= Duration::from_millis(200));
    let status = emulation.status();
    assert_eq!(status["slow"], 10.0, "{status}");
    assert_eq!((&status["response_times"]["reads"]["count"], &status["requests"]["reads"]), (&220.into(), &220.into()));
    assert!(status["response_times"]["reads"]["max_us"].as_f64().unwrap() >= 10_000.0, "{status}");
    let shown = esker_ok(folder.path(), &["emulate", "status", "disk.control"]).stdout;
    assert!(shown.starts_with("disk: 8 MiB, power on, slowed by 10; no volatile write cache; 1 client\n"), "{shown}");
    let said = emulation.stop();
    for words in ["220 reads", "1 writes", "answers were late by", "an answer was overdue for"] {
        assert!(said.contains(words), "{words} is not in: {said}");
    }
}

#[test]
fn a_power_cut_closes_connections_and_keeps_what_was_flushed() {
    let folder = folder();
    let emulation = Emulation::start(folder.path(), &["--write-cache", "volatile", "--seed", "3"]);
    let (mut lost, mut client) = (0, emulation.client());
    for round in 1..=8u8 {
        client.write(0, &[round; 16 << 10]).unwrap();
        client.flush().unwrap();
        client.write(0, &[100 + round; 16 << 10]).unwrap();
        emulation.operate("power-cut", &[]);
        assert_eq!(client.read(0, 512).unwrap_err(), Failed::Gone);
        let status = emulation.status();
        assert_eq!((&status["has_power"], status["connections"].as_array().unwrap().len()), (&false.into(), 0));
        emulation.operate("power-on", &[]);
        client = emulation.client();
        for sector in client.read(0, 16 << 10).unwrap().chunks(512) {
            let found = sector[0];
            assert!([round, 100 + round].contains(&found) && sector == [found; 512], "{found} in round {round}");
            lost += u32::from(found == round);
        }
    }
    assert!(lost > 0, "nothing that was not flushed was lost");
    // It comes back by itself, too.
    emulation.operate("power-cut", &["--for", "20ms"]);
    while emulation.status()["has_power"] == Value::Bool(false) {
        std::thread::sleep(Duration::from_millis(1));
    }
    emulation.client().read(0, 512).unwrap();
    assert_eq!(emulation.status()["power_cuts"], 9);
    assert!(emulation.stop().contains("9 power cuts"));
}

#[test]
fn requests_fail_until_it_is_repaired() {
    const EIO: Failed = Failed::Answered(5);
    let folder = folder();
    let emulation = Emulation::start(folder.path(), &[]);
    let mut client = emulation.client();
    emulation.operate("fail", &["--writes"]);
    assert_eq!((client.write(0, &[1; 512]), client.flush()), (Err(EIO), Err(EIO)));
    assert_eq!(client.read(0, 512).unwrap(), [0; 512]);
    emulation.operate("fail", &[]);
    assert_eq!(client.read(0, 512), Err(EIO));
    emulation.operate("repair", &[]);
    client.write(0, &[1; 512]).unwrap();
    emulation.operate("fail", &[]);
    // The last one is the flush with which a server ends.
    let said = emulation.stop();
    assert!(said.contains("4 failed"), "{said}");
}

#[test]
fn data_in_a_file_stay_and_no_other_file_is_touched() {
    let folder = folder();
    let emulation = Emulation::start(folder.path(), &["--data", "data.img"]);
    emulation.client().write(1 << 20, &[9; 4096]).unwrap();
    let refused = |options: &[&str]| {
        let control = ["--control", "other.control", "--listen", "unix:other.nbd", "--run", "true"];
        let run = esker_in(folder.path(), &[&["emulate", "disk.toml"], options, &control[..]].concat());
        assert_eq!(run.code, 2, "{}", run.stderr);
        run.stderr
    };
    assert!(refused(&["--data", "data.img"]).contains("data.img: another program uses it"));
    assert!(refused(&["--record", "data.img", "--record-as", "esker", "--force"]).contains("another program uses it"));
    emulation.stop();
    let emulation = Emulation::start(folder.path(), &["--data", "data.img"]);
    assert_eq!(emulation.client().read(1 << 20, 4096).unwrap(), [9; 4096]);
    emulation.stop();
    // Whether it is there already or not.
    for (data, force) in [("data.img", &["--force"][..]), ("new.img", &[])] {
        let said = refused(&[&["--data", data, "--record", data, "--record-as", "esker"], force].concat());
        assert!(said.contains(&format!("would replace the input {data}")), "{said}");
        assert_eq!(fs::metadata(folder.path().join(data)).unwrap().len(), 8 << 20);
    }
    fs::write(folder.path().join("notes"), "not to be lost").unwrap();
    assert!(refused(&["--data", "notes"]).contains("notes: it has 14 bytes, but the device has 8388608"));
    assert!(refused(&["--data", "disk.toml"]).contains("describes the device"));
    assert_eq!(fs::read(folder.path().join("notes")).unwrap(), b"not to be lost");
}

#[test]
fn a_device_of_an_experiment_is_chosen_by_name() {
    let folder = folder();
    let device = |name: &str, capacity: &str| {
        format!("[device.{name}]\nkind = \"constant\"\nservice_time = \"1ms\"\ncapacity = \"{capacity}\"\n")
    };
    let text = format!(
        "[workload]\nsynthetic = {{ requests = 1 }}\nqueue_depth = 1\n{}{}[run]\ntarget = \"one\"\n",
        device("one", "1MiB"),
        device("two", "2MiB")
    );
    fs::write(folder.path().join("both.toml"), text).unwrap();
    let emulate =
        |options: &[&str]| esker_in(folder.path(), &[&["emulate", "both.toml", "--run", "true"], options].concat());
    assert!(emulate(&[]).stderr.contains("serving one (constant) of 1 MiB in memory"));
    assert!(emulate(&["--device", "two"]).stderr.contains("serving two (constant) of 2 MiB in memory"));
    let both = emulate(&["--device", "two", "--device", "one"]).stderr;
    for words in
        ["serving two: two (constant) of 2 MiB", "serving one: one (constant) of 1 MiB", "connect at unix:two.nbd"]
    {
        assert!(both.contains(words), "{words} is not in: {both}");
    }
    let unknown = emulate(&["--device", "tow"]);
    assert!(unknown.code == 2 && unknown.stderr.contains("did you mean `two`?"), "{}", unknown.stderr);
    let nobody = esker_in(folder.path(), &["emulate", "repair", "both.control"]);
    assert!(nobody.code == 2 && nobody.stderr.contains("no device is emulated at both.control"), "{}", nobody.stderr);
}

#[test]
fn nbdcopy_and_qemu_io_find_what_they_wrote() {
    if !are_installed(&["nbdcopy", "qemu-io"]) {
        return;
    }
    let folder = folder();
    let text = "kind = \"constant\"\nservice_time = \"20us\"\ncapacity = \"8MiB\"\n";
    fs::write(folder.path().join("disk.toml"), text).unwrap();
    let image: Vec<u8> = (0..8 << 20).map(|index: u32| (index * 7 + index / 251) as u8).collect();
    fs::write(folder.path().join("in.img"), &image).unwrap();
    let script = "set -e; nbdcopy --connections=4 --flush in.img $uri; nbdcopy --connections=4 $uri out.img; \
                  qemu-io -f raw -d unmap $uri -c 'discard 0 1M' -c 'read -P 0 0 1M' -c 'write -z 1M 64k' \
                  -c 'read -P 0 1M 64k' -c 'write -f -P 0xbb 2M 64k' -c 'read -P 0xbb 2M 64k'";
    let options = ["emulate", "disk.toml", "--quiet", "--write-cache", "volatile", "--run", script];
    let run = run_to_its_end(command(folder.path(), &options), "emulate --run");
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    assert!(!run.stdout.contains("verification failed"), "{}", run.stdout);
    assert!(fs::read(folder.path().join("out.img")).unwrap() == image);
}
