//! Devices that join, are drained, leave and grow, while a volume is served and while nobody serves it.

use std::fs::OpenOptions;
use std::path::Path;

use serde_json::{Value, json};

use super::{Server, file_of, home};
use crate::support::{esker_in, esker_ok, esker_refuses};

/// Runs a command on the volume, which has to succeed.
fn volume(folder: &Path, command: &str, arguments: &[&str]) -> String {
    esker_ok(folder, &[&["volume", command, "home.volume", "-q"], arguments].concat()).stdout
}

fn status(folder: &Path) -> Value {
    serde_json::from_str(&volume(folder, "status", &["--json"])).unwrap()
}

#[test]
fn a_status_says_what_is_served_and_to_whom() {
    let home = home();
    let server = Server::start(home.path(), &["--listen", "unix:home.volume.nbd", "--listen", "127.0.0.1:0"]);
    let mut client = server.client();
    client.write(65_536, &[1; 8192]).unwrap();
    client.read(0, 4096).unwrap();
    client.flush().unwrap();
    let found = status(home.path());
    let number = |pointer: &str| found.pointer(pointer).and_then(Value::as_u64);
    assert_eq!((number("/requests/reads"), number("/requests/read_bytes")), (Some(1), Some(4096)));
    assert_eq!((number("/requests/writes"), number("/requests/written_bytes")), (Some(1), Some(8192)));
    assert_eq!((number("/requests/flushes"), number("/requests/failed")), (Some(1), Some(0)));
    assert_eq!(number("/capacity_bytes"), Some(client.size));
    assert_eq!((&found["kind"], &found["read_only"]), (&"hybrid".into(), &Value::Null));
    assert_eq!(found["addresses"][0], "unix:home.volume.nbd");
    assert!(found["addresses"][1].as_str().unwrap().starts_with("127.0.0.1:"), "{found:#}");
    let used: Vec<_> = found["devices"].as_array().unwrap().iter().map(|device| &device["used_bytes"]).collect();
    assert_eq!(used.iter().filter_map(|used| used.as_u64()).sum::<u64>(), 65_536, "{found:#}");
    let peer = format!("process {}", std::process::id());
    assert_eq!((&found["connections"][0]["peer"], number("/connections/0/under_way")), (&peer.clone().into(), Some(0)));
    let shown = volume(home.path(), "status", &[]);
    for words in ["hybrid of", "flash", "online", &peer, "1 reads (4 KiB), 1 writes (8 KiB), 1 flushes"] {
        assert!(shown.contains(words), "{words} is not in:\n{shown}");
    }
    drop(client);
    server.stop();
    let refused = esker_refuses(home.path(), &["volume", "status", "home.volume"]);
    assert!(refused.contains("nobody serves home.volume") && refused.contains("`esker volume check"), "{refused}");
}

/// The link stays one, and what is written is in the file, with paths from where the file is.
#[test]
fn a_link_to_the_file_of_a_volume_does_as_the_file() {
    let home = home();
    let folder = home.path();
    std::fs::create_dir(folder.join("links")).unwrap();
    let link = folder.join("links/home.volume");
    std::os::unix::fs::symlink("../home.volume", &link).unwrap();
    let linked = |command: &str, more: &[&str]| {
        esker_ok(folder, &[&["volume", command, "links/home.volume", "-q"], more].concat()).stdout
    };
    let server = Server::start(folder, &[]);
    assert_eq!(serde_json::from_str::<Value>(&linked("status", &["--json"])).unwrap()["kind"], "hybrid");
    linked("add-device", &["--device", "new=new.img,16MiB"]);
    server.stop();
    linked("add-device", &["--device", "newer=newer.img,16MiB"]);
    linked("check", &[]);
    let text = std::fs::read_to_string(folder.join("home.volume")).unwrap();
    assert!(text.contains("\nnew = \"new.img\"\n") && text.contains("\nnewer = \"newer.img\"\n"), "{text}");
    assert!(link.symlink_metadata().unwrap().is_symlink());
}

/// The file is made where the link leads, and its devices where the command runs.
#[test]
fn a_volume_is_created_by_a_link_to_a_file_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::create_dir(folder.join("data")).unwrap();
    std::os::unix::fs::symlink("data/new.volume", folder.join("home.volume")).unwrap();
    std::fs::write(folder.join("ranges.map"), "start_bytes,length_bytes,device\n0,1048576,flash\n").unwrap();
    let devices = ["--device", "flash=flash.img,16MiB", "--device", "disk=disk.img,32MiB", "--map", "ranges.map"];
    esker_ok(folder, &[&["volume", "create", "home.volume", "-q"], &devices[..]].concat());
    for volume in ["home.volume", "data/new.volume"] {
        esker_ok(folder, &["volume", "check", volume, "-q"]);
        esker_ok(folder, &["volume", "serve", volume, "-q", "--run", "true"]);
    }
}

#[test]
fn devices_join_are_drained_leave_and_grow() {
    for is_served in [true, false] {
        let home = home();
        let folder = home.path();
        let server = Server::start(folder, &[]);
        let mut client = server.client();
        let before = client.size;
        (0..160u64).for_each(|number| client.write(number << 16, &[number as u8 + 1; 4096]).unwrap());
        client.flush().unwrap();
        drop(client);
        let server = if is_served {
            Some(server)
        } else {
            server.stop();
            None
        };
        let refused = esker_in(folder, &["volume", "drain", "home.volume", "flash"]);
        assert!(refused.code == 2 && refused.stderr.contains("add a device first"), "{}", refused.stderr);

        let joined = volume(folder, "add-device", &["--device", "more=more.img,24MiB"]);
        assert!(joined.starts_with("more has joined; `esker volume grow` would offer "), "{joined}");
        assert!(file_of(folder).contains("more = \"more.img\"\n"), "{}", file_of(folder));
        assert_eq!(volume(folder, "drain", &["flash"]), "flash is empty; `esker volume remove-device` takes it out\n");
        assert_eq!(volume(folder, "drain", &["flash", "--undo"]), "flash is used again\n");
        let refused = esker_in(folder, &["volume", "remove-device", "home.volume", "flash"]);
        assert!(refused.code == 2 && refused.stderr.contains("flash was not drained"), "{}", refused.stderr);
        volume(folder, "drain", &["flash"]);
        assert_eq!(volume(folder, "remove-device", &["flash"]), "flash belongs to the volume no more\n");
        assert!(!file_of(folder).contains("flash"), "{}", file_of(folder));

        OpenOptions::new().write(true).open(folder.join("more.img")).unwrap().set_len(40 << 20).unwrap();
        let grown = volume(folder, "grow", &["--device", "more"]);
        assert!(grown.starts_with("the volume has ") && grown.contains(" more than before"), "{grown}");
        if let Some(server) = server {
            let found = status(folder);
            assert_eq!(found["devices"][0]["state"], "removed");
            assert_eq!(found["capacity_bytes"], found["capacity_max_bytes"]);
            server.stop();
        }
        let server = Server::start(folder, &[]);
        let mut client = server.client();
        assert!(client.size > before + (24 << 20), "{} after {before}", client.size);
        for number in 0..160u64 {
            assert_eq!(client.read(number << 16, 4096).unwrap(), [number as u8 + 1; 4096], "{number}, {is_served}");
        }
        drop(client);
        server.stop();
        let checked = volume(folder, "check", &[]);
        assert!(checked.contains("everything is there and whole"), "{checked}");
    }
}

#[test]
fn mistakes_change_nothing_and_leave_no_file() {
    for is_served in [true, false] {
        let home = home();
        let _server = is_served.then(|| Server::start(home.path(), &[]));
        let before = file_of(home.path());
        for (arguments, says) in [
            (&["drain", "home.volume", "tape"][..], "its devices are "),
            (&["remove-device", "home.volume", "tape"], "the volume has no device called tape"),
            (&["remove-device", "home.volume", "flash"], "flash was not drained"),
            (&["grow", "home.volume", "--device", "tape"], "the volume has no device called tape"),
            (&["grow", "home.volume", "--to", "1GiB"], "1GiB"),
            (&["add-device", "home.volume", "--device", "flash=new.img,8MiB"], "choose another name"),
            (&["add-device", "home.volume", "--device", "new=new.img"], "to make the file, say how large"),
            (&["add-device", "home.volume", "--device", "new=flash.img"], "is flash, a device of the volume"),
            (&["add-device", "home.volume", "--device", "new=flash.img,8MiB"], "leave its size out"),
            (&["add-device", "home.volume", "--device", "new=new.img,64KiB"], "has no room for data"),
        ] {
            let error = esker_refuses(home.path(), &[&["volume", "-q"], arguments].concat());
            assert!(error.contains(says), "{arguments:?}, served: {is_served}: {error}");
            assert_eq!(file_of(home.path()), before, "{arguments:?}");
        }
    }
}

#[test]
fn what_moves_is_set_by_the_server_or_without_one_and_kept() {
    for is_served in [true, false] {
        let home = home();
        let folder = home.path();
        let server = is_served.then(|| Server::start(folder, &[]));
        let said = volume(folder, "set", &["--pause", "--policy", "fast-first", "--moved-bytes-per-day", "1GiB"]);
        assert_eq!(said, "policy fast-first; background paused; moves up to 1 GiB a day\n");
        let said = volume(folder, "set", &["--moved-bytes-per-day", "none"]);
        assert_eq!(said, "policy fast-first; background paused; moves any number of bytes a day\n");
        let said = volume(folder, "set", &["--leave-above", "flash=80%", "--asleep-after", "disk=9min"]);
        assert!(said.ends_with("a day; disk sleeps after 9 minutes; data leave flash above 80 %\n"), "{said}");
        assert!(
            volume(folder, "set", &["--asleep-after", "disk=never"]).ends_with("a day; data leave flash above 80 %\n")
        );
        server.into_iter().for_each(Server::stop);
        let server = Server::start(folder, &[]);
        let background = &status(folder)["background"];
        assert_eq!((&background["paused"], &background["policy"]), (&true.into(), &"fast-first".into()));
        assert!(volume(folder, "status", &[]).contains("\nidle: paused; 0 B moved, 0 B in the last day\n"));
        assert!(volume(folder, "set", &["--resume"]).contains("background at work"));
        assert_eq!(status(folder)["background"]["held"], Value::Null);
        assert_eq!(status(folder)["background"]["limits"], json!({ "flash": { "leave_above": "80%" } }));
        server.stop();
    }
    let home = home();
    for (arguments, says) in [
        (&["set", "home.volume"][..], "required"),
        (&["set", "home.volume", "--pause", "--resume"], "cannot be used with"),
        (&["set", "home.volume", "--policy", "wardrob"], "wardrop"),
        (&["set", "home.volume", "--moved-bytes-per-day", "1KiB"], "less than one extent"),
        (&["set", "home.volume", "--moved-bytes-per-day", "much"], "much"),
        (&["set", "home.volume", "--leave-above", "flash=100%"], "nothing could leave the device"),
        (&["set", "home.volume", "--asleep-after", "floppy=9min"], "floppy"),
        (&["set", "home.volume", "--asleep-after", "9min"], "disk=9min"),
    ] {
        let refused = esker_in(home.path(), &[&["volume"], arguments].concat());
        assert!(refused.code == 2 && refused.stderr.contains(says), "{arguments:?}: {}", refused.stderr);
    }
}

#[test]
fn a_drain_that_is_paused_is_told_and_goes_on_later() {
    let home = home();
    let folder = home.path();
    let server = Server::start(folder, &[]);
    let mut client = server.client();
    (0..20u64).for_each(|number| client.write(number << 16, &[3; 4096]).unwrap());
    drop(client);
    volume(folder, "add-device", &["--device", "more=more.img,24MiB"]);
    volume(folder, "set", &["--pause"]);
    let refused = esker_in(folder, &["volume", "drain", "home.volume", "flash", "-q"]);
    assert!(refused.code == 1 && refused.stderr.contains("background work is paused"), "{}", refused.stderr);
    volume(folder, "set", &["--resume"]);
    assert_eq!(volume(folder, "drain", &["flash"]), "flash is empty; `esker volume remove-device` takes it out\n");
    server.stop();
}
