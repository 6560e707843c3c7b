//! Measures how many requests a disk serves per second of processor time.

use esker_core::{
    Arrival, Bytes, Completion, Device, Lba, Nanos, Observer, ReplaySettings, Request, Rng, Verdict, replay,
};
use esker_disk::{Disk, DiskSettings, PRESETS, SCHEDULERS};
use esker_testkit::Bench;

/// A million, or in a smoke run few enough for the slowest scheduler to finish at once.
fn requests() -> u64 {
    if Bench::is_smoke() { 10_000 } else { 1_000_000 }
}

struct Ignore;
impl<D: ?Sized> Observer<D> for Ignore {
    fn completed(&mut self, _: Nanos, _: &Request, _: &Completion) -> Verdict {
        Verdict::Continue
    }
}

fn disk(preset: &str, scheduler: &str, queue_depth: u32, buffer: bool) -> Disk {
    let preset = PRESETS.iter().find(|entry| entry.name == preset).expect("it is in the registry");
    let settings: DiskSettings = toml::from_str(preset.toml).expect("presets parse");
    let cache = settings.cache.filter(|_| buffer);
    Disk::new("disk", &DiskSettings { scheduler: scheduler.to_string(), queue_depth, cache, ..settings })
        .expect("presets build")
}

/// Reads and writes of 4 KiB at uniformly random addresses.
fn random(capacity: Bytes) -> impl Iterator<Item = Arrival> {
    let pages = capacity.0 / 4096;
    let mut rng = Rng::new(1);
    (0..requests()).map(move |_| {
        let (start, length) = (Lba(rng.below(pages) * 8), Bytes::kib(4));
        let request = if rng.chance(1, 3) { Request::write(start, length) } else { Request::read(start, length) };
        Arrival { at: Nanos::ZERO, request }
    })
}

fn sequential() -> impl Iterator<Item = Arrival> {
    (0..requests()).map(|index| Arrival { at: Nanos::ZERO, request: Request::read(Lba(index * 128), Bytes::kib(64)) })
}

fn run(mut disk: Disk, depth: u32, arrivals: impl Iterator<Item = Arrival>) -> u64 {
    let replay = replay(&mut disk, arrivals, &ReplaySettings::closed(depth as usize), &mut Ignore);
    replay.expect("time goes on").completed
}

fn main() {
    for preset in ["seagate-cheetah-15k5-146g", "nearline-7200-20t"] {
        for (buffer, with) in [(false, "no buffer"), (true, "buffer")] {
            for entry in SCHEDULERS {
                for depth in [1, 32, 1024] {
                    let name = format!("{preset}, {with}, {}, depth {depth}, random 4 KiB", entry.name);
                    Bench::new(name).rate_with_setup(
                        "requests",
                        || disk(preset, entry.name, depth, buffer),
                        |disk| {
                            let arrivals = random(disk.capacity());
                            run(disk, depth, arrivals)
                        },
                    );
                }
            }
            Bench::new(format!("{preset}, {with}, c-look, depth 32, sequential 64 KiB")).rate_with_setup(
                "requests",
                || disk(preset, "c-look", 32, buffer),
                |disk| run(disk, 32, sequential()),
            );
        }
    }
}
