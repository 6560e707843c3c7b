//! Whole drives on both schedulers of the array, for runs of operations and event by event: both have to give equal
//! times.

use esker_core::{Arrival, Observer, ReplaySettings, Rng, Verdict, replay};
use esker_ftl::{Choice, FTLS};
use esker_nand::PoolScope;

use super::*;

/// Runs a workload. Returns when each request began and ended.
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
        // Everything is written once, then more often where the lowest pages are.
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
