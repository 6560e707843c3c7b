//! The simulator and the real driver run the same engine. With the same requests, on models and on stores of the same
//! speed, they perform the same effects in the same order, however late the real driver wakes up.

use esker_results::Reporting;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use esker_core::{
    Arrival, Bytes, Completion, DeviceError, DeviceState, Lba, Nanos, Observer, ReplayEnd, ReplaySettings, Request,
    RequestKind, Rng, Tag, TagSlab, Verdict, replay,
};
use esker_sim::{Child, Constant, ConstantSettings, EngineDevice, Instance};
use esker_tier::{
    DeviceControl, DeviceIndex, DeviceView, Effect, Event, LogicalExtent, NewExtent, PLACEMENTS, Placement,
    PlacementEngine, PlacementRecord, PlacementSettings, Record, RecordNumber, Rewrite, WishedMove, Wishes,
};
use esker_volume::{
    Backend, BlockingJournal, Clock, Direct, DirectJournal, FileBackend, MemoryBackend, MemoryJournal, RealDriver,
    Reply, Signal, Store, Threaded,
};
use proptest::prelude::*;

const EXTENT: Bytes = Bytes::kib(4);
const DEVICES: [(&str, u64, u32, Bytes); 3] =
    [("fast", 70, 2, Bytes::kib(64)), ("slow", 350, 1, Bytes::kib(96)), ("equal", 70, 1, Bytes::kib(40))];

fn policy() -> esker_tier::PolicySettings {
    serde_json::from_str(r#"{"kind":"static-split","weights":[2,1,1]}"#).unwrap()
}

fn models() -> Vec<Child> {
    let model = |&(name, micros, servers, capacity): &(&str, u64, u32, Bytes)| {
        let service_time = Nanos::from_micros(micros);
        let settings =
            ConstantSettings { service_time, service: Default::default(), servers, capacity, queue_depth: Some(3) };
        Child { name: name.to_string(), device: Box::new(Constant::new(name, &settings)) as Box<dyn Reporting> }
    };
    DEVICES.iter().map(model).collect()
}

fn engine() -> PlacementEngine {
    let devices = DEVICES.iter().map(|device| device.3).collect();
    let settings =
        PlacementSettings { extent: EXTENT, devices, policy: policy(), policies: PLACEMENTS, free_on_trim: true };
    PlacementEngine::new(&settings).unwrap().with_policy(Box::new(Restless::default()))
}

/// A policy that asks for moves whenever it is woken, and that measures: one of them goes to the device that answered
/// fastest last. It also asks each device to pause its wear levelling, until that answers that it cannot.
#[derive(Debug, Default)]
struct Restless {
    next: u32,
    /// Response time of the last request to each device.
    responses: [u64; 3],
    wakes_at: Nanos,
    cannot_pause: [bool; 3],
}

impl Placement for Restless {
    fn place(&mut self, new: &NewExtent<'_>, _: &[DeviceView]) -> DeviceIndex {
        DeviceIndex((new.extent.0 % 3) as u16)
    }
    fn redirect(&mut self, write: &Rewrite<'_>, _: &[DeviceView]) -> Option<DeviceIndex> {
        write.extent.0.is_multiple_of(2).then_some(DeviceIndex((write.from.0 + 1) % 3))
    }
    fn redirects(&self) -> bool {
        true
    }
    fn devices_joined(&mut self, _: usize) {}
    fn observes(&self) -> bool {
        true
    }
    fn observe(&mut self, now: Nanos, event: &Event<'_>, _: &[DeviceView], wishes: &mut Wishes) {
        match event {
            Event::Completed(done) => self.responses[done.device.0 as usize] = (done.at - done.sent).0,
            // It is woken once after each request: without requests nothing moves.
            Event::Request { .. } if self.wakes_at <= now => {
                self.wakes_at = now + Nanos::from_micros(130);
                wishes.wake_at = Some(self.wakes_at);
            }
            Event::Unsupported { device, .. } => self.cannot_pause[device.0 as usize] = true,
            Event::Timer => {
                self.next += 1;
                let pause = DeviceControl::PauseWearLevelling(true);
                let can = (0..3).filter(|&device| !self.cannot_pause[device]);
                wishes.controls.extend(can.map(|device| (DeviceIndex(device as u16), pause)));
                let fastest = (0..3).min_by_key(|&device| self.responses[device]).expect("there are three");
                wishes
                    .moves
                    .push(WishedMove::in_background(LogicalExtent(self.next % 50), DeviceIndex(fastest as u16)));
                wishes.moves.push(WishedMove::in_background(
                    LogicalExtent(self.next * 3 % 50),
                    DeviceIndex((self.next % 3) as u16),
                ));
            }
            _ => {}
        }
    }
}

/// A wall clock that is set by hand.
#[derive(Default)]
struct FakeClock(Cell<Nanos>);

impl Clock for FakeClock {
    fn now(&self) -> Nanos {
        self.0.get()
    }
}

type Log = Arc<Mutex<Vec<(Nanos, Effect)>>>;

fn logged(log: &Log) -> esker_core::EffectLog<Effect> {
    let log = log.clone();
    Box::new(move |at, effect| log.lock().unwrap().push((at, effect.clone())))
}

struct Quiet;
impl<D: ?Sized> Observer<D> for Quiet {
    fn completed(&mut self, _: Nanos, _: &Request, _: &Completion) -> Verdict {
        Verdict::Continue
    }
}

fn simulated(arrivals: &[Arrival]) -> Vec<(Nanos, Effect)> {
    let log = Log::default();
    let instance = Instance::new("volume", models());
    let mut device = EngineDevice::new("hybrid", engine(), instance, Some(10_000)).with_log(logged(&log));
    let end = replay(&mut device, arrivals.iter().copied(), &ReplaySettings::OPEN, &mut Quiet).unwrap();
    assert_eq!(end.end, ReplayEnd::Complete);
    drop(device);
    Arc::into_inner(log).unwrap().into_inner().unwrap()
}

fn take_replies<C: Clock>(driver: &mut RealDriver<PlacementEngine, C>, tags: &mut TagSlab<()>) {
    while let Some(Reply { tag, .. }) = driver.next_reply() {
        tags.remove(tag);
    }
}

/// Runs the real driver, which wakes up at every arrival, and at random times in between.
fn real(arrivals: &[Arrival], seed: u64) -> Vec<(Nanos, Effect)> {
    let (clock, log, mut rng) = (FakeClock::default(), Log::default(), Rng::new(seed));
    let store = |child: Child| {
        let memory = MemoryBackend::new(child.device.capacity());
        Store::paced(Box::new(Direct::new(memory)), child.device)
    };
    let stores = models().into_iter().map(store).collect();
    let mut driver =
        RealDriver::new(Box::new(engine()), stores, Box::new(DirectJournal::new(MemoryJournal::default())), &clock)
            .with_log(logged(&log));
    let mut tags = TagSlab::default();
    for together in arrivals.chunk_by(|a, b| a.at == b.at) {
        let at = together[0].at;
        while clock.now() < at {
            let late = Nanos(rng.below(at.0 - clock.now().0 + 1) + 1);
            clock.0.set((clock.now() + late).min(at));
            driver.step();
            take_replies(&mut driver, &mut tags);
        }
        driver.step();
        take_replies(&mut driver, &mut tags);
        for arrival in together {
            let data = match arrival.request.kind {
                RequestKind::Write { .. } => vec![1; arrival.request.length.0 as usize],
                _ => Vec::new(),
            };
            driver.submit(tags.insert(()), arrival.request, data);
        }
        driver.step();
        take_replies(&mut driver, &mut tags);
    }
    while driver.next_event() != Nanos::NEVER {
        clock.0.set(driver.next_event() + Nanos(rng.below(1_000_000)));
        driver.step();
        take_replies(&mut driver, &mut tags);
    }
    assert!(tags.is_empty());
    drop(driver);
    Arc::into_inner(log).unwrap().into_inner().unwrap()
}

/// Returns the first difference between the two. A replay ends with its last request; the real driver goes on until the
/// last copy has ended.
fn difference(simulated: &[(Nanos, Effect)], real: &[(Nanos, Effect)]) -> Option<String> {
    let pairs = simulated.iter().map(Some).zip(real.iter().map(Some).chain(std::iter::repeat(None)));
    let mut different = pairs.filter(|(simulated, real)| simulated != real);
    different.next().map(|(simulated, real)| format!("simulated: {simulated:?}; real: {real:?}"))
}

fn requests() -> impl Strategy<Value = Vec<(u64, u8, u64, u64, bool)>> {
    let gap = prop_oneof![Just(0u64), Just(70), Just(350), 0u64..500];
    prop::collection::vec((gap, 0u8..10, 0u64..400, 1u64..40, any::<bool>()), 1..80)
}

fn request(kind: u8, start: u64, sectors: u64, fua: bool) -> Request {
    let capacity = DEVICES.iter().map(|device| device.3.0).sum::<u64>() / 512;
    let start = start % capacity;
    let length = Bytes(sectors.min(capacity - start) * 512);
    match kind {
        0..4 => Request::new(RequestKind::Write { fua }, Lba(start), length),
        4..6 => Request::read(Lba(start), length),
        6 => Request::new(RequestKind::Trim, Lba(start), length),
        7 => Request::new(RequestKind::WriteZeroes { fua }, Lba(start), length),
        _ => Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO),
    }
}

proptest! {
    #[test]
    fn the_same_effects_in_the_same_order_at_the_same_times(requests in requests(), seed: u64) {
        let mut at = Nanos::ZERO;
        let arrivals: Vec<Arrival> = requests
            .into_iter()
            .map(|(gap, kind, start, sectors, fua)| {
                at += Nanos::from_micros(gap);
                Arrival { at, request: request(kind, start, sectors, fua) }
            })
            .collect();
        prop_assert_eq!(difference(&simulated(&arrivals), &real(&arrivals, seed)), None);
    }
}

/// The comparison is not empty: effects of all kinds occur.
#[test]
fn a_short_run_has_every_kind_of_effect() {
    let write = request(0, 0, 40, false);
    let flush = request(9, 0, 1, false);
    let arrivals = [(0, write), (900, flush), (2000, request(4, 8, 9, false))]
        .map(|(micros, request)| Arrival { at: Nanos::from_micros(micros), request });
    let effects = real(&arrivals, 1);
    let count = |kind: fn(&Effect) -> bool| effects.iter().filter(|(_, effect)| kind(effect)).count();
    assert!(count(|effect| matches!(effect, Effect::Record { .. })) >= 5);
    assert!(count(|effect| matches!(effect, Effect::Harden { .. })) >= 1);
    assert!(count(|effect| matches!(effect, Effect::WakeAt(_))) >= 2);
    let moved = |effect: &Effect| {
        let Effect::Record { record, .. } = effect else { return false };
        matches!((*record).try_into(), Ok(PlacementRecord::Moved { .. }))
    };
    assert!(count(moved) >= 1);
    assert_eq!(count(|effect| matches!(effect, Effect::Reply { .. })), 3);
    // The policy is woken more than once: each device has answered the first time that it does not know the command.
    assert_eq!(count(|effect| matches!(effect, Effect::Control { .. })), 3);
    assert!(count(|effect| matches!(effect, Effect::Io { .. })) > 3 + 3);
    assert_eq!(difference(&simulated(&arrivals), &effects), None);
}

/// Lets time pass until something is due, or until a thread has ended an operation.
fn wait(driver: &RealDriver<PlacementEngine, &FakeClock>, clock: &FakeClock, signal: &Signal) {
    match driver.next_event() {
        Nanos::NEVER => assert!(signal.wait(Some(Duration::from_secs(60))), "nothing ends"),
        at => clock.0.set(clock.now().max(at)),
    }
}

proptest! {
    // Each case flushes a real file, so there are few cases.
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Reads return the data that were written last, on stores of every kind, with several requests under way.
    #[test]
    fn data_read_back_are_those_of_a_byte_array(requests in requests(), seed: u64, paced: bool) {
        let (clock, mut rng) = (FakeClock::default(), Rng::new(seed));
        let folder = tempfile::tempdir().unwrap();
        let signal = Signal::new().unwrap();
        let stores = models().into_iter().enumerate().map(|(index, child)| {
            let capacity = child.device.capacity();
            let backend: Box<dyn Backend> = match index {
                0 => {
                    let file = FileBackend::create(&folder.path().join("store"), capacity).unwrap();
                    Box::new(Threaded::new(file, signal.clone()))
                }
                _ => Box::new(Direct::new(MemoryBackend::new(capacity))),
            };
            let store = if paced { Store::paced(backend, child.device) } else { Store::new(backend) };
            // The clock jumps to the next event while the thread is still at work.
            store.with_answer_limit(Nanos::NEVER)
        });
        let stores = stores.collect();
        let journal = Box::new(DirectJournal::new(MemoryJournal::default()));
        let mut driver = RealDriver::new(Box::new(engine()), stores, journal, &clock);
        let mut bytes = vec![0u8; driver.capacity().0 as usize];
        let mut open: BTreeMap<Tag, (Request, Vec<u8>)> = BTreeMap::new();
        let mut tags = TagSlab::default();
        let all = Request::read(Lba(0), driver.capacity());
        let list = requests.into_iter();
        let list = list.map(|(gap, kind, start, sectors, fua)| (gap, request(kind, start, sectors, fua)));
        for (gap, request) in list.chain([(0, all)]) {
            clock.0.set(clock.now() + Nanos::from_micros(gap));
            let (start, end) = (request.start.byte_offset(), request.end_byte());
            let overlaps = |other: &Request| other.start.byte_offset() < end && start < other.end_byte();
            loop {
                driver.step();
                while let Some(Reply { tag, result, data, .. }) = driver.next_reply() {
                    prop_assert_eq!(result, Ok(()));
                    let (request, expected) = open.remove(&tag).unwrap();
                    prop_assert!(request.kind != RequestKind::Read || data.to_vec() == expected[..]);
                    tags.remove(tag);
                }
                if open.values().all(|(other, _)| !overlaps(other)) {
                    break;
                }
                wait(&driver, &clock, &signal);
            }
            // A file keeps trimmed data and memory does not: the range is written again, so that its content is known.
            let request = match request.kind {
                RequestKind::Trim => Request { kind: RequestKind::WriteZeroes { fua: false }, ..request },
                _ => request,
            };
            let range = request.start.byte_offset() as usize..request.end_byte() as usize;
            let mut data = Vec::new();
            match request.kind {
                RequestKind::Write { .. } => {
                    data = (0..request.length.0).map(|_| rng.below(256) as u8).collect();
                    bytes[range.clone()].copy_from_slice(&data);
                }
                RequestKind::WriteZeroes { .. } => bytes[range.clone()].fill(0),
                _ => {}
            }
            let tag = tags.insert(());
            open.insert(tag, (request, bytes[range].to_vec()));
            driver.submit(tag, request, data);
        }
        while driver.next_event() != Nanos::NEVER || driver.is_busy() {
            wait(&driver, &clock, &signal);
            driver.step();
        }
        while let Some(Reply { tag, data, .. }) = driver.next_reply() {
            let (request, expected) = open.remove(&tag).unwrap();
            prop_assert!(request.kind != RequestKind::Read || data.to_vec() == expected[..]);
        }
        prop_assert!(open.is_empty());
    }
}

struct BrokenJournal;
impl BlockingJournal for BrokenJournal {
    fn append(&mut self, _: RecordNumber, _: u8, _: Record) -> std::io::Result<()> {
        Ok(())
    }
    fn harden(&mut self, _: RecordNumber) -> std::io::Result<()> {
        Err(std::io::Error::other("the journal's disk is gone"))
    }
}

/// After a failure of the journal, no write is acknowledged, whether it was under way or comes later.
#[test]
fn a_failed_journal_fails_everything_but_reads() {
    let clock = FakeClock::default();
    let stores = models()
        .into_iter()
        .map(|child| Store::new(Box::new(Direct::new(MemoryBackend::new(child.device.capacity())))));
    let engine = engine().with_policy(policy().build(PLACEMENTS, 3).unwrap());
    let mut driver =
        RealDriver::new(Box::new(engine), stores.collect(), Box::new(DirectJournal::new(BrokenJournal)), &clock);
    let tag = |slot| Tag::new(slot, 0);
    let write = Request::new(RequestKind::Write { fua: true }, Lba(0), Bytes(512));
    driver.submit(tag(0), write, vec![1; 512]);
    driver.submit(tag(1), Request::read(Lba(0), Bytes(512)), Vec::new());
    assert_eq!(driver.state(), DeviceState::Online);
    driver.step();
    assert_eq!(driver.failure().unwrap().to_string(), "the journal's disk is gone");
    assert_eq!(driver.state(), DeviceState::Failed);
    driver.submit(tag(2), request(9, 0, 1, false), Vec::new());
    driver.submit(tag(3), write, vec![1; 512]);
    driver.submit(tag(4), Request::read(Lba(0), Bytes(512)), Vec::new());
    driver.step();
    let results: Vec<_> =
        std::iter::from_fn(|| driver.next_reply()).map(|reply| (reply.tag.slot(), reply.result)).collect();
    let failed = Err(DeviceError::Failed);
    assert_eq!(results, [(0, failed), (1, Ok(())), (2, failed), (3, failed), (4, Ok(()))]);
    assert_eq!(driver.next_event(), Nanos::NEVER);
}

/// A request is answered after it was submitted, also if others were submitted earlier without a step in between.
#[test]
fn no_reply_is_older_than_its_request() {
    let clock = FakeClock::default();
    let stores = models()
        .into_iter()
        .map(|child| Store::new(Box::new(Direct::new(MemoryBackend::new(child.device.capacity())))));
    let journal = Box::new(DirectJournal::new(MemoryJournal::default()));
    let mut driver = RealDriver::new(Box::new(engine()), stores.collect(), journal, &clock);
    let submitted = [0, 3, 8].map(Nanos);
    for (slot, at) in submitted.iter().enumerate() {
        clock.0.set(*at);
        // What was never written is answered by the engine alone.
        driver.submit(Tag::new(slot as u32, 0), Request::read(Lba(0), Bytes(512)), Vec::new());
        assert!(driver.next_event() <= *at, "a step is due");
    }
    driver.step();
    let replies: Vec<_> = std::iter::from_fn(|| driver.next_reply()).collect();
    assert_eq!(replies.len(), 3);
    for reply in replies {
        assert!(reply.at >= submitted[reply.tag.slot() as usize], "{reply:?}");
    }
}
