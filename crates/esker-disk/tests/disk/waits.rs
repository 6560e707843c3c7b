//! Does nothing starve: is every wait bounded by `wait_limit`, whatever the scheduler?

use esker_core::{Arrival, Bytes, Lba, Nanos, ReplaySettings, Request, RequestKind, Rng};
use esker_disk::{CacheSettings, Disk, DiskSettings, SCHEDULERS, WaitLimit};
use proptest::prelude::*;

use crate::common::{at, round_numbers, run};

const DEPTH: usize = 8;
const LIMIT: Nanos = Nanos::from_millis(500);

/// No access of this disk takes longer: 3 ms for the arm, and two turns.
const ACCESS: Nanos = Nanos::from_millis(23);

/// Eight sectors of writes wait in it at most.
fn buffer(write_batch: Option<Bytes>) -> CacheSettings {
    CacheSettings {
        segments: 4,
        segment_size: Bytes::kib(32),
        read_ahead: Bytes::ZERO,
        read_ahead_on_hit: false,
        write_back: Bytes::kib(4),
        write_batch,
    }
}

/// The longest response time of each of the classes: reads, writes, flushes.
fn longest(settings: &DiskSettings, arrivals: impl IntoIterator<Item = Arrival>) -> [Nanos; 3] {
    let mut disk = Disk::new("disk", settings).unwrap();
    let (_, log) = run(&mut disk, &ReplaySettings::closed(DEPTH), arrivals);
    let mut longest = [Nanos::ZERO; 3];
    for (came, request, completion) in &log.0 {
        let class = match request.kind {
            RequestKind::Read => 0,
            RequestKind::Flush => 2,
            _ => 1,
        };
        longest[class] = longest[class].max(completion.at - *came);
    }
    longest
}

fn with(scheduler: &str, cache: Option<CacheSettings>, wait_limit: WaitLimit) -> DiskSettings {
    DiskSettings { scheduler: scheduler.to_string(), cache, wait_limit, ..round_numbers() }
}

/// The limit, then all others before, each with a buffered write between.
fn bound() -> Nanos {
    LIMIT + ACCESS * (4 * DEPTH as u64)
}

fn request(kind: u8, sector: u64) -> Request {
    match kind {
        0 => Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO),
        1 => Request::write(Lba(sector), Bytes::SECTOR),
        _ => Request::read(Lba(sector), Bytes::SECTOR),
    }
}

/// Requests of `kinds` on the outermost cylinder, and at the twentieth place one of `far` on the innermost.
fn flood_and_one_far_away(kinds: &[u8], far: u8) -> Vec<Arrival> {
    let mut rng = Rng::new(1);
    let mut requests: Vec<Request> =
        (0..3_000).map(|index| request(kinds[index % kinds.len()], rng.below(200))).collect();
    requests[20] = request(far, 14_999);
    requests.into_iter().map(|request| at(0, request)).collect()
}

#[test]
fn a_command_far_away_is_served_in_time_by_every_scheduler() {
    let arrivals = || flood_and_one_far_away(&[2], 2);
    for entry in SCHEDULERS {
        let [read, ..] = longest(&with(entry.name, None, WaitLimit::after(LIMIT)), arrivals());
        assert!(read <= bound(), "{}: {read}", entry.name);
    }
    // Without a limit it waits until all others have been served.
    let [read, ..] = longest(&with("sstf", None, WaitLimit::OFF), arrivals());
    assert!(read > Nanos::from_secs(5), "{read}");
}

#[test]
fn a_read_is_served_in_time_though_flushes_and_writes_keep_coming() {
    for entry in SCHEDULERS {
        let arrivals = flood_and_one_far_away(&[0, 1, 1, 0, 1], 2);
        let settings = with(entry.name, Some(buffer(None)), WaitLimit::after(LIMIT));
        let [read, _, flush] = longest(&settings, arrivals);
        assert!(read <= bound() && flush <= bound(), "{}: read {read}, flush {flush}", entry.name);
    }
}

#[test]
fn a_flush_does_not_wait_for_a_write_that_others_keep_passing() {
    let mut arrivals = flood_and_one_far_away(&[1], 1);
    arrivals[22] = at(0, request(0, 0));
    for entry in SCHEDULERS {
        let flush = |limit| longest(&with(entry.name, Some(buffer(None)), limit), arrivals.iter().copied())[2];
        assert!(flush(WaitLimit::after(LIMIT)) <= bound(), "{}", entry.name);
        if entry.name == "sstf" {
            assert!(flush(WaitLimit::OFF) > Nanos::from_secs(2), "{}", flush(WaitLimit::OFF));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever comes, from whatever corner of the disk, with whatever buffer.
    #[test]
    fn no_request_waits_longer_than_the_limit_allows(
        corners in prop::collection::vec((1..20_000u64, 0..15_000u64), 1..3),
        kinds in prop::collection::vec(0..4u8, 1..12),
        far in 0.0..0.2f64,
        cache in prop::option::of(prop::option::of(Just(Bytes(2048)))),
        seed: u64,
    ) {
        for entry in SCHEDULERS {
            let mut rng = Rng::new(seed);
            let arrivals = (0..400).map(|index| {
                let (width, first) = corners[index % corners.len()];
                let near = (first + rng.below(width)) % 15_000;
                let anywhere = rng.below(15_000);
                let sector = if rng.unit() < far { anywhere } else { near };
                at(0, request(kinds[index % kinds.len()], sector))
            });
            let settings = with(entry.name, cache.map(buffer), WaitLimit::after(LIMIT));
            let longest = longest(&settings, arrivals);
            prop_assert!(longest.iter().all(|wait| *wait <= bound()), "{}: {longest:?}", entry.name);
        }
    }
}
