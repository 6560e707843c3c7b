//! What the tests share.

use esker_cloud::{CloudVolume, CloudVolumeSettings, LatencyDistribution, LatencySettings, PRESETS};
use esker_core::{
    Arrival, Bytes, Completion, Lba, Nanos, Observer, Replay, ReplayEnd, ReplaySettings, Request, Rng, Verdict, replay,
};
use esker_results::{DeviceReport, Report};

pub(crate) fn preset(name: &str) -> CloudVolumeSettings {
    let preset = PRESETS.iter().find(|preset| preset.name == name).unwrap_or_else(|| panic!("no preset {name}"));
    toml::from_str(preset.toml).unwrap()
}

/// A preset of this size whose requests all take the same time, merged ones too, and whose limits save up one second.
pub(crate) fn constant(name: &str, gib: u64, latency: Nanos) -> CloudVolumeSettings {
    let all = LatencyDistribution { median: latency, p99: latency };
    CloudVolumeSettings {
        size: Some(Bytes::gib(gib)),
        saves_up: Nanos::from_secs(1),
        latency: LatencySettings { read: all, write: all, merged: None },
        ..preset(name)
    }
}

pub(crate) fn volume(settings: &CloudVolumeSettings) -> CloudVolume {
    CloudVolume::new("volume", settings, 1).unwrap_or_else(|error| panic!("{error}"))
}

/// Random reads of `kib`, each far from the one before.
pub(crate) fn random_reads(gib: u64, kib: u64, count: u64) -> impl Iterator<Item = Request> {
    let (mut rng, slots) = (Rng::new(9), (gib << 20) / kib / 2);
    (0..count).map(move |_| Request::read(Lba(rng.below(slots) * 2 * kib * 2), Bytes::kib(kib)))
}

/// Reads of `kib` one after the other, from the start.
pub(crate) fn sequential_reads(kib: u64, count: u64) -> impl Iterator<Item = Request> {
    (0..count).map(move |index| Request::read(Lba(index * kib * 2), Bytes::kib(kib)))
}

/// Times of completions, and of passing the limits.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) ends: Vec<Nanos>,
    pub(crate) passes: Vec<(Nanos, Request)>,
}

impl<D: ?Sized> Observer<D> for Seen {
    fn completed(&mut self, _: Nanos, request: &Request, completion: &Completion) -> Verdict {
        self.ends.push(completion.at);
        self.passes.push((completion.service_start, *request));
        Verdict::Continue
    }
}

/// Runs `requests` in a closed loop of this depth.
pub(crate) fn closed(
    volume: &mut CloudVolume,
    depth: usize,
    requests: impl Iterator<Item = Request>,
) -> (Replay, Seen) {
    let mut seen = Seen::default();
    let arrivals = requests.map(|request| Arrival { at: Nanos::ZERO, request });
    let end = replay(volume, arrivals, &ReplaySettings::closed(depth), &mut seen).unwrap();
    assert_eq!(end.end, ReplayEnd::Complete);
    (end, seen)
}

/// Runs requests at even distances.
pub(crate) fn open(volume: &mut CloudVolume, every: Nanos, requests: impl Iterator<Item = Request>) -> (Replay, Seen) {
    let mut seen = Seen::default();
    let arrivals = requests.enumerate().map(|(index, request)| Arrival { at: every * index as u64, request });
    let end = replay(volume, arrivals, &ReplaySettings::OPEN, &mut seen).unwrap();
    assert_eq!(end.end, ReplayEnd::Complete);
    (end, seen)
}

pub(crate) fn report(volume: &CloudVolume) -> DeviceReport {
    Report::of(volume).devices["volume"].clone()
}
