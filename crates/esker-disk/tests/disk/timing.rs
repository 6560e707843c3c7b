//! Is every part of an access on time? Expected sums were computed by hand.

use crate::common::{at, round_numbers, run};
use esker_core::{ByteRate, Bytes, Lba, Nanos, ReplaySettings, Request, RequestKind};
use esker_disk::{Disk, DiskSettings};

fn sectors(count: u64) -> Bytes {
    Bytes(count * 512)
}

/// When a request that arrives at `micros` at an idle disk ends, in nanoseconds after its arrival.
fn alone(settings: &DiskSettings, micros: u64, request: Request) -> u64 {
    let mut disk = Disk::new("d", settings).unwrap();
    let (_, log) = run(&mut disk, &ReplaySettings::OPEN, [at(micros, request)]);
    let (arrival, _, completion) = log.0[0];
    assert_eq!(completion.service_start, arrival);
    (completion.at - arrival).0
}

#[test]
fn an_access_is_the_sum_of_its_parts() {
    let settings = round_numbers();
    // Cylinder 0, surface 0, under the head at time zero: only the transfer, 4 sectors of 100 us.
    assert_eq!(alone(&settings, 0, Request::read(Lba(0), sectors(4))), 400_000);
    // Sector 30: waits 3 ms.
    assert_eq!(alone(&settings, 0, Request::read(Lba(30), sectors(4))), 3_400_000);
    // Cylinder 10, surface 0: seek 1.09 ms. Skew per cylinder: head switch 0.5 + settle 0.2 = 7 sectors, next cylinder
    // 1.0 + 0.2 = 12 sectors; 10 cylinders: 190 sectors, which is 90. It begins at 9 ms of each turn.
    assert_eq!(alone(&settings, 0, Request::read(Lba(2_000), sectors(1))), 9_100_000);
    // The same sector at 9 ms: after the seek, at 10.09 ms, the platters are at 0.09 ms of their turn; it waits 8.91
    // ms.
    assert_eq!(alone(&settings, 9_000, Request::read(Lba(2_000), sectors(1))), 1_090_000 + 8_910_000 + 100_000);
    // A write settles for 0.2 ms longer, and waits that much less.
    assert_eq!(alone(&settings, 9_000, Request::write(Lba(2_000), sectors(1))), 10_100_000);
    // It misses the sector if it comes just too late: it arrives 1.2 ms before the sector and needs 1.29.
    assert_eq!(alone(&settings, 7_800, Request::write(Lba(2_000), sectors(1))), 1_200_000 + 10_000_000 + 100_000);
    assert_eq!(alone(&settings, 7_800, Request::read(Lba(2_000), sectors(1))), 1_200_000 + 100_000);
    // Surface 1 of cylinder 0: head switch 0.5 ms; its first sector lies 7 sectors behind.
    assert_eq!(alone(&settings, 0, Request::read(Lba(100), sectors(1))), 800_000);
    // The second zone has sectors of 200 us; its first cylinder is the 100th: seek 1.99 ms, begins at angle zero.
    assert_eq!(alone(&settings, 0, Request::read(Lba(20_000), sectors(2))), 10_400_000);
}

#[test]
fn crossing_a_track_costs_the_skew_and_not_a_turn() {
    let settings = round_numbers();
    // 2 sectors, the head switch hidden in 7 sectors of skew, 2 sectors.
    assert_eq!(alone(&settings, 0, Request::read(Lba(98), sectors(4))), 9_800_000 + 200_000 + 700_000 + 200_000);
    // From surface 1 to the next cylinder: 12 sectors of skew. Sector 198 is at 98 + 7 =
    // 105, that is 5 of the next turn.
    let positioned = 500_000;
    let wait = 500_000 - positioned;
    assert_eq!(
        alone(&settings, 0, Request::read(Lba(198), sectors(4))),
        positioned + wait + 200_000 + 1_200_000 + 200_000
    );
}

#[test]
fn rotation_comes_from_the_clock() {
    let settings = round_numbers();
    let first = alone(&settings, 0, Request::read(Lba(60), sectors(1)));
    for later in [1, 10, 777, 5_999] {
        let then = alone(&settings, later, Request::read(Lba(60), sectors(1)));
        assert_eq!(first - then, later * 1_000, "{later} us later");
    }
    // A whole turn later everything is the same, also after a day.
    assert_eq!(alone(&settings, 10_000, Request::read(Lba(60), sectors(1))), first);
    let day = alone(&settings, 86_400_000_000, Request::read(Lba(60), sectors(1)));
    assert!(day.abs_diff(first) < 2_000, "{day} {first}");
}

#[test]
fn controller_and_link_add_their_times() {
    let mut settings = round_numbers();
    settings.read_overhead = Nanos::from_micros(150);
    settings.write_overhead = Nanos::from_micros(250);
    // 5.12 MB/s: a sector in 100 us, as fast as the medium.
    settings.bus_rate = Some(ByteRate(5_120_000));
    // 0.15 ms, wait for sector 30, 4 sectors, the last on the link.
    assert_eq!(alone(&settings, 0, Request::read(Lba(30), sectors(4))), 3_400_000 + 100_000);
    // The data of a write cross the link first: 0.25 + 0.4 ms, so sector 6 has passed.
    assert_eq!(alone(&settings, 0, Request::write(Lba(6), sectors(4))), 10_600_000 + 400_000);
    assert_eq!(alone(&settings, 0, Request::write(Lba(7), sectors(4))), 700_000 + 400_000);
    // With a link at half the rate a long read waits for the link, from the end of the first sector on.
    settings.bus_rate = Some(ByteRate(2_560_000));
    assert_eq!(alone(&settings, 0, Request::read(Lba(30), sectors(4))), 3_000_000 + 100_000 + 800_000);
}

#[test]
fn commands_without_data_end_at_once_and_bad_ranges_with_an_error() {
    let mut settings = round_numbers();
    settings.read_overhead = Nanos::from_micros(150);
    let capacity = Disk::new("d", &settings).unwrap().mechanics().geometry().sectors();
    assert_eq!(alone(&settings, 0, Request::new(RequestKind::Trim, Lba(5), sectors(7))), 150_000);
    assert_eq!(alone(&settings, 0, Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO)), 150_000);
    assert_eq!(alone(&settings, 0, Request::read(Lba(9), Bytes::ZERO)), 150_000);
    for (start, length) in [(capacity, 1), (capacity - 1, 2), (u64::MAX, 1), (0, u64::MAX / 512)] {
        let mut disk = Disk::new("d", &settings).unwrap();
        let request = Request::read(Lba(start), sectors(length));
        let (_, log) = run(&mut disk, &ReplaySettings::OPEN, [at(0, request)]);
        let error = log.0[0].2.result.unwrap_err();
        assert!(matches!(error, esker_core::DeviceError::OutOfRange { .. }), "{error}");
    }
}

#[test]
fn a_flush_waits_for_the_writes_before_it_and_not_for_later_ones() {
    let settings = round_numbers();
    let mut disk = Disk::new("d", &settings).unwrap();
    let flush = Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO);
    let arrivals = [
        at(0, Request::write(Lba(0), sectors(1))),
        at(1, Request::read(Lba(500), sectors(1))),
        at(2, Request::write(Lba(50), sectors(1))),
        at(3, flush),
        at(4, Request::write(Lba(9_000), sectors(1))),
    ];
    let (_, log) = run(&mut disk, &ReplaySettings::OPEN, arrivals);
    let ended = |wanted: &Request| log.0.iter().find(|(_, request, _)| request == wanted).unwrap().2.at;
    assert_eq!(ended(&flush), ended(&arrivals[2].request));
    assert!(ended(&flush) < ended(&arrivals[4].request));
}
