//! Effects of the buffer: hits, read-ahead, writes that complete early. Expected sums were computed by hand.

use esker_core::{Arrival, ByteRate, Bytes, Lba, Nanos, ReplaySettings, Request, RequestKind};
use esker_disk::{CacheSettings, Disk, DiskSettings};

use crate::common::{at, round_numbers, run};

/// Two segments of 20 sectors, 10 sectors of read-ahead, 8 sectors of early writes.
fn buffered() -> DiskSettings {
    let cache = CacheSettings {
        segments: 2,
        segment_size: Bytes(20 * 512),
        read_ahead: Bytes(10 * 512),
        read_ahead_on_hit: false,
        write_back: Bytes(8 * 512),
        write_batch: None,
    };
    DiskSettings { cache: Some(cache), ..round_numbers() }
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
fn reading_ahead_answers_the_next_read_at_once_and_stops_at_its_limit() {
    // Sectors 0 to 3 end at 0.4 ms; sectors up to 13 are in the buffer at 1.4 ms.
    assert_eq!(responses(&buffered(), &[read(0, 0, 4), read(5_000, 4, 10), read(6_000, 2, 5)]), [400, 0, 0]);
    // Sector 14 is not: at 5 ms the head is at 50 and has to turn to 114.
    assert_eq!(responses(&buffered(), &[read(0, 0, 4), read(5_000, 13, 2)]), [400, 10_000 - 5_000 + 1_300 + 200]);
    // With `read_ahead_on_hit` the hit resumes read-ahead: then sectors up to 23 come at 11.4 to 12.4 ms.
    let mut going_on = buffered();
    going_on.cache.as_mut().unwrap().read_ahead_on_hit = true;
    assert_eq!(responses(&going_on, &[read(0, 0, 4), read(5_000, 4, 10), read(20_000, 14, 10)]), [400, 0, 0]);
}

/// 0.1 ms a sector on the link, as on the medium.
#[test]
fn the_buffer_answers_while_the_arm_is_on_its_way() {
    let mut settings = buffered();
    settings.bus_rate = Some(ByteRate(5_120_000));
    let far = at_rest_from(&settings, 5_000);
    // The data of the far read are sent last, and those of a hit meanwhile, unless they would be in its way.
    let times = responses(&settings, &[read(0, 0, 4), read(2_000, 5_000, 2), read(2_500, 0, 1), read(2_600, 1, 1)]);
    assert_eq!(times, [500, far, 100, 100]);
    let late = 2_000 + far - 250;
    let times = responses(&settings, &[read(0, 0, 4), read(2_000, 5_000, 2), read(late, 0, 1)]);
    assert_eq!(times, [500, far, 250 + 100]);
}

/// Returns the response of a read of two sectors from `start` at 2 ms, after the first sectors have been read.
fn at_rest_from(settings: &DiskSettings, start: u64) -> u64 {
    responses(settings, &[read(0, 0, 4), read(2_000, start, 2)])[1]
}

/// Early writes extend the segment that read-ahead fills, beyond where that stops.
#[test]
fn sectors_behind_early_writes_take_time_to_read() {
    let mut settings = buffered();
    let cache = settings.cache.as_mut().unwrap();
    (cache.segment_size, cache.write_back, cache.write_batch) =
        (Bytes(100 * 512), Bytes(64 * 512), Some(Bytes(64 * 512)));
    let times = responses(&settings, &[read(0, 0, 4), write(500, 4, 20), read(3_000, 24, 4)]);
    // At 3 ms the head is at 30: sector 24 passes 9.4 ms later.
    assert_eq!(times, [400, 0, 9_400 + 400]);
}

#[test]
fn a_read_behind_the_head_takes_over_where_it_is() {
    // At 0.65 ms sectors up to 5 have passed; 6, 7 and 8 end at 0.9 ms.
    assert_eq!(responses(&buffered(), &[read(0, 0, 4), read(650, 5, 4)]), [400, 250]);
    // The same across the end of the track: sector 100 begins 7 sectors late, at 10.7 ms, and 103 ends at 11.1 ms.
    assert_eq!(responses(&buffered(), &[read(0, 92, 4), read(10_000, 96, 8)]), [9_600, 1_100]);
}

#[test]
fn one_request_at_a_time_streams_with_read_ahead() {
    // 50 sectors one by one at the rate of the medium: no turn is lost, 0.1 ms each.
    let settings = buffered();
    let mut disk = Disk::new("disk", &settings).unwrap();
    let arrivals = (0..50).map(|index| read(0, index, 1));
    let (replay, _) = run(&mut disk, &ReplaySettings::closed(1), arrivals);
    assert_eq!(replay.last_event, Nanos::from_micros(50 * 100));
}

#[test]
fn the_least_recently_used_segment_goes() {
    let later = |index: u64, start| read(100_000 * index, start, 1);
    // Sector 500 takes the second segment; after 0 is used again, 900 replaces 500.
    let times =
        responses(&buffered(), &[later(0, 0), later(1, 500), later(2, 0), later(3, 900), later(4, 0), later(5, 500)]);
    assert_eq!((times[2], times[4]), (0, 0));
    assert!(times[5] > 0);
}

#[test]
fn batches_leave_the_arm_to_others_until_there_is_no_room() {
    let mut batches = buffered();
    batches.cache.as_mut().unwrap().write_batch = Some(Bytes(8 * 512));
    // The head passes sector 30 at 3 ms. By itself, the write takes the arm until 5.4 ms, and the read waits for a
    // turn.
    let both = [write(0, 50, 4), read(1_000, 30, 4)];
    assert_eq!(responses(&buffered(), &both), [0, 12_400]);
    assert_eq!(responses(&batches, &both), [0, 2_400]);
    // The third write finds no room: the batch writes 50 to 53 until 5.4 ms and then 54 to 57. Only then comes the
    // read.
    let full = [write(0, 50, 4), write(0, 70, 4), write(0, 54, 4), read(2_000, 30, 4)];
    assert_eq!(responses(&batches, &full), [0, 0, 5_400, 11_400]);
    // A flush does not wait until nobody has asked for anything for a while.
    let flush = |micros| at(micros, Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO));
    assert_eq!(responses(&batches, &[write(0, 50, 4), flush(1_000)]), [0, 5_400 - 1_000]);
    // While nobody asks for anything, the buffer is emptied.
    assert_eq!(responses(&batches, &[write(0, 50, 8), write(19_000, 70, 8)]), [0, 6_800]);
    assert_eq!(responses(&batches, &[write(0, 50, 8), write(60_000, 70, 8)]), [0, 0]);
}

#[test]
fn writes_end_in_the_buffer_until_it_is_full() {
    // The first two fit into 8 sectors. The third gets room when the first, which began at once, is on the medium.
    let writes = [write(0, 50, 4), write(1, 70, 4), write(2, 54, 4)];
    assert_eq!(responses(&buffered(), &writes), [0, 0, 5_400 - 2]);
    // A write that never fits ends on the medium.
    assert_eq!(responses(&buffered(), &[write(0, 50, 9)]), [5_900]);
    // Written sectors can be read from the buffer.
    assert_eq!(responses(&buffered(), &[write(0, 50, 4), read(1, 51, 2)]), [0, 0]);
    // Force unit access waits for the medium.
    let durable = at(0, Request::new(RequestKind::Write { fua: true }, Lba(50), Bytes(512)));
    assert_eq!(responses(&buffered(), &[durable]), [5_100]);
}

#[test]
fn reads_pass_writes_that_have_ended_but_a_flush_does_not() {
    // The write to sector 10 has the arm until 1.1 ms; then the read of 20 goes before the write of 15.
    let writes = [write(0, 10, 1), write(1, 15, 1)];
    assert_eq!(responses(&buffered(), &[writes[0], writes[1], read(2, 20, 1)]), [0, 0, 2_100 - 2]);
    // A flush makes the write of 15 go first and ends with it.
    let flush = at(3, Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO));
    let times = responses(&buffered(), &[writes[0], writes[1], read(2, 12, 1), flush]);
    assert_eq!(times, [0, 0, 11_300 - 2, 1_600 - 3]);
}
