//! Every configuration either runs or is refused with a reason.

use std::collections::BTreeSet;

use esker_core::{
    Arrival, ByteRate, Bytes, Energy, Lba, Nanos, Power, Priority, Ratio, ReplaySettings, Request, RequestKind,
};
use esker_disk::{
    CacheSettings, CommandOverhead, Disk, DiskSettings, ExtraDisconnect, FirmwareSettings, LayoutSettings, Mechanics,
    Picoseconds, PowerSettings, ReadAheadEnd, Rotation, RotationSpeed, SCHEDULERS, SeekFormula, SeekSettings,
    ShingledSettings, WaitLimit, ZoneSettings, build,
};
use esker_results::Report;
use proptest::prelude::*;

use crate::common::{preset, run, zone};

/// Mostly small numbers, sometimes absurd ones.
fn number(usual: std::ops::Range<u32>) -> impl Strategy<Value = u32> {
    prop_oneof![30 => usual, 1 => Just(0), 1 => Just(u32::MAX), 1 => any::<u32>()]
}

fn time(usual: std::ops::Range<u64>) -> impl Strategy<Value = Nanos> {
    prop_oneof![30 => usual, 1 => Just(0), 1 => Just(u64::MAX)].prop_map(Nanos)
}

fn any_zone() -> impl Strategy<Value = ZoneSettings> {
    let skew = || prop::option::of(number(0..100));
    (number(1..9), number(1..12), skew(), skew(), skew(), number(0..3), number(0..3)).prop_map(
        |(cylinders, sectors_per_track, track_skew, cylinder_skew, group_skew, spare_sectors, unused_cylinders)| {
            ZoneSettings {
                track_skew,
                cylinder_skew,
                group_skew,
                spare_sectors,
                unused_cylinders,
                ..ZoneSettings::new(cylinders, sectors_per_track)
            }
        },
    )
}

/// All schedulers, and one name that does not exist.
fn scheduler_names() -> Vec<&'static str> {
    SCHEDULERS.iter().map(|entry| entry.name).chain(["sstff"]).collect()
}

fn any_seek() -> impl Strategy<Value = SeekSettings> {
    let fine = || prop_oneof![20 => 0..1_000_000_000u64, 1 => Just(u64::MAX)].prop_map(Picoseconds);
    prop_oneof![
        3 => prop::collection::vec((number(1..20), time(0..10_000_000)), 0..5).prop_map(|mut points| {
            points.sort();
            SeekSettings::Points(points)
        }),
        1 => prop::collection::vec((number(1..20), time(0..10_000_000)), 0..5).prop_map(SeekSettings::Points),
        3 => (time(0..1_000_000), fine(), number(0..20), time(0..1_000_000), fine())
            .prop_map(|(a, b, split, c, e)| SeekSettings::Formula(SeekFormula { a, b, split, c, e, first: vec![] })),
    ]
}

fn overhead() -> impl Strategy<Value = CommandOverhead> {
    (time(0..2_000_000), time(0..2_000_000))
        .prop_map(|(after_read, after_write)| CommandOverhead { after_read, after_write })
}

prop_compose! {
    fn any_firmware()(
        overheads in [overhead(), overhead(), overhead(), overhead()],
        times in prop::collection::vec(time(0..2_000_000), 12),
        extra in any::<bool>(),
        share in 0..=100u64,
        write_start in prop::collection::btree_map(0..64u32, 0..64u32, 0..3),
        read_ahead_to in prop::sample::select(vec![
            ReadAheadEnd::Amount, ReadAheadEnd::Track, ReadAheadEnd::Cylinder, ReadAheadEnd::NextTrack,
        ]),
        flags in any::<[bool; 7]>(),
    ) -> FirmwareSettings {
        FirmwareSettings {
            read_hit: overheads[0],
            read_miss: overheads[1],
            write: overheads[2],
            read_completion: times[0],
            write_completion: times[1],
            data_preparation: times[2],
            first_reselect: times[3],
            other_reselect: times[4],
            read_disconnect: overheads[3],
            write_disconnect: times[5],
            extra_disconnect: extra.then_some(ExtraDisconnect {
                command: times[6],
                disconnect: times[7],
                pause: times[8],
                second_disconnect: times[9],
                seek_delay: times[10],
            }),
            write_seek_min: times[11],
            write_start: write_start.into_iter().collect(),
            never_disconnects: flags[0],
            read_watermark: Ratio::percent(share),
            read_ahead_to,
            read_at_end_hits: flags[1],
            forgets_read_sectors: flags[2],
            forgets_written_sectors: flags[3],
            separate_write_segment: flags[4],
            hits_overtake: flags[5],
            reads_while_waiting: flags[6],
        }
    }
}

prop_compose! {
    fn any_shingled()(
        zone in prop_oneof![9 => 128..400u64, 1 => Just(0), 1 => Just(u64::MAX / 512)],
        media_cache in prop_oneof![9 => 128..400u64, 1 => Just(0), 1 => Just(u64::MAX / 512)],
        clean_after in time(0..100_000_000),
    ) -> ShingledSettings {
        ShingledSettings { zone: Bytes(zone * 512), media_cache: Bytes(media_cache * 512), clean_after }
    }
}

prop_compose! {
    fn any_power()(
        watts in prop::collection::vec(prop_oneof![30 => 0..20_000_000u64, 1 => Just(u64::MAX)], 4),
        spin_down_after in prop::option::of(time(1_000_000_000..3_000_000_000)),
        times in [time(0..9_000_000_000), time(0..9_000_000_000)],
        joules in prop::collection::vec(prop_oneof![30 => 0..200u64, 1 => Just(u64::MAX >> 40)], 2),
    ) -> PowerSettings {
        let energy = |joules: u64| Energy(joules.saturating_mul(1_000_000_000_000));
        PowerSettings {
            active: Power(watts[0]),
            seek: Some(Power(watts[1])),
            idle: Power(watts[2]),
            standby: Power(watts[3]),
            spin_down_after,
            spin_down_time: times[0],
            spin_down_energy: energy(joules[0]),
            spin_up_time: times[1],
            spin_up_energy: energy(joules[1]),
        }
    }
}

prop_compose! {
    fn any_settings()(
        capacity in prop::option::of(prop_oneof![Just(0), 1..100_000u64, Just(u64::MAX)].prop_map(Bytes)),
        speed in prop_oneof![20 => 60..20_000u64, 1 => Just(0), 1 => Just(u64::MAX / 1000)],
        surfaces in number(1..5),
        zones in prop::collection::vec(any_zone(), 0..4),
        group in number(1..5),
        alternate_surfaces in any::<bool>(),
        seek in any_seek(),
        times in [time(0..1_000_000), time(0..1_000_000), time(0..1_000_000), time(0..1_000_000)],
        bus_rate in prop::option::of(prop_oneof![Just(0), 1_000_000..1_000_000_000u64].prop_map(ByteRate)),
        cache in prop::option::of((number(1..5), 0..40_000u64, 0..40_000u64, any::<bool>(), 0..40_000u64)),
        firmware in prop::option::of(any_firmware()),
        scheduler in prop::sample::select(scheduler_names()),
        wait_limit in prop::option::of(time(0..100_000_000)),
        actuators in prop_oneof![8 => Just(1), 2 => number(1..4)],
        shingled in prop::option::weighted(0.2, any_shingled()),
        power in prop::option::of(any_power()),
        priority_aging in time(0..100_000_000),
        queue_depth in number(1..40),
    ) -> DiskSettings {
        DiskSettings {
            capacity,
            rotation_speed: RotationSpeed::rpm(speed),
            surfaces,
            zones,
            layout: LayoutSettings { cylinders_per_group: group, alternate_surfaces, ..LayoutSettings::default() },
            seek,
            head_switch: times[0],
            write_settle: times[1],
            write_advance: times[3],
            read_overhead: times[2],
            write_overhead: times[3],
            bus_rate,
            write_bus_rate: firmware.is_some().then_some(ByteRate(3_000_000)),
            firmware,
            cache: cache.map(|(segments, segment_size, read_ahead, read_ahead_on_hit, write_back)| CacheSettings {
                segments,
                segment_size: Bytes(segment_size),
                read_ahead: Bytes(read_ahead),
                read_ahead_on_hit,
                write_back: Bytes(write_back),
                // Every other disk writes in batches.
                write_batch: (segments % 2 == 0).then_some(Bytes(write_back / 2)),
            }),
            scheduler: scheduler.to_string(),
            actuators,
            shingled,
            power,
            wait_limit: wait_limit.map_or(WaitLimit::OFF, WaitLimit::after),
            priority_aging,
            queue_depth,
        }
    }
}

/// Kind and priority, first sector, sectors, microseconds after the one before.
type Step = ((u8, u8), u64, u64, u64);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let sector = prop_oneof![20 => 0..600u64, 1 => Just(u64::MAX)];
    let length = prop_oneof![20 => 0..40u64, 1 => Just(u64::MAX / 512)];
    let gap = prop_oneof![20 => 0..30_000u64, 1 => 0..6_000_000u64];
    prop::collection::vec(((0..6u8, 0..3u8), sector, length, gap), 1..60)
}

fn arrivals(steps: &[Step]) -> Vec<Arrival> {
    let mut at = Nanos::ZERO;
    let request = |kind: u8, start, length| match kind {
        0 | 1 => Request::read(start, length),
        2 => Request::write(start, length),
        3 => Request::new(RequestKind::WriteZeroes { fua: true }, start, length),
        4 => Request::new(RequestKind::Trim, start, length),
        _ => Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO),
    };
    steps
        .iter()
        .map(|&((kind, priority), start, sectors, gap)| {
            at += Nanos::from_micros(gap);
            let request = request(kind, Lba(start), Bytes(sectors * 512));
            Arrival { at, request: Request { priority: Priority(priority), ..request } }
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_settings_run_or_are_refused_with_a_reason(settings in any_settings(), steps in steps()) {
        match build("disk", &settings) {
            Err(error) => prop_assert!(error.to_string().contains('`'), "{error} names no key"),
            Ok(mut disk) => {
                // The driver asserts that time goes forward, that nothing completes twice, and Little's law.
                let (_, log) = run(&mut *disk, &ReplaySettings::OPEN, arrivals(&steps));
                prop_assert_eq!(log.0.len(), steps.len());
                prop_assert_eq!(disk.free_slots(), settings.queue_depth as usize);
                let report = Report::of(&*disk);
                let mut again = build("disk", &settings).unwrap();
                let (_, log_again) = run(&mut *again, &ReplaySettings::OPEN, arrivals(&steps));
                prop_assert_eq!(log.0, log_again.0, "the same twice");
                prop_assert_eq!(report.devices, Report::of(&*again).devices, "and the same results");
            }
        }
    }

    #[test]
    fn addresses_and_places_are_one_to_one(
        zones in prop::collection::vec((1..9u32, 1..12u32, 0..3u32, 0..3u32), 1..4),
        surfaces in 1..5u32,
        cylinders_per_group in 1..5u32,
        alternate_surfaces in any::<bool>(),
    ) {
        let zones: Vec<ZoneSettings> = zones
            .into_iter()
            .map(|(cylinders, sectors_per_track, spare, unused_cylinders)| ZoneSettings {
                spare_sectors: spare.min(cylinders * sectors_per_track - 1),
                unused_cylinders,
                ..zone(cylinders, sectors_per_track)
            })
            .collect();
        let layout = LayoutSettings { cylinders_per_group, alternate_surfaces, ..LayoutSettings::default() };
        let settings = DiskSettings { zones, surfaces, layout, ..crate::common::round_numbers() };
        let mechanics = Mechanics::new(&settings).unwrap();
        let geometry = mechanics.geometry();
        let mut places = BTreeSet::new();
        for address in 0..geometry.sectors() {
            let place = geometry.locate(address);
            prop_assert!(place.cylinder < geometry.cylinders() && place.surface < surfaces);
            let mut left = place.cylinder;
            let zone = settings.zones.iter().find(|zone| {
                match left.checked_sub(zone.cylinders + zone.unused_cylinders) {
                    Some(rest) => { left = rest; false }
                    None => true,
                }
            }).unwrap();
            prop_assert!(left < zone.cylinders, "a sector in an unused cylinder");
            prop_assert!(place.sector < zone.sectors_per_track);
            prop_assert!(places.insert((place.cylinder, place.surface, place.sector)), "two addresses share {place:?}");
            // All sectors that `run` promises follow on the same track, angle after angle.
            prop_assert!(place.run >= 1);
            for ahead in 1..u64::from(place.run) {
                let next = geometry.locate(address + ahead);
                prop_assert_eq!((next.cylinder, next.surface), (place.cylinder, place.surface));
                prop_assert_eq!(next.angle, (place.angle + ahead * place.sector_angle) % Rotation::TURN);
            }
        }
        let all: u64 = settings.zones.iter().map(|zone| {
            u64::from(zone.cylinders) * u64::from(surfaces * zone.sectors_per_track) - u64::from(zone.spare_sectors)
        }).sum();
        prop_assert_eq!(places.len() as u64, all);
    }

    #[test]
    fn going_on_to_the_next_track_never_costs_a_turn(start in 0..286_000_000u64, write in any::<bool>()) {
        // This is what skews are for: the last sector of a track and the first of the next, with write settling or not.
        let mut mechanics = Mechanics::new(&preset("seagate-cheetah-15k5-146g")).unwrap();
        let place = mechanics.geometry().locate(start);
        let last = start + u64::from(place.run) - 1;
        // Between zones nothing is aligned.
        prop_assume!(mechanics.geometry().locate(last + 1).sector_angle == place.sector_angle);
        let access = mechanics.access(Nanos(start), Nanos::ZERO, last, 2, write);
        prop_assert!(access.transfer < Nanos::from_millis(3), "{access:?}");
    }
}

#[test]
fn mistakes_in_settings_are_named() {
    let good = esker_disk::PRESETS[0].toml;
    let error = |text: String| toml::from_str::<DiskSettings>(&text).unwrap_err().to_string();
    assert!(error(good.replace("head_switch", "head_swich")).contains("unknown field `head_swich`"));
    assert!(error(good.replace("\"15000rpm\"", "15000")).contains("needs a unit: rpm"));
    assert!(error(good.replace("split = ", "splitt = ")).contains("unknown field `splitt`"));
    assert!(error(good.replace("seek = {", "seek = 7 #")).contains("a list of [cylinders, time] points"));
    let settings: DiskSettings = toml::from_str(&good.replace("\"c-look\"", "\"c-lock\"")).unwrap();
    let refused = Disk::new("disk", &settings).err().unwrap();
    let names: Vec<&str> = SCHEDULERS.iter().map(|entry| entry.name).collect();
    assert_eq!(refused.to_string(), format!("`scheduler` is `c-lock`, expected one of {}", names.join(", ")));
    assert_eq!(esker_core::Hint::hint(&refused).as_deref(), Some("did you mean `c-look`?"));
}
