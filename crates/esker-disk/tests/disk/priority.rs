//! Are users served before background work, without starving it?

use esker_core::{Arrival, Bytes, Completion, Lba, Nanos, Priority, ReplaySettings, Request, RequestKind};
use esker_disk::{CacheSettings, Disk, DiskSettings, SCHEDULERS};
use proptest::prelude::*;

use crate::common::{at, round_numbers, run};

type Served = Vec<(Nanos, Request, Completion)>;

fn served(settings: &DiskSettings, arrivals: impl IntoIterator<Item = Arrival>) -> Served {
    run(&mut Disk::new("disk", settings).unwrap(), &ReplaySettings::OPEN, arrivals).1.0
}

fn with_aging(priority_aging: Nanos) -> DiskSettings {
    DiskSettings { priority_aging, queue_depth: 4096, ..round_numbers() }
}

fn background(request: Request) -> Request {
    request.in_background()
}

fn read(sector: u64) -> Request {
    Request::read(Lba(sector), Bytes(512))
}

/// Reads for users, more than the disk can serve: four in each millisecond of two seconds.
fn flood() -> Vec<Arrival> {
    (0..2_000).map(|index| at(1_000 * (index / 4), read(index * 7919 % 20_000))).collect()
}

proptest! {
    #[test]
    fn no_waiting_command_of_a_higher_priority_is_passed_over(
        steps in prop::collection::vec((0..4u8, 0..20_000u64, 0..12_000u64), 1..200),
        scheduler in 0..SCHEDULERS.len(),
    ) {
        let scheduler = SCHEDULERS[scheduler].name.to_string();
        let settings = DiskSettings { scheduler, ..with_aging(Nanos::from_secs(1_000)) };
        let mut time = 0;
        let arrivals = steps.into_iter().map(|(priority, sector, gap)| {
            time += gap;
            at(time, Request { priority: Priority(priority), ..read(sector) })
        });
        let served = served(&settings, arrivals);
        for (_, request, completion) in &served {
            let begins = completion.service_start;
            for (came, other, other_completion) in &served {
                let waits = *came < begins && other_completion.service_start > begins;
                prop_assert!(!waits || other.priority >= request.priority, "{other:?} waited for {request:?}");
            }
        }
    }

    #[test]
    fn a_priority_that_all_share_changes_nothing(
        steps in prop::collection::vec((0..20_000u64, 0..12_000u64, any::<bool>()), 1..100),
        scheduler in 0..SCHEDULERS.len(),
        buffer in any::<bool>(),
    ) {
        let scheduler = SCHEDULERS[scheduler].name.to_string();
        let cache = buffer.then_some(BUFFER);
        let settings = DiskSettings { scheduler, cache, ..with_aging(Nanos::from_millis(50)) };
        let run = |priority| {
            let mut time = 0;
            let arrivals = steps.iter().map(|&(sector, gap, write)| {
                time += gap;
                let request = if write { Request::write(Lba(sector), Bytes(512)) } else { read(sector) };
                at(time, Request { priority, ..request })
            });
            served(&settings, arrivals.collect::<Vec<_>>()).into_iter().map(|(_, _, completion)| completion).collect()
        };
        let users: Vec<Completion> = run(Priority::USER);
        prop_assert_eq!(&users, &run(Priority::BACKGROUND));
        prop_assert_eq!(&users, &run(Priority(200)));
    }
}

const BUFFER: CacheSettings = CacheSettings {
    segments: 4,
    segment_size: Bytes(32 << 10),
    read_ahead: Bytes(0),
    read_ahead_on_hit: false,
    write_back: Bytes(4096),
    write_batch: None,
};

/// When the last of the requests that `which` picks ended.
fn last_end(served: &Served, which: impl Fn(&Request) -> bool) -> Nanos {
    served.iter().filter(|(_, request, _)| which(request)).map(|(_, _, completion)| completion.at).max().unwrap()
}

#[test]
fn background_work_is_passed_over_for_so_long_and_no_longer() {
    for entry in SCHEDULERS {
        let ends = |aging| {
            let settings = DiskSettings { scheduler: entry.name.to_string(), ..with_aging(aging) };
            let arrivals = std::iter::once(at(0, read(1)))
                .chain((0..10).map(|index| at(0, background(read(1_500 * index)))))
                .chain(flood());
            let served = served(&settings, arrivals);
            [Priority::BACKGROUND, Priority::USER].map(|priority| last_end(&served, |r| r.priority == priority))
        };
        // No access takes longer than 3 ms for the arm and two turns: ten background accesses with ten of users between
        // them.
        let aging = Nanos::from_millis(500);
        let [end, _] = ends(aging);
        assert!(end > aging && end < aging + Nanos::from_millis(21 * 23), "{}: {end}", entry.name);
        // Without aging they are served last of all.
        let [background, users] = ends(Nanos::from_secs(1_000));
        assert!(background > users, "{}: {background}, users {users}", entry.name);
    }
}

#[test]
fn a_flush_does_not_wait_for_ever_for_background_writes() {
    let flush = Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO);
    let writes = (0..10).map(|index| at(0, background(Request::write(Lba(1_500 * index), Bytes(512)))));
    let arrivals = std::iter::once(at(0, read(1))).chain(writes).chain([at(0, flush)]).chain(flood());
    let end = last_end(&served(&with_aging(Nanos::from_secs(1_000)), arrivals), |request| *request == flush);
    assert!(end < Nanos::from_millis(22 * 23), "{end}");
}

#[test]
fn room_in_the_buffer_goes_to_users_first() {
    let settings = DiskSettings { cache: Some(BUFFER), ..with_aging(Nanos::from_secs(1_000)) };
    // Four writes fill the eight sectors of the buffer; then ten of each kind wait.
    let write = |index: u64| Request::write(Lba(index * 997 % 19_000), Bytes(1024));
    let arrivals = (0..4)
        .map(|index| at(0, write(index)))
        .chain((10..20).map(|index| at(1, background(write(index)))))
        .chain((20..30).map(|index| at(2, write(index))));
    let served = served(&settings, arrivals);
    let background = served.iter().filter(|(_, request, _)| request.priority == Priority::BACKGROUND);
    let first_background = background.map(|(_, _, completion)| completion.at).min().unwrap();
    let users = last_end(&served, |request| request.priority == Priority::USER);
    assert!(users < first_background, "users {users}, background {first_background}");
}
