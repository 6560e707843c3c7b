//! Several volumes that one server serves.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use esker_core::Rng;
use nix::sys::signal::Signal;
use serde_json::Value;

use super::client::Client;
use super::clients::{are_installed, log};
use super::emulated::Emulation;
use super::{Server, another, home};
use crate::support::{esker_in, esker_ok, esker_refuses};

fn status(folder: &Path, volume: &str) -> Value {
    serde_json::from_str(&esker_ok(folder, &["volume", "status", volume, "--json"]).stdout).unwrap()
}

const BLOCK: usize = 4096;
const BLOCKS: u64 = 128;

/// The bytes of a block: whose export it is, and the number of the write.
fn stamped(name: &str, write: u64) -> Vec<u8> {
    format!("{name} {write:011};").bytes().cycle().take(BLOCK).collect()
}

/// Writes and reads until `is_over`, then reads everything. Returns the number of requests.
fn use_export(mut client: Client, name: &str, is_over: &AtomicBool) -> u64 {
    let (mut rng, mut written, mut requests) = (Rng::new(7), [0u64; BLOCKS as usize], 0);
    let expected = |write: u64| if write == 0 { vec![0; BLOCK] } else { stamped(name, write) };
    while !is_over.load(Ordering::SeqCst) {
        requests += 1;
        let block = rng.below(BLOCKS);
        let place = block * 3 * BLOCK as u64;
        if rng.chance(1, 2) {
            written[block as usize] = requests;
            client.write(place, &stamped(name, requests)).unwrap();
        } else {
            let found = client.read(place, BLOCK).unwrap();
            assert!(found == expected(written[block as usize]), "{name}: block {block}");
        }
    }
    for (block, write) in (0..BLOCKS).zip(written) {
        assert!(client.read(block * 3 * BLOCK as u64, BLOCK).unwrap() == expected(write), "{name}: block {block}");
    }
    requests + BLOCKS
}

#[test]
fn two_volumes_are_served_and_taken_over_under_load() {
    let home = home();
    let folder = home.path();
    another(folder);
    let mut server = Server::start(folder, &["db.volume"]);
    assert!(server.announced.contains("serving home: hybrid of"), "{}", server.announced);
    assert!(server.announced.contains("serving db: hybrid of"), "{}", server.announced);
    let socket = server.socket();
    let sizes = ["", "home", "db"].map(|name| Client::connect_to(&socket, name).size);
    assert!(sizes[0] == sizes[1] && sizes[1] < sizes[2], "{sizes:?}");
    let is_over = &AtomicBool::new(false);
    let requests = std::thread::scope(|scope| {
        let workers = ["home", "db"].map(|name| {
            let client = Client::connect_to(&socket, name);
            scope.spawn(move || use_export(client, name, is_over))
        });
        for _ in 0..3 {
            // Another list is refused, and clients notice nothing.
            let run = esker_in(folder, &["volume", "serve", "db.volume", "home.volume", "--take-over"]);
            assert!(run.code != 0 && run.stderr.contains("the server that serves has home, db"), "{}", run.stderr);
            server = server.taken_over(&["db.volume"]);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        is_over.store(true, Ordering::SeqCst);
        workers.map(|worker| worker.join().unwrap())
    });
    for (volume, name, requests) in [("home.volume", "home", requests[0]), ("db.volume", "db", requests[1])] {
        let status = status(folder, volume);
        let counted = ["reads", "writes"].map(|kind| status["requests"][kind].as_u64().unwrap());
        assert_eq!((counted.iter().sum::<u64>(), &status["export"]), (requests, &name.into()), "{status}");
    }
    server.stop();
    assert!(!folder.join("db.volume.control").exists());
    for volume in ["home.volume", "db.volume"] {
        let checked = esker_ok(folder, &["volume", "check", volume]).stdout;
        assert!(checked.contains("everything is there and whole"), "{checked}");
    }
}

#[test]
fn each_volume_is_operated_by_its_own_file() {
    let home = home();
    let folder = home.path();
    another(folder);
    let server = Server::start(folder, &["data=db.volume"]);
    let before = status(folder, "home.volume");
    esker_ok(folder, &["volume", "add-device", "db.volume", "--device", "more=more.img,16MiB"]);
    esker_ok(folder, &["volume", "set", "db.volume", "--pause"]);
    esker_ok(folder, &["volume", "grow", "db.volume"]);
    let (this, other) = (status(folder, "home.volume"), status(folder, "db.volume"));
    assert_eq!(this, before);
    assert_eq!((&other["background"]["paused"], &other["export"]), (&true.into(), &"data".into()));
    assert_eq!(Client::connect_to(&server.socket(), "data").size, other["capacity_bytes"].as_u64().unwrap());
    assert!(fs::read_to_string(folder.join("db.volume")).unwrap().contains("more = \"more.img\""));
    assert!(!fs::read_to_string(folder.join("home.volume")).unwrap().contains("more"));
    server.stop();
}

#[test]
fn one_volume_fails_and_the_other_serves() {
    let home = home();
    let folder = home.path();
    fs::write(folder.join("bad.toml"), "kind = \"constant\"\nservice_time = \"100us\"\ncapacity = \"16MiB\"\n")
        .unwrap();
    let device = Emulation::of(folder, "bad", &[]);
    let place = format!("bad=nbd+unix:///bad?socket={}/bad.nbd", folder.display());
    esker_ok(folder, &["volume", "create", "db.volume", "--device", &place, "--set", "extent=64KiB"]);
    let mut server = Server::start(folder, &["db.volume"]);
    let [mut good, mut bad] = ["home", "db"].map(|name| Client::connect_to(&server.socket(), name));
    bad.write(0, &[1; BLOCK]).unwrap();
    device.operate("fail", &[]);
    let failed = (0..32u64).filter(|number| bad.write(number << 16, &[2; BLOCK]).is_err()).count();
    assert!(failed > 0, "the device fails");
    for number in 0..200u64 {
        good.write(number * BLOCK as u64, &stamped("home", number)).unwrap();
    }
    good.flush().unwrap();
    assert_eq!(good.read(199 * BLOCK as u64, BLOCK).unwrap(), stamped("home", 199));
    let failed = ["home.volume", "db.volume"].map(|volume| status(folder, volume)["requests"]["failed"].clone());
    assert!(failed[0] == 0 && failed[1] != 0, "{failed:?}");
    drop((good, bad));
    server.signal(Signal::SIGTERM);
    let mut said = String::new();
    server.said.read_to_string(&mut said).unwrap();
    assert!(said.contains("db: device bad is "), "{said}");
    assert!(!said.contains("home: "), "{said}");
    server.ended();
    // What was written to the other one is there.
    let server = Server::start(folder, &[]);
    assert_eq!(server.client().read(0, BLOCK).unwrap(), stamped("home", 0));
    server.stop();
}

#[test]
fn what_cannot_be_served_together_is_refused_with_what_to_do() {
    let home = home();
    let folder = home.path();
    another(folder);
    fs::create_dir(folder.join("old")).unwrap();
    fs::copy(folder.join("db.volume"), folder.join("old/home.volume")).unwrap();
    fs::copy(folder.join("home.volume"), folder.join("copy.volume")).unwrap();
    for (volumes, says, hint) in [
        (
            &["home.volume", "old/home.volume"][..],
            "clients would call both home.volume and old/home.volume `home`",
            "NAME=old/home.volume",
        ),
        (&["home.volume", "again=home.volume"], "have one device: disk is disk.img", "name each volume once"),
        (&["home.volume", "copy.volume"], "home.volume and copy.volume have one device", "name each volume once"),
        (
            &["home.volume", "db.volume", "--record", "day.wiscsee"],
            "a trace in the format `wiscsee` has one volume, and 2 are served",
            "--record-as esker",
        ),
    ] {
        let error = esker_refuses(folder, &[&["volume", "serve", "--run", "true"], volumes].concat());
        assert!(error.contains(says) && error.contains(hint), "{error}");
    }
    assert!(!folder.join("day.wiscsee").exists());
}

#[test]
fn a_recording_holds_each_export_as_a_volume() {
    let home = home();
    let folder = home.path();
    another(folder);
    for (options, names) in [(&[][..], ["home", "db"]), (&["--anonymise", "--force"], ["volume-1", "volume-2"])] {
        let options = [&["db.volume", "--record", "both.esker"], options].concat();
        let mut server = Server::start(folder, &options);
        let [mut one, mut two] = ["home", "db"].map(|name| Client::connect_to(&server.socket(), name));
        for number in 0..5u64 {
            one.write(number << 16, &[1; 4096]).unwrap();
            two.write(number << 16, &[2; 8192]).unwrap();
            two.read(number << 16, 4096).unwrap();
        }
        drop((one, two));
        server.signal(Signal::SIGTERM);
        let (code, said) = server.ended();
        assert_eq!(code, Some(0), "{said}");
        for (name, requests) in names.into_iter().zip([5, 10]) {
            let output = format!("{name}.esker");
            esker_ok(folder, &["trace", "filter", "both.esker", "--volume", name, "-o", &output, "--force"]);
            let info = esker_ok(folder, &["trace", "info", &output, "--json"]).stdout;
            let info: Value = serde_json::from_str(&info).unwrap();
            assert_eq!(info["requests"], requests, "{info}");
        }
    }
}

#[test]
fn a_command_finds_all_exports() {
    let home = home();
    let folder = home.path();
    another(folder);
    let serve = ["volume", "serve", "home.volume", "db.volume", "-q", "--run"];
    let run = esker_ok(folder, &[&serve[..], &["echo $uri; for each in $uris; do echo $each; done"]].concat());
    let uri = |name: &str| format!("nbd+unix:///{name}?socket={}\n", folder.join("home.volume.nbd").display());
    assert_eq!(run.stdout, [uri("home"), uri("home"), uri("db")].concat());
    if !are_installed(&["nbdinfo"]) {
        return;
    }
    let run = esker_ok(
        folder,
        &[&serve[..], &["nbdinfo --list $uri; for each in $uris; do nbdinfo --size $each; done"]].concat(),
    );
    for name in ["home", "db"] {
        assert!(run.stdout.contains(&format!("export=\"{name}\"")), "{}", run.stdout);
    }
    log("nbdinfo lists both exports");
}
