//! A volume on one export that nbdkit serves from memory: processor time of this process for a request of 4 KiB, 32
//! under way. The medians of several runs are printed.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark prints what it measures")]

use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use esker_core::{Bytes, Lba, Nanos, Request, RequestKind, Rng, Tag};
use esker_nbd_device::{ExportDevice, NbdUri};
use esker_testkit::processor_time;
use esker_volume::{
    Buffer, DeviceIo, DeviceLimits, Identity, IoChoice, OpenDevice, SystemClock, Volume, VolumeSettings, WhatIsThere,
    create,
};
use serde_json::json;

const DEPTH: usize = 32;
const LENGTH: u64 = 4096;

fn is_smoke() -> bool {
    std::env::var_os("ESKER_BENCH_SMOKE").is_some()
}

fn requests() -> u64 {
    if is_smoke() { 2_000 } else { 100_000 }
}

struct Driven {
    volume: Volume<SystemClock>,
    io: DeviceIo,
}

impl Driven {
    fn open(uri: &NbdUri, choice: IoChoice) -> Self {
        let io = DeviceIo::start(choice).expect("io_uring or threads");
        let volume = Volume::open(vec![device(uri, &io)], SystemClock::start()).expect("the volume");
        Self { volume, io }
    }

    /// Keeps `DEPTH` requests under way; `request` makes the next one.
    fn serve(&mut self, requests: u64, mut request: impl FnMut(u64) -> Request) {
        let (mut sent, mut ended) = (0, 0);
        let mut free: Vec<u32> = (0..DEPTH as u32).collect();
        while ended < requests {
            while sent < requests
                && let Some(slot) = free.pop()
            {
                let request = request(sent);
                let data = match request.kind {
                    RequestKind::Write { .. } => self.volume.buffer(request.length.0 as usize),
                    _ => Buffer::default(),
                };
                self.volume.submit(Tag::new(slot, 0), request, data);
                sent += 1;
            }
            self.volume.step();
            let before = ended;
            while let Some(reply) = self.volume.next_reply() {
                assert_eq!(reply.result, Ok(()), "the export takes everything");
                free.push(reply.tag.slot());
                self.volume.recycle(reply.data);
                ended += 1;
            }
            if ended == before {
                let next = self.volume.next_event();
                self.io.wait((next < Nanos::NEVER).then_some(Duration::from_millis(100)));
            }
        }
    }

    fn random(&mut self, writes: bool, requests: u64) {
        let (mut rng, blocks) = (Rng::new(1), self.volume.capacity().0 / 2 / LENGTH);
        self.serve(requests, |_| {
            let start = Lba::containing(rng.below(blocks) * LENGTH);
            if writes { Request::write(start, Bytes(LENGTH)) } else { Request::read(start, Bytes(LENGTH)) }
        });
    }
}

fn device(uri: &NbdUri, io: &DeviceIo) -> Box<dyn OpenDevice> {
    Box::new(ExportDevice::open("export", uri, io, DeviceLimits { depth: 128, background: None }).expect("the export"))
}

/// Creates a volume on the export, and writes all of it.
fn prepare(uri: &NbdUri) {
    let settings = json!({ "extent": "128KiB", "policy": "static-split", "reserve": "0%" });
    let io = DeviceIo::start(IoChoice::Threads).expect("threads");
    let identities = [Identity([1; 16]), Identity([2; 16])];
    create(&mut [device(uri, &io)], &VolumeSettings::new("hybrid", settings), &identities, WhatIsThere::Stays)
        .expect("a volume");
    let mut driven = Driven::open(uri, IoChoice::Threads);
    let length = 64 << 10;
    let count = driven.volume.capacity().0 / length;
    driven.serve(count, |number| Request::write(Lba::containing(number * length), Bytes(length)));
    driven.serve(1, |_| Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO));
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("nbd.sock");
    let arguments = ["--foreground", "--unix", socket.to_str().expect("a path"), "memory", "256M"];
    let Ok(mut nbdkit) = Command::new("nbdkit").args(arguments).stdin(Stdio::null()).spawn() else {
        return println!("skipped: nbdkit is not installed");
    };
    let begin = Instant::now();
    // The socket is there before the server listens.
    while UnixStream::connect(&socket).is_err() && begin.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let uri = format!("nbd+unix:///?socket={}", socket.display()).parse().expect("a URI");
    prepare(&uri);
    for (choice, way) in [(IoChoice::Best, "io_uring"), (IoChoice::Threads, "threads")] {
        for (writes, kind) in [(false, "reads"), (true, "writes")] {
            let mut figures: Vec<f64> = (0..if is_smoke() { 1 } else { 7 })
                .map(|_| {
                    let mut driven = Driven::open(&uri, choice);
                    driven.random(writes, requests() / 20);
                    let begin = processor_time();
                    driven.random(writes, requests());
                    (processor_time() - begin).as_secs_f64() * 1e6 / requests() as f64
                })
                .collect();
            figures.sort_by(f64::total_cmp);
            println!("{:<44} {:6.2} us a request", format!("{kind}, {way}"), figures[figures.len() / 2]);
        }
    }
    let _ = nbdkit.kill();
    let _ = nbdkit.wait();
}
