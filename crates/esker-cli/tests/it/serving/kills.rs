//! A server that is killed while clients write, over files and over emulated devices that lose what is not durable:
//! what was flushed is there. `ESKER_SOAK_KILLS` sets how often.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sys::signal::Signal;

use super::emulated::Emulation;
use super::stamped::{BLOCKS, Written};
use super::{Server, home};
use crate::support::esker_ok;

fn asked_for(default: u64) -> u64 {
    std::env::var("ESKER_SOAK_KILLS").map_or(default, |number| number.parse().expect("ESKER_SOAK_KILLS is a number"))
}

/// Lets a client write, and calls `end` at a moment at random, at which something has been flushed.
fn write_until(written: &mut Written, server: &Server, end: impl FnOnce()) {
    let mut client = server.client();
    let (has_flushed, wait) = (AtomicBool::new(false), Duration::from_micros(written.rng.below(30_000)));
    std::thread::scope(|scope| {
        scope.spawn(|| written.write_until_killed(&mut client, &has_flushed));
        while !has_flushed.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(wait);
        end();
    });
}

fn is_whole(folder: &Path) {
    let checked = esker_ok(folder, &["volume", "check", "home.volume"]).stdout;
    assert!(checked.contains("everything is there and whole"), "{checked}");
}

#[test]
fn nothing_that_was_flushed_is_lost_when_a_server_is_killed() {
    let (home, kills) = (home(), asked_for(20));
    let mut written = Written::new(1);
    for kill in 0..kills {
        let io = if kill.is_multiple_of(2) { "best" } else { "threads" };
        let mut server = Server::start(home.path(), &["--io", io]);
        written.check(&mut server.client(), kill);
        write_until(&mut written, &server, || server.signal(Signal::SIGKILL));
        server.ended();
    }
    let blocks = &written.blocks;
    assert!(written.writes > 10 * kills && blocks.iter().filter(|block| block.flushed > 0).count() > BLOCKS / 2);
    let server = Server::start(home.path(), &[]);
    written.check(&mut server.client(), kills);
    server.stop();
    is_whole(home.path());
}

/// The power fails for the machine that serves the volume and for its devices: nobody sees the others fail.
#[test]
fn nothing_that_was_flushed_is_lost_when_the_power_fails() {
    let folder = tempfile::tempdir().unwrap();
    let cuts = asked_for(20);
    let devices: Vec<Emulation> = [("fast", 16), ("slow", 32)]
        .into_iter()
        .map(|(name, mebibytes)| {
            let text = format!("kind = \"constant\"\nservice_time = \"100us\"\ncapacity = \"{mebibytes}MiB\"\n");
            std::fs::write(folder.path().join(format!("{name}.toml")), text).unwrap();
            Emulation::of(folder.path(), name, &["--write-cache", "volatile", "--seed", &mebibytes.to_string()])
        })
        .collect();
    let device = |name: &str| {
        let socket: PathBuf = folder.path().join(format!("{name}.nbd"));
        format!("{name}=nbd+unix:///{name}?socket={}", socket.display())
    };
    let (fast, slow) = (device("fast"), device("slow"));
    let of = ["--device", &fast, "--device", &slow];
    esker_ok(folder.path(), &[&["volume", "create", "home.volume", "--set", "extent=64KiB"], &of[..]].concat());
    let (mut written, mut volatile) = (Written::new(2), 0);
    for cut in 0..cuts {
        let mut server = Server::start(folder.path(), &[]);
        written.check(&mut server.client(), cut);
        write_until(&mut written, &server, || {
            server.signal(Signal::SIGSTOP);
            volatile += devices.iter().map(|device| device.status()["volatile_bytes"].as_u64().unwrap()).sum::<u64>();
            devices.iter().for_each(|device| device.operate("power-cut", &[]));
            server.signal(Signal::SIGKILL);
        });
        server.ended();
        devices.iter().for_each(|device| device.operate("power-on", &[]));
    }
    assert!(written.writes > 10 * cuts);
    let server = Server::start(folder.path(), &[]);
    written.check(&mut server.client(), cuts);
    server.stop();
    is_whole(folder.path());
    assert!(volatile > 0, "the power failed when nothing could be lost");
}
