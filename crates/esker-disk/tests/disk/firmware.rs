//! What the controller of a particular drive does. Expected times were computed by hand.

use esker_core::{Arrival, ByteRate, Bytes, Lba, Nanos, Ratio, ReplaySettings, Request};
use esker_disk::{CacheSettings, CommandOverhead, Disk, DiskSettings, ExtraDisconnect, FirmwareSettings, ReadAheadEnd};

use crate::common::{at, round_numbers, run};

fn micros(micros: u64) -> Nanos {
    Nanos::from_micros(micros)
}

fn overhead(read: u64, write: u64) -> CommandOverhead {
    CommandOverhead { after_read: micros(read), after_write: micros(write) }
}

/// A sector takes 0.1 ms under the head and 0.2 ms on the bus.
fn with(firmware: FirmwareSettings) -> DiskSettings {
    let cache = CacheSettings {
        segments: 3,
        segment_size: Bytes(64 * 512),
        read_ahead: Bytes(20 * 512),
        read_ahead_on_hit: false,
        write_back: Bytes::ZERO,
        write_batch: None,
    };
    let bus_rate = Some(ByteRate(512 * 5_000));
    DiskSettings { firmware: Some(firmware), cache: Some(cache), bus_rate, ..round_numbers() }
}

fn early(settings: DiskSettings) -> DiskSettings {
    let cache = CacheSettings { write_back: Bytes(64 * 512), ..settings.cache.unwrap() };
    DiskSettings { cache: Some(cache), ..settings }
}

fn read(micros: u64, start: u64, sectors: u64) -> Arrival {
    at(micros, Request::read(Lba(start), Bytes(sectors * 512)))
}

fn write(micros: u64, start: u64, sectors: u64) -> Arrival {
    at(micros, Request::write(Lba(start), Bytes(sectors * 512)))
}

/// Response times in microseconds, in order of arrival.
fn responses(settings: &DiskSettings, arrivals: &[Arrival]) -> Vec<u64> {
    let mut disk = Disk::new("disk", settings).unwrap();
    let (_, mut log) = run(&mut disk, &ReplaySettings::OPEN, arrivals.iter().copied());
    log.0.sort_by_key(|(arrival, ..)| *arrival);
    log.0.iter().map(|(arrival, _, completion)| (completion.at - *arrival).0 / 1_000).collect()
}

#[test]
fn overheads_depend_on_the_buffer_and_on_the_command_before() {
    let settings = with(FirmwareSettings {
        read_hit: overhead(30, 40),
        read_miss: overhead(100, 200),
        write: overhead(300, 500),
        read_completion: micros(7),
        ..FirmwareSettings::default()
    });
    // Sector 10 begins at 1 ms; four sectors follow each other on the bus from 1.1 ms on. The hit: 30 + 4 * 200 + 7.
    assert_eq!(responses(&settings, &[read(0, 10, 4), read(5_000, 14, 4)]), [1_100 + 800 + 7, 837]);
    // After a write, the overhead of 200 misses sector 1 at 20.1 ms; without it it would be met.
    let after = |first| responses(&settings, &[first, read(20_000, 0, 1)])[1];
    assert_eq!((after(read(0, 50, 1)), after(write(0, 50, 1))), (10_000 + 300 + 7, 10_000 + 300 + 7));
    let after = |first| responses(&settings, &[first, read(20_000, 2, 1)])[1];
    assert_eq!((after(read(0, 50, 1)), after(write(0, 50, 1))), (200 + 300 + 7, 200 + 300 + 7));
    let after = |first| responses(&settings, &[first, read(19_850, 0, 1)])[1];
    assert_eq!((after(read(0, 50, 1)), after(write(0, 50, 1))), (150 + 300 + 7, 10_150 + 300 + 7));
}

#[test]
fn a_read_waits_until_enough_of_it_is_in_the_buffer() {
    let firmware = |share| FirmwareSettings {
        read_watermark: Ratio::percent(share),
        first_reselect: micros(50),
        ..FirmwareSettings::default()
    };
    // Eight sectors from 1 ms on, the first is there at 1.1 ms, the sixth at 1.6 ms.
    assert_eq!(responses(&with(firmware(0)), &[read(0, 10, 8)]), [1_100 + 50 + 1_600]);
    assert_eq!(responses(&with(firmware(75)), &[read(0, 10, 8)]), [1_600 + 50 + 1_600]);
    assert_eq!(responses(&with(firmware(100)), &[read(0, 10, 8)]), [1_800 + 50 + 1_600]);
    // A drive that keeps the bus sends from the first sector on, and needs no time to get it back.
    let never = FirmwareSettings { never_disconnects: true, ..firmware(75) };
    assert_eq!(responses(&with(never), &[read(0, 10, 8)]), [1_100 + 1_600]);
}

#[test]
fn a_write_through_gives_the_bus_away_and_takes_it_back() {
    let firmware = FirmwareSettings {
        write: overhead(100, 100),
        write_disconnect: micros(5_000),
        first_reselect: micros(20),
        write_completion: micros(3),
        ..FirmwareSettings::default()
    };
    // Two sectors: their data come from 0.1 to 0.5 ms, and sector 10 begins at 1 ms. But the bus is free at 5.5 ms
    // only.
    assert_eq!(responses(&with(firmware.clone()), &[write(0, 10, 2)]), [5_500 + 20 + 3]);
    let quick = FirmwareSettings { write_disconnect: Nanos::ZERO, ..firmware.clone() };
    assert_eq!(responses(&with(quick.clone()), &[write(0, 10, 2)]), [1_200 + 20 + 3]);
    // The head follows the data: the last sector is there at 0.1 + 40 * 0.2 = 8.1 ms, so the first goes at 4.2 ms or
    // later.
    assert_eq!(responses(&with(quick.clone()), &[write(0, 10, 40)]), [10_000 + 1_000 + 4_000 + 23]);
    assert_eq!(responses(&with(quick.clone()), &[write(0, 42, 40)]), [4_200 + 4_000 + 23]);
    // Not before the least time to a sector.
    let slow = FirmwareSettings { write_seek_min: micros(950), ..quick };
    assert_eq!(responses(&with(slow), &[write(0, 10, 2)]), [11_200 + 20 + 3]);
}

#[test]
fn a_write_begins_once_enough_of_it_is_in_the_buffer() {
    let firmware =
        |write_start| FirmwareSettings { write: overhead(100, 100), write_start, ..FirmwareSettings::default() };
    let response = |start, sectors| responses(&with(firmware(vec![(1, 5), (8, 6)])), &[write(0, start, sectors)])[0];
    // Data from 0.1 ms on, 0.2 ms each. Of four sectors all have to be there, at 0.9 ms.
    assert_eq!((response(9, 4), response(8, 4)), (900 + 400, 10_800 + 400));
    // Of five to seven the fifth, at 1.1 ms.
    assert_eq!((response(11, 5), response(10, 5)), (1_100 + 500, 11_000 + 500));
    assert_eq!((response(11, 7), response(10, 7)), (1_100 + 700, 11_000 + 700));
    // Of eight the sixth, at 1.3 ms.
    assert_eq!((response(13, 8), response(12, 8)), (1_300 + 800, 11_200 + 800));
    // Of twenty the head must not get ahead of the last, which is there at 4.1 ms.
    assert_eq!((response(22, 20), response(21, 20)), (2_200 + 2_000, 12_100 + 2_000));
    let wrong = Disk::new("disk", &with(firmware(vec![(8, 6), (8, 5)])));
    assert!(wrong.is_err_and(|error| error.to_string().contains("firmware.write_start")));
}

#[test]
fn an_extra_disconnect_comes_with_a_write_elsewhere_after_a_write() {
    let extra = ExtraDisconnect {
        command: micros(400),
        disconnect: micros(10),
        pause: micros(600),
        second_disconnect: micros(20),
        seek_delay: micros(50),
    };
    let firmware = FirmwareSettings {
        write: overhead(100, 100),
        first_reselect: micros(30),
        other_reselect: micros(40),
        extra_disconnect: Some(extra),
        ..FirmwareSettings::default()
    };
    let second = |start| responses(&with(firmware.clone()), &[write(0, 10, 2), write(20_000, start, 2)])[1];
    // Right behind the first: like it, data from 0.1 ms on. Sector 12 begins at 1.2 ms.
    assert_eq!(second(12), 1_400 + 30);
    // Elsewhere: data from 400 + 10 + 600 + 30 us on, the first sector at 1,240, too late for sector 12.
    // The second sector's data are there at 1.44 ms: sector 14 begins before that, sector 15 after.
    assert_eq!((second(13), second(14)), (11_500 + 40, 1_600 + 40));
    assert_eq!(responses(&with(firmware.clone()), &[write(0, 10, 2), write(20_000, 8, 2)])[1], 10_800 + 200 + 40);
}

#[test]
fn writes_end_in_the_buffer_once_what_waits_there_is_written() {
    let firmware = FirmwareSettings { write: overhead(100, 100), ..FirmwareSettings::default() };
    let settings = early(with(firmware));
    // The first is on the medium at 10.7 ms (5 sectors from 0.2 ms on miss sector 0). One right behind it need not
    // wait.
    let times = responses(&settings, &[write(0, 0, 5), write(2_000, 5, 2)]);
    assert_eq!(times, [1_100, 500]);
    // One elsewhere does: then its data come.
    let times = responses(&settings, &[write(0, 0, 5), write(2_000, 60, 2)]);
    assert_eq!(times, [1_100, 10_500 - 2_000 + 400]);
}

#[test]
fn a_read_at_the_end_of_read_ahead_positions_anew_unless_it_counts_as_a_hit() {
    let firmware = |hits| FirmwareSettings { read_at_end_hits: hits, ..FirmwareSettings::default() };
    // At 2.05 ms sectors up to 19 have passed, and 20 is under the head: the next turn, or its rest.
    let next = |hits| responses(&with(firmware(hits)), &[read(0, 10, 4), read(2_050, 20, 1)])[1];
    assert_eq!((next(false), next(true)), (10_000 - 50 + 100 + 200, 50 + 200));
}

#[test]
fn read_ahead_ends_with_its_track() {
    let firmware = |to| FirmwareSettings { read_ahead_to: to, ..FirmwareSettings::default() };
    // Sectors 90 to 93, then on; sector 100 is the first of the next track. A hit takes 0.2 ms a sector.
    let next = |to, start| responses(&with(firmware(to)), &[read(0, 90, 4), read(30_000, start, 1)])[1];
    assert_eq!((next(ReadAheadEnd::Track, 99), next(ReadAheadEnd::Amount, 100)), (200, 200));
    assert!(next(ReadAheadEnd::Track, 100) > 200 && next(ReadAheadEnd::Amount, 114) > 200);
    // To the end of the track behind the read, which is this one; with the buffer full of the track before, one more.
    assert!(next(ReadAheadEnd::NextTrack, 99) == 200 && next(ReadAheadEnd::NextTrack, 100) > 200);
}

#[test]
fn a_negative_settling_time_brings_writes_forward() {
    let settings = DiskSettings { write_settle: Nanos::ZERO, ..with(FirmwareSettings::default()) };
    // To cylinder 1 in 1 ms: sector 200 begins at an angle that the seek and its settling decide.
    let sooner = DiskSettings { write_advance: micros(400), ..settings.clone() };
    let mut zones = settings.zones.clone();
    zones[0].track_skew = Some(5);
    zones[0].cylinder_skew = Some(2);
    let time = |settings: &DiskSettings| {
        responses(&DiskSettings { zones: zones.clone(), ..settings.clone() }, &[write(0, 200, 1)])[0]
    };
    // Sector 200 lies at 7 sectors: 0.7 ms, before the seek ends, but behind a seek that is 0.4 ms shorter.
    assert_eq!((time(&settings), time(&sooner)), (10_800, 800));
}
