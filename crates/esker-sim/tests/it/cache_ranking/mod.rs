//! Ranks the policies of flash caches on three mixes of reads and writes, by examples/cache-ranking.toml. With
//! `ESKER_UPDATE_DOCS=1` writes the list of policies in that example; with `ESKER_SOAK=2` also docs/cache-ranking.md
//! and its picture.

mod page;
mod picture;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use esker_cache::{Access, AccessKind, NEVER, ObjectId, REPLACEMENTS, ReplacementCapability, Shape, build, simulate};
use esker_core::registry::Choice;
use esker_core::{Bytes, RequestKind};
use esker_results::{LeftOut, RunResults};
use esker_sim::{Experiment, SweepOptions, Workload, sweep};

use crate::reference::part_is_current;

const EXAMPLE: &str = "examples/cache-ranking.toml";

/// What a policy did on one mix.
#[derive(Clone, Copy, Debug)]
struct Measured {
    miss_ratio: f64,
    /// By how much it misses more than Belady's policy, which knows the future.
    regret: f64,
    p99_ms: f64,
    drive_writes_per_day: f64,
}

/// The results on one mix.
#[derive(Debug)]
struct Mix {
    /// Share of reads, such as "70%".
    reads: String,
    /// Miss ratio of Belady's policy.
    least: f64,
    /// By policy, in the order of the example.
    policies: Vec<(String, Measured)>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn example() -> String {
    std::fs::read_to_string(root().join(EXAMPLE)).unwrap()
}

/// Runs all points of the experiment.
fn rank(text: &str) -> Vec<Mix> {
    let experiment = Experiment::from_str(text, "cache-ranking.toml").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let table = sweep(&experiment, &SweepOptions::new(folder.path())).unwrap().table;
    let column = |name: &str| table.columns.iter().position(|column| column == name).unwrap();
    let columns = ["workload.synthetic.read_fraction", "device.volume.policy", "file", "error"].map(column);
    let numbers = ["cache_miss_ratio", "p99_us", "drive_writes_per_day"].map(column);
    let [reads, policy, file, error] = columns;
    let mut mixes: Vec<Mix> = Vec::new();
    for row in &table.rows {
        assert!(row[error].is_null(), "{}", row[error]);
        let text = |column: usize| row[column].as_str().unwrap().to_string();
        let [miss_ratio, p99_us, drive_writes_per_day] = numbers.map(|column| row[column].as_f64().unwrap());
        if mixes.last().is_none_or(|mix| mix.reads != text(reads)) {
            let results = std::fs::read_to_string(folder.path().join(text(file))).unwrap();
            let results: RunResults = serde_json::from_str(&results).unwrap();
            let least = least_miss_ratio(&experiment, mixes.len(), results.devices["flash"].capacity_bytes);
            mixes.push(Mix { reads: text(reads), least, policies: Vec::new() });
        }
        let mix = mixes.last_mut().unwrap();
        let regret = miss_ratio - mix.least;
        let measured = Measured { miss_ratio, regret, p99_ms: p99_us / 1e3, drive_writes_per_day };
        mix.policies.push((text(policy), measured));
    }
    mixes
}

/// Miss ratio of Belady's policy on mix number `mix`, after the requests of the warm-up.
fn least_miss_ratio(experiment: &Experiment, mix: usize, flash_bytes: u64) -> f64 {
    const LINE: Bytes = Bytes::kib(4);
    let point = experiment.point(&[mix, 0]).unwrap();
    let workload = Workload::open(&point.workload, Path::new("."), point.run.seed, &AtomicBool::new(false)).unwrap();
    let left_out = Cell::new(LeftOut::default());
    let capacity = point.assemble().unwrap().device.capacity();
    let access = |request: &esker_core::Request| {
        assert_eq!((request.length, request.start.byte_offset() % LINE.0), (LINE, 0), "a request is one line");
        let kind = if request.kind == RequestKind::Read { AccessKind::Read } else { AccessKind::Write };
        let object = ObjectId(u32::try_from(request.start.byte_offset() / LINE.0).unwrap());
        Access { object, bytes: LINE.0 as u32, kind, next_use: NEVER }
    };
    let arrivals = workload.arrivals(capacity, &point.workload, &left_out).unwrap();
    let mut accesses: Vec<Access> = arrivals.map(|arrival| access(&arrival.request)).collect();
    let objects = accesses.iter().map(|access| access.object.0 + 1).max().unwrap();
    let mut next = vec![NEVER; objects as usize];
    for (number, access) in accesses.iter_mut().enumerate().rev() {
        access.next_use = std::mem::replace(&mut next[access.object.index()], number as u32);
    }
    let shape = Shape { capacity: (flash_bytes / LINE.0) as u32, objects, seed: 0 };
    let misses = |accesses: &[Access]| {
        let mut belady = build(&Choice::named("belady"), &shape).unwrap();
        simulate(&mut *belady, accesses).misses
    };
    let warm_up = point.run.warm_up_requests as usize;
    (misses(&accesses) - misses(&accesses[..warm_up])) as f64 / (accesses.len() - warm_up) as f64
}

/// What holds whatever the length of the run.
fn is_sound(mixes: &[Mix]) {
    assert_eq!(mixes.len(), 3);
    for mix in mixes {
        let of = |name: &str| mix.policies.iter().find(|(policy, _)| policy == name).unwrap().1;
        for (policy, measured) in &mix.policies {
            assert!(measured.regret > 0.0 && measured.miss_ratio < 1.0, "{policy}: {measured:?}");
            assert!(measured.p99_ms > 0.0 && measured.drive_writes_per_day > 0.0, "{policy}: {measured:?}");
        }
        // What is used again and again is what Zipf's law makes popular: to forget it in order of arrival is worse.
        assert!(of("fifo").miss_ratio > of("lru").miss_ratio, "{mix:?}");
    }
    // The cache writes what misses, and what the host writes.
    let written = |mix: &Mix| mix.policies[0].1.drive_writes_per_day;
    assert!(written(&mixes[0]) < written(&mixes[1]) && written(&mixes[1]) < written(&mixes[2]), "{mixes:?}");
}

#[test]
fn no_policy_misses_less_than_one_that_knows_the_future() {
    let short = example().replace("500_000", "60_000").replace("200_000", "30_000");
    let (head, _) = short.split_once("\"device.volume.policy\" = [").unwrap();
    is_sound(&rank(&format!("{head}\"device.volume.policy\" = [\"lru\", \"fifo\", \"s3-fifo\"]\n")));
}

/// The policies that a device can use, as a list that breaks its lines.
fn list_of_policies() -> String {
    let mut list = String::new();
    let mut line = "   ".to_string();
    for entry in REPLACEMENTS.iter().filter(|entry| !entry.can(ReplacementCapability::Future)) {
        let item = format!(" \"{}\",", entry.name);
        if line.len() + item.len() > 120 {
            list += &format!("{line}\n");
            line = "   ".to_string();
        }
        line += &item;
    }
    list + &line + "\n"
}

#[test]
fn the_list_of_the_example_is_current() {
    part_is_current(EXAMPLE, ["\"device.volume.policy\" = [\n", "]"], &list_of_policies());
}

#[test]
fn the_page_has_every_policy_that_a_device_can_use() {
    let page = std::fs::read_to_string(root().join(page::FILE)).unwrap();
    for entry in REPLACEMENTS.iter().filter(|entry| !entry.can(ReplacementCapability::Future)) {
        assert!(page.contains(&format!("| `{}` |", entry.name)), "`{}` is missing in {}", entry.name, page::FILE);
    }
}

#[test]
fn the_page_is_what_a_whole_run_gives() {
    if esker_testkit::soak() < 2 {
        return;
    }
    let mixes = rank(&example());
    is_sound(&mixes);
    let (page, picture) = (page::of(&mixes), picture::of(&mixes));
    for (file, text) in [(page::FILE, page), (picture::FILE, picture)] {
        if std::env::var_os("ESKER_UPDATE_DOCS").is_some() {
            std::fs::write(root().join(file), &text).unwrap();
        }
        let found = std::fs::read_to_string(root().join(file)).unwrap_or_default();
        assert!(found == text, "{file} is old: run this test with ESKER_SOAK=2 ESKER_UPDATE_DOCS=1");
    }
}
