//! Do the means match theory?

use esker_core::{Arrival, Bytes, Device, LatencyHistogram, Lba, Nanos, ReplaySettings, Request};
use esker_disk::{Disk, DiskSettings, PRESETS, SeekCurve, SeekSettings};

use crate::common::{plain_preset, poisson, preset, report, round_numbers, run, zone};

/// Integral over the distance x (share of the stroke) of its density 2 (1 - x) times `coefficient` x^`power`.
fn piece(coefficient: f64, power: f64, from: f64, to: f64) -> f64 {
    let antiderivative = |x: f64| 2.0 * (x.powf(power + 1.0) / (power + 1.0) - x.powf(power + 2.0) / (power + 2.0));
    coefficient * (antiderivative(to) - antiderivative(from))
}

#[test]
fn the_mean_seek_is_the_integral_of_the_curve() {
    let mut settings = preset("ibm-ultrastar-36z15");
    // One zone, so that uniform addresses are uniform cylinders, and no head switch that could outlast a seek.
    settings.zones = vec![zone(10_000, 400)];
    settings.capacity = None;
    settings.head_switch = Nanos::ZERO;
    let SeekSettings::Formula(formula) = settings.seek.clone() else { panic!("this preset has a formula") };
    let cylinders = 10_000.0_f64;
    let split = f64::from(formula.split) / cylinders;
    let expected_us = piece(formula.a.as_micros_f64(), 0.0, 0.0, split)
        + piece(formula.b.0 as f64 / 1e6 * cylinders.sqrt(), 0.5, 0.0, split)
        + piece(formula.c.as_micros_f64(), 0.0, split, 1.0)
        + piece(formula.e.0 as f64 / 1e6 * cylinders, 1.0, split, 1.0);

    let mut disk = Disk::new("disk", &settings).unwrap();
    let sectors = disk.capacity().0 / 512;
    run(&mut disk, &ReplaySettings::closed(1), poisson(1, 200_000, Nanos(1), sectors, 1));
    let measured = report(&disk).mean_seek_us;
    assert!((measured / expected_us - 1.0).abs() < 0.01, "measured {measured}, integral {expected_us}");
    // The mean distance is a third of the stroke, also where the curve does not matter.
    let mean_cylinders = report(&disk).mean_seek_cylinders;
    assert!((mean_cylinders / (cylinders / 3.0) - 1.0).abs() < 0.01, "{mean_cylinders}");
}

/// Mean seek in microseconds between uniformly random sectors: the curve's mean over the distances between two zones,
/// whose density is a trapezoid, for all pairs of zones, weighted by their sectors.
fn mean_seek_between_zones(settings: &DiskSettings, curve: &SeekCurve) -> f64 {
    let mut first = 0.0;
    let zones: Vec<(f64, f64, f64)> = settings
        .zones
        .iter()
        .map(|zone| {
            let cylinders = f64::from(zone.cylinders);
            first += cylinders;
            (first - cylinders, cylinders, cylinders * f64::from(zone.sectors_per_track))
        })
        .collect();
    let all: f64 = zones.iter().map(|zone| zone.2).sum();
    let mut mean = 0.0;
    for (from, width, weight) in &zones {
        for (other_from, other_width, other_weight) in &zones {
            // In steps of a 400th of both widths, at their middles.
            let step = (width + other_width) / 400.0;
            let (mut sum, mut density) = (0.0, 0.0);
            for index in 0..400 {
                let offset = (f64::from(index) + 0.5) * step;
                let overlap = offset.min(width + other_width - offset).min(width.min(*other_width));
                let distance = (other_from - from - width + offset).abs();
                sum += overlap * curve.time(distance.round() as u32).as_micros_f64();
                density += overlap;
            }
            mean += sum / density * (weight / all) * (other_weight / all);
        }
    }
    mean
}

#[test]
fn the_mean_seek_of_each_preset_is_that_of_its_curve_over_its_zones() {
    for entry in PRESETS {
        let settings = DiskSettings { cache: None, head_switch: Nanos::ZERO, ..plain_preset(entry.name) };
        let mut disk = Disk::new("disk", &settings).unwrap();
        let sectors = disk.mechanics().geometry().sectors();
        let expected = mean_seek_between_zones(&settings, disk.mechanics().seek_curve());
        let arrivals = poisson(7, 200_000, Nanos(1), disk.capacity().0 / 512, 1);
        run(&mut disk, &ReplaySettings::closed(1), arrivals);
        let measured = report(&disk).mean_seek_us;
        assert!((measured / expected - 1.0).abs() < 0.01, "{}: {measured}, expected {expected}", entry.name);
        // What the zones hold beyond the capacity is at the inner edge, and rounds the mean by less.
        assert!(disk.capacity().0 / 512 * 50 > sectors * 49, "{}", entry.name);
    }
}

#[test]
fn the_mean_rotational_wait_is_half_a_turn() {
    for entry in PRESETS {
        let settings = plain_preset(entry.name);
        let mut disk = Disk::new("disk", &settings).unwrap();
        let sectors = disk.capacity().0 / 512;
        let half_a_turn = disk.mechanics().rotation().revolution().as_micros_f64() / 2.0;
        run(&mut disk, &ReplaySettings::OPEN, poisson(2, 100_000, Nanos::from_millis(200), sectors, 8));
        let measured = report(&disk).mean_rotation_us;
        assert!((measured / half_a_turn - 1.0).abs() < 0.01, "{}: {measured} of {half_a_turn}", entry.name);
    }
}

/// Bytes per second of `requests` of 64 KiB one after another from `first`, `depth` under way.
fn streaming_rate(settings: &DiskSettings, first: u64, requests: u64, write: bool, depth: usize) -> f64 {
    let mut disk = Disk::new("disk", settings).unwrap();
    let arrivals = (0..requests).map(|index| {
        let (start, length) = (Lba(first + index * 128), Bytes::kib(64));
        let request = if write { Request::write(start, length) } else { Request::read(start, length) };
        Arrival { at: Nanos::ZERO, request }
    });
    let (_, log) = run(&mut disk, &ReplaySettings::closed(depth), arrivals);
    // From the end of the first request, because its positioning is not streaming.
    let bytes = (requests - 1) as f64 * 65_536.0;
    bytes / (log.0.last().unwrap().2.at - log.0[0].2.at).as_secs_f64()
}

#[test]
fn streaming_runs_at_the_rate_of_its_zone_less_the_skews() {
    for entry in PRESETS {
        let settings = plain_preset(entry.name);
        let disk = Disk::new("disk", &settings).unwrap();
        let mechanics = disk.mechanics();
        let turn = mechanics.rotation().revolution();
        // Whole groups of cylinders of the first and of the middle zone.
        let mut first = 0;
        for (index, zone) in settings.zones.iter().enumerate() {
            let zone_sectors = u64::from(zone.cylinders) * u64::from(settings.surfaces * zone.sectors_per_track);
            if index == 0 || index == settings.zones.len() / 2 {
                let group = u64::from(settings.layout.cylinders_per_group);
                let surfaces = u64::from(settings.surfaces);
                let skew = |given: Option<u32>, switch: Nanos| {
                    let sector = turn.0 as f64 / f64::from(zone.sectors_per_track);
                    given.map_or(((switch + settings.write_settle).0 as f64 / sector).ceil(), f64::from)
                };
                let seek = |cylinders| mechanics.seek_curve().time(cylinders);
                let track_skew = skew(zone.track_skew, settings.head_switch);
                let cylinder_skew = skew(zone.cylinder_skew, seek(1));
                let group_skew = if group == 1 { cylinder_skew } else { skew(zone.group_skew, seek(group as u32)) };
                let tracks = (group * surfaces) as f64;
                let skewed =
                    track_skew * (surfaces - 1) as f64 + cylinder_skew * (surfaces * (group - 1)) as f64 + group_skew;
                let track_bytes = f64::from(zone.sectors_per_track) * 512.0;
                let turns = 1.0 + skewed / tracks / f64::from(zone.sectors_per_track);
                let expected = track_bytes / (turns * turn.as_secs_f64());
                let requests = 20_000;
                assert!(requests * 128 < zone_sectors);
                let bare = DiskSettings { cache: None, ..settings.clone() };
                // Without a buffer several requests have to be under way; with read-ahead one is enough.
                for (settings, write, depth) in
                    [(&bare, false, 4), (&bare, true, 4), (&settings, false, 4), (&settings, false, 1)]
                {
                    let measured = streaming_rate(settings, first, requests, write, depth);
                    let link = settings.bus_rate.map_or(Nanos::ZERO, |rate| rate.time(Bytes(65_536)));
                    // One request at a time goes no faster than its command and its data to the host.
                    let alone = 65_536.0 / (settings.read_overhead + link).as_secs_f64();
                    let expected = if depth == 1 { f64::min(expected, alone) } else { expected };
                    assert!(
                        (measured / expected - 1.0).abs() < 0.01,
                        "{} zone {index}, write {write}, depth {depth}: {measured}, expected {expected}",
                        entry.name
                    );
                }
            }
            first += zone_sectors;
        }
    }
}

/// Rates at the outer edge given in the comments of the presets and in data sheets, in MB/s.
#[test]
fn presets_stream_at_their_stated_rates() {
    for (name, stated) in [
        ("ibm-ultrastar-36z15", 55.0),
        ("ibm-ultrastar-36z15-18g", 55.0),
        ("seagate-cheetah-15k5-146g", 134.6),
        ("nearline-7200-20t", 285.0),
    ] {
        let rate = streaming_rate(&preset(name), 0, 20_000, false, 1) / 1e6;
        assert!((rate / stated - 1.0).abs() < 0.01, "{name}: {rate}");
    }
}

#[test]
fn without_a_cache_a_host_that_waits_misses_a_turn() {
    // One request at a time: during the next one's command overhead its first sector passes by.
    let mut settings = round_numbers();
    settings.read_overhead = Nanos::from_micros(10);
    let mut disk = Disk::new("disk", &settings).unwrap();
    let arrivals = (0..50).map(|index| Arrival { at: Nanos::ZERO, request: Request::read(Lba(index), Bytes(512)) });
    let (replay, _) = run(&mut disk, &ReplaySettings::closed(1), arrivals);
    // The first request waits for sector 0 to come round, each next one for its own: 10.1 ms from end to end.
    assert_eq!(replay.last_event, Nanos::from_micros(10_000 + 100 + 49 * 10_100));
}

#[test]
fn waiting_under_poisson_arrivals_follows_pollaczek_and_khinchine() {
    let mut settings = preset("ibm-ultrastar-36z15");
    settings.scheduler = "fcfs".to_string();
    settings.queue_depth = 65_536;
    // The formula has one service time, but command overhead hides behind the arm while it is busy: so there is none
    // here.
    settings.read_overhead = Nanos::ZERO;
    settings.bus_rate = None;
    for (seed, mean_arrival_ms) in [(3, 12), (4, 9)] {
        let mut disk = Disk::new("disk", &settings).unwrap();
        let sectors = disk.capacity().0 / 512;
        let arrivals = poisson(seed, 400_000, Nanos::from_millis(mean_arrival_ms), sectors, 8);
        let (replay, log) = run(&mut disk, &ReplaySettings::OPEN, arrivals);
        let (mut service, mut waiting) = (LatencyHistogram::default(), LatencyHistogram::default());
        for (arrival, _, completion) in &log.0 {
            service.record(completion.at - completion.service_start);
            waiting.record(completion.service_start - *arrival);
        }
        let rate = log.0.len() as f64 / (replay.last_arrival - replay.first_arrival).0 as f64;
        let second_moment = service.stddev() * service.stddev() + service.mean() * service.mean();
        let expected = rate * second_moment / (2.0 * (1.0 - rate * service.mean()));
        let ratio = waiting.mean() / expected;
        assert!((ratio - 1.0).abs() < 0.04, "one per {mean_arrival_ms} ms: {ratio} of {expected} ns");
    }
}
