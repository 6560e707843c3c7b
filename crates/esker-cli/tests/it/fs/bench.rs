//! `esker fs bench`: its JSON, and the peers.

use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::mounts::may_mount;
use crate::support::{command, esker_ok, esker_refuses};

const SMALL: [&str; 16] = [
    "--record",
    "4KiB,64KiB",
    "--file",
    "256KiB",
    "--threads",
    "1,2",
    "--files",
    "20",
    "--transactions",
    "60",
    "--runs",
    "2",
    "--pool",
    "32MiB",
    "--mode",
    "none",
];

#[test]
fn the_json_has_each_place_each_pattern_and_each_size_and_keeps_its_schema() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| esker_ok(folder.path(), &[&["fs", "bench"], arguments, &SMALL].concat()).stdout;
    let found: Value = serde_json::from_str(&run(&[".", "--library", ".", "--json"])).unwrap();
    let schema: Value = serde_json::from_str(&esker_ok(folder.path(), &["schema", "fs-bench"]).stdout).unwrap();
    assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&found), "{found}");
    let transfers = found["transfers"].as_array().unwrap();
    // Two places, two orders, two records, one and two threads.
    assert_eq!((transfers.len(), found["postmarks"].as_array().unwrap().len()), (16, 4));
    let rates = ["first_write_bytes_per_s", "write_bytes_per_s", "read_bytes_per_s"];
    for transfer in transfers {
        for rate in rates.map(|name| &transfer[name]) {
            let [least, median, most] = ["least", "median", "most"].map(|name| rate[name].as_f64().unwrap());
            assert!(0.0 < least && least <= median && median <= most, "{transfer}");
        }
    }
    // The command that it says gives the same list.
    let again = found["command"].as_str().unwrap().strip_prefix("esker ").unwrap().to_string() + " --json";
    let again: Value =
        serde_json::from_str(&esker_ok(folder.path(), &again.split(' ').collect::<Vec<_>>()).stdout).unwrap();
    assert_eq!((&again["places"], &again["command"]), (&found["places"], &found["command"]));
    let text = run(&["."]);
    assert!(text.contains("first write, 4KiB, 1 thread") && text.contains("write random, 64KiB, 2 threads"), "{text}");
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "nothing is left");
}

#[test]
fn every_peer_is_listed_measured_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = [&["fs", "bench", "--peers", "--json"][..], &SMALL].concat();
    let found: Value = serde_json::from_str(&esker_ok(folder.path(), &arguments).stdout).unwrap();
    let places = found["places"].as_array().unwrap();
    let names: Vec<&str> = places.iter().map(|place| place["name"].as_str().unwrap()).collect();
    let expected = [
        "SCMFS, 2 MiB pages",
        "SCMFS, 4 KiB pages",
        "SCMFS by FUSE",
        "tmpfs",
        "tmpfs, huge pages",
        "ramfs",
        "ext2",
        "ext4",
        "ext4 with fsync",
    ];
    assert_eq!(names, expected);
    for place in places {
        let measured = found["postmarks"].as_array().unwrap().iter().any(|rates| rates["place"] == place["name"]);
        assert_eq!(measured, place["unreachable"].is_null(), "{place}");
    }
}

/// Mounts and loop devices go with the namespace of a thread; what is to be seen from outside is the folder.
#[test]
fn a_signal_takes_the_peers_away() {
    if !may_mount() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let peers = || std::fs::read_dir(folder.path()).unwrap().next().map(|entry| entry.unwrap().path());
    for mounted in ["tmpfs", "ext2", "ext4"] {
        let arguments = ["fs", "bench", "--peers", "--work", "postmark", "--pool", "256MiB"];
        let mut child = command(folder.path(), &arguments).env("TMPDIR", folder.path()).spawn().unwrap();
        while !peers().is_some_and(|peers| peers.join(mounted).exists()) {
            assert!(child.try_wait().unwrap().is_none(), "it ends before {mounted} is there");
            std::thread::sleep(Duration::from_millis(1));
        }
        kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert_eq!(peers(), None, "signalled when there was {mounted}");
    }
}

#[test]
fn a_folder_that_does_not_work_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let error = esker_refuses(folder.path(), &["fs", "bench", "no/such/folder"]);
    assert!(error.contains("no/such/folder") && error.contains("hint:"), "{error}");
    let error = esker_refuses(folder.path(), &["fs", "bench"]);
    assert!(error.contains("--peers"), "{error}");
    for option in ["--record", "--file", "--pool"] {
        let error = esker_refuses(folder.path(), &["fs", "bench", ".", option, "0"]);
        assert!(error.contains(option) && error.contains("at least 1B"), "{error}");
    }
    let error = esker_refuses(folder.path(), &["fs", "bench", ".", "--threads", "0"]);
    assert!(error.contains("leave --threads out for one"), "{error}");
}

#[test]
fn a_signal_ends_a_bench_that_waits_for_the_reader_of_its_results() {
    let folder = tempfile::tempdir().unwrap();
    assert!(std::process::Command::new("mkfifo").arg(folder.path().join("fifo")).status().unwrap().success());
    let arguments = ["fs", "bench", ".", "--work", "transfer", "--record", "4KiB", "--file", "64KiB", "--runs", "1"];
    let arguments = [&arguments[..], &["--json=fifo"]].concat();
    let mut child = command(folder.path(), &arguments).spawn().unwrap();
    // By then it waits; if it does not, it ends by the signal all the same.
    std::thread::sleep(Duration::from_millis(500));
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).unwrap();
    let mut status = None;
    for _ in 0..12_000 {
        status = child.try_wait().unwrap();
        if status.is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    if status.is_none() {
        child.kill().unwrap();
    }
    assert_eq!(status.and_then(|status| status.code()), Some(143));
}
