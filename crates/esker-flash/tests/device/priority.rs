//! Checks that users are served before background work where requests wait: for a slot, and for room in the write
//! buffer.

use esker_core::{
    Arrival, Bytes, Completion, Lba, Nanos, Observer, Priority, ReplaySettings, Request, RequestKind, Verdict, replay,
};
use esker_flash::{BufferMode, SsdSettings, WriteBufferSettings};
use proptest::prelude::*;

use crate::common::{filled, one_package};

#[derive(Default)]
struct Log(Vec<(Nanos, Request, Completion)>);

impl<D: ?Sized> Observer<D> for Log {
    fn completed(&mut self, arrival: Nanos, request: &Request, completion: &Completion) -> Verdict {
        self.0.push((arrival, *request, *completion));
        Verdict::Continue
    }
}

const PAGE: Bytes = Bytes(4096);

fn served(settings: &SsdSettings, arrivals: impl IntoIterator<Item = Arrival>) -> Log {
    let mut log = Log::default();
    replay(&mut filled(settings), arrivals, &ReplaySettings::OPEN, &mut log).expect("time goes on");
    log
}

/// One die, so that all requests wait for it. It is small, so that it is soon full.
fn one_die(queue_depth: u32) -> SsdSettings {
    let mut settings = one_package(1);
    settings.geometry.pages_per_block = 16;
    settings.geometry.page_size = PAGE;
    SsdSettings { queue_depth, link: None, write_buffer: None, ..settings }
}

/// A drive whose buffer has room for four pages.
fn buffered() -> SsdSettings {
    let buffer = WriteBufferSettings {
        size: Bytes(4 * PAGE.0),
        mode: BufferMode::WriteBack,
        latency: Nanos::from_micros(1),
        high_water: esker_core::Ratio::percent(50),
        low_water: esker_core::Ratio::percent(25),
        keep_reads: false,
        power_protected: false,
    };
    SsdSettings { write_buffer: Some(buffer), ..one_die(1024) }
}

/// Asserts that no request was served while an earlier request of a higher priority waited.
fn assert_order(log: &Log) -> Result<(), TestCaseError> {
    for (_, request, completion) in &log.0 {
        let begins = completion.service_start;
        for (came, other, other_completion) in &log.0 {
            let waits = *came < begins && other_completion.service_start > begins;
            prop_assert!(!waits || other.priority >= request.priority, "{other:?} waited for {request:?}");
        }
    }
    Ok(())
}

fn write(page: u64) -> Request {
    Request::write(Lba(page * PAGE.0 / 512), PAGE)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn slots_and_room_go_to_the_highest_priority(
        steps in prop::collection::vec((0..3u8, 0..500u64, 0..300u64, any::<bool>()), 1..200),
        buffer in any::<bool>(),
    ) {
        let settings = if buffer { buffered() } else { one_die(1) };
        let mut time = 0;
        let arrivals = steps.into_iter().map(|(priority, page, gap, read)| {
            time += gap;
            let kind = if read && !buffer { RequestKind::Read } else { RequestKind::Write { fua: false } };
            let request = Request { kind, priority: Priority(priority), ..write(page) };
            Arrival { at: Nanos::from_micros(time), request }
        });
        assert_order(&served(&settings, arrivals))?;
    }

    /// A large write that is partly in the buffer goes on, and every write ends exactly once.
    #[test]
    fn writes_of_any_size_and_flushes_all_end(
        steps in prop::collection::vec((0..3u8, 0..400u64, 0..12u64, 0..300u64), 1..150),
        power_protected in any::<bool>(),
    ) {
        let mut settings = buffered();
        settings.write_buffer.as_mut().unwrap().power_protected = power_protected;
        let count = steps.len();
        let mut time = 0;
        let arrivals = steps.into_iter().map(|(priority, page, pages, gap)| {
            time += gap;
            let request = match pages {
                0 => Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO),
                pages => Request { length: Bytes(pages * PAGE.0), ..write(page) },
            };
            Arrival { at: Nanos::from_micros(time), request: Request { priority: Priority(priority), ..request } }
        });
        let log = served(&settings, arrivals);
        prop_assert_eq!(log.0.len(), count);
        prop_assert!(log.0.iter().all(|(_, _, completion)| completion.result.is_ok()));
    }
}

/// More writes of users than the die can take, and ten background writes that arrive when it is already full.
fn flood() -> Vec<Arrival> {
    let mut arrivals: Vec<Arrival> = (0..600)
        .map(|index| Arrival { at: Nanos::from_micros(50 * index), request: write(index * 37 % 600) })
        .collect();
    let background = Arrival { at: Nanos::from_micros(1_000), request: write(1).in_background() };
    arrivals.splice(20..20, [background; 10]);
    arrivals
}

fn end_of(log: &Log, which: impl Fn(&Request) -> bool) -> Nanos {
    log.0.iter().filter(|(_, request, _)| which(request)).map(|(_, _, completion)| completion.at).max().unwrap()
}

#[test]
fn a_flush_is_not_held_up_by_what_users_write_later() {
    let background = |request: &Request| request.priority == Priority::BACKGROUND;
    let without = served(&buffered(), flood());
    assert!(end_of(&without, background) > end_of(&without, |request| !background(request)));

    let flush = Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO);
    let mut arrivals = flood();
    arrivals.insert(30, Arrival { at: Nanos::from_micros(1_000), request: flush });
    let with = served(&buffered(), arrivals);
    let later = |log: &Log, end| log.0.iter().filter(|(_, _, completion)| completion.at > end).count();
    // Some thirty of the 611 requests arrived before the flush.
    assert!(later(&with, end_of(&with, |request| *request == flush)) > 550);
    assert!(later(&with, end_of(&with, background)) > 550);
}
