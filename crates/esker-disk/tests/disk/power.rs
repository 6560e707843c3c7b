//! Is the time in each mode, and the energy, what the settings say?

use esker_core::{Arrival, Bytes, Control, Device, Energy, Lba, Nanos, Power, ReplaySettings, Request};
use esker_disk::{CacheSettings, Disk, DiskSettings, PowerSettings};
use esker_results::DiskPowerReport;
use proptest::prelude::*;

use crate::common::{at, report, round_numbers, run};

const SECOND: Nanos = Nanos::from_secs(1);

/// 10 W at work, 20 W while the arm moves, 4 W idle, 1 W in standby; stops after 5 s, in 2 s with 6 J, and starts again
/// in 10 s with 100 J.
fn power() -> PowerSettings {
    PowerSettings {
        active: Power(10_000_000),
        seek: Some(Power(20_000_000)),
        idle: Power(4_000_000),
        standby: Power(1_000_000),
        spin_down_after: Some(SECOND * 5),
        spin_down_time: SECOND * 2,
        spin_down_energy: Energy(6_000_000_000_000),
        spin_up_time: SECOND * 10,
        spin_up_energy: Energy(100_000_000_000_000),
    }
}

fn with(power: PowerSettings) -> DiskSettings {
    DiskSettings { power: Some(power), ..round_numbers() }
}

fn read(seconds: u64, sector: u64) -> Arrival {
    at(seconds * 1_000_000, Request::read(Lba(sector), Bytes(512)))
}

/// The report, and when each read ended.
fn served(settings: &DiskSettings, arrivals: Vec<Arrival>) -> (DiskPowerReport, Vec<Nanos>) {
    let mut disk = Disk::new("disk", settings).unwrap();
    let (_, log) = run(&mut disk, &ReplaySettings::OPEN, arrivals);
    (report(&disk).power.unwrap(), log.0.iter().map(|(.., completion)| completion.at).collect())
}

#[test]
fn a_command_for_a_stopped_disk_waits_until_the_platters_turn() {
    // Each read is of the sector under the head, 0.1 ms; time zero and every whole second are whole turns.
    let (power, ends) = served(&with(power()), vec![read(0, 0), read(100, 0)]);
    let read_time = Nanos::from_micros(100);
    assert_eq!(ends, [read_time, SECOND * 110 + read_time]);
    let near = |found: f64, expected: f64| (found - expected).abs() < 1e-9;
    // Idle from 0.1 ms for 5 s, then 2 s to stop, standby until 100 s, 10 s to start, the second read.
    let standby = 100.0 - 7.0 - 100e-6;
    assert!(near(power.idle_s, 5.0) && near(power.spin_down_s, 2.0) && near(power.spin_up_s, 10.0), "{power:?}");
    assert!(near(power.standby_s, standby) && near(power.active_s, 200e-6) && power.spin_ups == 1, "{power:?}");
    let energy = 4.0 * 5.0 + 6.0 + standby + 100.0 + 10.0 * 200e-6;
    assert!(near(power.energy_j, energy), "{power:?}, expected {energy} J");
}

#[test]
fn a_command_that_comes_while_the_platters_slow_down_waits_until_they_stand() {
    let (_, ends) = served(&with(power()), vec![read(0, 0), read(6, 0)]);
    // Stopping begins 5 s after the first read ended, and ends 2 s later; then 10 s to start: at 0.1 ms of a turn.
    let turn = Nanos::from_millis(10);
    assert_eq!(ends[1], SECOND * 17 + turn + Nanos::from_micros(100));
}

#[test]
fn a_command_in_time_keeps_the_platters_turning_and_seeks_have_their_own_power() {
    let (power, ends) = served(&with(power()), (0..10).map(|index| read(4 * index, 15_000 * (index % 2))).collect());
    assert_eq!((power.spin_ups, power.standby_s, power.spin_down_s), (0, 0.0, 0.0));
    assert!(ends.iter().enumerate().all(|(index, end)| *end < SECOND * (4 * index as u64 + 1)));
    // Nine moves over 75 cylinders of the second zone's distance: the arm passes from cylinder 0 to 75 and back.
    assert!(power.seek_s > 9.0 * 0.001 && power.seek_s < 9.0 * 0.003, "{power:?}");
    let expected = 20.0 * power.seek_s + 10.0 * power.active_s + 4.0 * power.idle_s;
    assert!((power.energy_j - expected).abs() < 1e-9, "{power:?}");
}

#[test]
fn reads_from_the_buffer_do_not_start_the_platters() {
    let cache = CacheSettings {
        segments: 2,
        segment_size: Bytes::kib(32),
        read_ahead: Bytes::kib(16),
        read_ahead_on_hit: true,
        write_back: Bytes::ZERO,
        write_batch: None,
    };
    let settings = DiskSettings { cache: Some(cache), ..with(power()) };
    let (power, ends) = served(&settings, vec![read(0, 0), read(50, 0), read(51, 5), read(60, 9_000)]);
    assert!(ends[1] == SECOND * 50 && ends[2] == SECOND * 51 && ends[3] > SECOND * 70, "{ends:?}");
    assert_eq!(power.spin_ups, 1);
    // The first read, 32 sectors of read-ahead, and the last read.
    assert!(power.active_s > 0.0033 && power.active_s < 0.016, "{power:?}");
}

#[test]
fn what_no_disk_draws_is_refused_and_so_is_stopping_at_once() {
    let bad = [
        ("power.active", PowerSettings { active: Power(u64::MAX), ..power() }),
        ("power.spin_down_after", PowerSettings { spin_down_after: Some(Nanos(1)), ..power() }),
        ("power.spin_up_time", PowerSettings { spin_up_time: SECOND * 10_000, ..power() }),
        ("power.spin_up_energy", PowerSettings { spin_up_time: Nanos::ZERO, ..power() }),
    ];
    for (key, power) in bad {
        assert_eq!(Disk::new("disk", &with(power)).err().unwrap().key(), key);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whenever measuring begins, all time belongs to one mode.
    #[test]
    fn the_times_of_all_modes_add_up(
        gaps in prop::collection::vec((0..20_000_000u64, 0..15_000u64, any::<bool>()), 1..30),
        from in 0..29usize,
        buffer in any::<bool>(),
    ) {
        let cache = buffer.then_some(CacheSettings {
            segments: 2,
            segment_size: Bytes::kib(32),
            read_ahead: Bytes::kib(16),
            read_ahead_on_hit: true,
            write_back: Bytes::kib(8),
            write_batch: None,
        });
        let mut disk = Disk::new("disk", &DiskSettings { cache, ..with(power()) }).unwrap();
        let (mut tags, mut now, mut since) = (esker_core::TagSlab::default(), Nanos::ZERO, Nanos::ZERO);
        for (index, (gap, sector, write)) in gaps.into_iter().enumerate() {
            now += Nanos::from_micros(gap);
            while disk.next_event() < now {
                disk.advance(disk.next_event(), &mut Vec::new());
            }
            if index == from {
                disk.control(now, Control::StartMeasuring).unwrap();
                since = now;
            }
            let (start, length) = (Lba(sector), Bytes(512));
            let request = if write { Request::write(start, length) } else { Request::read(start, length) };
            disk.submit(now, tags.insert(()), request);
            let mut done = Vec::new();
            while done.is_empty() {
                now = disk.next_event();
                disk.advance(now, &mut done);
            }
        }
        let power = report(&disk).power.unwrap();
        let all = power.seek_s + power.active_s + power.idle_s + power.spin_down_s + power.standby_s + power.spin_up_s;
        prop_assert!((all - (now - since).as_secs_f64()).abs() < 1e-6, "{all} of {}: {power:?}", now - since);
        prop_assert!(power.energy_j <= 20.0 * all + 106.0 * 30.0 && power.energy_j >= 0.9 * all.min(1.0));
    }
}
