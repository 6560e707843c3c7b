//! What goes wrong when one serves, and what is said about it.

use std::fs;

use super::client::{EPERM, Failed};
use super::{Server, home};
use crate::support::{esker_in, esker_ok, esker_refuses};

#[test]
fn a_volume_has_one_server() {
    let home = home();
    let server = Server::start(home.path(), &[]);
    for command in [&["serve", "home.volume"][..], &["serve", "home.volume", "--listen", "127.0.0.1:0"]] {
        let error = esker_refuses(home.path(), &[&["volume"], command].concat());
        assert!(error.contains("another program uses it") && error.contains("one program at a time"), "{error}");
    }
    let error = esker_refuses(home.path(), &["volume", "copy", "home.volume", "--to", "out.img"]);
    assert!(error.contains("another program uses it"), "{error}");
    // The first server is not disturbed.
    server.client().write(0, &[1; 512]).unwrap();
    server.stop();
}

#[test]
fn without_one_of_its_devices_a_volume_is_only_read() {
    let home = home();
    let server = Server::start(home.path(), &[]);
    let mut client = server.client();
    client.write(0, &[1; 4096]).unwrap();
    drop(client);
    server.stop();
    fs::rename(home.path().join("disk.img"), home.path().join("away")).unwrap();
    let mut server = Server::start(home.path(), &[]);
    assert!(server.announced.contains("disk (disk.img) is not there"), "{}", server.announced);
    assert!(server.announced.contains("only to be read (missing: disk)"), "{}", server.announced);
    let mut client = server.client();
    assert!(client.is_read_only);
    assert_eq!(client.write(0, &[2; 4096]), Err(Failed::Answered(EPERM)));
    let status = esker_ok(home.path(), &["volume", "status", "home.volume"]).stdout;
    assert!(status.contains("only to be read (missing: disk)"), "{status}");
    drop(client);
    server.signal(nix::sys::signal::Signal::SIGTERM);
    assert_eq!(server.ended().0, Some(0));
    fs::rename(home.path().join("away"), home.path().join("disk.img")).unwrap();
    let server = Server::start(home.path(), &["--read-only"]);
    assert!(server.client().is_read_only);
    assert_eq!(server.client().read(0, 4096).unwrap(), [1; 4096]);
    server.stop();
}

#[test]
fn addresses_that_cannot_be_had_are_named_with_what_to_do() {
    let home = home();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap().to_string();
    let _unix = std::os::unix::net::UnixListener::bind(home.path().join("taken")).unwrap();
    let long = format!("unix:{}", "x".repeat(108));
    for (address, code, says) in [
        (&*taken, 1, "another program listens there"),
        ("unix:taken", 1, "another program listens there"),
        ("unix:nowhere/socket", 1, "make the folder first"),
        ("203.0.113.1:10809", 1, "choose an address of this machine"),
        ("home.sock", 2, "unix:PATH"),
        (&*long, 1, "107 bytes"),
    ] {
        let run = esker_in(home.path(), &["volume", "serve", "home.volume", "--listen", address]);
        assert!(run.code == code && run.stderr.contains(says), "{address}: {}: {}", run.code, run.stderr);
        assert!(!home.path().join("home.volume.control").exists(), "{address}: its control socket is removed");
    }
    esker_ok(home.path(), &["volume", "check", "home.volume"]);
}

#[test]
fn a_path_too_long_for_a_socket_is_said_with_the_way_around() {
    let home = home();
    let folder = home.path().join("f".repeat(100));
    fs::create_dir(&folder).unwrap();
    for name in ["home.volume", "flash.img", "disk.img"] {
        fs::rename(home.path().join(name), folder.join(name)).unwrap();
    }
    let file = folder.join("home.volume");
    let path = file.to_str().unwrap();
    for arguments in [&["serve", path][..], &["status", path], &["drain", path, "flash"]] {
        let run = esker_in(home.path(), &[&["volume"], arguments].concat());
        let says = run.stderr.contains("107 bytes") && run.stderr.contains("cd to its folder");
        assert!(says, "{arguments:?}: {}", run.stderr);
    }
    // From its folder, the path is short.
    Server::start(&folder, &[]).stop();
}
