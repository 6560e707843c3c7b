//! What a server says on standard error.

use std::io::Read;

use nix::sys::signal::Signal;
use serde_json::Value;

use super::emulated::Emulation;
use super::{Server, home};
use crate::support::esker_ok;

#[test]
fn each_line_is_an_object_if_that_is_asked_for() {
    let home = home();
    let mut server = Server::start(home.path(), &["--log", "json"]);
    let mut client = server.client();
    client.write(0, &[1; 512]).unwrap();
    drop(client);
    let announced = server.announced.clone();
    server.signal(Signal::SIGTERM);
    let (code, said) = server.ended();
    assert_eq!(code, Some(0), "{said}");
    let lines: Vec<Value> = (announced + &said).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let event = |name: &str| lines.iter().find(|line| line["event"] == name).unwrap_or_else(|| panic!("{lines:#?}"));
    let peer = format!("process {}", std::process::id());
    assert_eq!(
        (&event("client-connected")["peer"], &event("client-connected")["level"]),
        (&peer.clone().into(), &"detail".into())
    );
    assert_eq!(
        (&event("export-opened")["peer"], &event("export-opened")["export"]),
        (&peer.clone().into(), &"home".into())
    );
    assert_eq!(event("client-left")["peer"], peer);
    assert!(event("remark")["message"].as_str().unwrap().starts_with("serving hybrid of "), "{lines:#?}");
    assert!(lines.iter().all(|line| line["time_unix_ns"].as_u64() > Some(1_700_000_000_000_000_000)), "{lines:#?}");
    // Also an error.
    let mut taken = Server::start(home.path(), &[]);
    let refused = crate::support::esker_in(home.path(), &["volume", "serve", "home.volume", "--log", "json"]);
    let error: Value = serde_json::from_str(&refused.stderr).unwrap();
    assert!(
        (error["level"] == "error") && error["message"].as_str().unwrap().contains("another program uses it"),
        "{error}"
    );
    taken.signal(Signal::SIGTERM);
    taken.ended();
}

#[test]
fn a_device_that_refuses_writes_is_said_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = "kind = \"constant\"\nservice_time = \"100us\"\ncapacity = \"16MiB\"\n";
    let devices = ["good", "bad"].map(|name| {
        std::fs::write(folder.join(format!("{name}.toml")), text).unwrap();
        Emulation::of(folder, name, &[])
    });
    let place = |name: &str| format!("{name}=nbd+unix:///{name}?socket={}/{name}.nbd", folder.display());
    let (good, bad) = (place("good"), place("bad"));
    esker_ok(
        folder,
        &["volume", "create", "home.volume", "--device", &good, "--device", &bad, "--set", "extent=64KiB"],
    );
    let mut server = Server::start(folder, &[]);
    let mut client = server.client();
    devices[1].operate("fail", &[]);
    // Some of these go to the device that fails, some to the other.
    let failed = (0..64u64).filter(|number| client.write(number << 16, &[1; 4096]).is_err()).count();
    drop(client);
    server.signal(Signal::SIGTERM);
    let mut said = String::new();
    server.said.read_to_string(&mut said).unwrap();
    server.ended();
    assert!(said.contains("device bad is read-only\n"), "{failed} writes failed: {said}");
}
