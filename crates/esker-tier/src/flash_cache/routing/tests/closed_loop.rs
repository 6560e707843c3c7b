//! Orthus before two stations in a closed loop, whose best throughput is known.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};

use esker_core::Rng;

use super::*;

/// Requests under way, and requests a second of the flash and of the backing device.
const REQUESTS: i32 = 16;
const RATES: [f64; 2] = [2_000.0, 1_000.0];

/// How long the stations take for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Service {
    Constant,
    Exponential,
}

/// Two stations, each with one server and a queue.
struct Stations {
    service: Service,
    rng: Rng,
    now: Nanos,
    /// When the requests at each station came.
    queues: [VecDeque<Nanos>; 2],
    ends: BTreeSet<Reverse<(Nanos, usize)>>,
}

impl Stations {
    fn new(service: Service, seed: u64) -> Self {
        let queues = [VecDeque::new(), VecDeque::new()];
        Self { service, rng: Rng::new(seed), now: Nanos::ZERO, queues, ends: BTreeSet::new() }
    }

    fn begin(&mut self, station: usize) {
        let mean = 1e9 / RATES[station];
        let took = if self.service == Service::Constant { mean } else { self.rng.exponential(mean) };
        self.ends.insert(Reverse((self.now + Nanos(took as u64), station)));
    }

    fn send(&mut self, station: usize) {
        self.queues[station].push_back(self.now);
        if self.queues[station].len() == 1 {
            self.begin(station);
        }
    }

    /// Goes on to the next end of a request, and returns its response time.
    fn end(&mut self) -> Nanos {
        let Reverse((now, station)) = self.ends.pop_last().expect("requests are under way");
        self.now = now;
        let came = self.queues[station].pop_front().expect("it is in service");
        if !self.queues[station].is_empty() {
            self.begin(station);
        }
        now - came
    }
}

/// Returns requests a second of the second half of 400,000, each of which goes to the backing device if `routes` says
/// so and is reported to `ended` with its response time.
fn throughput(
    mut stations: Stations,
    mut routes: impl FnMut(&mut Rng) -> bool,
    mut ended: impl FnMut(Nanos, Nanos),
) -> f64 {
    const ALL: u64 = 400_000;
    let mut half = Nanos::ZERO;
    for _ in 0..REQUESTS {
        let station = usize::from(routes(&mut stations.rng));
        stations.send(station);
    }
    for number in 0..ALL {
        let response = stations.end();
        ended(stations.now, response);
        let station = usize::from(routes(&mut stations.rng));
        stations.send(station);
        if number == ALL / 2 {
            half = stations.now;
        }
    }
    (ALL / 2) as f64 / (stations.now - half).as_secs_f64()
}

/// Returns requests a second if each goes to the backing device with this probability: of n requests, with loads x and
/// y of the stations per request, (x^n - y^n) / (x^(n + 1) - y^(n + 1)) are completed a second.
fn closed_form(routed: f64) -> f64 {
    let (x, y) = ((1.0 - routed) / RATES[0], routed / RATES[1]);
    (x.powi(REQUESTS) - y.powi(REQUESTS)) / (x.powi(REQUESTS + 1) - y.powi(REQUESTS + 1))
}

/// The stations complete what the closed form says for fixed shares, so they can be relied on. At a third the loads are
/// equal, and 16/17 of 3,000 a second are the limit.
#[test]
fn the_stations_are_those_of_the_closed_form() {
    assert!((closed_form(1.0 / 3.0 + 1e-6) - 3_000.0 * 16.0 / 17.0).abs() < 0.1);
    for routed in [0.1, 0.334, 0.5] {
        let found = throughput(Stations::new(Service::Exponential, 5), |rng| rng.unit() < routed, |_, _| {});
        assert!((found / closed_form(routed) - 1.0).abs() < 0.01, "{routed}: {found} for {}", closed_form(routed));
    }
}

/// Throughput and share at the end with Orthus, of which the cache has everything that is read.
fn tuned(service: Service, goal: &str, seed: u64) -> (f64, f64) {
    let policy = std::cell::RefCell::new(orthus(1_000, &[("goal", text(goal))]));
    let routes = |_: &mut Rng| {
        policy.borrow_mut().looked_up(true);
        policy.borrow_mut().routes()
    };
    let ended = |now, response| policy.borrow_mut().ended(now, Bytes::kib(4), response);
    let found = throughput(Stations::new(service, seed), routes, ended);
    (found, policy.borrow().share().as_f64())
}

/// The flash alone completes 2,000 a second, and the best random split of exponential services 2,824.
#[test]
fn tuning_comes_near_the_best_split() {
    for service in [Service::Exponential, Service::Constant] {
        for goal in ["response-time", "throughput"] {
            for seed in 0..8 {
                let (found, share) = tuned(service, goal, seed);
                assert!(found > 2_700.0 && found < 3_000.0, "{service:?}, {goal}, {seed}: {found} at {share}");
                assert!((0.2..0.45).contains(&share), "{service:?}, {goal}, {seed}: {share}");
            }
        }
    }
}
