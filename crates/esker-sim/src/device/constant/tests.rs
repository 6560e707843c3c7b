//! The device against queueing theory.

use esker_core::{Arrival, LatencyHistogram, Lba, Observer, ReplayEnd, ReplaySettings, Verdict, replay};

use super::*;

#[derive(Default)]
struct Times {
    waits: LatencyHistogram,
    responses: LatencyHistogram,
    errors: u64,
}

impl<D: ?Sized> Observer<D> for Times {
    fn completed(&mut self, arrival: Nanos, _: &Request, completion: &Completion) -> Verdict {
        self.waits.record(completion.service_start - arrival);
        self.responses.record(completion.at - arrival);
        self.errors += u64::from(completion.result.is_err());
        Verdict::Continue
    }
}

fn device(service: Nanos, servers: u32, queue_depth: Option<u32>) -> Constant {
    Constant::new("d", &settings(service, servers, queue_depth))
}

fn settings(service_time: Nanos, servers: u32, queue_depth: Option<u32>) -> ConstantSettings {
    let service = ServiceTimes::Fixed;
    ConstantSettings { service_time, service, servers, capacity: Bytes::gib(4), queue_depth }
}

const READ: Request = Request::read(Lba(0), Bytes(4096));

fn poisson(rate_per_s: f64, requests: usize, seed: u64) -> impl Iterator<Item = Arrival> {
    let (mut rng, mut at) = (Rng::new(seed), 0.0);
    (0..requests).map(move |_| {
        at += rng.exponential(1.0 / rate_per_s);
        Arrival { at: Nanos::from_secs_f64(at), request: READ }
    })
}

/// Pollaczek and Khinchine for constant service times: mean wait = load / (2 (1 - load)) of the service time. The
/// device's queue depth does not change the wait.
#[test]
fn waiting_is_that_of_m_d_1() {
    for (load, queue_depth) in [(0.3, None), (0.6, Some(1)), (0.8, None), (0.9, Some(7))] {
        let mut times = Times::default();
        let arrivals = poisson(1000.0 * load, 1_000_000, 11);
        let mut device = device(Nanos::from_millis(1), 1, queue_depth);
        let end = replay(&mut device, arrivals, &ReplaySettings::OPEN, &mut times).unwrap();
        assert_eq!((end.end, end.completed), (ReplayEnd::Complete, 1_000_000));
        let expected = load / (2.0 * (1.0 - load)) * 1e6;
        let ratio = times.waits.mean() / expected;
        assert!((ratio - 1.0).abs() < 0.02, "load {load}: {} ns against {expected}", times.waits.mean());
        let report = Report::of(&device);
        assert!((report.devices["d"].utilisation["server"] - load).abs() < 0.01);
    }
}

/// M/M/1: mean wait = load / (1 - load) of the mean service time, and the response time is exponential, too. M/M/c:
/// the share of Erlang's formula C waits, by the mean of 1 / (c - load) service times.
#[test]
fn waiting_is_that_of_m_m_c() {
    for (servers, load, erlang_c) in [(1u32, 0.3, 0.3), (1, 0.8, 0.8), (3, 2.4, 0.6471)] {
        let mut times = Times::default();
        let service = ServiceTimes::Exponential;
        let settings = ConstantSettings { service, ..settings(Nanos::from_millis(1), servers, None) };
        let mut device = Constant::new("d", &settings).with_seed(7);
        let arrivals = poisson(1000.0 * load, 2_000_000, 11);
        let end = replay(&mut device, arrivals, &ReplaySettings::OPEN, &mut times).unwrap();
        assert_eq!((end.end, end.completed), (ReplayEnd::Complete, 2_000_000));
        let wait = erlang_c / (f64::from(servers) - load) * 1e6;
        let (found, response) = (times.waits.mean(), times.responses.mean());
        assert!((found / wait - 1.0).abs() < 0.03, "load {load} on {servers}: {found} ns against {wait}");
        assert!((response / (wait + 1e6) - 1.0).abs() < 0.03, "load {load} on {servers}: {response}");
        if servers == 1 {
            let median = times.responses.quantile(0.5).0 as f64 / response;
            assert!((median / std::f64::consts::LN_2 - 1.0).abs() < 0.03, "{median}");
        }
        let utilisation = Report::of(&device).devices["d"].utilisation["server"];
        assert!((utilisation / (load / f64::from(servers)) - 1.0).abs() < 0.01, "{utilisation}");
    }
}

/// D/D/c: enough servers keep up with the arrivals; one fewer cannot.
#[test]
fn servers_work_side_by_side() {
    let arrivals =
        |spacing| (0..1000).map(move |index| Arrival { at: Nanos::from_micros(spacing) * index, request: READ });
    let mut times = Times::default();
    replay(&mut device(Nanos::from_millis(1), 4, None), arrivals(250), &ReplaySettings::OPEN, &mut times).unwrap();
    assert_eq!(times.waits.max(), Nanos::ZERO);
    assert_eq!(times.responses.max(), Nanos::from_millis(1));

    let mut times = Times::default();
    let end =
        replay(&mut device(Nanos::from_millis(1), 3, None), arrivals(250), &ReplaySettings::OPEN, &mut times).unwrap();
    assert_eq!(end.last_event, Nanos::from_millis(333) + Nanos::from_micros(1000), "work is conserved");
}

#[test]
fn closed_loop_throughput_is_servers_over_service_time() {
    for (servers, depth, expected_ms) in [(1, 1, 1000), (1, 8, 1000), (4, 2, 500), (4, 16, 250)] {
        let mut times = Times::default();
        let arrivals = (0..1000).map(|_| Arrival { at: Nanos::ZERO, request: READ });
        let mut device = device(Nanos::from_millis(1), servers, None);
        let end = replay(&mut device, arrivals, &ReplaySettings::closed(depth), &mut times).unwrap();
        assert_eq!(end.last_event, Nanos::from_millis(expected_ms), "{servers} servers, depth {depth}");
        assert!(times.responses.max() <= Nanos::from_millis((depth as u64).div_ceil(servers.into())));
    }
}

#[test]
fn a_request_past_the_end_fails_at_once() {
    let mut times = Times::default();
    let beyond = Request::read(Lba(Bytes::gib(4).0 / 512 - 1), Bytes(1024));
    let arrivals = [READ, beyond, READ].map(|request| Arrival { at: Nanos(5), request });
    let end = replay(&mut device(Nanos::from_millis(1), 1, None), arrivals, &ReplaySettings::OPEN, &mut times).unwrap();
    assert_eq!((times.errors, end.completed), (1, 3));
    assert_eq!(end.last_event, Nanos::from_millis(2) + Nanos(5));
}

/// Two requests of a millisecond each, looked at 250 us after the first began.
#[test]
fn a_report_counts_what_has_been_done_by_then() {
    for service in [ServiceTimes::Fixed, ServiceTimes::Exponential] {
        let settings = ConstantSettings { service, ..settings(Nanos::from_millis(1_000), 2, None) };
        let mut device = Constant::new("d", &settings);
        device.submit(Nanos::ZERO, Tag::new(0, 0), READ);
        device.submit(Nanos::from_micros(250), Tag::new(1, 0), READ);
        let report = Report::until(Nanos::from_micros(1_000), &device);
        let of_server = &report.devices["d"];
        assert_eq!((of_server.utilisation["server"], of_server.utilisation_busiest["server"]), (0.875, 1.0));
        device.control(Nanos::from_micros(1_000), Control::StartMeasuring).unwrap();
        let report = Report::until(Nanos::from_micros(3_000), &device);
        assert_eq!(report.devices["d"].utilisation["server"], 1.0);
    }
}
