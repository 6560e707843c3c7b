//! A volume of the kind `cluster`, as a user runs it: it is made, served, killed, served again, and loses a drive.

use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;

use super::{Server, file_of};
use crate::support::{esker_in, esker_ok, esker_refuses};

const OBJECT: u64 = 64 << 10;

#[test]
fn a_cluster_is_killed_and_loses_a_drive_and_no_byte() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    let create = ["volume", "create", "home.volume", "--kind", "cluster"];
    let settings = ["--set", "object=64KiB", "--set", "objects_per_slice=4", "--set", "reserve=50%"];
    let devices = ["--device", "a=a.img,16MiB", "--device", "b=b.img,16MiB", "--device", "c=c.img,16MiB"];
    let refused = esker_refuses(folder, &[&create[..], &settings, &devices, &["--set", "replicas=4"]].concat());
    assert!(refused.contains("from 1 to 3"), "{refused}");
    esker_ok(folder, &[&create[..], &settings, &devices].concat());
    let server = Server::start(folder, &[]);
    let mut client = server.client();
    let count = client.size / OBJECT / 2;
    (0..count).for_each(|number| client.write(number * 2 * OBJECT, &[number as u8 + 1; 4096]).unwrap());
    client.flush().unwrap();
    // The process ends with what it has under way, and says nothing.
    client.write(OBJECT, &[9; 4096]).unwrap();
    server.signal(Signal::SIGKILL);
    drop((client, server));

    let server = Server::start(folder, &[]);
    let mut client = server.client();
    let check = |client: &mut super::Client| {
        for number in 0..count {
            assert_eq!(client.read(number * 2 * OBJECT, 4096).unwrap(), [number as u8 + 1; 4096], "{number}");
        }
    };
    check(&mut client);
    let status: Value =
        serde_json::from_str(&esker_ok(folder, &["volume", "status", "home.volume", "--json"]).stdout).unwrap();
    assert_eq!((&status["kind"], &status["background"]["policy"]), (&"cluster".into(), &"life".into()));
    let used: Vec<u64> =
        status["devices"].as_array().unwrap().iter().flat_map(|one| one["used_bytes"].as_u64()).collect();
    assert_eq!((used.len(), used.iter().sum::<u64>() / OBJECT), (3, count + 1), "{status:#}");
    let drained = esker_ok(folder, &["volume", "drain", "home.volume", "a", "-q"]).stdout;
    assert!(drained.starts_with("a is empty"), "{drained}");
    esker_ok(folder, &["volume", "remove-device", "home.volume", "a"]);
    assert!(!file_of(folder).contains("a.img"), "{}", file_of(folder));
    let refused = esker_in(folder, &["volume", "drain", "home.volume", "b"]);
    assert!(refused.code == 2 && refused.stderr.contains("add a device first"), "{}", refused.stderr);
    let refused = esker_in(folder, &["volume", "grow", "home.volume", "--to", "1GiB"]);
    assert!(refused.code == 2 && refused.stderr.contains("make a larger volume"), "{}", refused.stderr);
    let joined = esker_ok(folder, &["volume", "add-device", "home.volume", "--device", "d=d.img,16MiB"]).stdout;
    assert_eq!(joined, "d has joined\n", "it offers no more");
    check(&mut client);
    drop(client);
    server.stop();
    std::fs::remove_file(folder.join("a.img")).unwrap();
    let said = esker_ok(folder, &["volume", "set", "home.volume", "--pause", "--moved-bytes-per-day", "1GiB"]).stdout;
    assert_eq!(said, "policy life; background paused; moves up to 1 GiB a day\n");
    let server = Server::start(folder, &[]);
    check(&mut server.client());
    server.stop();
    let dumped = esker_ok(folder, &["volume", "dump", "home.volume", "--only", "map,journal"]).stdout;
    assert!(dumped.contains("is in slot") || dumped.contains("objects from"), "{dumped}");
    let checked = esker_ok(folder, &["volume", "check", "home.volume"]).stdout;
    assert!(checked.contains("everything is there and whole"), "{checked}");
}

#[test]
fn a_cluster_of_copies_outlives_a_kill_and_a_drive() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    let create = ["volume", "create", "home.volume", "--kind", "cluster", "--set", "replicas=2"];
    let settings = ["--set", "object=64KiB", "--set", "objects_per_slice=4", "--set", "reserve=50%"];
    let devices = ["--device", "a=a.img,16MiB", "--device", "b=b.img,16MiB", "--device", "c=c.img,16MiB"];
    esker_ok(folder, &[&create[..], &settings, &devices].concat());
    let server = Server::start(folder, &[]);
    let mut client = server.client();
    let count = client.size / OBJECT;
    (0..count).for_each(|number| client.write(number * OBJECT, &[number as u8 + 1; 4096]).unwrap());
    client.flush().unwrap();
    server.signal(Signal::SIGKILL);
    drop((client, server));
    std::fs::remove_file(folder.join("a.img")).unwrap();

    let check = |server: &Server| {
        let mut client = server.client();
        for number in 0..count {
            assert_eq!(client.read(number * OBJECT, 4096).unwrap(), [number as u8 + 1; 4096], "{number}");
        }
    };
    let lost = ["volume", "remove-device", "home.volume", "a", "--lost"];
    let server = Server::start(folder, &[]);
    check(&server);
    let refused = esker_in(folder, &lost);
    assert!(refused.code == 2 && refused.stderr.contains("end its server"), "{}", refused.stderr);
    server.stop();
    let checked = esker_in(folder, &["volume", "check", "home.volume"]);
    assert!(checked.code == 1 && checked.stdout.contains("missing"), "{}", checked.stdout);
    assert_eq!(esker_ok(folder, &lost).stderr, "", "that the device is not there is why it is taken out");
    assert!(!file_of(folder).contains("a.img"), "{}", file_of(folder));

    // What was there is copied to the others.
    let server = Server::start(folder, &[]);
    let used = || -> u64 {
        let status = esker_ok(folder, &["volume", "status", "home.volume", "--json"]).stdout;
        let status: Value = serde_json::from_str(&status).unwrap();
        status["devices"].as_array().unwrap().iter().flat_map(|one| one["used_bytes"].as_u64()).sum()
    };
    let is_copied = (0..1200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        used() == 2 * count * OBJECT
    });
    assert!(is_copied, "{} of {} bytes after a minute", used(), 2 * count * OBJECT);
    server.stop();
    std::fs::remove_file(folder.join("b.img")).unwrap();
    let server = Server::start(folder, &[]);
    check(&server);
    server.stop();
}

/// The first drive is lost, the second one goes on alone; then the first one is back, and the second one can only be
/// read. What was written last is there alone.
#[test]
fn a_drive_that_can_only_be_read_is_no_lost_one() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    let drives = ["a", "b"].map(|name| folder.join(name));
    for drive in &drives {
        std::fs::create_dir(drive).unwrap();
        esker_ok(drive, &["volume", "create", "home.volume", "--device", "disk=disk.img,24MiB"]);
    }
    let first = Server::start(&drives[0], &[]);
    let second = Server::start(&drives[1], &[]);
    let places =
        ["a", "b"].map(|name| format!("{name}=nbd+unix:///?socket={}/{name}/home.volume.nbd", folder.display()));
    let create = ["volume", "create", "home.volume", "--kind", "cluster", "--set", "replicas=2"];
    let settings = ["--set", "object=64KiB", "--set", "objects_per_slice=4"];
    let devices = ["--device", &places[0], "--device", &places[1]];
    esker_ok(folder, &[&create[..], &settings, &devices].concat());
    let server = Server::start(folder, &[]);
    let mut client = server.client();
    client.write(0, &[1; 4096]).unwrap();
    client.flush().unwrap();
    drop(first);
    client.write(0, &[2; 4096]).unwrap();
    client.flush().unwrap();
    drop(client);
    server.stop();
    second.stop();
    let first = Server::start(&drives[0], &[]);
    let second = Server::start(&drives[1], &["--read-only"]);

    let refused = esker_in(folder, &["volume", "remove-device", "home.volume", "b", "--lost"]);
    assert!(refused.code == 1 && refused.stderr.contains("what they hold is older"), "{}", refused.stderr);
    let refused = esker_in(folder, &["volume", "check", "home.volume", "--repair"]);
    assert!(refused.stderr.contains("the export can only be read"), "{}", refused.stderr);
    let server = Server::start(folder, &["--read-only"]);
    assert_eq!(server.client().read(0, 4096).unwrap(), [2; 4096]);
    server.stop();
    let copied = esker_ok(folder, &["volume", "copy", "home.volume", "--to", "out.img"]);
    assert_eq!(std::fs::read(folder.join("out.img")).unwrap()[..4096], [2; 4096], "{}", copied.stderr);
    first.stop();
    second.stop();
    let server = Server::start(&drives[1], &[]);
    let taken_out = esker_ok(folder, &["volume", "remove-device", "home.volume", "a", "--lost"]).stdout;
    assert!(taken_out.contains("Nothing shows whether the volume went on with a"), "{taken_out}");
    server.stop();
}
