//! What an idle volume saves up, and requests that are merged.

use esker_cloud::{CloudVolumeSettings, LatencyDistribution};
use esker_core::{Arrival, Nanos, ReplaySettings, replay};

use crate::common::{Seen, closed, constant, preset, random_reads, report, sequential_reads, volume};

/// Times at which requests pass gp3's 3,000 a second that come at 10,000 a second.
fn passes(saves_up: Nanos) -> Vec<Nanos> {
    let settings = CloudVolumeSettings { saves_up, ..constant("aws-ebs-gp3", 100, Nanos::from_micros(700)) };
    let requests = random_reads(100, 4, 2_000).enumerate();
    let arrivals = requests.map(|(n, request)| Arrival { at: Nanos::from_micros(100) * n as u64, request });
    let mut seen = Seen::default();
    replay(&mut volume(&settings), arrivals, &ReplaySettings::OPEN, &mut seen).unwrap();
    seen.passes.iter().map(|(at, _)| *at).collect()
}

/// With t seconds saved up, request n passes when it comes, or once t + time has yielded n + 1 tokens.
#[test]
fn a_burst_passes_at_once_as_far_as_it_was_saved_up() {
    for saves_up in [Nanos::ZERO, Nanos::from_millis(10), Nanos::from_millis(100), Nanos::from_secs(1)] {
        let mut passed = Nanos::ZERO;
        let expected = (0..2_000u64).map(|n| {
            let came = Nanos::from_micros(100) * n;
            let yielded = match saves_up {
                // A request that costs more than the bucket holds passes when it is full, and leaves a debt. What the
                // last nanosecond yields too much is lost.
                Nanos::ZERO if n == 0 => Nanos::ZERO,
                Nanos::ZERO => passed + Nanos(1_000_000_000u64.div_ceil(3_000)),
                _ => Nanos(((n + 1) * 1_000_000_000).div_ceil(3_000).saturating_sub(saves_up.0)),
            };
            passed = came.max(yielded);
            passed
        });
        let (found, expected) = (passes(saves_up), expected.collect::<Vec<_>>());
        let longest = found.iter().zip(&expected).map(|(found, expected)| found.0.abs_diff(expected.0)).max();
        assert!(longest <= Some(1), "{saves_up}: {longest:?} ns");
    }
    let waits = |saves_up: Nanos| passes(saves_up)[1_000] - Nanos::from_millis(100);
    assert_eq!(waits(Nanos::from_secs(1)), Nanos::ZERO);
    assert!(waits(Nanos::from_millis(10)) > Nanos::from_millis(200), "{}", waits(Nanos::from_millis(10)));
}

/// The settings of a type whose requests take 6 ms, and 0.7 ms within a unit.
fn merging() -> CloudVolumeSettings {
    let mut settings = constant("aws-ebs-st1", 2 << 10, Nanos::from_millis(6));
    let merged = Nanos::from_micros(700);
    settings.latency.merged = Some(LatencyDistribution { median: merged, p99: merged });
    settings
}

/// 64 KiB one after the other: of each MiB the first takes 6 ms and fifteen the way there and back.
#[test]
fn short_requests_in_sequence_share_the_time_of_one_operation() {
    let (end, _) = closed(&mut volume(&merging()), 1, sequential_reads(64, 160));
    assert_eq!(end.last_event, (Nanos::from_millis(6) + Nanos::from_micros(700) * 15) * 10);
    // In the same time as many random ones get a tenth of the bytes, if that.
    let (random, _) = closed(&mut volume(&merging()), 1, random_reads(2 << 10, 64, 160));
    assert_eq!(random.last_event, Nanos::from_millis(6) * 160);
    let mut volume = volume(&preset("aws-ebs-st1"));
    let (end, _) = closed(&mut volume, 1, sequential_reads(64, 16_000));
    let mb_per_s = 16_000.0 * 65_536.0 / 1e6 / end.last_event.as_secs_f64();
    assert_eq!(report(&volume).cloud_volume.unwrap().operations, 1_000);
    // 125 GiB may do 31 MiB/s while credits last, which is less than one stream asks for.
    assert!((31.0..34.0).contains(&mb_per_s), "{mb_per_s}");
}

/// All sixteen are under way at once, and none ends before the one that began their unit.
#[test]
fn what_is_merged_ends_no_earlier_than_the_request_that_began_the_unit() {
    let (_, seen) = closed(&mut volume(&merging()), 16, sequential_reads(64, 16));
    assert_eq!(seen.ends, [Nanos::from_millis(6); 16]);
}

/// The user guide's scan times assume four requests of 1 MiB under way: with them st1 of 2 TiB reaches its 500 MiB/s.
#[test]
fn four_requests_of_a_mebibyte_reach_the_documented_rate() {
    let mut settings = preset("aws-ebs-st1");
    settings.size = Some(esker_core::Bytes::gib(2 << 10));
    let (end, _) = closed(&mut volume(&settings), 4, sequential_reads(1024, 20_000));
    let mib_per_s = 20_000.0 / end.last_event.as_secs_f64();
    assert!((450.0..=501.0).contains(&mib_per_s), "{mib_per_s}");
}
