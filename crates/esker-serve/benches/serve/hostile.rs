//! How long a client waits beside others that mean no good: the 99th percentile of its response times. Those others are
//! processes of the lowest priority, so that they take the server's time and not the processor's. What they take of the
//! processor's time all the same shows beside threads that leave the server alone.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command as Process, Stdio};

use esker_core::Rng;

use crate::{Job, client, is_smoke, median, volume};

/// Names the kind to the process of a hostile client.
pub(crate) const KIND: &str = "ESKER_BENCH_HOSTILE";

type Attack = fn(&Path);

const KINDS: [(&str, Attack); 6] = [
    ("two busy threads", two_busy_threads),
    ("random bytes", random_bytes),
    ("huge lengths", huge_lengths),
    ("half-open connections", half_open),
    ("slow readers", slow_readers),
    ("floods", floods),
];

const JOB: Job = Job { name: "hostile", writes: false, in_order: false, length: 4096, depth: 1, requests: 40_000 };

/// Prints how long a client waits alone, and beside each kind.
pub(crate) fn measure(folder: &Path) {
    let (runs, requests) = if is_smoke() { (1, 200) } else { (5, JOB.requests) };
    let job = Job { requests, ..JOB };
    let mut waits = vec![Vec::new(); KINDS.len() + 1];
    for _ in 0..runs {
        for (kind, waits) in waits.iter_mut().enumerate() {
            let kind = kind.checked_sub(1).map(|index| KINDS[index].0);
            waits.push(volume::wait_of_client(folder, job, |socket| kind.map(|kind| start(socket, kind))));
        }
    }
    let mut waits = waits.into_iter().map(median);
    let alone = waits.next().expect("the first was alone");
    println!("4 KiB reads, depth 1     alone                    p99 {alone:7.1} us");
    for ((kind, _), wait) in KINDS.iter().zip(waits) {
        println!("4 KiB reads, depth 1     {kind:<24} p99 {wait:7.1} us, {:.2} of alone", wait / alone);
    }
}

fn start(socket: &Path, kind: &str) -> Child {
    Process::new("nice")
        .args(["-n", "19"])
        .arg(std::env::current_exe().expect("it runs"))
        .env(client::SOCKET, socket)
        .env(KIND, kind)
        .stderr(Stdio::null())
        .spawn()
        .expect("nice is everywhere")
}

/// Is hostile until it is killed.
pub(crate) fn main(socket: &Path, kind: &str) {
    let (_, attack) = KINDS.iter().find(|(name, _)| *name == kind).expect("a kind");
    loop {
        attack(socket);
    }
}

/// A connection whose export is open.
fn opened(socket: &Path) -> Option<UnixStream> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.read_exact(&mut [0; 18]).ok()?;
    let flags = 3u32.to_be_bytes();
    stream.write_all(&[&flags[..], b"IHAVEOPT", &1u32.to_be_bytes(), &0u32.to_be_bytes()].concat()).ok()?;
    stream.read_exact(&mut [0; 10]).ok()?;
    Some(stream)
}

fn request(kind: u16, offset: u64, length: u32) -> Vec<u8> {
    let magic = 0x2560_9513u32.to_be_bytes();
    [&magic[..], &[0; 2], &kind.to_be_bytes(), &[0; 8], &offset.to_be_bytes(), &length.to_be_bytes()].concat()
}

/// Takes processor time, and nothing of the server's.
fn two_busy_threads(_: &Path) {
    let busy = || {
        let mut rng = Rng::new(7);
        while std::hint::black_box(rng.below(2)) < 2 {}
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(busy))));
}

fn random_bytes(socket: &Path) {
    let mut rng = Rng::new(7);
    for _ in 0..1000 {
        let mut bytes: Vec<u8> = (0..4096).map(|_| rng.below(256) as u8).collect();
        if rng.chance(1, 2) {
            bytes.splice(..4, 3u32.to_be_bytes());
        }
        // The server may have closed it.
        let _ = UnixStream::connect(socket).and_then(|mut stream| stream.write_all(&bytes));
    }
}

/// Asks for more than any server gives, and for what is beyond the end.
fn huge_lengths(socket: &Path) {
    let Some(mut stream) = opened(socket) else { return };
    let mut answer = [0; 16];
    loop {
        for (offset, length) in [(0, u32::MAX), (u64::MAX, 4096), (1 << 60, 1 << 31)] {
            if stream.write_all(&request(0, offset, length)).is_err() || stream.read_exact(&mut answer).is_err() {
                return;
            }
        }
    }
}

/// Connects as often as the server allows, and says nothing.
fn half_open(socket: &Path) {
    let streams: Vec<UnixStream> = (0..50).filter_map(|_| UnixStream::connect(socket).ok()).collect();
    for mut stream in streams {
        // Until the server closes it.
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
    }
}

/// Asks for megabytes and takes them a few bytes at a time.
fn slow_readers(socket: &Path) {
    let mut streams: Vec<UnixStream> = (0..8).filter_map(|_| opened(socket)).collect();
    for stream in &mut streams {
        // Until nothing more is taken.
        let _ = stream.set_nonblocking(true);
        while stream.write(&request(0, 0, 1 << 20)).is_ok_and(|count| count == 28) {}
    }
    while streams.iter_mut().all(|stream| !matches!(stream.read(&mut [0; 64]), Ok(0))) {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// Asks for as much as it can, and takes all of it.
fn floods(socket: &Path) {
    let Some(mut stream) = opened(socket) else { return };
    let Ok(mut reader) = stream.try_clone() else { return };
    let takes = std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
    let asks = request(0, 0, 4096).repeat(64);
    while stream.write_all(&asks).is_ok() {}
    let _ = takes.join();
}
