//! Kinds of volumes side by side, over four files in the page cache: processor time of a request of 4 KiB, 32 under
//! way. The kinds take turns; the medians of their runs are printed. `ESKER_BENCH_FOLDER` says where the files are.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use esker_core::{Bytes, Lba, Nanos, Request, RequestKind, Rng, Tag};
use esker_testkit::processor_time;
use esker_volume::{
    Buffer, DeviceIo, DeviceSettings, FileBackend, Identity, IoChoice, OpenDevice, SystemClock, Volume, VolumeSettings,
    WhatIsThere, create,
};
use serde_json::json;

const FILES: usize = 4;
const DEPTH: usize = 32;
const LENGTH: u64 = 4096;
const RUNS: usize = 7;

fn is_smoke() -> bool {
    std::env::var_os("ESKER_BENCH_SMOKE").is_some()
}

fn requests() -> u64 {
    if is_smoke() { 2_000 } else { 200_000 }
}

/// The kinds with their names, none of which moves anything meanwhile.
fn kinds() -> [(&'static str, VolumeSettings); 3] {
    let cluster = |replicas: u8| {
        let options = json!({ "balancer": "none", "object": "64KiB", "objects_per_slice": 64, "replicas": replicas });
        VolumeSettings::new("cluster", options)
    };
    [("array", VolumeSettings::new("array", json!({}))), ("cluster", cluster(1)), ("cluster of two copies", cluster(2))]
}

fn devices(folder: &Path, io: &DeviceIo) -> Vec<Box<dyn OpenDevice>> {
    let device = |number: usize| -> Box<dyn OpenDevice> {
        let file = FileBackend::open(&folder.join(number.to_string())).expect("the file");
        Box::new(io.device(number.to_string(), file, DeviceSettings::default()))
    };
    (0..FILES).map(device).collect()
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
            assert_eq!(reply.result, Ok(()), "the files take everything");
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

/// Creates a volume on new files, and writes all of it.
fn prepare(folder: &Path, settings: &VolumeSettings) {
    let size = if is_smoke() { Bytes::mib(24) } else { Bytes::mib(128) };
    for number in 0..FILES {
        let path = folder.join(number.to_string());
        let _ = std::fs::remove_file(&path);
        FileBackend::create(&path, size).expect("a new file");
    }
    let identities: Vec<Identity> = (0..=FILES as u8).map(|number| Identity([number + 1; 16])).collect();
    let io = DeviceIo::start(IoChoice::Best).expect("io_uring or threads");
    create(&mut devices(folder, &io), settings, &identities, WhatIsThere::Stays).expect("a volume");
    let mut volume = Volume::open(devices(folder, &io), SystemClock::start()).expect("the volume");
    let (length, count) = (64 << 10, volume.capacity().0 / (64 << 10));
    serve(&mut volume, &io, count, |volume, number| {
        (Request::write(Lba::containing(number * length), Bytes(length)), volume.buffer(length as usize))
    });
    let flush = Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO);
    serve(&mut volume, &io, 1, |_, _| (flush, Buffer::default()));
}

/// Microseconds of processor time that a request takes.
fn run(folder: &Path, writes: bool) -> f64 {
    let io = DeviceIo::start(IoChoice::Best).expect("io_uring or threads");
    let mut volume = Volume::open(devices(folder, &io), SystemClock::start()).expect("the volume");
    // Opening a volume has the system forget what it holds.
    for number in 0..FILES {
        let mut file = File::open(folder.join(number.to_string())).expect("the file");
        std::io::copy(&mut file, &mut std::io::sink()).expect("the file can be read");
    }
    let (mut rng, blocks) = (Rng::new(1), volume.capacity().0 / LENGTH);
    let mut next = |volume: &mut Volume<SystemClock>, _: u64| {
        let start = Lba::containing(rng.below(blocks) * LENGTH);
        match writes {
            true => (Request::write(start, Bytes(LENGTH)), volume.buffer(LENGTH as usize)),
            false => (Request::read(start, Bytes(LENGTH)), Buffer::default()),
        }
    };
    serve(&mut volume, &io, requests() / 20, &mut next);
    let begin = processor_time();
    serve(&mut volume, &io, requests(), &mut next);
    (processor_time() - begin).as_secs_f64() * 1e6 / requests() as f64
}

#[expect(clippy::print_stdout, reason = "a benchmark's result is its output")]
fn main() {
    let root = std::env::var_os("ESKER_BENCH_FOLDER").map_or_else(std::env::temp_dir, PathBuf::from);
    let root = root.join(format!("esker-bench-kinds-{}", std::process::id()));
    let kinds = kinds();
    for (name, settings) in &kinds {
        let folder = root.join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        prepare(&folder, settings);
    }
    for (writes, what) in [(false, "reads"), (true, "writes")] {
        let mut figures = vec![Vec::new(); kinds.len()];
        for _ in 0..if is_smoke() { 1 } else { RUNS } {
            for ((name, _), figures) in kinds.iter().zip(&mut figures) {
                figures.push(run(&root.join(name), writes));
            }
        }
        for ((name, _), mut figures) in kinds.iter().zip(figures) {
            figures.sort_by(f64::total_cmp);
            println!("{what}, {name:<21} {:6.2} us a request", figures[figures.len() / 2]);
        }
    }
    let _ = std::fs::remove_dir_all(&root);
}
