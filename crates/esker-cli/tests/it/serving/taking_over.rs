//! Servers that take over from each other while clients work.

use std::fs;
use std::io::{BufRead, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use esker_core::Rng;
use nix::sys::signal::Signal;

use super::clients::{are_installed, log};
use super::emulated::Emulation;
use super::ends::far;
use super::moving::{fio, succeeds};
use super::{Server, another, home};
use crate::support::{esker_in, esker_ok, esker_refuses};

/// How often a server is taken over from: 5 times, or as `ESKER_TAKE_OVERS` says.
fn take_overs() -> u64 {
    std::env::var("ESKER_TAKE_OVERS").map_or(5, |text| text.parse().expect("a number"))
}

impl Server {
    /// Has a new process take over. Returns it once it serves and this one has ended.
    pub(super) fn taken_over(&mut self, options: &[&str]) -> Self {
        let next = Self::start(&self.folder, &[&["--take-over"], options].concat());
        let (code, said) = self.ended();
        assert_eq!(code, Some(0), "the process that has handed over: {said}");
        next
    }
}

/// Whichever of the two is killed, or is of another version, the other one has told it.
#[test]
fn systemd_hears_of_both_servers_which_is_the_service_now() {
    let home = home();
    let told = home.path().join("told");
    let socket = UnixDatagram::bind(&told).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let hear = || {
        let mut said = [0; 256];
        let length = socket.recv(&mut said).unwrap();
        String::from_utf8_lossy(&said[..length]).trim_end().to_string()
    };
    let variables = [("NOTIFY_SOCKET", &*told)];
    let mut server = Server::start_with(home.path(), &[], &variables);
    assert_eq!(hear(), "READY=1");
    let next = Server::start_with(home.path(), &["--take-over"], &variables);
    assert_eq!(server.ended().0, Some(0));
    let mut heard = [hear(), hear(), hear()];
    heard.sort();
    let is_service = format!("MAINPID={}", next.child.id());
    assert_eq!(heard, [&*is_service, &*is_service, "READY=1"]);
    next.stop();
}

/// Otherwise the new process could not open the device, and neither could the old one again.
#[test]
fn nobody_takes_over_a_volume_whose_device_has_failed() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    let disk = "kind = \"constant\"\nservice_time = \"10us\"\ncapacity = \"16MiB\"\n";
    fs::write(folder.join("disk.toml"), disk).unwrap();
    let disk = Emulation::of(folder, "disk", &[]);
    let far = format!("far=nbd+unix:///?socket={}", folder.join("disk.nbd").display());
    let create =
        ["volume", "create", "home.volume", "--kind", "cluster", "--set", "replicas=2", "--set", "object=64KiB"];
    let settings = ["--set", "objects_per_slice=4", "--device", &far, "--device", "b=b.img,16MiB", "--device"];
    esker_ok(folder, &[&create[..], &settings, &["c=c.img,16MiB"]].concat());
    let server = Server::start(folder, &[]);
    let mut client = server.client();
    disk.operate("fail", &["--writes"]);
    for number in 0..8 {
        client.write(number << 18, &[number as u8 + 1; BLOCK]).unwrap();
    }
    client.flush().unwrap();
    let refused = esker_in(folder, &["volume", "serve", "home.volume", "--take-over"]);
    assert!(refused.code == 2 && refused.stderr.contains("far of home has failed"), "{}", refused.stderr);
    for number in 0..8 {
        assert_eq!(client.read(number << 18, BLOCK).unwrap(), [number as u8 + 1; BLOCK], "{number}");
    }
    server.stop();
}

const BLOCK: usize = 4096;
const BLOCKS: u64 = 256;

#[test]
fn a_client_notices_nothing_when_servers_take_over() {
    let home = home();
    let mut server = Server::start(home.path(), &[]);
    let mut client = server.client();
    let is_over = AtomicBool::new(false);
    let (servers, client, is_over) = (&mut server, &mut client, &is_over);
    let requests = std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let (mut rng, mut found, mut requests) = (Rng::new(3), vec![0u8; BLOCKS as usize], 0u64);
            while !is_over.load(Ordering::SeqCst) {
                requests += 1;
                let block = rng.below(BLOCKS);
                let place = block * 3 * BLOCK as u64;
                match rng.below(8) {
                    0..4 => {
                        let byte = rng.below(255) as u8 + 1;
                        client.write(place, &[byte; BLOCK]).unwrap();
                        found[block as usize] = byte;
                    }
                    4 => client.flush().unwrap(),
                    _ => assert!(client.read(place, BLOCK).unwrap() == [found[block as usize]; BLOCK], "{block}"),
                }
            }
            requests
        });
        for number in 0..take_overs() {
            let options = if number.is_multiple_of(2) { ["--io", "threads"] } else { ["--io", "best"] };
            *servers = servers.taken_over(&options);
            assert!(!worker.is_finished(), "the client has failed");
            std::thread::sleep(Duration::from_millis(10));
        }
        is_over.store(true, Ordering::SeqCst);
        worker.join().unwrap()
    });
    let status = esker_ok(home.path(), &["volume", "status", "home.volume", "--json"]).stdout;
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    let counted = ["reads", "writes", "flushes"].map(|kind| status["requests"][kind].as_u64().unwrap());
    // Each hand-over makes durable what was written.
    let all = requests + take_overs();
    assert_eq!((counted.iter().sum::<u64>(), &status["requests"]["failed"]), (all, &0.into()));
    log(&format!("{} servers took over, under {requests} requests", take_overs()));
    server.stop();
    let checked = esker_ok(home.path(), &["volume", "check", "home.volume"]).stdout;
    assert!(checked.contains("everything is there and whole"), "{checked}");
}

#[test]
fn fio_verifies_what_it_wrote_while_servers_take_over() {
    if !are_installed(&["fio"]) {
        return;
    }
    let home = home();
    let mut server = Server::start(home.path(), &[]);
    let (mut done, mut under_fio) = (0, 0);
    while done < take_overs() {
        let mut running = fio(&server, &[]);
        while done < take_overs() && running.try_wait().unwrap().is_none() {
            server = server.taken_over(&[]);
            done += 1;
            under_fio += u64::from(running.try_wait().unwrap().is_none());
            std::thread::sleep(Duration::from_millis(20));
        }
        succeeds(running);
    }
    log(&format!("{done} servers took over, {under_fio} of them while fio was at work"));
    succeeds(fio(&server, &["--verify_only"]));
    server.stop();
    esker_ok(home.path(), &["volume", "check", "home.volume", "-q"]);
}

#[test]
fn sockets_stay_where_they_are_and_the_last_server_removes_them() {
    let home = home();
    let mut server = Server::start(home.path(), &["--listen", "unix:one.sock", "--listen", "127.0.0.1:0"]);
    let inode = fs::metadata(home.path().join("one.sock")).unwrap().ino();
    let options = ["--listen", "unix:one.sock", "--listen", "127.0.0.1:0", "--listen", "unix:two.sock"];
    let mut server = server.taken_over(&options);
    assert_eq!(fs::metadata(home.path().join("one.sock")).unwrap().ino(), inode);
    for name in ["one.sock", "two.sock"] {
        drop(super::client::Client::connect(&home.path().join(name)));
    }
    server.signal(Signal::SIGTERM);
    let (code, said) = server.ended();
    assert_eq!(code, Some(0), "{said}");
    for name in ["one.sock", "two.sock", "home.volume.control"] {
        assert!(!home.path().join(name).exists(), "{name}");
    }
}

#[test]
fn a_server_serves_on_when_nobody_can_take_over() {
    let home = home();
    let folder = home.path();
    another(folder);
    let refused = esker_refuses(folder, &["volume", "serve", "home.volume", "--take-over"]);
    assert!(refused.contains("nobody serves home.volume") && refused.contains("leave --take-over out"), "{refused}");
    let mut server = Server::start(folder, &[]);
    let mut client = server.client();
    client.write(0, &[7; 4096]).unwrap();
    // The client knows the export by another name; and an address that cannot be had.
    let _taken = std::os::unix::net::UnixListener::bind(folder.join("taken")).unwrap();
    for (options, says) in [
        (&["db.volume"][..], "it would serve home, db, and the server that serves has home"),
        (&["--read-only"], "is not what the client was told"),
        (&["--listen", "unix:taken"], "another program listens there"),
    ] {
        let run = esker_in(folder, &[&["volume", "serve", "home.volume", "--take-over"], options].concat());
        assert!(run.code != 0 && run.stderr.contains(says), "{options:?}: {}", run.stderr);
        assert_eq!(client.read(0, 4096).unwrap(), [7; 4096], "{options:?}");
    }
    client.write(4096, &[8; 4096]).unwrap();
    // One that is killed once it has everything.
    fs::rename(folder.join("disk.img"), folder.join("away")).unwrap();
    std::os::unix::fs::symlink("away", folder.join("disk.img")).unwrap();
    drop(half_successor(folder));
    assert_eq!(client.read(4096, 4096).unwrap(), [8; 4096]);
    // The sockets are there, and another server takes over in the end.
    server = server.taken_over(&[]);
    assert_eq!(client.read(0, 4096).unwrap(), [7; 4096]);
    drop(client);
    server.stop();
}

/// A process that asks to take over, is handed everything, and does nothing with it.
fn half_successor(folder: &Path) -> UnixStream {
    let mut half = UnixStream::connect(folder.join("home.volume.control")).unwrap();
    half.write_all(b"{\"command\":\"take-over\",\"layout\":1,\"exports\":[\"home\"]}\n").unwrap();
    half.read_exact(&mut [0; 1]).unwrap();
    half
}

#[test]
fn a_server_waits_for_a_device_that_is_away_when_nobody_takes_over() {
    let home = home();
    let folder = home.path();
    let mut server = Server::start(folder, &[]);
    let mut client = server.client();
    client.write(0, &[7; 4096]).unwrap();
    // A volume without it would only be read.
    let half = half_successor(folder);
    fs::rename(folder.join("disk.img"), folder.join("away")).unwrap();
    drop(half);
    let mut said = String::new();
    while !said.contains("clients wait, as the volume cannot be opened again yet: home could only be read: missing") {
        assert!(server.said.read_line(&mut said).unwrap() > 0, "it has ended: {said}");
    }
    fs::rename(folder.join("away"), folder.join("disk.img")).unwrap();
    assert_eq!(client.read(0, 4096).unwrap(), [7; 4096]);
    client.write(4096, &[8; 4096]).unwrap();
    drop(client);
    assert_eq!(server.client().read(4096, 4096).unwrap(), [8; 4096]);
    server.stop();
}

#[test]
fn a_server_opens_exports_again_only_once_the_process_that_was_to_take_over_has_gone() {
    let (home, far) = far();
    let mut server = Server::start(home.path(), &[]);
    let mut client = server.client();
    client.write(0, &[7; BLOCK]).unwrap();
    let mut half = half_successor(home.path());
    // This confirms nothing, so the server no longer waits for it. It is still there.
    half.write_all(b"x").unwrap();
    let mut said = String::new();
    while !said.contains("this one serves on") {
        assert!(server.said.read_line(&mut said).unwrap() > 0, "it has ended: {said}");
    }
    for _ in 0..20 {
        assert_eq!(far.status()["connections"], serde_json::json!([]));
    }
    drop(half);
    assert_eq!(client.read(0, BLOCK).unwrap(), [7; BLOCK]);
    drop(client);
    server.signal(Signal::SIGTERM);
    let (code, said) = server.ended();
    assert!(code == Some(0) && said.contains("home: the process that was to take over still runs"), "{said}");
}

#[test]
fn a_server_that_runs_a_command_is_not_taken_over_from() {
    let home = home();
    let script = "\"$esker\" volume serve home.volume --take-over 2>&1; echo $?";
    let script = script.replace("$esker", env!("CARGO_BIN_EXE_esker"));
    let run = esker_in(home.path(), &["volume", "serve", "home.volume", "-q", "--run", &script]);
    assert!(run.stdout.contains("this server cannot be taken over") && run.stdout.ends_with("2\n"), "{}", run.stdout);
}

#[test]
fn qemu_goes_on_when_a_server_is_killed_and_comes_back() {
    if !are_installed(&["qemu-img"]) {
        return;
    }
    let home = home();
    let mut server = Server::start(home.path(), &[]);
    let socket = server.socket();
    let options =
        format!("driver=nbd,server.type=unix,server.path={},export=home,reconnect-delay=60", socket.display());
    // As many as take this while.
    let mut command = std::process::Command::new("qemu-img");
    command.args(["bench", "--image-opts", "-w", "--pattern=90", "-c", "20000", "-d", "8", "-s", "4k", "-S", "8k"]);
    command.args(["--flush-interval=64", "-t", "none", &options]);
    let mut bench = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    // QEMU connects again only once it was connected.
    let is_connected = || {
        let status = esker_ok(home.path(), &["volume", "status", "home.volume", "--json"]).stdout;
        status.contains("\"export\": \"home\"")
    };
    while !is_connected() && bench.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut kills = 0;
    while kills < 4 * take_overs() && bench.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(30));
        server.signal(Signal::SIGKILL);
        server.ended();
        server = Server::start(home.path(), &[]);
        kills += 1;
    }
    let output = bench.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "after {kills} kills: {said}");
    log(&format!("qemu-img went on after {kills} kills"));
    assert!(kills > 0);
    server.stop();
    esker_ok(home.path(), &["volume", "check", "home.volume", "-q"]);
}
