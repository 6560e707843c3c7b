//! Servers that hand over to each other, in threads.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use esker_core::{Bytes, Rng};
use esker_nbd::Command;
use esker_serve::{
    Address, HandOver, LastWork, Listener, ServeSettings, ServedVolume, Server, VolumeOperation, VolumeStatus, call,
    take_over,
};
use esker_volume::{IoChoice, Signal};

use super::client::Client;
use super::served::Home;

fn settings() -> ServeSettings {
    ServeSettings { take_over_limit: Duration::from_millis(500), ..ServeSettings::default() }
}

/// The first server, with its sockets.
fn first(home: &Home) -> Server<ServedVolume> {
    let mut server = home.open(IoChoice::Best, settings());
    let [clients, control] = ["nbd", "control"].map(|name| Listener::bind(&Address::Unix(home.path(name))).unwrap());
    server.listen(clients).unwrap();
    server.take_control_at(0, control).unwrap();
    server
}

/// One that takes over from the one that serves.
fn next(home: &Home) -> Server<ServedVolume> {
    let (handover, mut predecessor) = take_over(&home.path("control"), &["home"]).unwrap();
    let mut server = home.open(IoChoice::Threads, settings());
    server.resume(handover).unwrap();
    server.take_over_from(&mut predecessor).unwrap();
    server
}

/// A server in a thread, which ends once another one has taken over, or when it is asked to.
struct Serving {
    stop: Arc<AtomicBool>,
    signal: Signal,
    /// Returns how often it has taken everything back.
    thread: JoinHandle<u32>,
}

impl Serving {
    /// Returns once it serves.
    fn start(home: &Arc<Home>, open: fn(&Home) -> Server<ServedVolume>) -> Self {
        let (home, stop, (ready, is_ready)) = (Arc::clone(home), Arc::new(AtomicBool::new(false)), mpsc::channel());
        let stops = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let (mut server, mut taken_back) = (open(&home), 0);
            ready.send(server.signal()).unwrap();
            while let Some(successor) = server.serve(|| stops.load(Ordering::SeqCst)) {
                match server.hand_over(successor) {
                    HandOver::Taken => return taken_back,
                    HandOver::Refused(same) => server = *same,
                    HandOver::TakenBack(handover, _) => {
                        taken_back += 1;
                        server = home.open(IoChoice::Best, settings());
                        server.resume(handover).unwrap();
                    }
                }
            }
            assert_eq!(server.run(|| true), LastWork::Done);
            taken_back
        });
        let signal = is_ready.recv().unwrap();
        Self { stop, signal, thread }
    }

    fn stop(self) -> u32 {
        self.stop.store(true, Ordering::SeqCst);
        self.signal.give();
        self.thread.join().unwrap()
    }
}

const BLOCK: u32 = 4096;
const TAKE_OVERS: u64 = 12;

/// Keeps 16 requests under way, each of another block, until `is_over`; then reads all. Returns their number.
fn use_until(client: &mut Client, is_over: &AtomicBool) -> u64 {
    let (mut rng, mut under_way, mut count) = (Rng::new(5), 0u64, 0u64);
    let mut expected = [0u8; 64];
    let place = |block: u64| block * 40_960;
    let done = |client: &mut Client| {
        let done = client.done();
        assert_eq!(done.result, Ok(()), "request {}", done.id);
    };
    while !is_over.load(Ordering::SeqCst) {
        count += 1;
        // The block was last used 64 requests ago.
        let block = count % 64;
        let (offset, length) = (place(block), BLOCK);
        if rng.chance(1, 16) {
            client.submit(count, Command::Flush, None);
        } else {
            let byte = rng.below(256) as u8;
            expected[block as usize] = byte;
            client.submit(count, Command::Write { offset, length, durable: false }, Some(vec![byte; BLOCK as usize]));
        }
        client.begin();
        under_way += 1;
        if under_way == 16 {
            done(client);
            under_way -= 1;
        }
    }
    (0..under_way).for_each(|_| done(client));
    for (block, byte) in (0u64..).zip(expected) {
        assert!(client.read(place(block), BLOCK).unwrap() == [byte; BLOCK as usize], "block {block}");
    }
    count
}

#[test]
fn servers_take_over_under_clients_with_many_requests() {
    let home = Arc::new(Home::new(Bytes::mib(16)));
    let mut serving = Serving::start(&home, first);
    let is_over = Arc::new(AtomicBool::new(false));
    let (is_over_there, socket) = (Arc::clone(&is_over), home.path("nbd"));
    let client = thread::spawn(move || use_until(&mut Client::connect(&socket), &is_over_there));
    for _ in 0..TAKE_OVERS {
        let new = Serving::start(&home, next);
        assert_eq!(serving.thread.join().unwrap(), 0);
        serving = new;
        assert!(!client.is_finished());
        thread::sleep(Duration::from_millis(5));
    }
    is_over.store(true, Ordering::SeqCst);
    let requests = client.join().unwrap();
    let status: VolumeStatus =
        serde_json::from_value(call(&home.path("control"), &VolumeOperation::Status).unwrap()).unwrap();
    let counted = status.serving.requests;
    // Each hand-over makes durable what was written.
    assert_eq!((counted.writes + counted.flushes, counted.reads, counted.failed), (requests + TAKE_OVERS, 64, 0));
    assert!(requests > 1000, "only {requests} requests");
    serving.stop();
    assert!(!home.path("nbd").exists() && !home.path("control").exists());
}

#[test]
fn a_server_serves_on_whenever_its_successor_leaves() {
    let home = Arc::new(Home::new(Bytes::mib(16)));
    let serving = Serving::start(&home, first);
    let mut client = Client::connect(&home.path("nbd"));
    client.write(0, &[1; 4096], false).unwrap();
    let asks = || {
        let mut stream = UnixStream::connect(home.path("control")).unwrap();
        stream.write_all(b"{\"command\":\"take-over\",\"layout\":1,\"exports\":[\"home\"]}\n").unwrap();
        stream
    };
    // It leaves at once, in the middle of what it is handed, or once it has everything.
    for bytes in [0, 1, 200] {
        let mut read = vec![0; bytes];
        asks().read_exact(&mut read).unwrap();
        assert_eq!(client.read(0, 4096).unwrap(), [1; 4096], "after {bytes} bytes");
    }
    let (handover, predecessor) = take_over(&home.path("control"), &["home"]).unwrap();
    drop((handover, predecessor));
    client.write(4096, &[2; 4096], true).unwrap();
    // It hangs: after the limit, it cannot take over any more.
    let (handover, mut predecessor) = take_over(&home.path("control"), &["home"]).unwrap();
    assert_eq!(client.read(4096, 4096).unwrap(), [2; 4096]);
    let other = Home::new(Bytes::mib(16));
    let mut late = other.open(IoChoice::Threads, settings());
    late.resume(handover).unwrap();
    let error = late.take_over_from(&mut predecessor).unwrap_err();
    assert!(error.message.contains("waited for too long"), "{error}");
    drop(late);
    // Nothing was read of the client, nor were the sockets' files removed.
    assert_eq!(client.read(0, 4096).unwrap(), [1; 4096]);
    assert_eq!(Client::connect(&home.path("nbd")).read(0, 512).unwrap(), [1; 512]);
    // Another version, and one that never ends its line.
    let mut stream = UnixStream::connect(home.path("control")).unwrap();
    stream.write_all(b"{\"command\":\"take-over\",\"layout\":2,\"exports\":[\"home\"]}\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("another version"), "{answer}");
    // The next one takes over.
    let new = Serving::start(&home, next);
    assert!(serving.thread.join().unwrap() >= 3);
    assert_eq!(client.read(4096, 4096).unwrap(), [2; 4096]);
    new.stop();
}

#[test]
fn clients_that_are_not_between_two_requests_lose_their_connection_and_nobody_else() {
    let home = Arc::new(Home::new(Bytes::mib(16)));
    let serving = Serving::start(&home, first);
    let mut client = Client::connect(&home.path("nbd"));
    let mut silent = UnixStream::connect(home.path("nbd")).unwrap();
    // The server has greeted it.
    silent.read_exact(&mut [0; 18]).unwrap();
    let new = Serving::start(&home, next);
    serving.thread.join().unwrap();
    assert_eq!(silent.read(&mut [0; 1]).unwrap(), 0, "it is closed");
    client.write(0, &[3; 512], true).unwrap();
    new.stop();
}

#[test]
fn a_server_that_only_runs_is_not_taken_over_from() {
    let home = Home::new(Bytes::mib(16));
    let server = home.serve(IoChoice::Best, settings());
    let mut client = Client::connect(&server.socket);
    let error = take_over(&server.control, &["home"]).unwrap_err();
    assert_eq!(error.message, "this server cannot be taken over");
    client.write(0, &[1; 512], true).unwrap();
}
