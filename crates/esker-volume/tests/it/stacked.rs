//! Engines stack in the real driver as they do in the simulator: a flash cache in front of a volume of two devices.

use std::io::{self, IoSlice};
use std::sync::{Arc, Mutex};

use esker_core::{
    Arrival, Bytes, Completion, EffectLog, Lba, Nanos, Observer, ReplayEnd, ReplaySettings, Request, RequestKind, Rng,
    TagSlab, Verdict, replay,
};
use esker_sim::{Child, Constant, ConstantSettings, EngineDevice, Instance};
use esker_tier::{
    Effect, Engine, FlashCacheEngine, FlashCacheSettings, PLACEMENTS, PlacementEngine, PlacementSettings, Record,
    RecordNumber, WriteHandling,
};
use esker_volume::{
    BlockingBackend, BlockingJournal, Clock, Direct, DirectJournal, Journal, MemoryBackend, MemoryJournal, RealDriver,
    Reply, Stacked, Store, share,
};
use proptest::prelude::*;

const LINE: Bytes = Bytes::kib(4);
const FLASH: Bytes = Bytes::kib(24);
const BELOW: [Bytes; 2] = [Bytes::kib(64), Bytes::kib(96)];

fn constant(name: &str, micros: u64, capacity: Bytes) -> Constant {
    let service_time = Nanos::from_micros(micros);
    let settings =
        ConstantSettings { service_time, service: Default::default(), servers: 1, capacity, queue_depth: Some(3) };
    Constant::new(name, &settings)
}

fn placement_settings() -> PlacementSettings {
    let policy = serde_json::from_str(r#"{"kind":"static-split","weights":[1,1]}"#).unwrap();
    PlacementSettings {
        extent: Bytes::kib(8),
        devices: BELOW.to_vec(),
        policy,
        policies: PLACEMENTS,
        free_on_trim: true,
    }
}

fn cache_settings(backing: Bytes) -> FlashCacheSettings {
    FlashCacheSettings { line: LINE, write: WriteHandling::WriteBack, ..FlashCacheSettings::new(FLASH, backing) }
}

fn placement() -> PlacementEngine {
    PlacementEngine::new(&placement_settings()).unwrap()
}

fn cache() -> FlashCacheEngine {
    FlashCacheEngine::new(&cache_settings(placement().capacity())).unwrap()
}

/// A wall clock that is set by hand; clones show the same time.
#[derive(Clone, Default)]
struct FakeClock(Arc<Mutex<Nanos>>);
impl Clock for FakeClock {
    fn now(&self) -> Nanos {
        *self.0.lock().unwrap()
    }
}

/// The effects of an engine with their times.
type Log = Arc<Mutex<Vec<(Nanos, Effect)>>>;

fn logged(log: &Log) -> EffectLog<Effect> {
    let log = log.clone();
    Box::new(move |at, effect| log.lock().unwrap().push((at, effect.clone())))
}

struct Quiet;
impl<D: ?Sized> Observer<D> for Quiet {
    fn completed(&mut self, _: Nanos, _: &Request, _: &Completion) -> Verdict {
        Verdict::Continue
    }
}

/// The effects of the cache and of the volume below it in the simulator.
fn simulated(arrivals: &[Arrival]) -> [Log; 2] {
    let logs: [Log; 2] = Default::default();
    let child = |name: &str, micros, capacity| Child {
        name: name.to_string(),
        device: Box::new(constant(name, micros, capacity)),
    };
    let below = vec![child("first", 350, BELOW[0]), child("second", 410, BELOW[1])];
    let below = EngineDevice::new("hybrid", placement(), Instance::new("below", below), Some(10_000));
    let below = Child { name: "below".to_string(), device: Box::new(below.with_log(logged(&logs[1]))) };
    let children = vec![child("flash", 70, FLASH), below];
    let device = EngineDevice::new("cache", cache(), Instance::new("volume", children), Some(10_000));
    let mut device = device.with_log(logged(&logs[0]));
    let end = replay(&mut device, arrivals.iter().copied(), &ReplaySettings::OPEN, &mut Quiet).unwrap();
    assert_eq!(end.end, ReplayEnd::Complete);
    logs
}

fn paced(name: &str, micros: u64, capacity: Bytes) -> Store {
    let memory = MemoryBackend::new(capacity);
    Store::paced(Box::new(Direct::new(memory)), Box::new(constant(name, micros, capacity)))
}

/// A cache over a volume, whose engines share a journal.
fn stack(
    [cache, placement]: [RealEngine; 2],
    [flash, first, second]: [Store; 3],
    journal: Box<dyn Journal>,
    clock: &FakeClock,
) -> RealDriver<dyn Engine, FakeClock> {
    let mut journals = share(journal, 2).into_iter().map(|share| Box::new(share) as Box<dyn Journal>);
    let own = journals.next().unwrap();
    let below = RealDriver::new(placement.engine, vec![first, second], journals.next().unwrap(), clock.clone());
    let below = below.with_log(logged(&placement.log));
    let stores = vec![flash, Store::new(Box::new(Stacked::new(below))).with_answer_limit(Nanos::NEVER)];
    RealDriver::new(cache.engine, stores, own, clock.clone()).with_log(logged(&cache.log))
}

struct RealEngine {
    engine: Box<dyn Engine>,
    log: Log,
}

fn engines(logs: &[Log; 2]) -> [RealEngine; 2] {
    let engine = |engine: Box<dyn Engine>, log: &Log| RealEngine { engine, log: log.clone() };
    [engine(Box::new(cache()), &logs[0]), engine(Box::new(placement()), &logs[1])]
}

/// The same effects in the real driver, which wakes up late.
fn real(arrivals: &[Arrival], seed: u64) -> [Log; 2] {
    let (clock, logs, mut rng) = (FakeClock::default(), <[Log; 2]>::default(), Rng::new(seed));
    let stores = [paced("flash", 70, FLASH), paced("first", 350, BELOW[0]), paced("second", 410, BELOW[1])];
    let journal = Box::new(DirectJournal::new(MemoryJournal::default()));
    let mut driver = stack(engines(&logs), stores, journal, &clock);
    let mut tags = TagSlab::default();
    let step = |driver: &mut RealDriver<dyn Engine, _>, tags: &mut TagSlab<()>| {
        driver.step();
        while let Some(Reply { tag, result, .. }) = driver.next_reply() {
            assert_eq!(result, Ok(()));
            tags.remove(tag);
        }
    };
    for together in arrivals.chunk_by(|a, b| a.at == b.at) {
        while clock.now() < together[0].at {
            let late = Nanos(rng.below(together[0].at.0 - clock.now().0 + 1) + 1);
            let at = (clock.now() + late).min(together[0].at);
            *clock.0.lock().unwrap() = at;
            step(&mut driver, &mut tags);
        }
        step(&mut driver, &mut tags);
        for Arrival { request, .. } in together {
            let data = if let RequestKind::Write { .. } = request.kind { request.length.0 as usize } else { 0 };
            driver.submit(tags.insert(()), *request, vec![1; data]);
        }
        step(&mut driver, &mut tags);
    }
    while driver.next_event() != Nanos::NEVER {
        *clock.0.lock().unwrap() = driver.next_event() + Nanos(rng.below(1_000_000));
        step(&mut driver, &mut tags);
    }
    assert!(tags.is_empty());
    logs
}

/// Memory that outlives its volume.
#[derive(Clone)]
struct SharedMemory(Arc<Mutex<MemoryBackend>>);
impl BlockingBackend for SharedMemory {
    fn capacity(&self) -> Bytes {
        self.0.lock().unwrap().capacity()
    }
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.lock().unwrap().read(offset, buffer)
    }
    fn write(&mut self, offset: u64, data: &mut [IoSlice<'_>], durable: bool) -> io::Result<()> {
        self.0.lock().unwrap().write(offset, data, durable)
    }
    fn write_zeroes(&mut self, offset: u64, length: u64, durable: bool) -> io::Result<()> {
        self.0.lock().unwrap().write_zeroes(offset, length, durable)
    }
    fn trim(&mut self, offset: u64, length: u64) -> io::Result<()> {
        self.0.lock().unwrap().trim(offset, length)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().unwrap().flush()
    }
}

/// A journal that outlives its volume.
struct SharedJournal(Arc<Mutex<MemoryJournal>>);
impl BlockingJournal for SharedJournal {
    fn append(&mut self, number: RecordNumber, layer: u8, record: Record) -> io::Result<()> {
        self.0.lock().unwrap().append(number, layer, record)
    }
    fn harden(&mut self, through: RecordNumber) -> io::Result<()> {
        self.0.lock().unwrap().harden(through)
    }
}

fn requests() -> impl Strategy<Value = Vec<(u64, u8, u64, u64, bool)>> {
    let gap = prop_oneof![Just(0u64), Just(70), Just(350), 0u64..500];
    prop::collection::vec((gap, 0u8..9, 0u64..320, 1u64..20, any::<bool>()), 1..60)
}

fn request(kind: u8, start: u64, sectors: u64, fua: bool) -> Request {
    let length = Bytes(sectors.min(320 - start) * 512);
    match kind {
        0..4 => Request::new(RequestKind::Write { fua }, Lba(start), length),
        4..7 => Request::read(Lba(start), length),
        7 => Request::new(RequestKind::WriteZeroes { fua }, Lba(start), length),
        _ => Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO),
    }
}

fn arrivals(requests: &[(u64, u8, u64, u64, bool)]) -> Vec<Arrival> {
    let mut at = Nanos::ZERO;
    let arrival = |&(gap, kind, start, sectors, fua): &(u64, u8, u64, u64, bool)| {
        at += Nanos::from_micros(gap);
        Arrival { at, request: request(kind, start, sectors, fua) }
    };
    requests.iter().map(arrival).collect()
}

proptest! {
    /// Both engines of the stack perform the same effects in the same order at the same times in both worlds.
    #[test]
    fn a_stack_does_the_same_in_the_simulator_and_over_stores(requests in requests(), seed: u64) {
        let arrivals = arrivals(&requests);
        let (simulated, real) = (simulated(&arrivals), real(&arrivals, seed));
        for (simulated, real) in simulated.iter().zip(&real) {
            let (simulated, real) = (simulated.lock().unwrap(), real.lock().unwrap());
            // A replay ends with its last request; the real driver goes on.
            let mut pairs = simulated.iter().zip(real.iter());
            prop_assert_eq!(pairs.find(|(simulated, real)| simulated != real), None);
            prop_assert!(real.len() >= simulated.len());
        }
    }

    /// Reads return what was written last, and what was flushed survives a restart from the shared journal.
    #[test]
    fn a_stack_keeps_its_data_over_a_restart(requests in requests()) {
        let clock = FakeClock::default();
        let journal = Arc::new(Mutex::new(MemoryJournal::default()));
        let memory = |capacity| SharedMemory(Arc::new(Mutex::new(MemoryBackend::new(capacity))));
        let memories = [FLASH, BELOW[0], BELOW[1]].map(memory);
        let stores = || memories.clone().map(|memory| Store::new(Box::new(Direct::new(memory))));
        let logs = Default::default();
        let shared = Box::new(DirectJournal::new(SharedJournal(journal.clone())));
        let mut driver = stack(engines(&logs), stores(), shared, &clock);
        let mut bytes = vec![0u8; 320 * 512];
        let serve = |driver: &mut RealDriver<dyn Engine, _>, request: Request, data: Vec<u8>| {
            driver.submit(esker_core::Tag::new(0, 0), request, data);
            driver.step();
            let reply = driver.next_reply().expect("memory answers at once");
            reply.result.map(|()| reply.data.to_vec())
        };
        for (index, &(_, kind, start, sectors, fua)) in requests.iter().enumerate() {
            let request = request(kind, start, sectors, fua);
            let range = request.start.byte_offset() as usize..request.end_byte() as usize;
            let is_write = matches!(request.kind, RequestKind::Write { .. });
            let data = if is_write { vec![index as u8 + 1; range.len()] } else { vec![] };
            let read = serve(&mut driver, request, data.clone()).unwrap();
            match request.kind {
                RequestKind::Read => prop_assert_eq!(&read, &bytes[range]),
                RequestKind::Write { .. } => bytes[range].copy_from_slice(&data),
                RequestKind::WriteZeroes { .. } => bytes[range].fill(0),
                _ => {}
            }
        }
        serve(&mut driver, request(8, 0, 1, false), vec![]).unwrap();
        drop(driver);
        let records = |layer| journal.lock().unwrap().hardened(layer).collect::<Vec<_>>().into_iter();
        let (through, none) = (RecordNumber(0), &mut std::iter::empty());
        let placement = PlacementEngine::restore(&placement_settings(), through, none, &mut records(1)).unwrap();
        let cache = cache_settings(placement.capacity());
        let cache = FlashCacheEngine::restore(&cache, through, &mut std::iter::empty(), &mut records(0)).unwrap();
        let restored = [Box::new(cache) as Box<dyn Engine>, Box::new(placement)];
        let restored = restored.map(|engine| RealEngine { engine, log: Log::default() });
        let journal = Box::new(DirectJournal::new(MemoryJournal::default()));
        let mut driver = stack(restored, stores(), journal, &clock);
        let all = Request::read(Lba(0), Bytes(bytes.len() as u64));
        prop_assert!(serve(&mut driver, all, vec![]).unwrap() == bytes, "data were lost");
    }
}

/// The comparison is not empty: both engines send requests, and issue records.
#[test]
fn both_engines_of_a_stack_have_work() {
    let writes = (0..12).map(|line| (100, 0, line * 8, 8, false));
    let requests: Vec<_> = writes.chain([(5_000, 8, 0, 1, false), (5_000, 4, 0, 19, false)]).collect();
    for log in real(&arrivals(&requests), 1) {
        let log = log.lock().unwrap();
        let count = |kind: fn(&Effect) -> bool| log.iter().filter(|(_, effect)| kind(effect)).count();
        assert!(count(|effect| matches!(effect, Effect::Io { .. })) >= 10, "{log:?}");
        assert!(count(|effect| matches!(effect, Effect::Record { .. })) >= 3, "{log:?}");
        assert!(count(|effect| matches!(effect, Effect::Harden { .. })) >= 1, "{log:?}");
    }
}
