use esker_core::{
    Arrival, Completion, Control, Device, DeviceError, DeviceState, Lba, Nanos, Observer, ReplayEnd, ReplaySettings,
    Request, RequestKind, Tag, Telemetry, Unsupported, Verdict, replay,
};
use esker_results::Report;
use esker_results::Reporting;
use proptest::prelude::*;

use super::*;
use crate::device::{ArraySettings, Child, Constant, ConstantSettings};

const EXTENT: Bytes = Bytes::kib(4);

fn constant(name: &str, capacity: Bytes) -> Constant {
    let service_time = Nanos::from_millis(1);
    Constant::new(
        name,
        &ConstantSettings { service_time, service: Default::default(), servers: 1, capacity, queue_depth: Some(2) },
    )
}

fn instance(children: Vec<Box<dyn Reporting>>) -> Instance {
    let child = |(index, device)| Child { name: format!("c{index}"), device };
    Instance::new("parent", children.into_iter().enumerate().map(child).collect())
}

fn settings(children: usize, allocate: Allocate) -> HybridSettings {
    let policy = serde_json::from_str(r#"{"kind":"static-split"}"#).unwrap();
    let children: Vec<String> = (0..children).map(|index| format!("c{index}")).collect();
    let children = children.iter().map(String::as_str);
    HybridSettings { extent: EXTENT, allocate, queue_depth: Some(1000), ..HybridSettings::new(children, policy) }
}

#[derive(Default)]
struct Log(Vec<(Nanos, Nanos, Nanos, Result<(), DeviceError>)>);

impl<D: ?Sized> Observer<D> for Log {
    fn completed(&mut self, arrival: Nanos, _: &Request, completion: &Completion) -> Verdict {
        self.0.push((arrival, completion.service_start, completion.at, completion.result));
        Verdict::Continue
    }
}

fn run(mut device: Box<dyn Reporting>, arrivals: &[Arrival]) -> (Log, Report) {
    let mut log = Log::default();
    let end = replay(&mut *device, arrivals.iter().copied(), &ReplaySettings::OPEN, &mut log).unwrap();
    assert_eq!(end.end, ReplayEnd::Complete);
    let report = Report::of(&*device);
    (log, report)
}

fn at_millis(list: &[(u64, Request)]) -> Vec<Arrival> {
    list.iter().map(|&(millis, request)| Arrival { at: Nanos::from_millis(millis), request }).collect()
}

const FLUSH: Request = Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO);

proptest! {
    /// Equal weights over extents of the stripe's size are RAID-0: two implementations give the same times.
    #[test]
    fn an_even_split_is_raid_0(
        requests in prop::collection::vec((0u64..3000, 0u64..400, 1u64..17, 0u8..8), 1..60),
        children in 2usize..5,
    ) {
        let device = |index| Box::new(constant(&format!("c{index}"), Bytes::kib(64))) as Box<dyn Reporting>;
        let devices = || (0..children).map(device);
        let sectors = children as u64 * 128;
        let mut at = Nanos::ZERO;
        // At most as many extents as devices: for longer requests, the array joins neighbouring parts on a device.
        let longest = (children as u64 - 1) * 8;
        let arrivals: Vec<Arrival> = requests.iter().map(|&(gap, start, length, kind)| {
            at += Nanos::from_micros(gap);
            let start = start % sectors;
            let length = Bytes(length.min(longest).min(sectors - start) * 512);
            let request = match kind {
                0..3 => Request::read(Lba(start), length),
                3..6 => Request::write(Lba(start), length),
                6 => Request::new(RequestKind::Trim, Lba(start), length),
                _ => Request::new(RequestKind::WriteZeroes { fua: true }, Lba(start), length),
            };
            Arrival { at, request }
        }).collect();
        let table = format!(r#"{{"level":"0","child":"c","count":{children},"stripe":"4KiB","queue_depth":1000}}"#);
        let array: ArraySettings = serde_json::from_str(&table).unwrap();
        let array = array.build(instance(devices().collect())).unwrap();
        let hybrid = settings(children, Allocate::AtStart).build(instance(devices().collect())).unwrap();
        let (array, array_report) = run(array, &arrivals);
        let (hybrid, hybrid_report) = run(hybrid, &arrivals);
        prop_assert_eq!(array.0, hybrid.0);
        prop_assert_eq!(&array_report.devices["parent"].children, &hybrid_report.devices["parent"].children);
    }
}

#[test]
fn what_was_never_written_is_read_in_no_time() {
    let devices = [0, 1].map(|index| Box::new(constant(&format!("c{index}"), Bytes::kib(64))) as Box<dyn Reporting>);
    let hybrid = settings(2, Allocate::OnWrite).build(instance(devices.into())).unwrap();
    let arrivals = at_millis(&[
        (0, Request::read(Lba(8), Bytes(4096))),
        (10, Request::write(Lba(8), Bytes(4096))),
        (20, Request::read(Lba(8), Bytes(4096))),
        (30, FLUSH),
        (40, FLUSH),
    ]);
    let (log, report) = run(hybrid, &arrivals);
    let responses: Vec<u64> = log.0.iter().map(|(arrival, _, at, _)| (*at - *arrival).0 / 1_000_000).collect();
    // The second flush has nothing to flush.
    assert_eq!(responses, [0, 1, 1, 1, 0]);
    let requests = |name: &str| report.devices["parent"].children[name].requests;
    assert_eq!((requests("c0"), requests("c1")), (0, 3), "extent 1 lies on the second device, and only it is flushed");
}

/// A device that fails a number of requests of some kind.
struct Faulty {
    device: Constant,
    kind: fn(RequestKind) -> bool,
    times: usize,
    error: DeviceError,
    state: DeviceState,
    doomed: Vec<Tag>,
}

impl Device for Faulty {
    fn capacity(&self) -> Bytes {
        self.device.capacity()
    }
    fn free_slots(&self) -> usize {
        self.device.free_slots()
    }
    fn submit(&mut self, now: Nanos, tag: Tag, request: Request) {
        if (self.kind)(request.kind) && self.doomed.len() < self.times {
            self.doomed.push(tag);
        }
        self.device.submit(now, tag, request);
    }
    fn next_event(&self) -> Nanos {
        self.device.next_event()
    }
    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        self.device.advance(now, done);
        for completion in done.iter_mut().filter(|completion| self.doomed.contains(&completion.tag)) {
            completion.result = Err(self.error);
        }
    }
    fn control(&mut self, now: Nanos, command: Control) -> Result<(), Unsupported> {
        self.device.control(now, command)
    }
    fn telemetry(&self) -> Telemetry {
        Telemetry { state: self.state, ..self.device.telemetry() }
    }
}

impl Reporting for Faulty {
    fn report(&self, into: &mut Report) {
        self.device.report(into);
    }
}

/// The first refused write tells the engine that a device takes no more writes. It goes elsewhere, and so do all fresh
/// extents from then on.
#[test]
fn a_worn_out_child_gets_no_fresh_extents() {
    let worn_out = Faulty {
        device: constant("c0", Bytes::kib(64)),
        kind: RequestKind::is_write,
        times: usize::MAX,
        error: DeviceError::ReadOnly,
        state: DeviceState::ReadOnly,
        doomed: Vec::new(),
    };
    let devices: Vec<Box<dyn Reporting>> = vec![Box::new(worn_out), Box::new(constant("c1", Bytes::kib(64)))];
    let hybrid = settings(2, Allocate::OnWrite).build(instance(devices)).unwrap();
    let extent = |number: u64| Request::write(Lba(number * 8), Bytes(4096));
    let (log, report) = run(hybrid, &at_millis(&[(0, extent(0)), (10, extent(2)), (20, extent(4)), (30, extent(0))]));
    let results: Vec<_> = log.0.iter().map(|(.., result)| *result).collect();
    assert_eq!(results, [Ok(()); 4]);
    assert_eq!(report.devices["parent"].children["c1"].requests, 4);
}

/// A child fails one flush and then reports to be healthy. The hybrid does not believe it: it sends no more writes to
/// that child, fails every flush, and reports so in its own telemetry.
#[test]
fn a_child_that_failed_a_flush_stays_failed() {
    let forgetful = Faulty {
        device: constant("c0", Bytes::kib(64)),
        kind: |kind| kind == RequestKind::Flush,
        times: 1,
        error: DeviceError::MEDIUM,
        state: DeviceState::Online,
        doomed: Vec::new(),
    };
    let devices: Vec<Box<dyn Reporting>> = vec![Box::new(forgetful), Box::new(constant("c1", Bytes::kib(64)))];
    let mut hybrid = settings(2, Allocate::OnWrite).build(instance(devices)).unwrap();
    assert_eq!(hybrid.telemetry().state, DeviceState::Online);
    let extent = |number: u64| Request::write(Lba(number * 8), Bytes(4096));
    let read = Request::read(Lba(0), Bytes(4096));
    // Extents 0 and 2 belong to the first child. Extent 2 is fresh, so it goes to the other child.
    let part = Request::write(Lba(0), Bytes(512));
    let requests = [extent(0), extent(1), FLUSH, FLUSH, part, extent(1), extent(2), read, FLUSH];
    let list: Vec<(u64, Request)> = (0..).map(|number| number * 10).zip(requests).collect();
    let mut log = Log::default();
    let end = replay(&mut *hybrid, at_millis(&list), &ReplaySettings::OPEN, &mut log).unwrap();
    assert_eq!(end.end, ReplayEnd::Complete);
    let results: Vec<_> = log.0.iter().map(|(.., result)| *result).collect();
    let (lost, failed) = (Err(DeviceError::MEDIUM), Err(DeviceError::Failed));
    // What the first child had was not durable, so it is not read either.
    assert_eq!(results, [Ok(()), Ok(()), lost, failed, failed, Ok(()), Ok(()), failed, failed]);
    assert_eq!(hybrid.telemetry().state, DeviceState::Failed);
}

/// A policy that would move everything to the faster device moves nothing from a failed child, nor to one. Reads go on,
/// except of what was not durable there, and the report says which child has failed.
#[test]
fn nothing_moves_from_a_failed_child_or_to_it() {
    // The second child answers faster, once it is measured.
    for (failing, moves) in [(None, true), (Some(0), false), (Some(1), false)] {
        let child = |index: u16| -> Box<dyn Reporting> {
            let service_time = Nanos::from_micros(if index == 0 { 900 } else { 100 });
            let (servers, capacity, queue_depth) = (1, Bytes::kib(64), Some(2));
            let settings =
                ConstantSettings { service_time, service: Default::default(), servers, capacity, queue_depth };
            let device = Constant::new(&format!("c{index}"), &settings);
            let times = usize::from(failing == Some(index));
            let kind = |kind: RequestKind| kind == RequestKind::Flush;
            let (error, state) = (DeviceError::MEDIUM, DeviceState::Online);
            Box::new(Faulty { device, kind, times, error, state, doomed: Vec::new() })
        };
        let policy = r#"{"kind":"migration","accesses_min":5,"interval":"1ms","delta":"50%"}"#;
        let policy = serde_json::from_str(policy).unwrap();
        let hybrid =
            HybridSettings { policy, ..settings(2, Allocate::OnWrite) }.build(instance(vec![child(0), child(1)]));
        let extent = |number: u64| Request::write(Lba(number * 8), Bytes(4096));
        let mut requests = vec![(0, extent(0)), (10, extent(1)), (20, FLUSH)];
        let reads = (0..100).map(|index| (30 + 10 * index, Request::read(Lba(index % 2 * 8), Bytes(4096))));
        requests.extend(reads);
        let (log, report) = run(hybrid.unwrap(), &at_millis(&requests));
        let volume = &report.devices["parent"];
        let placement = volume.placement.unwrap();
        assert_eq!((placement.moved_extents > 0, placement.abandoned_moves), (moves, 0), "{failing:?}: {placement:?}");
        let failed: Vec<u16> =
            (0..2).cycle().zip(&log.0[3..]).filter(|(_, end)| end.3.is_err()).map(|(child, _)| child).collect();
        assert_eq!(failed, failing.map_or(Vec::new(), |child| vec![child; 50]), "reads go on elsewhere");
        for (index, name) in [(0, "c0"), (1, "c1")] {
            let expected = (failing == Some(index)).then_some(esker_results::ChildState::Failed);
            assert_eq!(volume.children[name].state, expected);
        }
    }
}

#[test]
fn a_range_past_the_end_fails_at_once() {
    let device: Box<dyn Reporting> = Box::new(constant("c0", Bytes::kib(10)));
    let hybrid = settings(1, Allocate::AtStart).build(instance(vec![device])).unwrap();
    assert_eq!(hybrid.capacity(), Bytes::kib(8), "only whole extents are used");
    let (log, _) = run(hybrid, &at_millis(&[(3, Request::read(Lba(15), Bytes(1024)))]));
    let error = DeviceError::OutOfRange { end: 17 * 512, capacity: Bytes::kib(8) };
    assert_eq!(log.0, [(Nanos::from_millis(3), Nanos::from_millis(3), Nanos::from_millis(3), Err(error))]);
}

/// A hybrid over equal devices of 400 KiB (a hundred extents each), with these keys.
fn split(keys: &str) -> Result<Box<dyn Reporting>, DeviceFault> {
    let text = format!("children = [\"c0\", \"c1\"]\nextent = \"4KiB\"\n{keys}");
    let settings: HybridSettings = toml::from_str(&text).unwrap();
    let devices = [0, 1].map(|index| Box::new(constant(&format!("c{index}"), Bytes::kib(400))) as Box<dyn Reporting>);
    settings.build(instance(devices.into()))
}

#[test]
fn weights_are_met_exactly_where_the_capacity_permits_it() {
    let keys = "policy = { kind = \"static-split\", weights = [3, 1] }\ncapacity = \"400KiB\"";
    let hybrid = split(keys).unwrap();
    assert_eq!(hybrid.capacity(), Bytes::kib(400));
    // The response time of a read tells where its extent is.
    let reads: Vec<(u64, Request)> =
        (0..100).map(|extent| (extent * 10, Request::read(Lba(extent * 8), EXTENT))).collect();
    let (_, report) = run(hybrid, &at_millis(&reads));
    let requests = |name: &str| report.devices["parent"].children[name].requests;
    assert_eq!((requests("c0"), requests("c1")), (75, 25));
}

#[test]
fn weights_that_do_not_go_into_the_devices_are_refused() {
    let Err(fault) = split("policy = { kind = \"static-split\", weights = [99, 1] }") else { panic!("99:1 on equals") };
    assert_eq!(
        fault.message,
        "`policy.weights` [99,1] cannot be met: of 800KiB they put 792KiB on `c0`, which has room for 400KiB (the \
         devices hold: `c0` 400KiB, `c1` 400KiB)"
    );
    let hint = fault.hint.unwrap();
    assert!(hint.starts_with("`capacity = \"404KiB\"` or less would do"), "{hint}");
    let with = |capacity: &str| {
        split(&format!("policy = {{ kind = \"static-split\", weights = [99, 1] }}\ncapacity = \"{capacity}\"")).is_ok()
    };
    assert!(with("404KiB") && !with("408KiB"), "the hint is exact");
    // If extents are placed on their first write, there may be few of them.
    assert!(split("policy = { kind = \"static-split\", weights = [99, 1] }\nallocate = \"on-write\"").is_ok());
}

/// What is pinned gets its places first, whatever its addresses; and has to fit, together with the weights of the rest.
#[test]
fn pinned_ranges_have_to_fit_and_do_not_depend_on_their_addresses() {
    let pinned = |ranges: &str, rest: &str| {
        split(&format!("policy = {{ kind = \"pinned\", ranges = [{ranges}], rest = {{ kind = {rest} }} }}"))
    };
    // The last half of the addresses. In turns alone, the first half would have filled a half of each device.
    let hybrid = pinned("{ start = \"400KiB\", length = \"1GiB\", device = 0 }", "\"static-split\"").unwrap();
    let reads: Vec<(u64, Request)> =
        (0..200).map(|extent| (extent * 10, Request::read(Lba(extent * 8), EXTENT))).collect();
    let (_, report) = run(hybrid, &at_millis(&reads[100..]));
    assert_eq!(report.devices["parent"].children["c0"].requests, 100);
    let message = |ranges: &str, rest: &str| {
        let fault = pinned(ranges, rest).err().unwrap();
        (fault.message, fault.hint.unwrap(), fault.keys)
    };
    let (text, hint, keys) = message("{ length = \"404KiB\", device = 1 }", "\"fast-first\"");
    assert!(text.starts_with("`policy.ranges` cannot be met: of 800KiB they put 404KiB on `c1`, which has"), "{text}");
    assert_eq!(
        (&*hint, &keys[..]),
        ("`capacity = \"400KiB\"` or less would do, or shorter `ranges`", &["policy.ranges".to_string()][..])
    );
    // Thirty extents are pinned, in two ranges that overlap; of the other 170, in turns of four, the device gets 127.
    let ranges = "{ start = \"40KiB\", length = \"80KiB\", device = 0 }, { length = \"100KiB\", device = 0 }";
    let (text, _, keys) = message(ranges, "\"static-split\", weights = [3, 1]");
    let expected = "`policy.ranges` and `policy.rest.weights` [3,1] cannot be met: of 800KiB they put 628KiB on `c0`";
    assert!(text.starts_with(expected), "{text}");
    assert_eq!(keys, ["policy.rest.weights", "policy.ranges"]);
}

#[test]
fn a_reserve_of_each_child_stays_free() {
    let hybrid = split("policy = { kind = \"static-split\" }\nreserve = \"25%\"").unwrap();
    assert_eq!(hybrid.capacity(), Bytes::kib(600));
    let message = |keys: &str| split(&format!("policy = {{ kind = \"static-split\" }}\n{keys}")).err().unwrap().message;
    assert!(message("reserve = \"100%\"").contains("less than 100%"));
    assert!(message("reserve = \"5%\"\ncapacity = \"4KiB\"").contains("exclude each other"));
    assert!(message("capacity = \"1GiB\"").contains("the devices hold 800KiB"));
    assert!(split("policy = { kind = \"static-split\", weights = [3, 1] }\nreserve = \"40%\"").is_err());
}
