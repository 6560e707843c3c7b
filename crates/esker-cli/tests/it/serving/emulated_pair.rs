//! Several devices that one server emulates.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use super::client::{Client, Failed};
use super::encrypted::write_certificates;
use crate::support::{command, esker_in, esker_ok, esker_refuses};

/// A folder with `fast.toml` and `slow.toml`, of different sizes and speeds.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, time, size) in [("fast", "100us", "8MiB"), ("slow", "2ms", "16MiB")] {
        let text = format!("kind = \"constant\"\nservice_time = \"{time}\"\ncapacity = \"{size}\"\n");
        fs::write(folder.path().join(format!("{name}.toml")), text).unwrap();
    }
    folder
}

/// A server of emulated devices. It is killed when it is dropped.
struct Pair {
    folder: PathBuf,
    child: Child,
    said: BufReader<ChildStderr>,
    announced: String,
}

impl Pair {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut child = command(folder, &[&["emulate"], arguments].concat()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut announced = String::new();
        while !announced.contains("clients connect at") {
            assert!(said.read_line(&mut announced).unwrap() > 0, "it serves not: {announced}");
        }
        Self { folder: folder.to_path_buf(), child, said, announced }
    }

    fn clients(&self) -> [Client; 2] {
        ["fast", "slow"].map(|name| Client::connect_to(&self.folder.join("fast.nbd"), name))
    }

    fn operate(&self, operation: &str, name: &str, options: &[&str]) {
        esker_ok(&self.folder, &[&["emulate", operation, &format!("{name}.control")], options].concat());
    }

    fn status(&self, name: &str) -> Value {
        let shown = esker_ok(&self.folder, &["emulate", "status", &format!("{name}.control"), "--json"]).stdout;
        serde_json::from_str(&shown).unwrap()
    }

    /// Asks it to end. Returns what it said of itself.
    fn stop(mut self) -> String {
        kill(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGTERM).unwrap();
        let mut said = String::new();
        self.said.read_to_string(&mut said).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "{said}");
        said
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn each_device_has_its_own_size_data_faults_and_figures() {
    let folder = folder();
    let pair = Pair::start(folder.path(), &["fast.toml", "slow.toml", "--metrics", "unix:figures"]);
    let announced = &pair.announced;
    assert!(announced.contains("serving fast: device (constant) of 8 MiB in memory"), "{announced}");
    assert!(announced.contains("serving slow: device (constant) of 16 MiB in memory"), "{announced}");
    let [mut fast, mut slow] = pair.clients();
    assert_eq!([fast.size, slow.size], [8 << 20, 16 << 20]);
    fast.write(4096, &[1; 4096]).unwrap();
    slow.write(4096, &[2; 4096]).unwrap();
    assert_eq!((fast.read(4096, 4096).unwrap(), slow.read(4096, 4096).unwrap()), (vec![1; 4096], vec![2; 4096]));
    pair.operate("slow", "slow", &["3"]);
    pair.operate("fail", "fast", &["--writes"]);
    assert_eq!(fast.write(0, &[3; 512]), Err(Failed::Answered(5)));
    slow.write(0, &[3; 512]).unwrap();
    let [of_fast, of_slow] = ["fast", "slow"].map(|name| pair.status(name));
    assert_eq!(
        (&of_fast["export"], &of_fast["failing"], &of_fast["slow"]),
        (&"fast".into(), &"writes".into(), &1.0.into())
    );
    assert_eq!(
        (&of_slow["export"], &of_slow["failing"], &of_slow["slow"]),
        (&"slow".into(), &"none".into(), &3.0.into())
    );
    let times = |status: &Value| status["response_times"]["writes"]["max_us"].as_f64().unwrap();
    assert!(times(&of_fast) < 2000.0 && times(&of_slow) >= 6000.0, "{of_fast} {of_slow}");
    let late = |status: &Value| status["punctuality"]["lateness"]["count"].clone();
    assert_eq!([late(&of_fast), late(&of_slow)], [3, 3].map(Value::from));
    let shown = esker_ok(folder.path(), &["emulate", "status", "slow.control"]).stdout;
    assert!(shown.starts_with("slow: 16 MiB, power on, slowed by 3;"), "{shown}");
    let mut figures = std::os::unix::net::UnixStream::connect(folder.path().join("figures")).unwrap();
    figures.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut text = String::new();
    figures.read_to_string(&mut text).unwrap();
    for line in [
        "esker_requests_failed_total{export=\"fast\"} 1",
        "esker_requests_failed_total{export=\"slow\"} 0",
        "esker_power{export=\"slow\"} 1",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in: {text}");
    }
    drop((fast, slow));
    let said = pair.stop();
    assert!(
        said.contains("fast: 1 reads (4 KiB), 2 writes") && said.contains("slow: 1 reads (4 KiB), 2 writes"),
        "{said}"
    );
    assert_eq!(said.matches("answers were late by").count(), 2, "{said}");
    let sockets = ["fast.nbd", "fast.control", "slow.control"].map(|name| folder.path().join(name).exists());
    assert_eq!(sockets, [false; 3], "all sockets are removed");
}

#[test]
fn a_power_cut_of_one_device_leaves_the_clients_of_the_other() {
    let folder = folder();
    let pair = Pair::start(folder.path(), &["fast.toml", "slow.toml", "--write-cache", "volatile"]);
    let [mut fast, mut slow] = pair.clients();
    slow.write(0, &[7; 4096]).unwrap();
    pair.operate("power-cut", "fast", &[]);
    assert_eq!(fast.read(0, 512).unwrap_err(), Failed::Gone);
    assert_eq!(slow.read(0, 4096).unwrap(), [7; 4096]);
    let power =
        ["fast", "slow"].map(|name| (pair.status(name)["has_power"].clone(), pair.status(name)["power_cuts"].clone()));
    assert_eq!(power, [(false.into(), 1.into()), (true.into(), 0.into())]);
    // The other one still has what was not flushed: nothing of it was lost.
    assert_eq!(pair.status("slow")["volatile_bytes"], 4096);
    pair.operate("power-on", "fast", &[]);
    assert_eq!(pair.clients()[0].read(0, 512).unwrap(), [0; 512]);
    pair.stop();
}

#[test]
fn a_recording_and_a_command_have_each_device() {
    let folder = folder();
    let folder = folder.path();
    // One file describes two drives.
    let options = ["emulate", "one=fast.toml", "two=fast.toml", "--record", "both.esker", "-q", "--run"];
    let load = |name: &str, requests: u32| {
        let program = env!("CARGO_BIN_EXE_esker");
        let uri = format!("\"nbd+unix:///{name}?socket=$PWD/one.nbd\"");
        format!(
            "'{program}' -q volume replay {uri} --overwrite --set 'synthetic={{requests={requests},read_fraction=0.5}}'"
        )
    };
    let script = format!("set -e; echo $uris; {} >/dev/null; {} >/dev/null", load("one", 10), load("two", 25));
    let run = esker_ok(folder, &[&options[..], &[&script]].concat());
    let uri = |name: &str| format!("nbd+unix:///{name}?socket={}", folder.join("one.nbd").display());
    assert_eq!(run.stdout, format!("{} {}\n", uri("one"), uri("two")));
    for (name, requests) in [("one", 10), ("two", 25)] {
        let output = format!("{name}.esker");
        esker_ok(folder, &["trace", "filter", "both.esker", "--volume", name, "-o", &output]);
        let info = esker_ok(folder, &["trace", "info", &output, "--json"]).stdout;
        let info: Value = serde_json::from_str(&info).unwrap();
        // A load ends with a flush.
        assert!((requests..requests + 3).contains(&info["requests"].as_u64().unwrap()), "{info}");
    }
}

#[test]
fn what_cannot_be_emulated_together_is_refused_with_what_to_do() {
    let folder = folder();
    let text = "[device.one]\nkind = \"constant\"\nservice_time = \"1ms\"\ncapacity = \"1MiB\"\n";
    fs::write(folder.path().join("all.toml"), text).unwrap();
    for (arguments, says, hint) in [
        (
            &["fast.toml", "./fast.toml"][..],
            "clients would call both fast.toml and ./fast.toml `fast`",
            "NAME=./fast.toml",
        ),
        (
            &["all.toml", "fast.toml", "--device", "one"],
            "--device chooses devices of one file, and 2 are named",
            "target",
        ),
        (
            &["x=all.toml", "--device", "one", "--device", "two"],
            "2 devices of all.toml cannot all be called `x`",
            "leave",
        ),
        (&["fast.toml", "slow.toml", "--data", "a.img"], "--data is there 1 times, and 2 devices", "in their order"),
        (
            &["fast.toml", "--control", "a", "--control", "b"],
            "--control is there 2 times, and 1 devices",
            "in their order",
        ),
        (
            &["fast.toml", "slow.toml", "--record", "day.wiscsee"],
            "has one volume, and 2 are served",
            "--record-as esker",
        ),
        (&["fast.toml", "=slow.toml"], "it has no name or no path", "such as fast.toml"),
    ] {
        let error = esker_refuses(folder.path(), &[&["emulate", "--run", "true"], arguments].concat());
        assert!(error.contains(says) && error.contains(hint), "{error}");
    }
    assert!(!folder.path().join("a.img").exists() && !folder.path().join("day.wiscsee").exists());
    let named = ["emulate", "x=all.toml", "--device", "one", "--run", "echo $uri", "-q"];
    assert!(esker_ok(folder.path(), &named).stdout.starts_with("nbd+unix:///x?socket="));
    let two = ["emulate", "fast.toml", "slow.toml", "--data", "memory", "--data", "slow.img", "--run", "true"];
    assert!(esker_ok(folder.path(), &two).stderr.contains("of 16 MiB in slow.img"));
    assert_eq!(fs::metadata(folder.path().join("slow.img")).unwrap().len(), 16 << 20);
}

#[test]
fn a_volume_reads_and_writes_an_emulated_device_over_tls_and_no_client_does_in_plain_text() {
    let folder = folder();
    let folder = folder.path();
    write_certificates(folder);
    let server = Pair::start(folder, &["fast.toml", "--listen", "127.0.0.1:0", "--tls-certificates", "pki"]);
    assert!(server.announced.contains("with TLS to clients that have a certificate"), "{}", server.announced);
    let address = server.announced.rsplit("clients connect at ").next().unwrap().trim();
    let device = |certificates: &str| {
        format!("far=nbds://{address}/fast?tls-certificates={folder}/{certificates}", folder = folder.display())
    };
    let create = |device: &str| esker_in(folder, &["volume", "create", "far.volume", "--device", device]);
    let plain = create(&format!("far=nbd://{address}/fast"));
    assert!(plain.code != 0 && plain.stderr.contains("TLS"), "{}", plain.stderr);
    assert!(create(&device("stranger")).code != 0);
    let created = create(&device("client"));
    assert_eq!(created.code, 0, "{}", created.stderr);
    let bytes: Vec<u8> = (0..2_000_000u32).map(|index| (index * 7 + index / 251) as u8).collect();
    fs::write(folder.join("in.img"), &bytes).unwrap();
    esker_ok(folder, &["volume", "copy", "far.volume", "--from", "in.img"]);
    esker_ok(folder, &["volume", "copy", "far.volume", "--to", "out.img"]);
    assert!(fs::read(folder.join("out.img")).unwrap()[..bytes.len()] == bytes);
    // A client that asks for the export in plain text is told nothing of it, and is left.
    let mut stream = TcpStream::connect(address).unwrap();
    stream.read_exact(&mut [0; 18]).unwrap();
    stream
        .write_all(&[&3u32.to_be_bytes()[..], b"IHAVEOPT", &1u32.to_be_bytes(), &4u32.to_be_bytes(), b"fast"].concat())
        .unwrap();
    assert!(stream.read_exact(&mut [0; 10]).is_err());
    let status = server.status("fast");
    assert!(status["requests"]["writes"].as_u64().unwrap() > 0, "{status}");
    server.stop();
}
