//! What reports say of limits and credits.

use esker_cloud::CloudVolume;
use esker_core::{Arrival, Device, Nanos, ReplaySettings, ResourceKind, replay};

use crate::common::{Seen, closed, constant, open, random_reads, report, volume};

/// Half of what is allowed was used: the limit was half as busy as it can be, and the telemetry agrees with the report.
#[test]
fn use_is_the_share_of_what_was_allowed() {
    let mut volume = volume(&constant("aws-ebs-gp3", 100, Nanos::from_micros(500)));
    let requests = 150_000;
    let (end, _) = open(&mut volume, Nanos(1_000_000_000 / 1500), random_reads(100, 4, requests));
    let seconds = end.last_event.as_secs_f64();
    let report = report(&volume);
    let used = requests as f64 / (3000.0 + 3000.0 * seconds);
    assert!((report.utilisation["operations"] - used).abs() < 1e-6, "{report:?}");
    assert_eq!(report.utilisation, report.utilisation_busiest);
    let telemetry = volume.telemetry();
    let operations = telemetry.busy.iter().find(|busy| busy.kind == ResourceKind::Operations).unwrap();
    assert_eq!(operations.busy, Nanos::from_secs(50), "150,000 tokens at 3,000 per second");
}

/// While credits last the busy time is that of the burst; without credits it is that of the base rate: a volume that is
/// held back is busy all the time, either way.
#[test]
fn a_dry_volume_is_as_busy_as_a_bursting_one() {
    let mut volume = volume(&constant("aws-ebs-gp2", 100, Nanos::from_micros(500)));
    let busy = |volume: &CloudVolume| volume.telemetry().busy[0].busy.as_secs_f64();
    let (first, _) = closed(&mut volume, 64, random_reads(100, 4, 3_000_000));
    assert!((busy(&volume) / first.last_event.as_secs_f64() - 1.0).abs() < 2e-3);
    // 5.4 million credits and 300 per second: 6.3 million requests take 3,000 s, of which the burst takes
    // (5,400,000 - 3,000) / (3,000 - 300) = 1,998.9 s.
    let settings = ReplaySettings { start: first.last_event, ..ReplaySettings::closed(64) };
    let more = random_reads(100, 4, 3_300_000).map(|request| Arrival { at: Nanos::ZERO, request });
    let end = replay(&mut volume, more, &settings, &mut Seen::default()).unwrap();
    let seconds = end.last_event.as_secs_f64();
    assert!((seconds - 3_000.0).abs() < 1.0, "{seconds}");
    assert!((busy(&volume) / seconds - 1.0).abs() < 1e-3, "{}", busy(&volume));
    let report = report(&volume);
    assert!(report.utilisation["operations"] > 0.999, "{:?}", report.utilisation);
    let limits = report.cloud_volume.unwrap().limits;
    assert!((limits["operation-credits"].throttled_s - 1_001.1).abs() < 0.2, "{limits:?}");
}
