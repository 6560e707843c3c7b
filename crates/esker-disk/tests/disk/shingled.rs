//! Do writes of a shingled disk go where they should, and fall once its media cache is full?

use esker_core::{
    Arrival, Bytes, Control, Device, Lba, Nanos, Precondition, Ratio, ReplaySettings, Request, RequestKind, Rng,
};
use esker_disk::{DiskSettings, ShingledDisk, ShingledSettings};
use esker_results::{Report, ShingledReport};
use proptest::prelude::*;

use crate::common::{self, Log, at, preset, round_numbers};

const MIB: u64 = 2048;

/// 15 MB: a media cache of 2 MiB, and eleven zones of 1 MiB.
fn small() -> DiskSettings {
    let shingled =
        ShingledSettings { zone: Bytes::mib(1), media_cache: Bytes::mib(2), clean_after: Nanos::from_millis(100) };
    DiskSettings { shingled: Some(shingled), ..round_numbers() }
}

fn filled(settings: &DiskSettings) -> ShingledDisk {
    let mut disk = ShingledDisk::new("disk", settings).unwrap();
    let condition = Precondition::Filled { utilisation: Ratio::ONE };
    disk.control(Nanos::ZERO, Control::Precondition(condition)).unwrap();
    disk
}

fn run(disk: &mut ShingledDisk, settings: &ReplaySettings, arrivals: Vec<Arrival>) -> (Nanos, Log) {
    let (replay, log) = common::run(disk, settings, arrivals);
    (replay.last_event, log)
}

fn report(disk: &ShingledDisk) -> ShingledReport {
    Report::of(disk).devices["disk"].disk.clone().unwrap().shingled.unwrap()
}

/// `depth` requests under way, from `start` on.
fn closed(depth: usize, start: Nanos) -> ReplaySettings {
    ReplaySettings { start, ..ReplaySettings::closed(depth) }
}

/// Writes of 4 KiB at random places, one after another.
fn random_writes(count: u64, capacity: Bytes, seed: u64) -> Vec<Arrival> {
    let mut rng = Rng::new(seed);
    (0..count).map(|_| at(0, Request::write(Lba(rng.below(capacity.0 / 4096) * 8), Bytes::kib(4)))).collect()
}

#[test]
fn writes_at_the_pointer_of_their_zone_go_straight_in() {
    let mut disk = ShingledDisk::new("disk", &small()).unwrap();
    assert_eq!(disk.capacity(), Bytes::mib(11));
    let writes = |from: u64, to: u64| (from..to).map(|index| at(0, Request::write(Lba(index * 128), Bytes::kib(64))));
    let (end, _) = run(&mut disk, &ReplaySettings::closed(1), writes(0, 11 * 16).collect());
    let found = report(&disk);
    assert_eq!((found.direct_write_bytes, found.cached_write_bytes), (11 << 20, 0));
    // All is written: the same once more goes to the media cache, unless a zone was trimmed before.
    let trim = at(0, Request::new(RequestKind::Trim, Lba(3 * MIB), Bytes::mib(1)));
    let again = [trim].into_iter().chain(writes(32, 64)).collect();
    run(&mut disk, &closed(1, end), again);
    let again = report(&disk);
    assert_eq!(again.direct_write_bytes - found.direct_write_bytes, 1 << 20);
    assert_eq!((again.cached_write_bytes, again.media_cache_used_bytes), (1 << 20, 1 << 20));
}

#[test]
fn one_write_across_two_zones_goes_to_both() {
    let mut disk = ShingledDisk::new("disk", &small()).unwrap();
    // The first zone up to its last 64 KiB, then 128 KiB across its end; the second zone's pointer is at its start.
    let writes = [(0, 15 * 128), (15 * 128, 256)];
    let arrivals =
        writes.iter().map(|&(start, sectors)| at(0, Request::write(Lba(start), Bytes(sectors * 512)))).collect();
    run(&mut disk, &ReplaySettings::closed(1), arrivals);
    assert_eq!(report(&disk).direct_write_bytes, (1 << 20) + (64 << 10));
}

#[test]
fn random_writes_fall_once_the_media_cache_is_full() {
    let mut disk = filled(&small());
    let capacity = disk.capacity();
    // 512 entries of 4 KiB fill 2 MiB.
    let (fast, _) = run(&mut disk, &ReplaySettings::closed(1), random_writes(512, capacity, 1));
    let before = report(&disk);
    assert_eq!((before.cleaned_zones, before.waited_writes), (0, 0));
    let (end, log) = run(&mut disk, &closed(1, fast), random_writes(512, capacity, 2));
    let (first, second) = (fast.as_secs_f64(), (end - fast).as_secs_f64());
    let after = report(&disk);
    assert!(after.cleaned_zones >= 5 && after.waited_writes > 0, "{after:?}");
    // A zone is read and written as a whole, a turn for each of its tracks: for about fifty writes.
    assert!(second > 1.5 * first, "{first} s, then {second} s");
    assert_eq!(after.cleaning_write_bytes, after.cleaned_zones << 20);
    assert_eq!(after.cleaning_read_bytes, after.cleaning_write_bytes);
    assert!(log.0.iter().all(|(.., completion)| completion.result.is_ok()));
}

#[test]
fn a_disk_that_is_left_alone_cleans_and_then_takes_writes_quickly_again() {
    let mut disk = filled(&small());
    let capacity = disk.capacity();
    let (fast, _) = run(&mut disk, &ReplaySettings::closed(1), random_writes(500, capacity, 1));
    // A read an hour later: until then all zones have been cleaned.
    let hour = Nanos::from_secs(3_600);
    let read = Arrival { at: hour, request: Request::read(Lba(0), Bytes::kib(4)) };
    run(&mut disk, &ReplaySettings::OPEN, vec![read]);
    let cleaned = report(&disk);
    assert_eq!((cleaned.cleaned_zones, cleaned.media_cache_used_bytes), (11, 0), "{cleaned:?}");
    let begin = hour + Nanos::from_secs(1);
    let (end, _) = run(&mut disk, &closed(1, begin), random_writes(500, capacity, 2));
    let ratio = (end - begin).as_secs_f64() / fast.as_secs_f64();
    assert!((0.8..1.2).contains(&ratio), "{ratio}");
}

#[test]
#[expect(clippy::print_stdout, reason = "`--nocapture` shows the rates")]
fn the_preset_shows_the_fall_in_its_own_proportions() {
    // The media cache of the preset, made smaller so that it fills soon; zones as they are.
    let mut settings = preset("shingled-5900-8t");
    let shingled = settings.shingled.as_mut().unwrap();
    shingled.media_cache = Bytes::mib(64);
    let mut disk = filled(&settings);
    let capacity = disk.capacity();
    let (fast, _) = run(&mut disk, &ReplaySettings::closed(32), random_writes(16_000, capacity, 1));
    let (end, _) = run(&mut disk, &closed(32, fast), random_writes(450, capacity, 2));
    let [before, after] = [16_000.0 / fast.as_secs_f64(), 450.0 / (end - fast).as_secs_f64()];
    println!("{before:.0} writes/s, then {after:.1}; {:?}", report(&disk));
    assert!(before > 500.0 && after < 10.0, "{before}/s, then {after}/s");
}

#[test]
fn contradictions_are_refused() {
    let shingled = small().shingled.unwrap();
    let bad = [
        ("shingled.zone", ShingledSettings { zone: Bytes(100_000), ..shingled }, None),
        ("shingled.zone", ShingledSettings { zone: Bytes::mib(8), ..shingled }, None),
        ("shingled.media_cache", ShingledSettings { media_cache: Bytes::kib(1), ..shingled }, None),
        ("shingled.clean_after", ShingledSettings { clean_after: Nanos(u64::MAX), ..shingled }, None),
        ("capacity", shingled, Some(Bytes::mib(12))),
    ];
    for (key, shingled, capacity) in bad {
        let settings = DiskSettings { shingled: Some(shingled), capacity, ..small() };
        assert_eq!(ShingledDisk::new("disk", &settings).err().unwrap().key(), key);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever comes ends, in the same way each time, and every byte is counted once.
    #[test]
    fn any_requests_end_and_are_counted(
        steps in prop::collection::vec((0..6u8, 0..11 * MIB, 1..600u64, 0..200_000u64), 1..200),
        full in any::<bool>(),
        depth in 1..9usize,
    ) {
        let (mut micros, mut written) = (0, 0);
        let mut arrivals = Vec::new();
        for &(kind, start, sectors, gap) in &steps {
            micros += gap;
            let sectors = sectors.min(11 * MIB - start);
            let (start, length) = (Lba(start), Bytes(sectors * 512));
            arrivals.push(at(micros, match kind {
                0 => Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO),
                1 => Request::new(RequestKind::Trim, start, Bytes::mib(1).min(length)),
                2 | 3 => Request::read(start, length),
                _ => Request::write(start, length),
            }));
            written += if kind > 3 { length.0 } else { 0 };
        }
        let outcome = || {
            let mut disk = if full { filled(&small()) } else { ShingledDisk::new("disk", &small()).unwrap() };
            let settings = if depth == 1 { ReplaySettings::OPEN } else { ReplaySettings::closed(depth) };
            let (_, log) = run(&mut disk, &settings, arrivals.clone());
            (log.0, report(&disk), disk.free_slots())
        };
        let (log, found, slots) = outcome();
        prop_assert_eq!((log.len(), slots), (steps.len(), 32));
        prop_assert_eq!(found.direct_write_bytes + found.cached_write_bytes, written);
        prop_assert!(found.media_cache_used_bytes <= 2 << 20);
        // At the end, cleaning may have read what it has not written yet.
        prop_assert!(found.cleaning_read_bytes <= found.cleaning_write_bytes + (1 << 20));
        let again = outcome();
        prop_assert_eq!((log, found), (again.0, again.1), "the same twice");
    }
}
