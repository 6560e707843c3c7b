use esker_core::{Bytes, Completion, Lba, Nanos, Request, Tag};
use esker_results::{HostManagedCacheReport, Report, Reporting};

use crate::Experiment;

/// A cache in front of a device that takes 5 ms, with `keys` of its table.
fn device(keys: &str) -> Box<dyn Reporting> {
    let text = format!(
        "[workload]\nsynthetic = {{ requests = 1 }}\n[device.disk]\nkind = \"constant\"\nservice_time = \"5ms\"\n\
         servers = 64\ncapacity = \"64MiB\"\n[device.c]\nkind = \"host-managed-cache\"\nbacking = \"disk\"\n\
         blocks_per_plane = 12\nover_provisioning = \"25%\"\n{keys}\n[run]\ntarget = \"c\"\n"
    );
    let experiment = Experiment::from_str(&text, "x.toml").unwrap_or_else(|error| panic!("{error}"));
    experiment.assemble().unwrap_or_else(|error| panic!("{error}")).device
}

fn report(device: &dyn Reporting) -> HostManagedCacheReport {
    Report::of(device).devices["c"].host_managed_cache.expect("it is a cache")
}

/// Submits requests at their times. Returns how long each took, in order of submission.
fn times(device: &mut dyn Reporting, requests: &[(u64, Request)]) -> Vec<u64> {
    let mut done: Vec<Completion> = Vec::new();
    for (slot, (at, request)) in (0..).zip(requests) {
        while device.next_event() <= Nanos(*at) {
            device.advance(device.next_event(), &mut done);
        }
        device.submit(Nanos(*at), Tag::new(slot, 0), *request);
    }
    while device.next_event() != Nanos::NEVER {
        device.advance(device.next_event(), &mut done);
    }
    assert_eq!(done.len(), requests.len());
    done.sort_by_key(|completion| completion.tag.slot());
    done.iter().zip(requests).map(|(completion, (at, _))| completion.at.0 - at).collect()
}

fn page(number: u64) -> Lba {
    Lba(number * 8)
}

const SIZE: Bytes = Bytes::kib(4);
/// Fetching takes 5 ms, a read 25 us and 4,096 + 128 bytes over a bus of 40 MB/s.
const FETCH: u64 = 5_000_000;
const HIT: u64 = 25_000 + 105_600;
const MS: u64 = 1_000_000;

#[test]
fn a_hit_takes_a_flash_read_and_a_miss_a_fetch() {
    let mut device = device("");
    let read = |at, number| (at, Request::read(page(number), SIZE));
    assert_eq!(times(&mut *device, &[read(0, 7), read(10 * MS, 7), read(20 * MS, 8)]), [FETCH, HIT, FETCH]);
    let report = report(&*device);
    assert_eq!((report.hits, report.misses, report.filled_pages), (1, 2, 2));
}

#[test]
fn a_reply_after_the_fill_waits_for_the_program() {
    let mut device = device("reply = \"after-fill\"");
    assert_eq!(times(&mut *device, &[(0, Request::read(page(7), SIZE))]), [FETCH + 105_600 + 200_000]);
}

/// Four pages, one of them cached: the pages before it and behind it are one fetch each, at the same time.
#[test]
fn neighbours_that_miss_are_one_fetch() {
    let mut device = device("");
    let requests = [(0, Request::read(page(1), SIZE)), (10 * MS, Request::read(page(0), Bytes::kib(16)))];
    assert_eq!(times(&mut *device, &requests), [FETCH, FETCH]);
    assert_eq!(Report::of(&*device).devices["disk"].requests, 3);
    assert_eq!(report(&*device).filled_pages, 4);
}

#[test]
fn a_page_that_is_on_its_way_is_not_fetched_again() {
    let mut device = device("");
    let read = |at| (at, Request::read(page(3), SIZE));
    assert_eq!(times(&mut *device, &[read(0), read(2 * MS)]), [FETCH, FETCH - 2 * MS]);
    assert_eq!(Report::of(&*device).devices["disk"].requests, 1);
    assert_eq!((report(&*device).hits, report(&*device).misses), (1, 1));
}

/// A write goes to the backing device, and the page leaves the cache; neither a fetch under way nor one that begins
/// while the write is under way brings the old data in.
#[test]
fn what_was_written_to_is_fetched_anew() {
    let write = |at| (at, Request::write(page(3), SIZE));
    let read = |at| (at, Request::read(page(3), SIZE));
    let mut first = device("");
    let requests = [read(0), write(10 * MS), read(20 * MS), read(30 * MS)];
    assert_eq!(times(&mut *first, &requests), [FETCH, FETCH, FETCH, HIT]);
    assert_eq!(report(&*first).invalidated_pages, 1);
    let mut second = device("");
    assert_eq!(times(&mut *second, &[read(0), write(2 * MS), read(10 * MS)]), [FETCH; 3]);
    let mut third = device("");
    assert_eq!(times(&mut *third, &[write(0), read(2 * MS), read(10 * MS)])[2], FETCH);
    assert_eq!(report(&*third).filled_pages, 1);
}

/// Blocks that reach their rated erases go out of use, and the cache holds less. Once they are all gone, it fetches.
#[test]
fn a_worn_cache_holds_less_and_then_nothing() {
    let keys = "cleaning = \"zero-migration\"\nendurance_cycles = 3\nwear = { end_of_life = \"retire\" }";
    let rounds = |rounds: u64| {
        let mut device = device(keys);
        let megabyte = |number| (number * 1_000 * MS, Request::read(page(number % 64 * 256), Bytes::mib(1)));
        times(&mut *device, &(0..64 * rounds).map(megabyte).collect::<Vec<_>>());
        report(&*device)
    };
    let [young, worn, gone] = [1, 2, 6].map(rounds);
    assert_eq!((young.flash_pages, young.user_pages, young.retired_blocks), (6_144, 4_608, 0));
    assert!(worn.user_pages <= young.user_pages && worn.held_pages <= worn.user_pages, "{worn:?}");
    assert!((gone.user_pages, gone.held_pages) == (0, 0) && gone.retired_blocks > 80, "{gone:?}");
    assert!(gone.filled_pages < 4 * 6_144 && gone.misses > gone.filled_pages, "{gone:?}");
}

#[test]
fn settings_that_do_not_suit_a_cache_are_refused_by_name() {
    let error = |keys: &str| {
        let text = format!(
            "[workload]\nsynthetic = {{ requests = 1 }}\n[device.disk]\nkind = \"constant\"\nservice_time = \"5ms\"\n\
             capacity = \"64MiB\"\n[device.c]\nkind = \"host-managed-cache\"\nbacking = \"disk\"\n{keys}\n\
             [run]\ntarget = \"c\"\n"
        );
        let experiment = Experiment::from_str(&text, "x.toml").unwrap_or_else(|error| panic!("{error}"));
        experiment.assemble().err().expect("it is refused").to_string()
    };
    assert!(error("flash_preset = \"samsung-k9xxg08-slc-32g\"").contains("`pool` has to be \"device\""));
    assert!(error("flash_preset = \"xia-cache-3\"").contains("xia-cache-3g"));
    assert!(error("endurance_cycles = 0").contains("endurance_cycles"));
    assert!(error("policy = \"flur\"").contains("flru"));
}
