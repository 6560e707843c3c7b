//! Volumes that follow a map of ranges: data move to where it says, and it is kept beside the volume's file.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::{Server, home};
use crate::support::{command, esker_in, esker_ok};

/// Bytes of an extent of `home.volume`.
const EXTENT: u64 = 64 << 10;
const EXTENTS: u64 = 100;

fn volume(folder: &Path, command: &str, arguments: &[&str]) -> String {
    esker_ok(folder, &[&["volume", command, "home.volume", "-q"], arguments].concat()).stdout
}

fn refused(folder: &Path, arguments: &[&str]) -> String {
    let run = esker_in(folder, &[&["volume"], arguments].concat());
    assert_eq!(run.code, 2, "{arguments:?}: {}{}", run.stdout, run.stderr);
    run.stderr
}

/// A map of extents of the volume: those before `border` are on the first of these devices.
fn write_map(path: &Path, border: u64, devices: [&str; 2]) {
    let (all, border) = (EXTENTS * EXTENT, border * EXTENT);
    let [first, second] = devices;
    let text = format!("start_bytes,length_bytes,device\n0,{border},{first}\n{border},{},{second}\n", all - border);
    fs::write(path, text).unwrap();
}

/// The copies of maps beside the volume's file.
fn copies(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("home.volume.") && name.ends_with(".map")).collect()
}

/// Waits until as many extents are on flash, and all others on the disk.
fn wait_for(folder: &Path, on_flash: u64) {
    for _ in 0..3_000 {
        let status: Value = serde_json::from_str(&volume(folder, "status", &["--json"])).unwrap();
        let used = |device: usize| status["devices"][device]["used_bytes"].as_u64().unwrap() / EXTENT;
        if (used(0), used(1)) == (on_flash, EXTENTS - on_flash) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{}", volume(folder, "status", &[]));
}

fn data(extent: u64) -> Vec<u8> {
    vec![extent as u8 + 1; EXTENT as usize]
}

#[test]
fn data_move_to_where_a_map_says_and_the_map_is_followed_after_restarts() {
    let home = home();
    let folder = home.path();
    let server = Server::start(folder, &[]);
    let mut client = server.client();
    (0..EXTENTS).for_each(|extent| client.write(extent * EXTENT, &data(extent)).unwrap());
    client.flush().unwrap();
    write_map(&folder.join("first.map"), 40, ["disk", "flash"]);
    let said = volume(folder, "set", &["--map", "first.map", "--policy", "fast-first"]);
    assert!(said.starts_with("policy pinned (map home.volume."), "{said}");
    assert!(said.ends_with(".map, rest fast-first); background at work; moves any number of bytes a day\n"), "{said}");
    // The volume has a copy.
    fs::remove_file(folder.join("first.map")).unwrap();
    wait_for(folder, 60);
    let check = |client: &mut super::client::Client| {
        (0..EXTENTS).for_each(|extent| {
            assert_eq!(client.read(extent * EXTENT, EXTENT as usize).unwrap(), data(extent), "{extent}");
        });
    };
    check(&mut client);
    drop(client);
    server.stop();
    let first = copies(folder);
    assert_eq!(first.len(), 1);

    // Another map, set while nobody serves the volume: it is followed once somebody does.
    write_map(&folder.join("second.map"), 20, ["flash", "disk"]);
    volume(folder, "set", &["--map", "second.map"]);
    assert!(copies(folder).len() == 1 && copies(folder) != first);
    let server = Server::start(folder, &[]);
    wait_for(folder, 20);
    check(&mut server.client());
    server.stop();
    let server = Server::start(folder, &[]);
    wait_for(folder, 20);
    check(&mut server.client());
    // Another policy leaves the data where they are, and needs no map.
    volume(folder, "set", &["--policy", "fast-first"]);
    assert_eq!(copies(folder), Vec::<String>::new());
    server.stop();
}

#[test]
fn a_map_that_is_gone_or_changed_is_told_and_the_volume_can_be_read_or_set() {
    let home = home();
    let folder = home.path();
    write_map(&folder.join("ranges.map"), 40, ["disk", "flash"]);
    volume(folder, "set", &["--map", "ranges.map"]);
    let copy = copies(folder).remove(0);
    let text = fs::read_to_string(folder.join(&copy)).unwrap();
    fs::write(folder.join(&copy), text.replace(",1\n", ",0\n")).unwrap();
    let refused_serving = || refused(folder, &["serve", "home.volume", "--run", "true"]);
    let said = refused_serving();
    assert!(said.contains(&format!("pins the ranges of {copy}, which has changed since")), "{said}");
    assert!(said.contains("esker volume set home.volume --map FILE"), "{said}");
    fs::remove_file(folder.join(&copy)).unwrap();
    assert!(
        refused_serving().contains("which is gone")
            && refused(folder, &["set", "home.volume", "--pause"]).contains("gone")
    );
    // What moves nothing needs no map.
    volume(folder, "check", &[]);
    volume(folder, "copy", &["--to", "all.img"]);
    fs::write(folder.join(&copy), &text).unwrap();
    volume(folder, "set", &["--pause"]);
    fs::remove_file(folder.join(&copy)).unwrap();
    volume(folder, "set", &["--map", "ranges.map"]);
    assert_eq!(copies(folder), std::slice::from_ref(&copy), "the same map has the same name");
    fs::remove_file(folder.join(&copy)).unwrap();
    volume(folder, "set", &["--policy", "wardrop"]);
    esker_ok(folder, &["volume", "serve", "home.volume", "-q", "--run", "true"]);
}

#[test]
fn what_is_no_map_for_the_volume_changes_nothing() {
    let home = home();
    let folder = home.path();
    write_map(&folder.join("tape.map"), 40, ["disk", "tape"]);
    fs::write(folder.join("text.map"), "Dear diary\n").unwrap();
    for is_served in [true, false] {
        let server = is_served.then(|| Server::start(folder, &[]));
        for (map, says) in [
            ("tape.map", "tape.map:3: `tape` is no device here"),
            ("text.map", "text.map:1: this is no map of ranges"),
            ("none.map", "none.map cannot be read"),
        ] {
            let said = refused(folder, &["set", "home.volume", "--map", map]);
            assert!(said.contains(says), "served: {is_served}: {said}");
        }
        let both = refused(folder, &["set", "home.volume", "--map", "text.map", "--policy", "pinned"]);
        assert!(both.contains("text.map:1"), "{both}");
        server.into_iter().for_each(Server::stop);
    }
    let device = ["--device", "flash=new.img,8MiB", "--map"];
    let create = |more: &[&str]| refused(folder, &[&["create", "new.volume"], &device[..], more].concat());
    assert!(create(&["tape.map"]).contains("tape.map:2: `disk` is no device here"));
    assert!(create(&["tape.map", "--kind", "array"]).contains("--map pins ranges to devices"));
    let named = ["--set", "policy={kind=\"pinned\",map=\"tape.map\"}"];
    let said = refused(folder, &[&["create", "new.volume"], &device[..2], &named[..]].concat());
    assert!(said.contains("say --map FILE"), "{said}");
    assert_eq!(copies(folder), Vec::<String>::new());
    assert!(!folder.join("new.img").exists() && !folder.join("new.volume").exists());
}

/// Whenever the change is cut off, the settings name a map that is there.
#[test]
fn a_map_whose_setting_is_cut_off_is_set_or_not() {
    let home = home();
    let folder = home.path();
    for attempt in 0..12u64 {
        let map = format!("{attempt}.map");
        write_map(&folder.join(&map), attempt + 1, ["disk", "flash"]);
        let mut child = command(folder, &["volume", "set", "home.volume", "-q", "--map", &map]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(attempt * 4));
        child.kill().unwrap();
        child.wait().unwrap();
        esker_ok(folder, &["volume", "serve", "home.volume", "-q", "--run", "true"]);
    }
}
