//! fio writes and verifies, while devices join and leave, and settings change.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;

use super::clients::{are_installed, log};
use super::emulated::Emulation;
use super::{Server, file_of, home};
use crate::support::{esker_in, esker_ok};

/// Writes and reads at random, 32 requests at a time, with flushes; reads verify what was written last.
pub(super) fn fio(server: &Server, more: &[&str]) -> Child {
    let uri = format!("--uri=nbd+unix:///?socket={}", server.socket().display());
    let mut command = Command::new("fio");
    command.args(["--name=home", "--ioengine=nbd", &uri, "--rw=randrw", "--bsrange=512-64k", "--iodepth=32"]);
    command.args(["--size=16m", "--fsync=64", "--verify=crc32c", "--randseed=7", "--output-format=terse"]);
    command.args(more).current_dir(&server.folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

pub(super) fn succeeds(fio: Child) {
    let output = fio.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.is_empty(), "{}: {said}{shown}", output.status);
}

fn volume(folder: &Path, arguments: &[&str]) {
    esker_ok(folder, &[&["volume", arguments[0], "home.volume", "-q"], &arguments[1..]].concat());
}

#[test]
fn fio_verifies_what_it_wrote() {
    if !are_installed(&["fio"]) {
        return;
    }
    let home = home();
    let server = Server::start(home.path(), &[]);
    succeeds(fio(&server, &[]));
    server.stop();
    volume(home.path(), &["check"]);
}

#[test]
fn fio_verifies_what_it_wrote_while_devices_join_and_leave() {
    if !are_installed(&["fio"]) {
        return;
    }
    let home = home();
    let folder = home.path();
    let server = Server::start(folder, &[]);
    let has_moved = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let moving = scope.spawn(|| {
            volume(folder, &["add-device", "--device", "more=more.img,32MiB"]);
            volume(folder, &["drain", "flash"]);
            volume(folder, &["remove-device", "flash"]);
            volume(folder, &["set", "--policy", "wardrop"]);
            volume(folder, &["add-device", "--device", "other=other.img,24MiB"]);
            volume(folder, &["set", "--pause", "--policy", "migration"]);
            volume(folder, &["set", "--resume", "--moved-bytes-per-day", "1GiB"]);
            volume(folder, &["drain", "more"]);
            volume(folder, &["drain", "more", "--undo"]);
            volume(folder, &["set", "--policy", "throughput", "--moved-bytes-per-day", "none"]);
            volume(folder, &["grow"]);
            has_moved.store(true, Ordering::SeqCst);
        });
        let mut rounds = 0;
        while !has_moved.load(Ordering::SeqCst) && !moving.is_finished() {
            rounds += 1;
            succeeds(fio(&server, &[]));
        }
        log(&format!("fio verified {rounds} times while devices moved"));
    });
    assert!(!file_of(folder).contains("flash") && file_of(folder).contains("other"), "{}", file_of(folder));
    succeeds(fio(&server, &["--verify_only"]));
    server.stop();
    volume(folder, &["check"]);
}

fn status(folder: &Path) -> Value {
    let shown = esker_ok(folder, &["volume", "status", "home.volume", "--json"]).stdout;
    serde_json::from_str(&shown).unwrap()
}

/// Bytes that a volume with work to do has moved in the background.
fn moved_bytes(folder: &Path) -> u64 {
    status(folder)["background"]["moved_bytes"].as_u64().unwrap()
}

#[test]
fn a_drain_holds_up_neither_the_end_of_a_server_nor_a_repair_and_goes_on() {
    let home = home();
    let folder = home.path();
    // All that is drained has to go to a slow device.
    let far = "kind = \"constant\"\nservice_time = \"50ms\"\ncapacity = \"32MiB\"\n";
    fs::write(folder.join("far.toml"), far).unwrap();
    let _far = Emulation::of(folder, "far", &[]);
    let mut server = Server::start(folder, &[]);
    let mut client = server.client();
    for number in 0..20 {
        client.write(number << 20, &[number as u8 + 1; 1 << 20]).unwrap();
    }
    drop(client);
    let far = format!("far=nbd+unix:///?socket={}", folder.join("far.nbd").display());
    volume(folder, &["add-device", "--device", &far, "--no-map"]);
    let mut operates = UnixStream::connect(folder.join("home.volume.control")).unwrap();
    operates.write_all(b"{\"command\":\"drain\",\"device\":\"disk\"}\n").unwrap();
    let mut answer = String::new();
    BufReader::new(operates).read_line(&mut answer).unwrap();
    assert!(answer.starts_with("{\"ok\":"), "{answer}");
    while status(folder)["background"]["copies"] == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    server.signal(Signal::SIGTERM);
    let (code, said) = server.ended();
    assert!(code == Some(0) && !said.contains("not everything"), "{said}");

    let mut flash = fs::read(folder.join("flash.img")).unwrap();
    flash[..16 << 10].fill(0);
    fs::write(folder.join("flash.img"), flash).unwrap();
    let repaired = esker_ok(folder, &["volume", "check", "home.volume", "--repair"]).stdout;
    assert!(repaired.contains("it was repaired"), "{repaired}");
    let server = Server::start(folder, &[]);
    let status = status(folder);
    let disk = status["devices"].as_array().unwrap().iter().find(|device| device["name"] == "disk").unwrap();
    assert_eq!(disk["drain"]["state"], "moving", "{status}");
    server.stop();
}

#[test]
fn what_is_paused_moves_nothing_also_after_a_restart() {
    if !are_installed(&["fio"]) {
        return;
    }
    let home = home();
    let folder = home.path();
    let mut server = Server::start(folder, &[]);
    // A drain is always work to do.
    volume(folder, &["add-device", "--device", "more=more.img,32MiB"]);
    succeeds(fio(&server, &[]));
    volume(folder, &["set", "--pause"]);
    let refused = esker_in(folder, &["volume", "drain", "home.volume", "flash", "-q"]);
    assert!(refused.code == 1 && refused.stderr.contains("background work is paused"), "{}", refused.stderr);
    for _ in 0..2 {
        std::thread::sleep(Duration::from_secs(1));
        let before = moved_bytes(folder);
        succeeds(fio(&server, &[]));
        assert_eq!(moved_bytes(folder), before);
        server.stop();
        server = Server::start(folder, &[]);
    }
    volume(folder, &["set", "--resume"]);
    volume(folder, &["drain", "flash"]);
    assert!(moved_bytes(folder) > 0);
    succeeds(fio(&server, &["--verify_only"]));
    server.stop();
    volume(folder, &["check"]);
}
