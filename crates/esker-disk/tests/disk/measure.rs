//! Simulated disks measured from outside: what is found against what they are.

use esker_core::{Bytes, Nanos, Rng};
use esker_disk::measure::{MeasureError, MeasureStep, Measured, ProbeRead, ReadTimes, SimulatedReads, measure};
use esker_disk::{CacheSettings, Disk, DiskSettings, LayoutSettings, Mechanics, SeekCurve, SeekSettings};

use crate::common::{plain_preset, round_numbers, zone};

/// Measures a disk that answers by `read`.
fn measured(
    capacity: Bytes,
    block: Bytes,
    mut read: impl FnMut(ProbeRead) -> ReadTimes,
) -> Result<Measured, MeasureError> {
    let mut measurement = measure(capacity, block)?;
    loop {
        match measurement.step() {
            MeasureStep::Read(asked) => {
                assert_eq!(asked.start.0 * 512 % block.0, 0, "reads begin at blocks");
                assert_eq!(asked.length.0 % block.0, 0, "and have whole ones");
                assert!(asked.start.0 * 512 + asked.length.0 <= capacity.0, "within the disk");
                measurement.answer(read(asked));
            }
            MeasureStep::Ended(result) => return *result,
        }
    }
}

fn simulated(settings: &DiskSettings) -> Result<Measured, MeasureError> {
    let mut disk = SimulatedReads::new(Box::new(Disk::new("disk", settings).unwrap()));
    measured(disk.capacity(), Bytes::SECTOR, |read| disk.read(read))
}

/// As a computer sees it that notices each end up to `jitter` later, and one of 50 up to 30 ms.
fn seen_late(settings: &DiskSettings, jitter: Nanos, seed: u64) -> Result<Measured, MeasureError> {
    let mut disk = SimulatedReads::new(Box::new(Disk::new("disk", settings).unwrap()));
    let (mut rng, mut late) = (Rng::new(seed), Nanos::ZERO);
    measured(disk.capacity(), Bytes::SECTOR, |read| {
        // Whoever notices the end late asks late for the next read.
        let times = disk.read(ProbeRead { pause: read.pause + late, ..read });
        let delay = if rng.below(50) == 0 { rng.below(30_000_000) } else { 0 };
        late = Nanos(rng.below(jitter.0.max(1)) + delay);
        ReadTimes { ended: times.ended + late, ..times }
    })
}

/// The share by which `found` differs from `known`.
fn off(found: f64, known: f64) -> f64 {
    (found / known - 1.0).abs()
}

/// Checks rotation, zones and seek curve of a disk whose surfaces were found: mean and largest deviation of seek times.
#[expect(clippy::print_stdout, reason = "the table of docs/disk-model.md")]
fn check(name: &str, found: &DiskSettings, known: &DiskSettings) -> (f64, f64) {
    let speed = |settings: &DiskSettings| settings.rotation_speed.as_thousandths() as f64;
    assert!(off(speed(found), speed(known)) < 1e-4, "{name}: {}", found.rotation_speed);
    assert!(known.capacity.is_none() || found.capacity == known.capacity, "{name}");
    assert_eq!(found.surfaces, known.surfaces, "{name}");
    assert_eq!(found.zones.len(), known.zones.len(), "{name}");
    // The last zone may hold more than the capacity.
    let whole = known.zones.len() - 1;
    for (index, (found, known)) in found.zones.iter().zip(&known.zones).enumerate() {
        assert_eq!(found.sectors_per_track, known.sectors_per_track, "{name}: zone {index}");
        let cylinders = off(f64::from(found.cylinders), f64::from(known.cylinders));
        assert!(cylinders < 0.02 || index == whole, "{name}: zone {index} has {} cylinders", found.cylinders);
    }
    let cylinders = Mechanics::new(known).unwrap().geometry().cylinders();
    let curve = |settings: &DiskSettings| SeekCurve::new(&settings.seek, cylinders).unwrap();
    let (one, other) = (curve(found), curve(known));
    let mut distances = vec![1];
    while let Some(&distance) = distances.last().filter(|&&distance| distance * 102 / 100 < cylinders - 1) {
        distances.push((distance * 102 / 100).max(distance + 1));
    }
    let time = |curve: &SeekCurve, distance: u32| curve.time(distance).0 as f64;
    let deviations: Vec<f64> =
        distances.iter().map(|&distance| off(time(&one, distance), time(&other, distance))).collect();
    let mean = deviations.iter().sum::<f64>() / deviations.len() as f64;
    let worst = deviations.iter().copied().fold(0.0, f64::max);
    println!(
        "{name}: seek times off by {:.2} % on the average and {:.2} % at most; by the mean of all seeks {:.2} %",
        100.0 * mean,
        100.0 * worst,
        100.0 * off(one.mean(cylinders).0 as f64, other.mean(cylinders).0 as f64)
    );
    assert!(off(one.mean(cylinders).0 as f64, other.mean(cylinders).0 as f64) < 0.01, "{name}");
    (mean, worst)
}

/// Disks of both layouts, of one to five groups of seek curves, with buffers of 4 to 64 segments.
#[test]
fn rotation_zones_and_seeks_are_found_within_two_per_cent() {
    for name in [
        "nearline-7200-20t",
        "sas-10k-2400g",
        "ibm-ultrastar-36z15",
        "ibm-ultrastar-36z15-18g",
        "fujitsu-mba3073np-73g",
        "dual-actuator-7200-18t",
        "seagate-cheetah-15k5-146g",
    ] {
        let known = plain_preset(name);
        let found = simulated(&known).unwrap_or_else(|error| panic!("{name}: {error}")).settings;
        let (mean, worst) = check(name, &found, &known);
        // The Cheetah's curve has jumps of a fifth from one cylinder to the next; beside those it is met, too.
        let most = if name.contains("cheetah") { 0.03 } else { 0.02 };
        assert!(mean < 0.005 && worst < most, "{name}: {mean} {worst}");
        assert_eq!(found.layout.cylinders_per_group, known.layout.cylinders_per_group, "{name}");
        let micros = |time: Nanos| time.as_micros_f64();
        assert!((micros(found.head_switch) - micros(known.head_switch)).abs() < 10.0, "{name}: {}", found.head_switch);
        assert!((micros(found.read_overhead) - micros(known.read_overhead)).abs() < 10.0, "{name}");
        let (found, known) = (found.cache.unwrap(), known.cache.unwrap());
        let buffer = |cache: &CacheSettings| (cache.segments, cache.read_ahead, cache.read_ahead_on_hit);
        assert_eq!(buffer(&found), buffer(&known), "{name}");
    }
}

#[test]
fn skews_are_found_to_a_few_sectors() {
    let known = plain_preset("seagate-cheetah-15k5-146g");
    let found = simulated(&known).unwrap().settings;
    for (found, known) in found.zones.iter().zip(&known.zones) {
        let pairs = [
            (found.track_skew, known.track_skew),
            (found.cylinder_skew, known.cylinder_skew),
            (found.group_skew, known.group_skew),
        ];
        for (found, known) in pairs {
            assert!(found.unwrap().abs_diff(known.unwrap()) <= 4, "{found:?} {known:?}");
        }
    }
}

/// The preset can be read again, and what it describes measures like the disk itself.
#[test]
fn the_preset_is_one() {
    let found = simulated(&plain_preset("fujitsu-mba3073np-73g")).unwrap();
    let text = found.to_toml("a \u{7}disk");
    assert!(esker_disk::is_made_preset(&text) && text.starts_with("# a ?disk, measured"), "{text}");
    assert!(text.contains("ASSUMED") && text.lines().all(|line| line.len() <= 300), "{text}");
    let mut table: toml::Table = toml::from_str(&text).unwrap();
    assert_eq!(table.remove("kind").unwrap().as_str(), Some("hdd"));
    let settings: DiskSettings = table.try_into().unwrap();
    assert_eq!(settings, found.settings);
    let again = simulated(&settings).unwrap().settings;
    let (mean, worst) = check("again", &again, &settings);
    assert!(mean < 0.005 && worst < 0.03, "{mean} {worst}");
}

#[test]
fn delays_and_outliers_do_no_harm() {
    for (name, seed) in [("nearline-7200-20t", 1), ("sas-10k-2400g", 2), ("ibm-ultrastar-36z15", 3)] {
        let known = plain_preset(name);
        let found = seen_late(&known, Nanos::from_micros(5), seed).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (mean, worst) = check(name, &found.settings, &known);
        assert!(mean < 0.01 && worst < 0.05, "{name}: {mean} {worst}");
    }
}

/// Without a buffer, and without read-ahead, other times tell the overhead.
#[test]
fn disks_without_a_buffer_are_measured() {
    let mut known = plain_preset("sas-10k-2400g");
    known.cache = None;
    let found = simulated(&known).unwrap();
    let (mean, worst) = check("no buffer", &found.settings, &known);
    assert!(mean < 0.005 && worst < 0.02, "{mean} {worst}");
    assert_eq!((found.settings.cache, found.settings.bus_rate), (None, None));
    assert!(found.remarks.iter().any(|remark| remark.contains("No buffer")), "{:?}", found.remarks);
    assert!((found.settings.read_overhead.as_micros_f64() - 50.0).abs() < 10.0, "{}", found.settings.read_overhead);
    known.cache = plain_preset("sas-10k-2400g").cache;
    known.cache.as_mut().unwrap().read_ahead = Bytes::ZERO;
    let found = simulated(&known).unwrap();
    check("no read-ahead", &found.settings, &known);
    assert_eq!(found.settings.cache.unwrap().read_ahead, Bytes::ZERO);
}

/// A disk whose skews do not tell its surfaces has one in the preset, and random reads still take as long.
#[test]
fn surfaces_that_do_not_show_do_no_harm() {
    let known = plain_preset("samsung-sp2504c-250g");
    let found = simulated(&known).unwrap();
    assert_eq!(found.settings.surfaces, 1);
    assert!(found.remarks.iter().any(|remark| remark.contains("surfaces")), "{:?}", found.remarks);
    let mean = |settings: &DiskSettings| {
        let mut disk = SimulatedReads::new(Box::new(Disk::new("disk", settings).unwrap()));
        let sectors = disk.capacity().0 / 512;
        let mut rng = Rng::new(7);
        let times = (0..4_000).map(|_| {
            let start = esker_core::Lba(rng.below(sectors));
            let times = disk.read(ProbeRead { pause: Nanos::ZERO, start, length: Bytes::SECTOR });
            (times.ended - times.began).0 as f64
        });
        times.sum::<f64>() / 4_000.0
    };
    assert!(off(mean(&found.settings), mean(&known)) < 0.01, "{} {}", mean(&found.settings), mean(&known));
}

#[test]
fn spare_sectors_of_tracks_show() {
    let mut known = DiskSettings {
        zones: vec![zone(4_000, 420), zone(4_000, 360)],
        layout: LayoutSettings { spare_unit: esker_disk::SpareUnit::Track, ..LayoutSettings::default() },
        seek: SeekSettings::Points(vec![(1, Nanos::from_micros(900)), (8_000, Nanos::from_micros(16_000))]),
        read_overhead: Nanos::from_micros(150),
        surfaces: 5,
        ..round_numbers()
    };
    known.zones.iter_mut().for_each(|zone| zone.spare_sectors = 12);
    let found = simulated(&known).unwrap().settings;
    assert_eq!(found.layout.spare_unit, esker_disk::SpareUnit::Track);
    let (mean, _) = check("spares", &found, &known);
    assert!(mean < 0.01, "{mean}");
    assert!(found.zones.iter().all(|zone| zone.spare_sectors == 12), "{:?}", found.zones);
}

#[test]
fn what_is_no_disk_is_refused() {
    let answer = |time: fn(u64) -> u64| {
        let (mut now, mut count) = (0, 0);
        measured(Bytes::gib(100), Bytes(4_096), move |read| {
            count += 1;
            let began = Nanos(now) + read.pause;
            let ended = began + Nanos(time(count));
            now = ended.0;
            ReadTimes { began, ended }
        })
    };
    // Flash; a disk whose buffer holds everything; something that takes any time it likes.
    assert!(matches!(answer(|_| 80_000), Err(MeasureError::NoArm { micros: 80 })));
    assert!(matches!(
        answer(|count| if count <= 25 { 8_000_000 } else { 90_000 }),
        Err(MeasureError::NeverForgets { .. })
    ));
    let error = answer(|count| 3_000_000 + count.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 9_000_000).unwrap_err();
    assert!(matches!(error, MeasureError::NoTurn | MeasureError::NoTracks { .. }), "{error}");
    assert!(matches!(measure(Bytes::mib(1), Bytes::SECTOR).err(), Some(MeasureError::TooSmall { .. })));
}

/// Times that scatter by up to several turns: whatever is found or refused, nothing panics.
#[test]
fn any_times_end_in_a_preset_or_a_refusal() {
    let (mut found, mut refused) = (0, 0);
    for (index, name) in ["fujitsu-mba3073np-73g", "samsung-sp2504c-250g", "ibm-ultrastar-36z15-18g"].iter().enumerate()
    {
        for micros in [30, 100, 300, 1_000, 5_000] {
            match seen_late(&plain_preset(name), Nanos::from_micros(micros), index as u64) {
                Ok(_) => found += 1,
                Err(_) => refused += 1,
            }
        }
    }
    assert!(found > 0 && refused > 0, "{found} found, {refused} refused");
}
