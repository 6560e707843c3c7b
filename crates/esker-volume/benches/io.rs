//! A volume on one file beside a bare loop over io_uring on the same file: processor time of a request of 4 KiB, 32
//! under way. The ways take turns; the medians of their runs are printed. `ESKER_BENCH_FOLDER` says where the file is.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use esker_core::{Bytes, Lba, Nanos, Request, Rng, Tag};
use esker_testkit::processor_time;
use esker_volume::{
    Buffer, DeviceIo, DeviceSettings, FileBackend, Identity, IoChoice, SystemClock, Volume, VolumeSettings,
    WhatIsThere, create,
};
use io_uring::{IoUring, opcode, types};
use serde_json::json;

const DEPTH: usize = 32;
const LENGTH: u64 = 4096;
const RUNS: usize = 7;

fn is_smoke() -> bool {
    std::env::var_os("ESKER_BENCH_SMOKE").is_some()
}

fn requests() -> u64 {
    if is_smoke() { 2_000 } else { 400_000 }
}

fn file_size() -> Bytes {
    if is_smoke() { Bytes::mib(16) } else { Bytes::mib(256) }
}

/// What one run does.
#[derive(Clone, Copy)]
struct Work {
    writes: bool,
    is_direct: bool,
    requests: u64,
}

/// The way in which a run does it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Bare,
    Volume(IoChoice),
}

const WAYS: [(&str, Way); 3] = [
    ("bare loop over io_uring", Way::Bare),
    ("volume over io_uring", Way::Volume(IoChoice::Ring)),
    ("volume over threads", Way::Volume(IoChoice::Threads)),
];

/// Offsets of requests in a part that is half as large as the file: of the file, or of the volume.
struct Places(Rng);

impl Places {
    fn next(&mut self) -> u64 {
        self.0.below(file_size().0 / 2 / LENGTH) * LENGTH
    }
}

/// Keeps `DEPTH` calls under way, and waits for at least one at a time.
fn bare(path: &Path, work: Work) {
    let direct = if work.is_direct { rustix::fs::OFlags::DIRECT.bits() as i32 } else { 0 };
    let file: File = OpenOptions::new().read(true).write(true).custom_flags(direct).open(path).expect("the file");
    let mut ring: IoUring = IoUring::builder().setup_coop_taskrun().build(DEPTH as u32).expect("io_uring");
    let mut buffers: Vec<Buffer> = (0..DEPTH).map(|_| Buffer::zeroed(LENGTH as usize)).collect();
    let (mut places, mut sent, mut ended) = (Places(Rng::new(1)), 0, 0);
    let mut free: Vec<usize> = (0..DEPTH).collect();
    while ended < work.requests {
        while sent < work.requests
            && let Some(slot) = free.pop()
        {
            // The superblock and the journal stay as they are.
            let offset = file_size().0 / 4 + places.next();
            let bytes = buffers[slot].get_mut().expect("it has one owner").as_mut_ptr();
            let file = types::Fd(file.as_raw_fd());
            let call = match work.writes {
                true => opcode::Write::new(file, bytes, LENGTH as u32).offset(offset).build(),
                false => opcode::Read::new(file, bytes, LENGTH as u32).offset(offset).build(),
            };
            // SAFETY: the buffer lives until all calls have ended, and a slot has one call at a time.
            unsafe { ring.submission().push(&call.user_data(slot as u64)) }.expect("there is room");
            sent += 1;
        }
        ring.submit_and_wait(1).expect("io_uring");
        for completed in ring.completion() {
            assert_eq!(completed.result(), LENGTH as i32, "a call moves all of its bytes");
            free.push(completed.user_data() as usize);
            ended += 1;
        }
    }
}

/// A volume on the file, of which every block was written.
fn volume(path: &Path, choice: IoChoice, is_direct: bool) -> (Volume<SystemClock>, DeviceIo) {
    let io = DeviceIo::start(choice).expect("io_uring or threads");
    let device = io.device(
        "the file",
        FileBackend::open(path).expect("the file"),
        DeviceSettings { is_direct, ..DeviceSettings::default() },
    );
    let volume = Volume::open(vec![Box::new(device)], SystemClock::start()).expect("the volume");
    (volume, io)
}

/// Keeps `DEPTH` requests under way; `request` makes the next one.
fn serve(
    volume: &mut Volume<SystemClock>,
    io: &DeviceIo,
    requests: u64,
    mut request: impl FnMut(&mut Volume<SystemClock>, u64) -> (Request, Buffer),
) {
    let (mut sent, mut ended) = (0, 0);
    let mut free: Vec<u32> = (0..DEPTH as u32).collect();
    while ended < requests {
        while sent < requests
            && let Some(slot) = free.pop()
        {
            let (request, data) = request(volume, sent);
            volume.submit(Tag::new(slot, 0), request, data);
            sent += 1;
        }
        volume.step();
        let before = ended;
        while let Some(reply) = volume.next_reply() {
            assert_eq!(reply.result, Ok(()), "the file takes everything");
            free.push(reply.tag.slot());
            volume.recycle(reply.data);
            ended += 1;
        }
        if ended == before {
            let next = volume.next_event();
            io.wait((next < Nanos::NEVER).then_some(Duration::from_millis(100)));
        }
    }
}

fn random(volume: &mut Volume<SystemClock>, io: &DeviceIo, work: Work) {
    let mut places = Places(Rng::new(1));
    serve(volume, io, work.requests, |volume, _| {
        let start = Lba::containing(places.next());
        match work.writes {
            true => (Request::write(start, Bytes(LENGTH)), volume.buffer(LENGTH as usize)),
            false => (Request::read(start, Bytes(LENGTH)), Buffer::default()),
        }
    });
}

/// Creates a volume on a new file, and writes all of it.
fn prepare(path: &Path) {
    let _ = std::fs::remove_file(path);
    let file = FileBackend::create(path, file_size()).expect("a new file");
    let settings = json!({ "extent": "128KiB", "policy": "static-split", "reserve": "0%" });
    let settings = VolumeSettings::new("hybrid", settings);
    let threads = DeviceIo::start(IoChoice::Threads).expect("threads");
    let device = threads.device("the file", file, DeviceSettings::default());
    create(&mut [Box::new(device)], &settings, &[Identity([1; 16]), Identity([2; 16])], WhatIsThere::Stays)
        .expect("a volume");
    let (mut volume, io) = volume(path, IoChoice::Best, false);
    let (length, count) = (64 << 10, volume.capacity().0 / (64 << 10));
    serve(&mut volume, &io, count, |volume, number| {
        (Request::write(Lba::containing(number * length), Bytes(length)), volume.buffer(length as usize))
    });
    let flush = Request::new(esker_core::RequestKind::Flush, Lba(0), Bytes::ZERO);
    serve(&mut volume, &io, 1, |_, _| (flush, Buffer::default()));
}

fn can_be_direct(path: &Path) -> bool {
    let threads = DeviceIo::start(IoChoice::Threads).expect("threads");
    let file = FileBackend::open(path).expect("the file");
    threads.device("the file", file, DeviceSettings { is_direct: true, ..DeviceSettings::default() }).is_direct()
}

/// Reads the whole file, so that the page cache holds it: opening a volume has the system forget what it holds.
fn warm(path: &Path) {
    std::io::copy(&mut File::open(path).expect("the file"), &mut std::io::sink()).expect("the file can be read");
}

/// Microseconds of processor time that a request takes.
fn run(path: &Path, way: Way, work: Work) -> f64 {
    let begin;
    match way {
        Way::Bare => {
            warm(path);
            bare(path, Work { requests: work.requests / 20, ..work });
            begin = processor_time();
            bare(path, work);
        }
        Way::Volume(choice) => {
            let (mut volume, io) = volume(path, choice, work.is_direct);
            warm(path);
            random(&mut volume, &io, Work { requests: work.requests / 20, ..work });
            begin = processor_time();
            random(&mut volume, &io, work);
        }
    }
    (processor_time() - begin).as_secs_f64() * 1e6 / work.requests as f64
}

#[expect(clippy::print_stdout, reason = "a benchmark's result is its output")]
fn main() {
    let folder = std::env::var_os("ESKER_BENCH_FOLDER").map_or_else(std::env::temp_dir, PathBuf::from);
    let only = std::env::var("ESKER_BENCH_ONLY").unwrap_or_default();
    let path = folder.join(format!("esker-bench-io-{}", std::process::id()));
    let median = |mut figures: Vec<f64>| {
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    };
    if let Err(error) = DeviceIo::start(IoChoice::Ring) {
        return println!("skipped: io_uring: {error}");
    }
    for (is_direct, how) in [(false, "page cache"), (true, "O_DIRECT")] {
        for (writes, kind) in [(false, "reads"), (true, "writes")] {
            let name = |way: &str| format!("{how}, {kind}, {way}");
            let ways: Vec<_> = WAYS.iter().filter(|(way, _)| name(way).contains(&only)).collect();
            if ways.is_empty() {
                continue;
            }
            prepare(&path);
            if is_direct && !can_be_direct(&path) {
                println!("skipped: direct I/O: {} has none", folder.display());
                continue;
            }
            let requests = if is_direct { requests() / 8 } else { requests() };
            let work = Work { writes, is_direct, requests };
            let mut figures = vec![Vec::new(); ways.len()];
            for _ in 0..if is_smoke() { 1 } else { RUNS } {
                ways.iter().zip(&mut figures).for_each(|((_, way), figures)| figures.push(run(&path, *way, work)));
            }
            for ((way, _), figures) in ways.iter().zip(figures) {
                println!("{:<44} {:6.2} us a request", name(way), median(figures));
            }
        }
    }
    let _ = std::fs::remove_file(&path);
}
