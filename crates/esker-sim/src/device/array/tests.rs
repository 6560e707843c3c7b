use std::collections::BTreeSet;

use esker_core::{
    Arrival, Completion, DeviceError, Lba, Nanos, Observer, ReplayEnd, ReplaySettings, Request, RequestKind, Verdict,
    replay,
};
use esker_results::Report;
use proptest::prelude::*;

use super::*;
use crate::device::tests::drive;
use crate::device::{Child, Constant, ConstantSettings};

fn constant(name: &str, capacity: Bytes, queue_depth: u32) -> Child {
    let service_time = Nanos::from_millis(1);
    let settings = ConstantSettings {
        service_time,
        service: Default::default(),
        servers: 1,
        capacity,
        queue_depth: Some(queue_depth),
    };
    Child { name: name.to_string(), device: Box::new(Constant::new(name, &settings)) }
}

fn array(children: u32, stripe: u64, capacity: Bytes, child_depth: u32, depth: Option<u32>) -> Box<dyn Reporting> {
    let list: Vec<Child> = (0..children).map(|index| constant(&format!("c{index}"), capacity, child_depth)).collect();
    let names = list.iter().map(|child| child.name.clone()).collect();
    let settings = ArraySettings {
        level: Level::Raid0,
        children: names,
        child: None,
        count: None,
        stripe: Bytes(stripe),
        queue_depth: depth,
    };
    settings.build(Instance::new("a", list)).unwrap()
}

#[derive(Default)]
struct Log(Vec<(Nanos, Nanos, Result<(), DeviceError>)>);

impl<D: ?Sized> Observer<D> for Log {
    fn completed(&mut self, arrival: Nanos, _: &Request, completion: &Completion) -> Verdict {
        self.0.push((arrival, completion.at, completion.result));
        Verdict::Continue
    }
}

proptest! {
    /// Response times match the simplest model: each child serves its parts one after the other, and a request ends
    /// with its last part. The depth of the children's queues changes nothing.
    #[test]
    fn responses_are_those_of_independent_queues(
        requests in prop::collection::vec((0u64..3000, 0u64..60, 1u64..20), 1..60),
        children in 1u32..5,
        child_depth in 1u32..4,
    ) {
        let (stripe, capacity) = (1024, Bytes(64 * 512));
        let mut at = 0;
        let arrivals: Vec<_> = requests.iter().map(|&(gap, start, sectors)| {
            at += gap * 1000;
            let limit = u64::from(children) * 64;
            let start = start % limit;
            let request = Request::write(Lba(start), Bytes(sectors.min(limit - start) * 512));
            Arrival { at: Nanos(at), request }
        }).collect();
        let mut free = vec![0u64; children as usize];
        let mut expected: Vec<_> = arrivals.iter().map(|arrival| {
            let units = arrival.request.start.byte_offset() / stripe..=(arrival.request.end_byte() - 1) / stripe;
            let touched: BTreeSet<usize> = units.map(|unit| (unit % u64::from(children)) as usize).collect();
            let ends = touched.into_iter().map(|child| {
                let end = free[child].max(arrival.at.0) + 1_000_000;
                free[child] = end;
                end
            });
            (arrival.at, Nanos(ends.max().unwrap()), Ok(()))
        }).collect();
        let mut log = Log::default();
        let mut device = array(children, stripe, capacity, child_depth, Some(1000));
        let end = replay(&mut *device, arrivals, &ReplaySettings::OPEN, &mut log).unwrap();
        prop_assert_eq!(end.end, ReplayEnd::Complete);
        log.0.sort_by_key(|&(arrival, at, _)| (arrival, at));
        expected.sort_by_key(|&(arrival, at, _)| (arrival, at));
        prop_assert_eq!(log.0, expected);
    }
}

#[test]
fn a_flush_goes_to_every_child_and_a_trim_only_where_its_range_lies() {
    let mut device = array(3, 512, Bytes(512 * 8), 4, None);
    let flush = Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO);
    let trim = Request::new(RequestKind::Trim, Lba(1), Bytes(1024));
    let arrivals = [flush, trim].map(|request| Arrival { at: Nanos::ZERO, request });
    replay(&mut *device, arrivals, &ReplaySettings::OPEN, &mut Log::default()).unwrap();
    let report = Report::of(&*device);
    let served: Vec<_> = report.devices["a"].children.values().map(|child| child.requests).collect();
    assert_eq!(served, [1, 2, 2]);
    assert_eq!(report.devices["a"].requests, 2);
    assert_eq!(report.devices["c0"].requests, 1);
}

#[test]
fn a_full_queue_of_wide_requests_drains() {
    let mut device = array(4, 512, Bytes::mib(1), 1, Some(2));
    let wide = Request::read(Lba(0), Bytes(512 * 8));
    let arrivals = (0..50).map(|_| Arrival { at: Nanos::ZERO, request: wide });
    let end = replay(&mut *device, arrivals, &ReplaySettings::OPEN, &mut Log::default()).unwrap();
    assert_eq!((end.end, end.completed, end.backlog_max), (ReplayEnd::Complete, 50, 48));
    assert_eq!(end.last_event, Nanos::from_millis(50));
}

#[test]
fn what_lies_past_the_end_fails_at_once() {
    let mut device = array(2, 512, Bytes(512 * 8), 4, None);
    let mut log = Log::default();
    let beyond = Request::read(Lba(15), Bytes(1024));
    replay(&mut *device, [Arrival { at: Nanos(7), request: beyond }], &ReplaySettings::OPEN, &mut log).unwrap();
    let error = DeviceError::OutOfRange { end: 17 * 512, capacity: Bytes(16 * 512) };
    assert_eq!(log.0, [(Nanos(7), Nanos(7), Err(error))]);
}

/// With a log every request goes the long way, so that the log shows it; without one most take a shortcut.
#[test]
fn requests_that_pass_the_engine_take_as_long_as_those_it_serves() {
    let device = |seed: u64| {
        let children: Vec<Child> = (0..3).map(|index| constant(&format!("c{index}"), Bytes::mib(1), 2)).collect();
        let devices = children.iter().map(|child| child.device.capacity()).collect();
        let engine = StripeEngine::new(&StripeSettings { unit: Bytes::kib(8), devices }).unwrap();
        let instance = Instance { seed, ..Instance::new("a", children) };
        EngineDevice::new(KIND.name, engine, instance, Some(20))
    };
    for seed in 0..20 {
        let (mut short, mut long) = (device(seed), device(seed).with_log(Box::new(|_, _| {})));
        let passed = drive(&mut short, 400, seed).unwrap();
        assert_eq!(passed, drive(&mut long, 400, seed).unwrap());
        let reports = [short, long].map(|device| {
            let mut report = Report::default();
            device.report(&mut report);
            serde_json::to_string(&report.devices).unwrap()
        });
        assert_eq!(reports[0], reports[1]);
    }
}
