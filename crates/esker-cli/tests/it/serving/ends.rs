//! How a server ends, and what it leaves.

use std::fs;
use std::io::Read;
use std::os::unix::net::UnixListener;

use nix::sys::signal::Signal;
use tempfile::TempDir;

use super::emulated::Emulation;
use super::{Server, home};
use crate::support::{esker_in, esker_ok};

#[test]
fn a_server_that_is_asked_to_end_keeps_what_was_not_flushed() {
    let home = home();
    for (number, signal) in (1u8..).zip([Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]) {
        let mut server = Server::start(home.path(), &[]);
        assert!(server.announced.contains("serving hybrid of"), "{}", server.announced);
        // One client has nothing under way, and stays; another one has not even said what it wants.
        let mut client = server.client();
        let _silent = std::os::unix::net::UnixStream::connect(server.socket()).unwrap();
        let place = u64::from(number) << 20;
        client.write(place, &[number; 100 << 10]).unwrap();
        server.signal(signal);
        assert_eq!(server.ended(), (Some(0), String::new()), "{signal}");
        assert!(!server.socket().exists() && !home.path().join("home.volume.control").exists());
        let server = Server::start(home.path(), &[]);
        assert_eq!(server.client().read(place, 100 << 10).unwrap(), vec![number; 100 << 10], "{signal}");
        server.stop();
    }
    let checked = esker_ok(home.path(), &["volume", "check", "home.volume"]).stdout;
    assert!(checked.contains("everything is there and whole"), "{checked}");
}

/// A folder with `home.volume` over a device `far` that is emulated.
pub(super) fn far() -> (TempDir, Emulation) {
    let home = tempfile::tempdir().unwrap();
    let disk = "kind = \"constant\"\nservice_time = \"10us\"\ncapacity = \"16MiB\"\n";
    fs::write(home.path().join("disk.toml"), disk).unwrap();
    let disk = Emulation::of(home.path(), "disk", &[]);
    let far = format!("far=nbd+unix:///?socket={}", home.path().join("disk.nbd").display());
    esker_ok(home.path(), &["volume", "create", "home.volume", "--set", "extent=64KiB", "--device", &far]);
    (home, disk)
}

#[test]
fn a_server_that_cannot_make_the_last_writes_durable_names_the_device() {
    let (home, disk) = far();
    // The command succeeds, fails, or is ended with the server. What it has ended with stays.
    let (succeeds, fails) =
        ("until test -e ended; do sleep 0.05; done", "until test -e ended; do sleep 0.05; done; exit 3");
    for (options, is_signalled, code_expected) in [
        (&["--run", succeeds][..], false, 1),
        (&["--run", fails], false, 3),
        (&["--run", "exec sleep 100"], true, 143),
        (&[], true, 1),
    ] {
        let _ = fs::remove_file(home.path().join("ended"));
        let mut server = Server::start(home.path(), options);
        server.client().write(0, &[1; 4096]).unwrap();
        disk.operate("fail", &["--writes"]);
        match is_signalled {
            true => server.signal(Signal::SIGTERM),
            false => fs::write(home.path().join("ended"), "").unwrap(),
        }
        let (code, said) = server.ended();
        let says = "not everything that was written could be made durable; failed: far";
        assert!(
            code == Some(code_expected) && said.contains(says) && !said.contains("30 seconds"),
            "{options:?}: {said}"
        );
        disk.operate("repair", &[]);
    }
}

#[test]
fn a_recording_that_fails_hides_neither_the_status_of_a_command_nor_what_is_not_durable() {
    let (home, disk) = far();
    let recorded = home.path().join("day.esker");
    assert!(std::process::Command::new("mkfifo").arg(&recorded).status().unwrap().success());
    let waits = "until test -e ended; do sleep 0.05; done";
    for (status, fails, code_expected) in [(0, false, 1), (3, false, 3), (0, true, 1), (3, true, 3)] {
        let _ = fs::remove_file(home.path().join("ended"));
        // Who reads it leaves once it has begun.
        let (path, mut first) = (recorded.clone(), [0; 1]);
        let reader = std::thread::spawn(move || fs::File::open(path).unwrap().read_exact(&mut first));
        let command = format!("{waits}; exit {status}");
        let mut server = Server::start(home.path(), &["--record", "day.esker", "--run", &command]);
        reader.join().unwrap().unwrap();
        server.client().write(0, &[1; 4096]).unwrap();
        if fails {
            disk.operate("fail", &["--writes"]);
        }
        fs::write(home.path().join("ended"), "").unwrap();
        let (code, said) = server.ended();
        assert_eq!(code, Some(code_expected), "{said}");
        assert!(said.contains("error: the recording") && said.contains("has ended: "), "{said}");
        let says = "not everything that was written could be made durable; failed: far";
        assert_eq!(said.contains(says), fails, "{said}");
        if fails {
            disk.operate("repair", &[]);
        }
    }
}

#[test]
fn a_volume_is_served_while_a_command_runs() {
    let home = home();
    let serve = |command: &str| esker_in(home.path(), &["volume", "serve", "home.volume", "-q", "--run", command]);
    let run = serve("echo $uri; test -S home.volume.nbd && test -S home.volume.control");
    let socket = home.path().join("home.volume.nbd");
    assert_eq!((run.code, &*run.stderr), (0, ""));
    assert_eq!(run.stdout, format!("nbd+unix:///home?socket={}\n", socket.display()));
    assert!(!socket.exists());
    assert_eq!(serve("exit 7").code, 7);
    // As a shell has it: 128 and the number of the signal.
    assert_eq!(serve("kill -KILL $$").code, 137);
    assert_eq!(serve("no-such-command").code, 127);
}

#[test]
fn a_command_ends_with_the_server() {
    let home = home();
    // The shell tells once it is there. It, and a program in its place, which takes signals as it finds them.
    for command in ["touch runs; while :; do sleep 0.01; done", ": >runs; exec sleep 100"] {
        let mut server = Server::start(home.path(), &["--run", command]);
        while !home.path().join("runs").exists() {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        server.signal(Signal::SIGTERM);
        assert_eq!(server.ended(), (Some(143), String::new()));
        fs::remove_file(home.path().join("runs")).unwrap();
    }
}

#[test]
fn what_a_killed_server_leaves_is_no_obstacle() {
    let home = home();
    let mut server = Server::start(home.path(), &[]);
    server.client().write(0, &[1; 4096]).unwrap();
    server.signal(Signal::SIGKILL);
    server.ended();
    assert!(server.socket().exists() && home.path().join("home.volume.control").exists());
    let status = esker_in(home.path(), &["volume", "status", "home.volume"]);
    assert_eq!(status.code, 2, "{}", status.stdout);
    assert!(status.stderr.contains("nobody serves home.volume"), "{}", status.stderr);
    // The operations do their work themselves, and the next server takes the sockets over.
    esker_ok(home.path(), &["volume", "add-device", "home.volume", "--device", "more=more.img,8MiB"]);
    Server::start(home.path(), &[]).stop();
}

#[test]
fn a_socket_that_another_program_has_taken_over_stays() {
    let home = home();
    let server = Server::start(home.path(), &[]);
    let socket = server.socket();
    fs::remove_file(&socket).unwrap();
    let _other = UnixListener::bind(&socket).unwrap();
    server.signal(Signal::SIGTERM);
    let mut server = server;
    assert_eq!(server.ended().0, Some(0));
    assert!(socket.exists());
}
