//! Runs whole drives on both schedulers of the array, the one for runs of operations and the event-by-event one. Both
//! have to give the same times.

use esker_core::{Arrival, Observer, ReplaySettings, Rng, Verdict, replay};
use esker_ftl::{Choice, FTLS};
use esker_nand::{PoolScope, Scheduling};

use super::*;

/// Records when each request began and ended.
#[derive(Default)]
struct Log(Vec<(Nanos, Nanos, u64)>);

impl<D: ?Sized> Observer<D> for Log {
    fn completed(&mut self, _: Nanos, request: &Request, completion: &Completion) -> Verdict {
        assert!(completion.result.is_ok());
        self.0.push((completion.at, completion.service_start, request.start.0));
        Verdict::Continue
    }
}

fn run(mut ssd: Ssd, depth: usize) -> Vec<(Nanos, Nanos, u64)> {
    let mut rng = Rng::new(3);
    let pages = ssd.capacity().0 / 4096;
    let arrivals = (0..4 * pages).map(|index| {
        let length = 1 + rng.below(4);
        // First everything is written once. Then low pages are written more often than high ones.
        let most = rng.below(pages - 4);
        let first = if index < pages / 4 { 4 * index } else { rng.below(1 + most) };
        let (start, length) = (Lba(first * 8), Bytes::kib(if index < pages / 4 { 16 } else { 4 * length }));
        let request = if rng.chance(1, 5) { Request::read(start, length) } else { Request::write(start, length) };
        Arrival { at: Nanos::ZERO, request }
    });
    let arrivals: Vec<Arrival> = arrivals.collect();
    let mut log = Log::default();
    let end = replay(&mut ssd, arrivals, &ReplaySettings::closed(depth), &mut log).unwrap();
    assert_eq!(end.completed, 4 * pages);
    ssd.check();
    // Requests that end at one instant may be reported in any order.
    log.0.sort_unstable();
    log.0
}

#[test]
fn requests_take_the_same_time_to_the_nanosecond() {
    for layer in FTLS {
        for (channels, pool, depth, units) in
            [(1, PoolScope::Gang, 6, 1), (2, PoolScope::Gang, 8, 4), (3, PoolScope::Device, 1, 2)]
        {
            let mut settings = agrawal();
            (settings.geometry.channels, settings.geometry.planes_per_die) = (channels, 1);
            (settings.geometry.blocks_per_plane, settings.geometry.pages_per_block) = (40, 16);
            settings.geometry.units_per_page = units;
            (settings.pool, settings.queue_depth) = (pool, depth);
            settings.over_provisioning = Some(Ratio::percent(40));
            settings.ftl = Choice::named(layer.name);
            let in_runs = Ssd::new("flash", &settings, 1).unwrap();
            let mut one_by_one = Ssd::new("flash", &settings, 1).unwrap();
            assert!(in_runs.back.array.borrow().decides_in_runs());
            assert_eq!(in_runs.back.array.borrow().takes_runs(), units == 1);
            one_by_one.back.array =
                RefCell::new(Array::recording(&one_by_one.back.geometry, &one_by_one.back.timing, &settings.wiring()));
            one_by_one.back.choose_operations(false);
            let times = run(in_runs, depth as usize);
            assert_eq!(times, run(one_by_one, depth as usize), "{} with {channels} channels", layer.name);
        }
    }
}

/// Sends requests at random times. Returns when each of them ended. Events are processed one by one, or many `at_once`.
fn serve_in_steps(settings: &SsdSettings, at_once: bool) -> Vec<(u32, Nanos, Nanos)> {
    let mut ssd = Ssd::new("flash", settings, 1).unwrap();
    let (mut rng, mut free, mut done, mut log) = (Rng::new(5), (0..8).collect::<Vec<u32>>(), Vec::new(), Vec::new());
    let pages = ssd.capacity().0 / 4096;
    let mut limit = Nanos::ZERO;
    while log.len() < 4000 {
        if let Some(slot) = free.pop() {
            let page = rng.below(pages);
            ssd.submit(limit, tag(slot), if rng.chance(1, 3) { read(page) } else { write(page) });
        }
        limit += Nanos(rng.below(300_000));
        while ssd.next_event() < limit {
            if at_once {
                let last = ssd.advance_before(limit, &mut done);
                assert!(last < limit && done.iter().all(|completion: &Completion| completion.at == last));
            } else {
                ssd.advance(ssd.next_event(), &mut done);
            }
            for Completion { tag, at, service_start, .. } in done.drain(..) {
                free.push(tag.slot());
                log.push((tag.slot(), at, service_start));
            }
        }
    }
    log
}

#[test]
fn it_makes_no_difference_whether_events_are_processed_at_once() {
    for scheduling in [Scheduling::Fifo, Scheduling::ReadsFirst, Scheduling::OutOfOrder] {
        for with_link in [false, true] {
            let mut settings = agrawal();
            (settings.geometry.blocks_per_plane, settings.geometry.pages_per_block) = (10, 16);
            settings.over_provisioning = Some(Ratio::percent(40));
            settings.array.scheduling = scheduling;
            settings.link = with_link.then(|| LinkSettings { rate: "100MB/s".parse().unwrap(), overhead: Nanos(700) });
            let at_once = serve_in_steps(&settings, true);
            assert_eq!(at_once, serve_in_steps(&settings, false), "{scheduling:?}, link: {with_link}");
        }
    }
}
