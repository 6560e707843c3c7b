//! Kinds of requests, bounds over any stretch of time, and repeated runs.

use esker_cloud::{CloudVolume, CloudVolumeSettings, FineByteRate, LatencyDistribution, OperationRate};
use esker_core::{
    Arrival, Bytes, Completion, Control, Device, DeviceError, Lba, Nanos, ReplaySettings, Request, RequestKind, Rng,
    TagSlab, replay,
};
use proptest::prelude::*;

use crate::common::{Seen, constant, preset, report, volume};

fn served(volume: &mut CloudVolume, requests: &[(u64, Request)]) -> Vec<Completion> {
    let (mut tags, mut done, mut next) = (TagSlab::default(), Vec::new(), 0);
    let order: Vec<_> = requests.iter().map(|_| tags.insert(())).collect();
    while done.len() < requests.len() {
        match requests.get(next) {
            Some(&(micros, request)) if Nanos::from_micros(micros) <= volume.next_event() => {
                volume.submit(Nanos::from_micros(micros), order[next], request);
                next += 1;
            }
            _ => volume.advance(volume.next_event(), &mut done),
        }
    }
    order.iter().map(|tag| *done.iter().find(|completion| completion.tag == *tag).unwrap()).collect()
}

fn flush() -> Request {
    Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO)
}

#[test]
fn a_flush_ends_with_the_writes_before_it_and_counts_nothing() {
    let mut volume = volume(&constant("aws-ebs-gp3", 100, Nanos::from_micros(500)));
    let ends = served(
        &mut volume,
        &[
            (0, flush()),
            (100, Request::write(Lba(0), Bytes::kib(4))),
            (150, Request::read(Lba(0), Bytes::kib(4))),
            (200, flush()),
            (300, Request::write(Lba(8000), Bytes::kib(4))),
            (400, flush()),
            (5000, flush()),
        ],
    );
    let micros: Vec<u64> = ends.iter().map(|completion| completion.at.0 / 1000).collect();
    assert_eq!(micros, [0, 600, 650, 600, 800, 800, 5000]);
    assert_eq!(report(&volume).cloud_volume.unwrap().operations, 3);
}

#[test]
fn trims_and_requests_beyond_the_end_take_no_time_and_count_nothing() {
    let mut volume = volume(&constant("aws-ebs-gp3", 1, Nanos::from_micros(500)));
    let sectors = (1u64 << 30) / 512;
    let ends = served(
        &mut volume,
        &[
            (0, Request::new(RequestKind::Trim, Lba(0), Bytes::mib(512))),
            (10, Request::read(Lba(sectors - 1), Bytes(1024))),
            (10, Request::read(Lba(u64::MAX), Bytes(1024))),
            (20, Request::read(Lba(0), Bytes::ZERO)),
        ],
    );
    let micros: Vec<u64> = ends.iter().map(|completion| completion.at.0 / 1000).collect();
    assert_eq!(micros, [0, 10, 10, 20]);
    assert_eq!(ends[1].result, Err(DeviceError::OutOfRange { end: (1 << 30) + 512, capacity: Bytes::gib(1) }));
    assert!(ends[2].result.is_err() && ends[3].result.is_ok());
    let report = report(&volume);
    assert_eq!((report.requests, report.cloud_volume.unwrap().operations), (4, 0));
}

#[test]
fn zeroes_count_as_a_write_but_do_not_cross_the_instances_link() {
    let mut settings = constant("aws-ebs-gp3", 100, Nanos::from_micros(500));
    settings.host.throughput = Some(esker_core::ByteRate(1 << 20));
    let mut volume = volume(&settings);
    let zeroes = Request::new(RequestKind::WriteZeroes { fua: false }, Lba(0), Bytes::mib(4));
    let ends = served(&mut volume, &[(0, zeroes), (10, flush())]);
    assert_eq!(ends[0].at, Nanos::from_micros(500));
    assert_eq!(ends[1].at, Nanos::from_micros(500));
    assert_eq!(report(&volume).cloud_volume.unwrap().operations, 16);
}

/// A request larger than what a bucket holds passes when it is full; those behind it wait for the debt.
#[test]
fn a_request_larger_than_the_bucket_passes_and_is_paid_for() {
    let mut volume = volume(&constant("aws-ebs-gp3", 100, Nanos::from_micros(500)));
    // 500 MiB are four seconds of 125 MiB/s.
    let large = Request::read(Lba(0), Bytes::mib(500));
    let small = Request::read(Lba(1 << 27), Bytes::kib(512));
    let ends = served(&mut volume, &[(0, large), (1, small)]);
    assert_eq!(ends[0].service_start, Nanos::ZERO);
    // Three seconds of debt, and 0.5 MiB at 125 MiB/s.
    assert_eq!(ends[1].service_start, Nanos::from_millis(3004));
    assert!(report(&volume).cloud_volume.unwrap().limits["throughput"].used <= 1.0);
}

#[test]
fn measuring_starts_anew_but_keeps_the_credits() {
    let mut volume = volume(&constant("aws-ebs-gp2", 100, Nanos::from_micros(500)));
    let (end, _) = crate::common::closed(&mut volume, 8, crate::common::random_reads(100, 4, 100_000));
    volume.control(end.last_event, Control::StartMeasuring).unwrap();
    let fresh = report(&volume);
    let credits = &fresh.cloud_volume.as_ref().unwrap().credits["operations"];
    assert_eq!((fresh.requests, fresh.cloud_volume.as_ref().unwrap().operations), (0, 0));
    assert!(credits.end < 5_310_000.0 && credits.least == credits.end, "{}", credits.end);
    assert!(volume.control(end.last_event, Control::PauseWearLevelling(true)).is_err());
    assert_eq!(volume.telemetry().busy.iter().map(|busy| busy.busy.0).sum::<u64>(), 0);
}

/// A volume with limits so low that everything waits.
fn tight(operations: u64, bytes: u64, merge: bool) -> CloudVolumeSettings {
    let mut settings = constant("aws-ebs-gp3", 1, Nanos::from_micros(100));
    settings.operations.base = OperationRate::thousandths(operations);
    settings.operations.max_per_gib = None;
    settings.operations.merge = merge;
    settings.throughput.base = FineByteRate::thousandths(bytes);
    settings.throughput.max_per_operation = None;
    settings.latency.read = LatencyDistribution { median: Nanos::from_micros(100), p99: Nanos::from_millis(3) };
    settings
}

fn mixed(seed: u64, count: u64) -> Vec<Arrival> {
    let (mut rng, mut at, mut last) = (Rng::new(seed), Nanos::ZERO, 0);
    let each = (0..count).map(|_| {
        at += Nanos(if rng.chance(1, 2) { 0 } else { rng.below(20_000_000) });
        let most = if rng.chance(1, 8) { 4096 } else { 64 };
        let length = 1 + rng.below(most);
        let start = if rng.chance(1, 2) { last } else { rng.below(1_000_000) };
        last = start + length;
        let kind = match rng.below(8) {
            0 => RequestKind::Flush,
            1 => RequestKind::Trim,
            2..5 => RequestKind::Write { fua: rng.chance(1, 2) },
            _ => RequestKind::Read,
        };
        let length = if kind == RequestKind::Flush { 0 } else { length };
        Arrival { at, request: Request::new(kind, Lba(start), Bytes(length * 512)) }
    });
    each.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever comes: in any stretch of time no more bytes pass than the rate yields, the bucket holds, and the
    /// largest request may overdraw. Requests pass in the order in which they came, and all of them end.
    #[test]
    fn no_stretch_of_time_sees_more_than_the_limits_allow(
        operations in 10_000u64..5_000_000, bytes in 50_000_000u64..50_000_000_000, merge: bool, seed: u64,
    ) {
        let settings = tight(operations, bytes, merge);
        let mut volume = volume(&settings);
        let mut seen = Seen::default();
        replay(&mut volume, mixed(seed, 300), &ReplaySettings::OPEN, &mut seen).unwrap();
        prop_assert_eq!(seen.ends.len(), 300);
        let mut passed: Vec<(Nanos, u64)> = seen.passes.iter()
            .filter(|(_, request)| request.kind.has_data() && request.length > Bytes::ZERO)
            .map(|(at, request)| (*at, request.length.0)).collect();
        passed.sort_unstable();
        let (rate, largest) = (bytes as f64 / 1e3, passed.iter().map(|(_, length)| *length).max().unwrap_or(0) as f64);
        for (index, &(from, _)) in passed.iter().enumerate() {
            let mut sum = 0;
            for &(to, length) in &passed[index..] {
                sum += length;
                let allowed = rate * (to - from).as_secs_f64() + rate.max(largest);
                prop_assert!((sum as f64) < allowed * (1.0 + 1e-9) + 1.0, "{sum} bytes, {allowed} allowed");
            }
        }
        let report = report(&volume).cloud_volume.unwrap();
        prop_assert!(report.limits.values().all(|limit| (0.0..=1.0).contains(&limit.used)));
        let held: f64 = report.limits.values().map(|limit| limit.throttled_s).sum();
        prop_assert!((held - report.throttled_s).abs() < 1e-6, "each moment is held back by one limit");
        let counts: u64 = report.limits.values().map(|limit| limit.throttled_requests).sum();
        prop_assert_eq!(counts, report.throttled_requests);
    }

    #[test]
    fn two_runs_are_the_same(seed: u64) {
        let run = |seed_of_latency| {
            let mut volume = CloudVolume::new("volume", &preset("aws-ebs-gp2"), seed_of_latency).unwrap();
            let mut seen = Seen::default();
            replay(&mut volume, mixed(seed, 200), &ReplaySettings::OPEN, &mut seen).unwrap();
            (seen.ends, report(&volume))
        };
        prop_assert_eq!(run(1), run(1));
        prop_assert_ne!(run(1).0, run(2).0);
    }
}
