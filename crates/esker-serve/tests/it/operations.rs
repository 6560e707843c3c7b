//! Operations on a volume that serves.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use esker_core::Bytes;
use esker_serve::{ChangedSettings, DrainStatus, MoveBudget, ServeSettings, VolumeOperation, call};
use esker_volume::IoChoice;

use super::client::Client;
use super::served::{Home, Running, UNWRITABLE};

/// Writes number after number to a part of the volume, and checks another part, until `is_so`.
fn use_until(server: &Running, client: &mut Client, is_so: impl Fn() -> bool) {
    let mut round = 0u64;
    while !is_so() {
        round += 1;
        assert!(round < 100_000, "it takes too long: {:?}", server.status());
        let place = (round * 37 % 200) * 16_384;
        client.write(place, &[round as u8; 16_384], round.is_multiple_of(32)).unwrap();
        assert_eq!(client.read(place, 16_384).unwrap(), [round as u8; 16_384]);
    }
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_string()
}

/// Nobody listens to the log of this server.
#[test]
fn devices_are_asked_how_worn_they_are_but_not_in_each_turn() {
    const TURNS: u32 = 1_000;
    let home = Home::new(Bytes::mib(16));
    let mut server = home.open(IoChoice::Best, ServeSettings::default());
    server.turn();
    assert_eq!(home.times_asked_for_wear(), 2, "each device once");
    (0..TURNS).for_each(|_| _ = server.turn());
    assert!(home.times_asked_for_wear() < TURNS);
}

#[test]
fn devices_join_grow_and_leave_while_a_client_works() {
    let home = Home::new(Bytes::mib(16));
    let large = home.file("large", Bytes::mib(64));
    let server = home.serve(IoChoice::Best, ServeSettings::default());
    let mut client = Client::connect(&server.socket);
    let before = client.export.size;
    (0..100u64).for_each(|number| client.write(number << 17, &[number as u8 + 1; 4096], false).unwrap());
    server.control(&VolumeOperation::AddDevice {
        name: "large".to_string(),
        place: text(&large),
        force: false,
        no_map: false,
    });
    server.control(&VolumeOperation::Grow { capacity_bytes: None });
    // Clients see that when they connect again.
    assert_eq!(client.export.size, before);
    let mut new = Client::connect(&server.socket);
    assert!(new.export.size > before + Bytes::mib(40), "{}", new.export.size);
    let last = new.export.size.0 - 4096;
    new.write(last, &[9; 4096], true).unwrap();

    let third = home.file("third", Bytes::mib(32));
    server.control(&VolumeOperation::AddDevice {
        name: "third".to_string(),
        place: text(&third),
        force: false,
        no_map: false,
    });
    server.control(&VolumeOperation::Drain { device: "flash".to_string() });
    let is_empty = || server.status().devices[0].drain == Some(DrainStatus::Empty);
    use_until(&server, &mut client, is_empty);
    server.control(&VolumeOperation::Remove { device: "flash".to_string() });
    assert_eq!(home.names(), ["disk", "large", "third"]);
    let states: Vec<_> = server.status().devices.into_iter().map(|device| (device.state, device.keeps_map)).collect();
    assert_eq!(states[0], ("removed".to_string(), false));
    assert_eq!(states.iter().filter(|(_, keeps_map)| *keeps_map).count(), 2, "{states:?}");

    OpenOptions::new().write(true).open(&third).unwrap().set_len(48 << 20).unwrap();
    let most = server.status().capacity_max_bytes;
    server.control(&VolumeOperation::GrowDevice { device: "third".to_string() });
    assert!(server.status().capacity_max_bytes > most + (12 << 20));
    drop(server);
    let server = home.serve(IoChoice::Threads, ServeSettings::default());
    let mut client = Client::connect(&server.socket);
    assert_eq!(client.read(last, 4096).unwrap(), [9; 4096]);
    for number in 30..100u64 {
        assert_eq!(client.read(number << 17, 4096).unwrap(), [number as u8 + 1; 4096], "{number}");
    }
}

#[test]
fn what_cannot_be_done_is_told_with_what_can() {
    let home = Home::new(Bytes::mib(16));
    let server = home.serve(IoChoice::Best, ServeSettings::default());
    let error = |request: VolumeOperation| {
        let error = call(&server.control, &request).unwrap_err();
        (error.message, error.hint.unwrap_or_default())
    };
    let (message, hint) = error(VolumeOperation::Drain { device: "tape".to_string() });
    assert_eq!((&*message, &*hint), ("the volume has no device called tape", "its devices are flash, disk"));
    let (message, hint) = error(VolumeOperation::Drain { device: "flash".to_string() });
    assert!(message.starts_with("the other devices hold") && hint == "add a device first", "{message}, {hint}");
    let add = |name: &str, place: &str| VolumeOperation::AddDevice {
        name: name.to_string(),
        place: place.into(),
        force: false,
        no_map: false,
    };
    let (message, _) = error(add("flash", "/nowhere"));
    assert_eq!(message, "the volume has, or had, a device called flash");
    for name in ["", "a b", "a.b", "a\n[x]"] {
        let (message, hint) = error(add(name, "/nowhere"));
        assert_eq!(message, format!("a device cannot be called {name:?}"));
        assert_eq!(hint, "a name has letters, digits, `-` and `_`");
    }
    let (message, _) = error(add("new", "/nowhere"));
    assert_eq!(message, "new (/nowhere): No such file or directory (os error 2)");
    let fits = home.file("fits", Bytes::mib(16));
    let (message, hint) = error(add(UNWRITABLE, fits.to_str().unwrap()));
    let says =
        "unwritable did not join, because the volume's file cannot be written: /etc/home.volume: Permission denied";
    assert!(message == says && hint.contains("write that file"), "{message}, {hint}");
    let full = home.file("full", Bytes::mib(16));
    std::fs::write(&full, [&[0; 1080][..], &[0x53, 0xef], &[0; 16 << 20]].concat()).unwrap();
    let (message, _) = error(add("full", full.to_str().unwrap()));
    assert_eq!(message, "full holds an ext2, ext3 or ext4 file system; nothing was written");
    // What was refused is no obstacle for the next one, nor is it named as a device.
    assert_eq!(home.names(), ["flash", "disk"]);
    let status = server.status();
    assert!(!status.is_changing && status.read_only.is_none() && status.devices.len() == 2, "{status:?}");
    drop(server);
    let unserved =
        call(&home.file("x", Bytes::kib(4)).with_file_name("control"), &VolumeOperation::Status).unwrap_err();
    assert!(unserved.is_unserved, "{unserved:?}");
}

#[test]
fn many_short_lines_at_once_are_answered_one_after_the_other() {
    const LINES: usize = 40_000;
    let home = Home::new(Bytes::mib(16));
    let server = home.serve(IoChoice::Best, ServeSettings::default());
    let stream = UnixStream::connect(&server.control).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut writer = stream.try_clone().unwrap();
    let writes = std::thread::spawn(move || {
        writer.write_all("{}\n".repeat(LINES).as_bytes()).unwrap();
        writer.shutdown(std::net::Shutdown::Write).unwrap();
    });
    use std::io::{BufRead, BufReader};
    assert_eq!(BufReader::new(stream).lines().map_while(Result::ok).count(), LINES);
    writes.join().unwrap();
}

#[test]
fn lines_that_are_no_requests_are_answered() {
    use std::io::{BufRead, BufReader, Write};
    let home = Home::new(Bytes::mib(16));
    let server = home.serve(IoChoice::Best, ServeSettings::default());
    let mut stream = UnixStream::connect(&server.control).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(b"hello\n{\"command\":\"fly\"}\n{\"command\":\"status\"}\n").unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert!(next().starts_with(r#"{"error":{"message":"this is no request: "#));
    assert!(next().contains("unknown variant `fly`"));
    assert!(next().starts_with(r#"{"ok":{"volume":"#));
    // Whoever has said all is answered all the same, as `nc -N` and `socat` do it.
    let all = UnixStream::connect(&server.control).unwrap();
    (&all).write_all(b"{\"command\":\"status\"}\n{\"command\":\"status\"}\n").unwrap();
    all.shutdown(std::net::Shutdown::Write).unwrap();
    all.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    assert_eq!(BufReader::new(all).lines().filter(|line| line.as_ref().unwrap().starts_with(r#"{"ok":"#)).count(), 2);
    // Nobody needs a line without an end.
    let _ = stream.write_all(&vec![b'x'; 100 << 10]);
    assert!(lines.next().is_none_or(|line| line.is_err()));
}

#[test]
fn prometheus_fetches_figures() {
    let home = Home::new(Bytes::mib(16));
    let server = home.serve(IoChoice::Best, ServeSettings::default());
    let mut client = Client::connect(&server.socket);
    client.write(0, &[1; 4096], true).unwrap();
    let fetch = |request: &str| {
        let mut stream = std::net::TcpStream::connect(&server.metrics).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    // More than may wait at a time, and one that says nothing: it keeps nobody waiting.
    let _silent = std::net::TcpStream::connect(&server.metrics).unwrap();
    for _ in 0..20 {
        let answer = fetch("GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("\nesker_requests_total{export=\"home\",kind=\"write\"} 1\n"), "{answer}");
        assert!(
            answer.contains("\nesker_device_state{export=\"home\",device=\"disk\",state=\"online\"} 1\n"),
            "{answer}"
        );
    }
    assert!(fetch("GET /secrets HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
}

#[test]
fn the_dashboard_shows_figures_that_there_are() {
    let home = Home::new(Bytes::mib(16));
    let server = home.serve(IoChoice::Best, ServeSettings::default());
    let mut stream = std::net::TcpStream::connect(&server.metrics).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut figures = String::new();
    stream.read_to_string(&mut figures).unwrap();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/grafana-dashboard.json");
    let dashboard: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let mut count = 0;
    for target in targets {
        let query = target["expr"].as_str().unwrap();
        let name = |text: &str| text.split(|c: char| !c.is_ascii_lowercase() && c != '_').next().unwrap().to_string();
        let name = format!("esker_{}", name(query.split_once("esker_").unwrap().1));
        assert!(figures.contains(&format!("\n# TYPE {name} ")), "{query}: no {name} in {figures}");
        count += 1;
    }
    assert!(count >= 8, "{count} queries");
}

#[test]
fn what_moves_is_set_and_told_while_clients_are_served() {
    let home = Home::new(Bytes::mib(16));
    let server = home.serve(IoChoice::Best, ServeSettings::default());
    let mut client = Client::connect(&server.socket);
    client.write(0, &[7; 4096], true).unwrap();
    let set = |settings| server.control(&VolumeOperation::Set { settings });
    set(ChangedSettings { paused: Some(true), policy: Some("fast-first".into()), ..ChangedSettings::default() });
    let found = server.status().background.unwrap();
    assert_eq!((&*found.policy, found.paused, found.held.as_deref()), ("fast-first", true, Some("paused")));
    let budget = Some(MoveBudget::Bytes(1 << 30));
    set(ChangedSettings { paused: Some(false), moved_bytes_per_day: budget, ..ChangedSettings::default() });
    let found = server.status().background.unwrap();
    assert_eq!((found.paused, found.moved_bytes_per_day, found.held), (false, Some(1 << 30), None));
    let bad = ChangedSettings { policy: Some("wardrob".into()), ..ChangedSettings::default() };
    let error = call(&server.control, &VolumeOperation::Set { settings: bad }).unwrap_err();
    assert!(error.message.contains("wardrob") && error.hint.is_some_and(|hint| hint.contains("wardrop")));
    assert_eq!(client.read(0, 4096).unwrap(), [7; 4096]);
    drop(server);
    let server = home.serve(IoChoice::Threads, ServeSettings::default());
    let found = server.status().background.unwrap();
    assert_eq!((&*found.policy, found.moved_bytes_per_day), ("fast-first", Some(1 << 30)));
}
