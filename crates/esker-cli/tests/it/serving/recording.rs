//! `esker volume serve --record`.

use std::fs;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;

use super::{Server, home};
use crate::support::{esker_ok, esker_refuses};

/// What `esker trace info` says of a recording.
fn info(folder: &std::path::Path, name: &str) -> Value {
    let run = esker_ok(folder, &["trace", "info", name, "--json"]);
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn requests_are_recorded_with_their_response_times() {
    let home = home();
    for (name, says) in [
        ("day.esker", "1 requests were to be durable at once (FUA)"),
        // Neither flushes nor trims are in this format.
        ("day.msr", "2 requests were left out: the format does not know their kind"),
    ] {
        let options =
            if name == "day.msr" { &["--record", name, "--record-as", "msr"][..] } else { &["--record", name] };
        let mut server = Server::start(home.path(), options);
        let mut client = server.client();
        for number in 0..10 {
            client.write(number << 16, &[number as u8; 4096]).unwrap();
        }
        client.write_durably(0, &[1; 8192]).unwrap();
        client.flush().unwrap();
        client.trim(1 << 16, 4096).unwrap();
        assert_eq!(client.read(0, 8192).unwrap(), [1; 8192]);
        drop(client);
        server.signal(Signal::SIGTERM);
        let (code, said) = server.ended();
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains(says), "{said}");
        let info = info(home.path(), name);
        for (key, value) in [("read_requests", 1), ("write_requests", 11), ("write_bytes", 10 * 4096 + 8192)] {
            assert_eq!(info[key], value, "{key}: {info}");
        }
        assert_eq!(info["flush_requests"], if name == "day.esker" { 1 } else { 0 }, "{info}");
        let error = esker_refuses(home.path(), &["volume", "serve", "home.volume", "--record", name, "--run", "true"]);
        assert!(error.contains("is there already") && error.contains("--force replaces it"), "{error}");
    }
}

#[test]
fn a_recording_whose_server_was_killed_is_read() {
    let home = home();
    let mut server = Server::start(home.path(), &["--record", "cut.esker"]);
    let mut client = server.client();
    let path = home.path().join("cut.esker");
    let empty = fs::metadata(&path).unwrap().len();
    let mut written = 0;
    // What was recorded is in the file after two seconds.
    while fs::metadata(&path).unwrap().len() == empty {
        client.write(0, &[7; 4096]).unwrap();
        written += 1;
        std::thread::sleep(Duration::from_millis(20));
        assert!(written < 3000, "nothing is recorded");
    }
    server.signal(Signal::SIGKILL);
    server.ended();
    let info = info(home.path(), "cut.esker");
    let requests = info["requests"].as_u64().unwrap();
    assert!((1..=written).contains(&requests), "{requests} of {written}");
    assert!(info["remarks"].to_string().contains("was cut off"), "{info}");
}

#[test]
fn what_cannot_be_recorded_is_refused_before_anybody_is_served() {
    let home = home();
    for (options, says) in [
        (&["--record", "day.esker.zst"][..], "a recording is not compressed"),
        (&["--record", "day.txt"], "does not say which format is wanted"),
        (&["--record", "day.txt"], "say --record-as NAME"),
        (&["--record", "day.csv"], "say which: --record-as "),
        (&["--record", "nowhere/day.esker"], "No such file or directory"),
        (&["--record", "flash.img", "--record-as", "esker", "--force"], "flash.img"),
        (&["--record-as", "msr"], "--record <TRACE>"),
    ] {
        let error =
            esker_refuses(home.path(), &[&["volume", "serve", "home.volume", "--run", "true"], options].concat());
        assert!(error.contains(says), "{options:?}: {error}");
    }
}
