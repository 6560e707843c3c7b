use esker_core::{
    Arrival, Bytes, Lba, Observer, ReplaySettings, Rng, ScheduledChange, Stream, Verdict, replay_changing,
};
use proptest::prelude::*;

use super::super::tests::{device, drive};
use super::super::{Constant, ConstantSettings, DEVICE_KINDS};
use super::*;

const TEN: Ratio = Ratio::percent(1000);

fn station(service_time: Nanos, servers: u32) -> Constant {
    let settings = ConstantSettings {
        service: Default::default(),
        service_time,
        servers,
        capacity: Bytes::gib(1),
        queue_depth: Some(1000),
    };
    Constant::new("d", &settings)
}

fn slowed(service_time: Nanos, servers: u32) -> Slowed {
    Slowed::new("d", vec!["d".to_string()], Box::new(station(service_time, servers)))
}

fn slow(at: Nanos, factor: Ratio) -> ScheduledChange {
    ScheduledChange { at, device: "d".to_string(), change: Change::Slow { factor } }
}

/// Keeps arrival, start of service and end of each request.
#[derive(Default)]
struct Times(Vec<[Nanos; 3]>);

impl<D: ?Sized> Observer<D> for Times {
    fn completed(&mut self, arrival: Nanos, _: &Request, completion: &Completion) -> Verdict {
        self.0.push([arrival, completion.service_start, completion.at]);
        Verdict::Continue
    }
}

fn times(device: &mut impl Device, arrivals: &[Nanos], changes: &[ScheduledChange]) -> Vec<[Nanos; 3]> {
    let request = Request::read(Lba(0), Bytes::kib(4));
    let arrivals = arrivals.iter().map(|&at| Arrival { at, request });
    let mut times = Times::default();
    replay_changing(device, Stream::new(arrivals, None), &ReplaySettings::OPEN, changes, &mut times).unwrap();
    times.0
}

/// Poisson arrivals with a mean gap of 1.5 ms, to the nanosecond.
fn poisson(count: usize, from: Nanos) -> Vec<Nanos> {
    let (mut rng, mut at) = (Rng::new(9), from);
    let next = || {
        at += Nanos(rng.exponential(1.5e6) as u64);
        at
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Exactly, to the nanosecond: a busy period begins when its first request comes, and goes on in whole services.
#[test]
fn a_station_ten_times_slower_is_one_with_ten_times_the_service_time() {
    let arrivals = poisson(20_000, Nanos(123_457));
    let slow_ends = times(&mut slowed(Nanos::from_micros(100), 1), &arrivals, &[slow(Nanos(77), TEN)]);
    let long_ends = times(&mut station(Nanos::from_millis(1), 1), &arrivals, &[]);
    let ends = |times: &[[Nanos; 3]]| times.iter().map(|[arrival, _, end]| (*arrival, *end)).collect::<Vec<_>>();
    assert_eq!(ends(&slow_ends), ends(&long_ends));
    // Odd factors too: 1.5 and a seventh of a part per billion more or less.
    let odd = times(&mut slowed(Nanos::from_micros(100), 1), &arrivals, &[slow(Nanos(77), Ratio::percent(150))]);
    let long = times(&mut station(Nanos::from_micros(150), 1), &arrivals, &[]);
    assert_eq!(ends(&odd), ends(&long));
}

/// With several servers a request may come to a free one while others work: its service begins at the next tick of the
/// slow clock.
#[test]
fn several_servers_begin_within_a_tick() {
    let arrivals = poisson(20_000, Nanos(3)).iter().map(|at| Nanos(at.0 / 3)).collect::<Vec<_>>();
    let slow_times = times(&mut slowed(Nanos::from_micros(100), 3), &arrivals, &[slow(Nanos(1), TEN)]);
    let long_times = times(&mut station(Nanos::from_millis(1), 3), &arrivals, &[]);
    for (slow, long) in slow_times.iter().zip(&long_times) {
        assert_eq!(slow[0], long[0]);
        for (slow, long) in slow.iter().zip(long) {
            assert!(slow.0.abs_diff(long.0) < 1000, "{slow_times:?}");
        }
    }
    let worst = slow_times.iter().zip(&long_times).map(|(slow, long)| slow[2].0.abs_diff(long[2].0)).max();
    assert!(worst > Some(0), "the test sees the difference");
}

#[test]
fn work_under_way_goes_on_at_the_new_speed() {
    let arrivals = [0, 10, 20].map(Nanos::from_micros);
    let mut device = slowed(Nanos::from_micros(100), 1);
    let (slower, normal) = (slow(Nanos::from_micros(40), TEN), slow(Nanos::from_micros(1140), Ratio::ONE));
    let ends: Vec<u64> =
        times(&mut device, &arrivals, &[slower, normal]).iter().map(|times| times[2].0 / 1000).collect();
    // 40 us done, 60 us in 600; 50 us in 500, 50 us at full speed; 100 us.
    assert_eq!(ends, [640, 1190, 1290]);
    let busy = device.telemetry().busy[0];
    // The device counts each service at its start.
    assert_eq!(busy.busy, Nanos::from_micros(100 + 1000 + 100));
}

#[test]
fn a_factor_below_one_makes_it_faster_and_factors_do_not_multiply() {
    let arrivals = [0, 1000, 2000].map(Nanos::from_micros);
    let changes = [(0, 5), (500, 10), (1500, 200)];
    let changes = changes.map(|(at, percent)| slow(Nanos::from_micros(at), Ratio::percent(percent)));
    let mut device = slowed(Nanos::from_micros(100), 1);
    let responses: Vec<u64> =
        times(&mut device, &arrivals, &changes).iter().map(|[arrival, _, end]| end.0 - arrival.0).collect();
    assert_eq!(responses, [5_000, 10_000, 200_000]);
}

/// At the instant of an end the change comes first, but the end does not move; the next service is slow.
#[test]
fn a_change_at_the_instant_of_an_end_does_not_delay_it() {
    let arrivals = [Nanos::ZERO, Nanos::ZERO];
    let changes = [slow(Nanos::from_micros(100), TEN)];
    let times = times(&mut slowed(Nanos::from_micros(100), 1), &arrivals, &changes);
    assert_eq!(times.iter().map(|times| times[2].0 / 1000).collect::<Vec<_>>(), [100, 1100]);
}

#[test]
fn a_device_that_is_too_slow_ends_the_run_with_an_error_unless_it_recovers() {
    let never = slow(Nanos(1), Ratio::parts_per_billion(u64::MAX));
    let request = Request::read(Lba(0), Bytes::kib(4));
    let run = |service_time, changes: &[ScheduledChange]| {
        let mut device = slowed(service_time, 1);
        let arrivals = [Arrival { at: Nanos(2), request }];
        replay_changing(&mut device, Stream::new(arrivals, None), &ReplaySettings::OPEN, changes, &mut Times::default())
    };
    let error = run(Nanos::from_secs(1), std::slice::from_ref(&never)).unwrap_err().to_string();
    assert!(error.starts_with("after 0 requests the next ends later than 292 years"), "{error}");
    let recovered = run(Nanos::from_secs(1), &[never, slow(Nanos::from_secs(60), Ratio::ONE)]).unwrap();
    assert_eq!((recovered.completed, recovered.changes), (1, 2));
    // A clock that runs a billion times faster does not leave simulated time silently.
    let fast = [slow(Nanos(1), Ratio::parts_per_billion(1))];
    assert_eq!(run(Nanos::from_secs(1), &fast).unwrap().last_event, Nanos(3));
}

/// Share of time for which the server of `device` was busy, up to its last event.
fn busy_share(device: &Slowed) -> f64 {
    let report = Report::of(device);
    report.devices["d"].utilisation["server"]
}

/// Other devices change their speed, or this one does, after it has done all its work.
#[test]
fn a_device_that_is_idle_when_speeds_change_reports_up_to_its_last_event() {
    let arrivals = [Nanos::ZERO, Nanos::from_micros(300)];
    let mut device = slowed(Nanos::from_micros(100), 1);
    times(&mut device, &arrivals, &[]);
    assert_eq!(busy_share(&device), 0.5);
    assert_eq!(device.change(Nanos::from_secs(1), "elsewhere", Change::Slow { factor: TEN }), Ok(false));
    assert_eq!(busy_share(&device), 0.5);
    assert_eq!(device.change(Nanos::from_secs(2), "d", Change::Slow { factor: TEN }), Ok(true));
    assert_eq!(busy_share(&device), 0.5);
}

/// Work that is not done yet does not count, as for a device whose speed never changes.
#[test]
fn a_device_that_is_slow_from_the_beginning_is_busy_for_what_it_has_done() {
    let mut device = slowed(Nanos::from_micros(100), 1);
    assert_eq!(device.change(Nanos::ZERO, "d", Change::Slow { factor: TEN }), Ok(true));
    for tag in 0..2 {
        device.submit(Nanos::ZERO, Tag::from_bits(tag), Request::read(Lba(0), Bytes::kib(4)));
    }
    device.advance(device.next_event(), &mut Vec::new());
    assert_eq!((device.last_event, busy_share(&device)), (Nanos::from_millis(1), 1.0));
}

/// Work counts as at the speed at which it began: a tenth of this is left when the device is fast again.
#[test]
fn a_device_that_becomes_faster_meanwhile_is_busy_for_no_more_than_all_of_the_time() {
    let mut device = slowed(Nanos::from_micros(100), 1);
    let (slower, normal) = (slow(Nanos::ZERO, TEN), slow(Nanos::from_micros(100), Ratio::ONE));
    let times = times(&mut device, &[Nanos(1)], &[slower, normal]);
    assert!(times[0][2] < Nanos::from_micros(200), "{times:?}");
    assert!(device.telemetry().busy[0].busy > Nanos::from_micros(900), "the test sees the difference");
    assert_eq!(busy_share(&device), 1.0);
}

/// Changes the speed of a device at random, before every other request.
struct Restless(Slowed, Rng);

impl Device for Restless {
    fn capacity(&self) -> Bytes {
        self.0.capacity()
    }
    fn free_slots(&self) -> usize {
        self.0.free_slots()
    }
    fn submit(&mut self, now: Nanos, tag: Tag, request: Request) {
        if self.1.chance(1, 2) {
            let factor = Ratio::parts_per_billion(1 + self.1.below(10_000_000_000));
            assert_eq!(self.0.change(now, "example", Change::Slow { factor }), Ok(true));
        }
        self.0.submit(now, tag, request);
    }
    fn next_event(&self) -> Nanos {
        self.0.next_event()
    }
    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        self.0.advance(now, done);
    }
    fn control(&mut self, now: Nanos, command: Control) -> Result<(), Unsupported> {
        self.0.control(now, command)
    }
    fn telemetry(&self) -> Telemetry {
        self.0.telemetry()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn every_kind_keeps_the_contract_whatever_its_clock_does(seed: u64) {
        for kind in DEVICE_KINDS {
            let wrapped = || Slowed::new("example", vec!["example".to_string()], device(kind));
            let alone = drive(&mut *device(kind), 300, seed);
            let mut same = wrapped();
            prop_assert_eq!(&drive(&mut same, 300, seed), &alone, "{} without a change", kind.name);
            prop_assert_eq!(same.change(same.last_event, "elsewhere", Change::Slow { factor: TEN }), Ok(false));
            let restless = drive(&mut Restless(wrapped(), Rng::new(seed)), 300, seed);
            prop_assert!(restless.is_ok(), "{}: {}", kind.name, restless.unwrap_err());
        }
    }
}
