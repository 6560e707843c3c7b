//! Servers of two volumes.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use esker_core::{Bytes, Rng};
use esker_nbd::Command;
use esker_serve::{
    Address, HandOver, LastWork, Listener, ServeSettings, ServedVolume, Server, VolumeOperation, VolumeStatus, call,
    take_over,
};
use esker_volume::{IoChoice, Signal};

use super::client::{Client, stream};
use super::served::{Home, open, serve};

const BLOCK: usize = 4096;

/// The bytes of a block that was written under this name, by this request.
fn stamped(name: &str, request: u64) -> Vec<u8> {
    format!("{name} {request:08};").bytes().cycle().take(BLOCK).collect()
}

/// Keeps 16 requests under way, to blocks that are this client's own, and checks that what is read was written under
/// `name`. Returns the number of requests.
fn use_export(mut client: Client, name: &str, (first, blocks): (u64, u64), is_over: impl Fn(u64) -> bool) -> u64 {
    let mut rng = Rng::new(first);
    let mut written: Vec<Vec<u8>> = (0..blocks).map(|_| vec![0; BLOCK]).collect();
    let mut count = 0;
    while !is_over(count) {
        // Blocks of one round are different ones, so that requests of a round may end in any order.
        let begin = rng.below(blocks);
        let round = (0..16).map(|step| (begin + step) % blocks);
        let mut expected = Vec::new();
        for block in round {
            count += 1;
            let (offset, length) = ((first + block) * BLOCK as u64, BLOCK as u32);
            if rng.chance(1, 2) {
                written[block as usize] = stamped(name, count);
                let data = written[block as usize].clone();
                client.submit(block, Command::Write { offset, length, durable: count.is_multiple_of(64) }, Some(data));
            } else {
                client.submit(block, Command::Read { offset, length, in_one_piece: false }, Some(vec![1; BLOCK]));
                expected.push(block);
            }
        }
        for _ in 0..16 {
            let done = client.done();
            assert_eq!(done.result, Ok(()));
            if expected.contains(&done.id) {
                assert!(done.buffer.unwrap() == written[done.id as usize], "{name}: block {}", done.id);
            }
        }
    }
    count
}

fn status(control: &Path) -> VolumeStatus {
    serde_json::from_value(call(control, &VolumeOperation::Status).unwrap()).unwrap()
}

#[test]
fn each_client_sees_the_bytes_of_its_own_export_only() {
    for choice in [IoChoice::Best, IoChoice::Threads] {
        let (small, large) = (Home::new(Bytes::mib(16)), Home::new(Bytes::mib(24)));
        let server = serve(&[("small", &small), ("large", &large)], choice, ServeSettings::default());
        let clients: Vec<_> = [("small", 0), ("large", 0), ("small", 256), ("large", 256)]
            .into_iter()
            .map(|(name, first)| {
                let client = Client::connect_to(&server.socket, name).unwrap();
                thread::spawn(move || use_export(client, name, (first, 256), |count| count >= 1600))
            })
            .collect();
        let counts: Vec<u64> = clients.into_iter().map(|client| client.join().unwrap()).collect();
        // Each volume has counted its own.
        for (home, name) in [(&small, "small"), (&large, "large")] {
            let serving = status(&home.path("control")).serving;
            let requests = serving.requests;
            assert_eq!((&*serving.export, requests.reads + requests.writes), (name, counts[0] + counts[1]));
            assert_eq!(requests.failed, 0);
        }
        drop(server);
        // After a restart in the other order, each has what was written to it.
        let server = serve(&[("large", &large), ("small", &small)], choice, ServeSettings::default());
        for name in ["large", "small"] {
            let mut client = Client::connect_to(&server.socket, name).unwrap();
            let mut found = 0;
            for block in 0..512 {
                let bytes = client.read(block * BLOCK as u64, BLOCK as u32).unwrap();
                let is_stamped = bytes.starts_with(name.as_bytes());
                assert!(is_stamped || bytes == [0; BLOCK], "{name}: block {block}");
                found += u64::from(is_stamped);
            }
            assert!(found > 400, "{found} blocks of {name} were written");
        }
    }
}

#[test]
fn exports_have_sizes_names_and_operators_of_their_own() {
    let (small, large) = (Home::new(Bytes::mib(16)), Home::new(Bytes::mib(24)));
    let server = serve(&[("small", &small), ("large", &large)], IoChoice::Best, ServeSettings::default());
    let size = |name: &str| Client::connect_to(&server.socket, name).unwrap().export.size;
    assert!(size("small") + Bytes::mib(10) < size("large"), "{} and {}", size("small"), size("large"));
    assert_eq!(size(""), size("small"), "the first is the default");
    let unknown = Client::connect_to(&server.socket, "tape").err().unwrap();
    assert!(unknown.contains("the export is unknown"), "{unknown}");
    // A change of one is no change of the other.
    let before = [size("small"), size("large")];
    let more = large.file("more", Bytes::mib(32));
    let add = VolumeOperation::AddDevice {
        name: "more".to_string(),
        place: more.to_str().unwrap().to_string(),
        force: false,
        no_map: false,
    };
    call(&large.path("control"), &add).unwrap();
    call(&large.path("control"), &VolumeOperation::Grow { capacity_bytes: None }).unwrap();
    assert_eq!(size("small"), before[0]);
    assert!(size("large") > before[1] + Bytes::mib(20));
    assert_eq!((small.names().len(), large.names().len()), (2, 3));
    assert_eq!(status(&small.path("control")).capacity_bytes, before[0].0);
    // Who has chosen no export is seen by both operators, who has one by its own.
    let _client = Client::connect_to(&server.socket, "large").unwrap();
    let mut silent = stream(&server.socket);
    silent.read_exact(&mut [0; 18]).unwrap();
    let exports = |home: &Home| {
        let clients = status(&home.path("control")).serving.connections;
        let mut exports: Vec<_> = clients.into_iter().map(|client| client.export).collect();
        exports.sort();
        exports
    };
    assert_eq!(exports(&small), [None]);
    assert_eq!(exports(&large), [None, Some("large".to_string())]);
    let mut stream = std::net::TcpStream::connect(&server.metrics).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut figures = String::new();
    stream.read_to_string(&mut figures).unwrap();
    for line in [
        &*format!("esker_capacity_bytes{{export=\"small\"}} {}", before[0].0),
        "esker_clients{export=\"small\"} 0",
        "esker_clients{export=\"large\"} 1",
        "esker_device_state{export=\"large\",device=\"more\",state=\"online\"} 1",
    ] {
        assert!(figures.lines().any(|found| found == line), "{line} is not in {figures}");
    }
    assert!(!figures.contains("export=\"small\",device=\"more\""), "{figures}");
}

/// A first write that comes together with the choice of the export: its payload belongs to that export, too.
#[test]
fn a_write_may_follow_the_choice_of_an_export_at_once() {
    let (one, two) = (Home::new(Bytes::mib(16)), Home::new(Bytes::mib(16)));
    let server = serve(&[("one", &one), ("two", &two)], IoChoice::Best, ServeSettings::default());
    let mut client = stream(&server.socket);
    client.read_exact(&mut [0; 18]).unwrap();
    let go = [&3u32.to_be_bytes()[..], b"IHAVEOPT", &1u32.to_be_bytes(), &3u32.to_be_bytes(), b"two"].concat();
    let header = [&0x2560_9513u32.to_be_bytes()[..], &1u32.to_be_bytes(), &[7; 8], &[0; 8]].concat();
    let write = [&header[..], &4096u32.to_be_bytes(), &[9; 4096]].concat();
    client.write_all(&[go, write].concat()).unwrap();
    let mut replies = [0; 10 + 16];
    client.read_exact(&mut replies).unwrap();
    assert_eq!(replies[10..18], [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0]);
    assert_eq!(Client::connect_to(&server.socket, "two").unwrap().read(0, 4096).unwrap(), [9; 4096]);
    assert_eq!(Client::connect_to(&server.socket, "one").unwrap().read(0, 4096).unwrap(), [0; 4096]);
}

const NAMES: [&str; 2] = ["one", "two"];

type Homes = [Home; 2];

fn open_both(homes: &Homes) -> Server<ServedVolume> {
    open(&[(NAMES[0], &homes[0]), (NAMES[1], &homes[1])], IoChoice::Best, ServeSettings::default())
}

/// The first server, with its sockets.
fn first(homes: &Homes) -> Server<ServedVolume> {
    let mut server = open_both(homes);
    server.listen(Listener::bind(&Address::Unix(homes[0].path("nbd"))).unwrap()).unwrap();
    for (index, home) in homes.iter().enumerate() {
        server.take_control_at(index, Listener::bind(&Address::Unix(home.path("control"))).unwrap()).unwrap();
    }
    server
}

/// One that takes over at the control socket of one of the two volumes.
fn next(homes: &Homes, index: usize) -> Server<ServedVolume> {
    let (handover, mut predecessor) = take_over(&homes[index].path("control"), &NAMES).unwrap();
    assert_eq!(handover.clients(), 2);
    let mut server = open_both(homes);
    server.resume(handover).unwrap();
    server.take_over_from(&mut predecessor).unwrap();
    server
}

/// Serves in a thread until another server has taken over, or until `stops` says so. Returns once it serves.
fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    (homes, stops): (&'scope Homes, &'scope AtomicBool),
    open: impl FnOnce(&Homes) -> Server<ServedVolume> + Send + 'scope,
) -> (ScopedJoinHandle<'scope, ()>, Signal) {
    let (ready, is_ready) = mpsc::channel();
    let thread = scope.spawn(move || {
        let mut server = open(homes);
        ready.send(server.signal()).unwrap();
        while let Some(successor) = server.serve(|| stops.load(Ordering::SeqCst)) {
            match server.hand_over(successor) {
                HandOver::Taken => return,
                HandOver::Refused(same) => server = *same,
                HandOver::TakenBack(handover, _) => {
                    server = open_both(homes);
                    server.resume(handover).unwrap();
                }
            }
        }
        assert_eq!(server.run(|| true), LastWork::Done);
    });
    (thread, is_ready.recv().unwrap())
}

#[test]
fn both_exports_are_taken_over_under_their_clients_and_no_others() {
    let homes = [1, 9].map(|number| Home::identified(number, Bytes::mib(16)));
    let (is_over, stops) = (&AtomicBool::new(false), &AtomicBool::new(false));
    let homes = &homes;
    thread::scope(|scope| {
        let (mut serving, mut signal) = start(scope, (homes, stops), first);
        let clients = NAMES.map(|name| {
            let client = Client::connect_to(&homes[0].path("nbd"), name).unwrap();
            scope.spawn(move || use_export(client, name, (0, 64), |_| is_over.load(Ordering::SeqCst)))
        });
        // Other lists of exports are refused before anything is handed over.
        for names in [&["one"][..], &["two", "one"], &["one", "two", "three"], &["one", "three"]] {
            let error = take_over(&homes[1].path("control"), names).unwrap_err();
            assert!(error.message.contains("the server that serves has one, two"), "{error}");
        }
        // Another volume under the same name is noticed before it serves anybody.
        let (handover, predecessor) = take_over(&homes[0].path("control"), &NAMES).unwrap();
        let other = Home::identified(5, Bytes::mib(16));
        let volumes = [(NAMES[0], &homes[0]), (NAMES[1], &other)];
        let mut wrong = open(&volumes, IoChoice::Threads, ServeSettings::default());
        let error = wrong.resume(handover).unwrap_err();
        assert!(error.message.starts_with("two is esker volume 05050505"), "{error}");
        drop((wrong, predecessor));
        for number in 0..6 {
            let (new, its_signal) = start(scope, (homes, stops), move |homes| next(homes, number % 2));
            serving.join().unwrap();
            (serving, signal) = (new, its_signal);
            thread::sleep(Duration::from_millis(5));
        }
        is_over.store(true, Ordering::SeqCst);
        let counts = clients.map(|client| client.join().unwrap());
        for (home, count) in homes.iter().zip(counts) {
            let requests = status(&home.path("control")).serving.requests;
            assert_eq!((requests.reads + requests.writes, requests.failed), (count, 0));
        }
        stops.store(true, Ordering::SeqCst);
        signal.give();
        serving.join().unwrap();
    });
    let sockets = [0, 1].map(|index| homes[index].path("control").exists());
    assert_eq!((sockets, homes[0].path("nbd").exists()), ([false, false], false), "the last server has removed them");
}
