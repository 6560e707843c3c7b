//! Rates and times that can be worked out by hand.

use esker_cloud::{CloudVolume, CloudVolumeSettings, OperationRate, ProvisionedSettings, limits};
use esker_core::{Arrival, ByteRate, Bytes, Lba, Nanos, ReplaySettings, Request, replay};

use crate::common::{Seen, closed, constant, open, random_reads, report, sequential_reads, volume};

/// At low depth each request takes its latency and nothing else; at high depth the last of n requests passes when the
/// full bucket of one second and the rate have yielded n tokens.
#[test]
fn rates_at_depth_1_16_and_256_are_the_lesser_of_limit_and_depth_over_latency() {
    let latency = Nanos::from_micros(500);
    let gp3 = constant("aws-ebs-gp3", 100, latency);
    let more = ProvisionedSettings { operations: Some(OperationRate::per_s(12_000)), throughput: None };
    let io2 = ProvisionedSettings { operations: Some(OperationRate::per_s(64_000)), throughput: None };
    let cases = [
        (gp3.clone(), 3_000u64),
        (CloudVolumeSettings { provisioned: more, ..gp3 }, 12_000),
        (CloudVolumeSettings { provisioned: io2, ..constant("aws-ebs-io2", 100, latency) }, 64_000),
    ];
    for (settings, limit) in cases {
        for depth in [1u64, 16, 256] {
            let mut volume = volume(&settings);
            let requests = 20 * limit;
            let (end, _) = closed(&mut volume, depth as usize, random_reads(100, 4, requests));
            let unlimited = depth * 2_000;
            let found = requests as f64 / end.last_event.as_secs_f64();
            let details = format!("limit {limit}, depth {depth}: {found}");
            if unlimited <= limit {
                let rounds = requests.div_ceil(depth);
                assert_eq!(end.last_event, latency * rounds, "{details}");
                assert_eq!(report(&volume).cloud_volume.unwrap().throttled_requests, 0);
            } else {
                // Beyond the saved second, one token at a time; the last request then takes its latency.
                let last = Nanos((requests - limit).checked_mul(1_000_000_000).unwrap().div_ceil(limit));
                assert_eq!(end.last_event, last + latency, "{details}");
                assert!((found / limit as f64 - 20.0 / 19.0).abs() < 1e-3, "{details}");
            }
        }
    }
}

/// Large requests are bound by throughput: 125 MiB/s are 500 requests of 256 KiB.
#[test]
fn large_requests_are_bound_by_throughput() {
    let latency = Nanos::from_micros(500);
    let mut volume = volume(&constant("aws-ebs-gp3", 100, latency));
    let (end, _) = closed(&mut volume, 16, random_reads(100, 256, 10_000));
    assert_eq!(end.last_event, Nanos::from_secs((10_000 - 500) / 500) + latency);
    let report = report(&volume);
    assert!(report.utilisation["throughput"] > 0.999 && report.utilisation["operations"] < 0.2, "{report:?}");
    let limits = report.cloud_volume.unwrap().limits;
    assert!(limits["throughput"].throttled_s > 18.0 && limits["operations"].throttled_s == 0.0, "{limits:?}");
}

/// The instance's cap binds before the volume's.
#[test]
fn the_instance_has_caps_of_its_own() {
    let latency = Nanos::from_micros(100);
    let mut settings = constant("aws-ebs-gp3", 100, latency);
    settings.host.operations = Some(OperationRate::per_s(1_000));
    let mut capped = volume(&settings);
    let (end, _) = closed(&mut capped, 16, random_reads(100, 4, 5_000));
    assert_eq!(end.last_event, Nanos::from_secs(4) + latency);
    settings.host.operations = None;
    settings.host.throughput = Some(ByteRate(1 << 20));
    let mut capped = volume(&settings);
    let (end, _) = closed(&mut capped, 16, random_reads(100, 4, 1_024));
    assert_eq!(end.last_event, Nanos::from_secs(3) + latency);
    assert_eq!(report(&capped).cloud_volume.unwrap().limits["host-throughput"].throttled_requests, 1024 - 256);
}

/// The user guide's table for gp2: burst time = bucket / (3,000 - baseline).
#[test]
fn the_bucket_of_gp2_lasts_as_long_as_documented() {
    for (gib, documented_s) in [(1, 1862), (33, 1862), (100, 2000), (334, 2703), (750, 7200)] {
        let settings = constant("aws-ebs-gp2", gib, Nanos::from_micros(500));
        let burst = limits(&settings).unwrap().operations.burst_time().unwrap();
        assert!((burst.as_secs_f64() - f64::from(documented_s)).abs() < 1.0, "{gib} GiB: {burst}");
    }
    let full = limits(&constant("aws-ebs-gp2", 1000, Nanos(1))).unwrap().operations;
    assert_eq!((full.sustained_per_s(), full.burst), (3000.0, None));
    assert_eq!(limits(&constant("aws-ebs-gp2", 16_384, Nanos(1))).unwrap().operations.sustained_per_s(), 16_000.0);
}

/// The same by simulation: with the saved second of the burst's own bucket, the balance is spent when
/// 3,000 + 3,000 t = 5,400,000 + baseline * t.
#[test]
fn a_simulated_burst_of_gp2_ends_when_the_credits_do() {
    for (gib, baseline, requests) in [(100, 300.0, 6_100_000), (334, 1002.0, 8_200_000)] {
        let mut volume = volume(&constant("aws-ebs-gp2", gib, Nanos::from_micros(500)));
        let (end, _) = closed(&mut volume, 64, random_reads(gib, 16, requests));
        let report = report(&volume).cloud_volume.unwrap();
        let credits = &report.credits["operations"];
        let expected = (5_400_000.0 - 3_000.0) / (3_000.0 - baseline);
        let found = credits.first_dry_s.expect("the bucket runs dry");
        assert!((found / expected - 1.0).abs() < 1e-4, "{gib} GiB: {found} s, expected {expected}");
        assert!(credits.least >= 0.0 && credits.least < 1.0, "{}", credits.least);
        // All requests together: the bucket and what was earned.
        let all = (requests as f64 - 5_400_000.0) / baseline;
        assert!((end.last_event.as_secs_f64() / all - 1.0).abs() < 1e-3, "{gib} GiB: {} s", end.last_event);
        assert!((2..=242).contains(&credits.series.len()), "{}", credits.series.len());
        let dry = credits.series.iter().find(|point| point.credits < 1.0).expect("the curve reaches zero");
        assert!(dry.at_s >= found && dry.at_s < found + end.last_event.as_secs_f64() / 120.0, "{dry:?}, {found}");
    }
}

/// The user guide gives 2.91 to 3.27 hours for a full scan of an st1 volume of 5 TiB, and 5.83 to 6.54 for sc1: at the
/// promised 90 % to 100 % of the burst.
#[test]
fn full_scans_of_hard_disk_volumes_take_as_long_as_documented() {
    for (name, least_h, most_h) in [("aws-ebs-st1", 2.91, 3.27), ("aws-ebs-sc1", 5.82, 6.54)] {
        let mut volume = volume(&constant(name, 5 << 10, Nanos::from_millis(6)));
        let (end, _) = closed(&mut volume, 32, sequential_reads(1024, 5 << 20));
        let hours = end.last_event.as_secs_f64() / 3600.0;
        assert!((least_h..most_h).contains(&hours), "{name}: {hours} h");
        assert_eq!(report(&volume).cloud_volume.unwrap().credits["throughput"].first_dry_s, None);
    }
}

/// A random read of 16 KiB costs st1 as much as one of 1 MiB, sequential ones share.
#[test]
fn st1_charges_random_reads_for_a_whole_mebibyte() {
    let settings = constant("aws-ebs-st1", 1024, Nanos::from_millis(1));
    let mut random = volume(&settings);
    let (end, _) = closed(&mut random, 256, random_reads(1024, 16, 2_500));
    // 250 MiB/s while credits last: 250 random reads per second, 250 of them saved up.
    assert_eq!(end.last_event, Nanos::from_secs(9) + Nanos::from_millis(1));
    let mut sequential = volume(&settings);
    let (_, seen) = closed(&mut sequential, 1, sequential_reads(16, 2_560));
    assert_eq!(seen.ends.last(), Some(&(Nanos::from_millis(1) * 2_560)));
    let report = report(&sequential).cloud_volume.unwrap();
    assert_eq!((report.operations, report.counted_bytes), (40, 40 << 20));
}

/// 30 minutes of burst on a P10, then the class's own rate.
#[test]
fn azure_bursts_for_half_an_hour() {
    let settings = constant("azure-premium-ssd", 128, Nanos::from_millis(1));
    let limits = limits(&settings).unwrap();
    assert_eq!(limits.operations.burst_time(), Some(Nanos::from_secs(1800)));
    assert_eq!(limits.throughput.burst_time(), Some(Nanos::from_secs(1800)));
    let mut volume = volume(&settings);
    let (_, seen) = closed(&mut volume, 32, random_reads(128, 4, 6_400_000));
    let found = report(&volume).cloud_volume.unwrap().credits["operations"].first_dry_s.unwrap();
    assert!((found - (1800.0 - 3_500.0 / 3_000.0)).abs() < 1.0, "{found}");
    let (before, after) = (Nanos::from_secs(1700), Nanos::from_secs(1900));
    let within = |from: Nanos| seen.ends.iter().filter(|&&at| at >= from && at < from + Nanos::from_secs(10)).count();
    assert_eq!((within(before), within(after)), (35_000, 5_000));
}

/// Spent credits come back at the base rate: 100 GiB of gp2 earn 300 per second.
#[test]
fn credits_come_back() {
    let mut volume = volume(&constant("aws-ebs-gp2", 100, Nanos::from_micros(500)));
    let (end, _) = closed(&mut volume, 64, random_reads(100, 16, 1_000_000));
    let spent = |volume: &CloudVolume| 5_400_000.0 - report(volume).cloud_volume.unwrap().credits["operations"].end;
    let after_burst = 1_000_000.0 - 300.0 * end.last_event.as_secs_f64();
    assert!((spent(&volume) - after_burst).abs() < 1.0, "{}", spent(&volume));
    let full_again = Nanos::from_secs((after_burst / 300.0) as u64 + 2);
    for (pause, expected) in [(Nanos::from_secs(1000), after_burst - 300_000.0), (full_again, 0.0)] {
        let request = Request::read(Lba(0), Bytes::kib(4));
        let later = Arrival { at: end.last_event + pause, request };
        let settings = ReplaySettings { start: end.last_event, ..ReplaySettings::OPEN };
        replay(&mut volume, [later], &settings, &mut Seen::default()).unwrap();
        // The late request itself took one or two.
        assert!((spent(&volume) - expected).abs() < 3.0, "after {pause}: {}", spent(&volume));
    }
}

/// Requests slower than the limit are not held back at all, whatever the bucket.
#[test]
fn a_load_below_the_limit_is_never_held_back() {
    let mut volume = volume(&constant("aws-ebs-gp2", 100, Nanos::from_micros(500)));
    let (end, _) = open(&mut volume, Nanos::from_millis(4), random_reads(100, 16, 10_000));
    assert_eq!(end.last_event, Nanos::from_millis(4) * 9_999 + Nanos::from_micros(500));
    let report = report(&volume).cloud_volume.unwrap();
    assert_eq!((report.throttled_requests, report.throttled_s), (0, 0.0));
    // The last request took a credit, and its latency brought some of it back.
    assert!((report.credits["operations"].end - (5_400_000.0 - 1.0 + 0.15)).abs() < 1e-6);
}
