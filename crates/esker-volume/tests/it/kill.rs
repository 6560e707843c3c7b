//! A process that serves a volume on files is killed again and again, with `kill -9`. The page cache survives that, so
//! what is tried here is the order of writes, and recovery; `esker-dst` takes the power away.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use esker_core::{Bytes, Lba, Request, RequestKind, Rng, Tag};
use esker_volume::{
    DeviceIo, DeviceSettings, FileBackend, Identity, IoChoice, OpenDevice, SystemClock, Volume, VolumeSettings,
    WhatIsThere, create,
};
use serde_json::json;

/// A block, which has one version.
const BLOCK: u64 = 4096;
const SECTOR: usize = 512;

/// Requests under way.
const DEPTH: usize = 16;

/// The child process does what it finds in these.
const FOLDER: &str = "ESKER_KILLED_IN";
const LIFE: &str = "ESKER_KILLED_LIFE";

/// Versions of one life.
const LIFE_VERSIONS: u64 = 1 << 32;

/// A group of writes that do not overlap, and whether a flush follows once all have ended.
struct Group {
    /// The first block, and how many.
    writes: Vec<(u64, u64)>,
    flush: bool,
}

/// The writes of a life, which depend on its number and on the size of the volume alone.
fn groups(life: u64, blocks: u64) -> impl Iterator<Item = Group> {
    let mut rng = Rng::derive(life, "killed");
    std::iter::repeat_with(move || {
        let mut writes: Vec<(u64, u64)> = Vec::new();
        for _ in 0..1 + rng.below(DEPTH as u64) {
            let count = 1 + rng.below(8);
            let first = rng.below(blocks - count);
            if writes.iter().all(|(other, length)| first + count <= *other || other + length <= first) {
                writes.push((first, count));
            }
        }
        Group { writes, flush: rng.chance(1, 2) }
    })
}

fn stamp(block: u64, version: u64) -> Vec<u8> {
    let sectors = block * BLOCK / SECTOR as u64..(block + 1) * BLOCK / SECTOR as u64;
    sectors.flat_map(|sector| [version, sector].map(u64::to_le_bytes).concat().repeat(SECTOR / 16)).collect()
}

/// The version of a block; `None` if its sectors disagree.
fn version_of(block: u64, bytes: &[u8]) -> Option<u64> {
    let version = u64::from_le_bytes(bytes[..8].try_into().unwrap());
    let expected = if version == 0 { vec![0; BLOCK as usize] } else { stamp(block, version) };
    (bytes == expected).then_some(version)
}

struct Opened {
    volume: Volume<SystemClock>,
    io: DeviceIo,
}

impl Opened {
    fn open(folder: &Path) -> Self {
        let io = DeviceIo::start(IoChoice::Best).unwrap();
        let volume = Volume::open(devices(folder, &io), SystemClock::start()).unwrap();
        Self { volume, io }
    }

    /// Sends these requests together, and returns the data of their replies, by slot.
    fn perform(&mut self, requests: &[(Request, Vec<u8>)]) -> BTreeMap<u32, Vec<u8>> {
        for (slot, (request, data)) in requests.iter().enumerate() {
            self.volume.submit(Tag::new(slot as u32, 0), *request, &data[..]);
        }
        let mut replies = BTreeMap::new();
        while replies.len() < requests.len() {
            self.volume.step();
            while let Some(reply) = self.volume.next_reply() {
                assert_eq!(reply.result, Ok(()));
                replies.insert(reply.tag.slot(), reply.data.to_vec());
            }
            if replies.len() < requests.len() {
                self.io.wait(Some(Duration::from_millis(1)));
            }
        }
        replies
    }
}

fn devices(folder: &Path, io: &DeviceIo) -> Vec<Box<dyn OpenDevice>> {
    let device = |name: &str| -> Box<dyn OpenDevice> {
        let backend = FileBackend::open_alone(&folder.join(name)).unwrap();
        Box::new(io.device(name, backend, DeviceSettings::default()))
    };
    ["first", "second"].map(device).into()
}

/// What the child process does: it writes until it is killed. Does nothing if it is not the child.
#[test]
fn writes_until_it_is_killed() {
    let (Ok(folder), Ok(life)) = (std::env::var(FOLDER), std::env::var(LIFE)) else { return };
    let life: u64 = life.parse().unwrap();
    let mut opened = Opened::open(&PathBuf::from(folder));
    let blocks = opened.volume.capacity().0 / BLOCK;
    let mut version = life * LIFE_VERSIONS;
    for (number, group) in groups(life, blocks).enumerate() {
        let write = |&(first, count): &(u64, u64)| {
            version += 1;
            let data = (first..first + count).flat_map(|block| stamp(block, version)).collect();
            let start = Lba::containing(first * BLOCK);
            (Request::new(RequestKind::Write { fua: false }, start, Bytes(count * BLOCK)), data)
        };
        let requests: Vec<(Request, Vec<u8>)> = group.writes.iter().map(write).collect();
        opened.perform(&requests);
        if group.flush {
            opened.perform(&[(Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO), Vec::new())]);
            let mut parent = std::io::stdout();
            writeln!(parent, "flushed {number}").and_then(|()| parent.flush()).unwrap();
        }
    }
}

/// Starts the child, waits until it has flushed so often, and kills it. Returns the last group that was flushed.
fn live(folder: &Path, life: u64, rng: &mut Rng) -> u64 {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["kill::writes_until_it_is_killed", "--exact", "--nocapture"]);
    command.env(FOLDER, folder).env(LIFE, life.to_string()).stdout(Stdio::piped());
    let mut child: Child = command.spawn().unwrap();
    let flushes = 1 + rng.below(6);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let flushed = |line: String| line.strip_prefix("flushed ")?.parse::<u64>().ok();
    let last = lines.by_ref().filter_map(flushed).nth(flushes as usize - 1);
    std::thread::sleep(Duration::from_micros(rng.below(10_000)));
    child.kill().unwrap();
    child.wait().unwrap();
    // What it said before it died counts, too.
    lines.filter_map(flushed).last().or(last).expect("it has flushed")
}

/// Serves a volume of these settings, and kills the process that does so `kills` times.
fn nothing_flushed_is_lost(settings: &VolumeSettings, kills: u64) {
    let folder = tempfile::tempdir().unwrap();
    for (name, size) in [("first", 6), ("second", 12)] {
        FileBackend::create(&folder.path().join(name), Bytes::mib(size)).unwrap();
    }
    let identities: Vec<Identity> = (0..3).map(|_| Identity::random().unwrap()).collect();
    let io = DeviceIo::start(IoChoice::Threads).unwrap();
    create(&mut devices(folder.path(), &io), settings, &identities, WhatIsThere::Stays).unwrap();
    let blocks = Opened::open(folder.path()).volume.capacity().0 / BLOCK;
    let mut promised = vec![0; blocks as usize];
    let mut rng = Rng::new(7);
    for life in 1..=kills {
        let flushed = live(folder.path(), life, &mut rng);
        // What may be there beside what was promised: everything that was written later.
        let mut later: Vec<Vec<u64>> = vec![Vec::new(); blocks as usize];
        let mut version = life * LIFE_VERSIONS;
        for (number, group) in groups(life, blocks).enumerate().take(flushed as usize + 1000) {
            for (first, count) in group.writes {
                version += 1;
                for block in first as usize..(first + count) as usize {
                    match number as u64 <= flushed {
                        true => promised[block] = version,
                        false => later[block].push(version),
                    }
                }
            }
        }
        let mut opened = Opened::open(folder.path());
        for first in (0..blocks).step_by(16) {
            let count = 16.min(blocks - first);
            let read = Request::read(Lba::containing(first * BLOCK), Bytes(count * BLOCK));
            let bytes = opened.perform(&[(read, Vec::new())]).remove(&0).unwrap();
            for (block, bytes) in (first..).zip(bytes.chunks(BLOCK as usize)) {
                let found = version_of(block, bytes);
                let (promised, later) = (&mut promised[block as usize], &later[block as usize]);
                let is_right = found.is_some_and(|found| found == *promised || later.contains(&found));
                assert!(is_right, "life {life}: block {block} has {found:?}, not {promised} or one of {later:?}");
                *promised = found.unwrap();
            }
        }
    }
}

/// Kills of each kind of volume.
fn kills() -> u64 {
    let times = std::env::var("ESKER_SOAK").ok().and_then(|times| times.parse::<u64>().ok()).unwrap_or(1);
    35 * times.min(10)
}

#[test]
fn a_killed_hybrid_has_lost_nothing_that_was_flushed() {
    let options = json!({ "extent": "64KiB", "policy": "migration", "cached_extents": 4 });
    nothing_flushed_is_lost(&VolumeSettings::new("hybrid", options), kills());
}

#[test]
fn a_killed_cache_has_lost_nothing_that_was_flushed() {
    nothing_flushed_is_lost(&VolumeSettings::new("cache", json!({ "write": "write-back" })), kills());
}

#[test]
fn a_killed_array_has_lost_nothing_that_was_flushed() {
    nothing_flushed_is_lost(&VolumeSettings::new("array", json!({ "stripe": "16KiB" })), kills());
}

#[test]
fn a_killed_cluster_has_lost_nothing_that_was_flushed() {
    let options = json!({
        "object": "16KiB", "objects_per_slice": 4, "partitions": 64, "reserve": "30%", "epoch": "4ms",
        "copied_bytes_per_second": "1GiB", "balancer": { "kind": "ewo", "sigma_c": 0, "eta_c": "0%" },
    });
    nothing_flushed_is_lost(&VolumeSettings::new("cluster", options), kills());
}
