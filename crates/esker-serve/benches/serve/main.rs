//! What serving a request costs, in processor time of the server: a volume on one file, a bare server that does nothing
//! but read and write such a file and sleeps until the client has sent something or looks for it, and nbdkit and
//! qemu-nbd on it where they are installed. All have the same client, which is a process of its own. They take turns;
//! medians are printed. `ESKER_BENCH_FOLDER` says where the files are.
#![expect(clippy::print_stdout, reason = "a benchmark's result is its output")]

mod bare;
mod client;
mod hostile;
mod others;
mod volume;

use std::path::{Path, PathBuf};
use std::time::Duration;

use esker_core::{Bytes, Nanos};

/// What the client does.
#[derive(Clone, Copy)]
pub(crate) struct Job {
    name: &'static str,
    writes: bool,
    /// Whether offsets rise.
    in_order: bool,
    length: u32,
    depth: usize,
    requests: u64,
}

const JOBS: [Job; 4] = [
    Job { name: "4 KiB reads, depth 32", writes: false, in_order: false, length: 4096, depth: 32, requests: 400_000 },
    Job { name: "4 KiB writes, depth 32", writes: true, in_order: false, length: 4096, depth: 32, requests: 100_000 },
    Job {
        name: "128 KiB reads, depth 32",
        writes: false,
        in_order: true,
        length: 131_072,
        depth: 32,
        requests: 40_000,
    },
    Job { name: "4 KiB reads, depth 1", writes: false, in_order: false, length: 4096, depth: 1, requests: 40_000 },
];

/// What a run has cost.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    processor: Duration,
    wall: Nanos,
}

/// A way to serve the file at this path to the client of a job.
type Way = fn(&Path, Job) -> Option<Cost>;

const WAYS: [(&str, Way); 5] = [
    ("bare server", bare::run),
    ("bare, looking", bare::run_looking),
    ("esker", volume::run),
    ("nbdkit file", others::nbdkit),
    ("qemu-nbd", others::qemu_nbd),
];

fn is_smoke() -> bool {
    std::env::var_os("ESKER_BENCH_SMOKE").is_some()
}

/// Bytes of the file that clients use. The volume's file is a little larger.
pub(crate) fn used() -> Bytes {
    if is_smoke() { Bytes::mib(8) } else { Bytes::mib(256) }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() {
    if let Some(socket) = std::env::var_os(client::SOCKET) {
        return match std::env::var(hostile::KIND) {
            Ok(kind) => hostile::main(Path::new(&socket), &kind),
            Err(_) => client::main(Path::new(&socket)),
        };
    }
    let only = std::env::var("ESKER_BENCH_ONLY").unwrap_or_default();
    let folder = std::env::var_os("ESKER_BENCH_FOLDER").map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = folder.join(format!("esker-bench-serve-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("a new folder");
    volume::prepare(&folder);
    for job in JOBS.iter().filter(|job| job.name.contains(&only)) {
        let requests = if is_smoke() { 500 } else { job.requests };
        let job = Job { requests, ..*job };
        let runs = if is_smoke() { 1 } else { 9 };
        let mut costs = [const { Vec::new() }; WAYS.len()];
        for _ in 0..runs {
            WAYS.iter().zip(&mut costs).for_each(|((_, way), costs)| costs.extend(way(&folder, job)));
        }
        for ((name, _), costs) in WAYS.iter().zip(costs) {
            if costs.is_empty() {
                println!("{:<24} {name:<13} skipped: it is not installed", job.name);
                continue;
            }
            let per_request = |cost: &Cost| cost.processor.as_secs_f64() * 1e6 / requests as f64;
            let rate = |cost: &Cost| requests as f64 / cost.wall.as_secs_f64();
            let (cost, rate) =
                (median(costs.iter().map(per_request).collect()), median(costs.iter().map(rate).collect()));
            println!("{:<24} {name:<13} {cost:7.2} us a request  {rate:9.0} requests/s", job.name);
        }
    }
    if "hostile".contains(&only) {
        hostile::measure(&folder);
    }
    let _ = std::fs::remove_dir_all(&folder);
}
