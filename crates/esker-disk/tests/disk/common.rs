//! A small disk with round numbers, and functions to drive it.

use esker_core::{
    Arrival, Bytes, Completion, Device, Lba, Nanos, Observer, Priority, Replay, ReplaySettings, Request, Rng, Verdict,
    replay,
};
use esker_disk::{Disk, DiskSettings, RotationSpeed, SeekSettings, WaitLimit, ZoneSettings};
use esker_results::{DiskReport, Report};

/// 6,000 rpm: 10 ms per turn; 100 sectors per track: 0.1 ms each; 2 surfaces; seek 1 ms + 0.01 ms per further cylinder.
pub(crate) fn round_numbers() -> DiskSettings {
    DiskSettings {
        capacity: None,
        rotation_speed: RotationSpeed::rpm(6_000),
        surfaces: 2,
        zones: vec![zone(100, 100), zone(100, 50)],
        layout: Default::default(),
        seek: SeekSettings::Points(vec![(1, Nanos::from_micros(1_000)), (201, Nanos::from_micros(3_000))]),
        head_switch: Nanos::from_micros(500),
        write_settle: Nanos::from_micros(200),
        write_advance: Nanos::ZERO,
        read_overhead: Nanos::ZERO,
        write_overhead: Nanos::ZERO,
        bus_rate: None,
        write_bus_rate: None,
        firmware: None,
        cache: None,
        scheduler: "fcfs".to_string(),
        actuators: 1,
        shingled: None,
        power: None,
        wait_limit: WaitLimit::after(Priority::AGING),
        priority_aging: Priority::AGING,
        queue_depth: 32,
    }
}

pub(crate) fn zone(cylinders: u32, sectors_per_track: u32) -> ZoneSettings {
    ZoneSettings::new(cylinders, sectors_per_track)
}

/// Keeps every completion with its arrival and request.
#[derive(Default)]
pub(crate) struct Log(pub(crate) Vec<(Nanos, Request, Completion)>);

impl<D: ?Sized> Observer<D> for Log {
    fn completed(&mut self, arrival: Nanos, request: &Request, completion: &Completion) -> Verdict {
        self.0.push((arrival, *request, *completion));
        Verdict::Continue
    }
}

pub(crate) fn run<D: Device + ?Sized>(
    disk: &mut D,
    settings: &ReplaySettings,
    arrivals: impl IntoIterator<Item = Arrival>,
) -> (Replay, Log) {
    let mut log = Log::default();
    let replay = replay(disk, arrivals, settings, &mut log).expect("time goes on");
    assert_eq!(replay.end, esker_core::ReplayEnd::Complete);
    (replay, log)
}

pub(crate) fn at(micros: u64, request: Request) -> Arrival {
    Arrival { at: Nanos::from_micros(micros), request }
}

/// A preset as a plain disk: with one arm for all surfaces, and tracks that can be written in any order.
pub(crate) fn plain_preset(name: &str) -> DiskSettings {
    DiskSettings { actuators: 1, shingled: None, ..preset(name) }
}

/// A preset as it is shipped.
pub(crate) fn preset(name: &str) -> DiskSettings {
    let preset = esker_disk::PRESETS.iter().find(|preset| preset.name == name).expect("it is in the registry");
    toml::from_str(preset.toml).expect("presets parse")
}

pub(crate) fn report(disk: &Disk) -> DiskReport {
    let report = Report::of(disk);
    report.devices.values().next().and_then(|device| device.disk.clone()).expect("a disk reports as one")
}

/// Reads of `sectors` at uniformly random places, Poisson arrivals with the given mean distance.
pub(crate) fn poisson(seed: u64, count: u64, mean: Nanos, capacity: u64, sectors: u64) -> Vec<Arrival> {
    let mut rng = Rng::new(seed);
    let mut at = 0.0;
    (0..count)
        .map(|_| {
            at += rng.exponential(mean.as_secs_f64());
            let start = Lba(rng.below(capacity - sectors));
            Arrival { at: Nanos::from_secs_f64(at), request: Request::read(start, Bytes(sectors * 512)) }
        })
        .collect()
}
