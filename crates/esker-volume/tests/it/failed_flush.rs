//! Stores whose flushes fail now and then and drop their data. Some stores answer late and in another order, and
//! extents move meanwhile. If a flush succeeds, none of its data may be lost.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use esker_core::{Bytes, DeviceError, DeviceState, Lba, Nanos, Request, RequestKind, Rng, Tag};
use esker_tier::{
    Checkpoint, DeviceIndex, DeviceView, Engine, Event, LogicalExtent, MemoryCache, NewExtent, PLACEMENTS, Placement,
    PlacementEngine, PlacementRecord, PlacementSettings, Record, RecordNumber, Reshape, Rewrite, WishedMove, Wishes,
};
use esker_volume::{
    Backend, BlockingBackend, BlockingJournal, Clock, Direct, DirectJournal, FileBackend, Journal, MemoryJournal,
    RealDriver, Store,
};

use crate::faulty::{CachedFile, LateBackend, RetryingFile};

const SECTOR: usize = 512;
const EXTENT: Bytes = Bytes::kib(8);
const SECTORS: u64 = EXTENT.0 / SECTOR as u64;
const DEVICES: [Bytes; 2] = [Bytes::kib(48), Bytes::kib(32)];

/// A journal that answers late.
struct LateJournal {
    journal: DirectJournal<SharedJournal>,
    hardening: VecDeque<RecordNumber>,
    rng: Rng,
}

impl Journal for LateJournal {
    fn append(&mut self, number: RecordNumber, layer: u8, record: Record) {
        self.journal.append(number, layer, record);
    }
    fn harden(&mut self, through: RecordNumber) {
        self.hardening.push_back(through);
    }
    fn take_ended(&mut self, now: Nanos, ended: &mut Vec<io::Result<RecordNumber>>) {
        while self.rng.chance(1, 3)
            && let Some(through) = self.hardening.pop_front()
        {
            self.journal.harden(through);
        }
        self.journal.take_ended(now, ended);
    }
}

/// A policy that asks for moves all the time.
#[derive(Debug)]
struct Restless(Rng);

impl Placement for Restless {
    fn place(&mut self, new: &NewExtent<'_>, _: &[DeviceView]) -> DeviceIndex {
        DeviceIndex((new.extent.0 % 2) as u16)
    }
    fn redirect(&mut self, _: &Rewrite<'_>, devices: &[DeviceView]) -> Option<DeviceIndex> {
        REDIRECTED.fetch_add(1, Ordering::Relaxed);
        Some(DeviceIndex(self.0.below(devices.len() as u64) as u16))
    }
    fn redirects(&self) -> bool {
        true
    }
    fn devices_joined(&mut self, _: usize) {}
    fn observes(&self) -> bool {
        true
    }
    fn observe(&mut self, _: Nanos, event: &Event<'_>, devices: &[DeviceView], wishes: &mut Wishes) {
        if let Event::Request { .. } = event {
            let device = DeviceIndex(self.0.below(devices.len() as u64) as u16);
            wishes.moves.push(WishedMove::in_background(LogicalExtent(self.0.below(10) as u32), device));
        }
    }
}

#[derive(Clone, Default)]
struct SharedJournal {
    inner: Arc<Mutex<MemoryJournal>>,
    /// One in this many hardenings fails; none if 0.
    failures: u64,
    hardenings: u64,
}

impl BlockingJournal for SharedJournal {
    fn append(&mut self, number: RecordNumber, layer: u8, record: Record) -> io::Result<()> {
        self.inner.lock().unwrap().append(number, layer, record)
    }
    fn harden(&mut self, through: RecordNumber) -> io::Result<()> {
        self.hardenings += 1;
        if self.failures > 0 && self.hardenings.is_multiple_of(self.failures) {
            return Err(io::Error::other("the journal's disk is gone"));
        }
        self.inner.lock().unwrap().harden(through)
    }
}

type Driver = RealDriver<dyn Engine, NoClock>;

struct NoClock;
impl Clock for NoClock {
    fn now(&self) -> Nanos {
        Nanos::ZERO
    }
}

fn settings() -> PlacementSettings {
    let policy = serde_json::from_str(r#"{"kind":"static-split"}"#).unwrap();
    PlacementSettings { extent: EXTENT, devices: DEVICES.to_vec(), policy, policies: PLACEMENTS, free_on_trim: false }
}

fn paths(folder: &Path) -> [PathBuf; 2] {
    [folder.join("0"), folder.join("1")]
}

fn serve(driver: &mut Driver, request: Request, data: Vec<u8>) -> Result<Vec<u8>, esker_core::DeviceError> {
    driver.submit(Tag::new(0, 0), request, data);
    let reply = (0..100_000).find_map(|_| {
        driver.step();
        driver.next_reply()
    });
    let reply = reply.expect("every request is answered");
    reply.result.map(|()| reply.data.to_vec())
}

const FLUSH: Request = Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO);

/// For each sector, the values that it may hold after a loss of power: the last value that was promised, and all later
/// ones, each with whether its write succeeded.
struct Host {
    allowed: Vec<Vec<(u64, bool)>>,
    failed: bool,
    /// Whether a store was to be drained, so that there may be no room.
    drained: bool,
}

impl Host {
    /// Submits one random request.
    fn ask(&mut self, driver: &mut Driver, rng: &mut Rng, value: u64) -> Result<(), String> {
        let start = rng.below(self.allowed.len() as u64);
        let start = if rng.chance(1, 2) { start / SECTORS * SECTORS } else { start };
        let sectors = 1 + rng.below((self.allowed.len() as u64 - start).min(3 * SECTORS));
        let (range, length) = (start as usize..(start + sectors) as usize, Bytes(sectors * SECTOR as u64));
        let fua = rng.chance(1, 4);
        let (request, value) = match rng.below(8) {
            0..4 => (Request::new(RequestKind::Write { fua }, Lba(start), length), value),
            4 => (Request::new(RequestKind::WriteZeroes { fua }, Lba(start), length), 0),
            5 => (Request::read(Lba(start), length), 0),
            _ => (FLUSH, 0),
        };
        let data = match request.kind {
            RequestKind::Write { .. } => value.to_le_bytes().repeat(length.0 as usize / 8),
            _ => Vec::new(),
        };
        let result = serve(driver, request, data);
        match request.kind {
            // What was not durable on a failed store cannot be read any more.
            RequestKind::Read if result == Err(DeviceError::Failed) && driver.failure().is_some() => return Ok(()),
            RequestKind::Read => {
                let data = result.map_err(|error| format!("reads go on: {error}"))?;
                return self.check(range, &data);
            }
            RequestKind::Flush if result.is_ok() => {
                for values in &mut self.allowed {
                    let last = values.iter().rposition(|(_, succeeded)| *succeeded).expect("the first one did");
                    values.drain(..last);
                }
                if self.failed && !self.drained {
                    return Err("a flush says Ok after one that failed".to_string());
                }
            }
            _ => {}
        }
        for values in self.allowed[range].iter_mut().filter(|_| request.kind.is_write()) {
            match result.is_ok() && fua {
                true => *values = vec![(value, true)],
                false => values.push((value, result.is_ok())),
            }
        }
        self.failed |= result.is_err();
        Ok(())
    }

    fn check(&self, range: std::ops::Range<usize>, data: &[u8]) -> Result<(), String> {
        for (sector, found) in range.zip(data.chunks(SECTOR)) {
            let value = u64::from_le_bytes(found[..8].try_into().unwrap());
            let is_allowed = self.allowed[sector].iter().any(|(allowed, _)| *allowed == value);
            if !is_allowed || found.chunks(8).any(|word| word != &found[..8]) {
                return Err(format!("sector {sector}: {value}, not in {:?}", self.allowed[sector]));
            }
        }
        Ok(())
    }
}

/// Number of durable moves in all runs of this process.
static MOVED: AtomicUsize = AtomicUsize::new(0);

/// Number of times that a write could have been redirected.
static REDIRECTED: AtomicUsize = AtomicUsize::new(0);

#[derive(Clone, Copy)]
enum StoreKind {
    Direct,
    Retrying,
    Late,
}

/// Gives half of the volumes a cache for three of their ten extents.
fn half_cached(engine: PlacementEngine, seed: u64) -> Box<dyn Engine> {
    match seed % 2 {
        0 => Box::new(engine),
        _ => Box::new(MemoryCache::new(engine, 3)),
    }
}

/// Restores the engine from the records of a journal. Its map has all of them.
fn restore(records: &[Record]) -> PlacementEngine {
    let (none, mut journal) = (&mut std::iter::empty(), records.iter().copied());
    let mut engine = PlacementEngine::restore(&settings(), RecordNumber(0), none, &mut journal).unwrap();
    let count = |records: &[Record], kind: fn(PlacementRecord) -> bool| {
        records.iter().filter(|&&record| kind(record.try_into().unwrap())).count()
    };
    MOVED.fetch_add(count(records, |record| matches!(record, PlacementRecord::Moved { .. })), Ordering::Relaxed);
    let is_mapped = |record| matches!(record, PlacementRecord::Mapped { .. });
    let restored = Checkpoint::of(&mut engine).records;
    assert_eq!(count(&restored, is_mapped), count(records, is_mapped), "the map is the last durable one");
    engine
}

/// Runs random requests until the power is lost, opens the files again, and restores the engine from the durable
/// records. The error says which data were lost. Returns true if anything had failed.
fn live_and_reopen(seed: u64, kind: StoreKind) -> Result<bool, String> {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = Rng::new(seed);
    let mut failures = |most| if rng.chance(1, 3) { 0 } else { 1 + rng.below(most) };
    let journal = SharedJournal { failures: failures(12), ..SharedJournal::default() };
    let odds = [failures(8), failures(8)];
    let stores = paths(folder.path()).into_iter().zip(DEVICES).zip(odds).map(|((path, capacity), failures)| {
        let mut file = FileBackend::create(&path, capacity).unwrap();
        // Somebody else's data: they must never be seen.
        file.write(0, &mut [std::io::IoSlice::new(&vec![0xEE; capacity.0 as usize])], false).unwrap();
        let rng = Rng::new(seed + failures);
        let cached = CachedFile { file, cache: BTreeMap::new(), dirty: BTreeSet::new(), failures, rng };
        let backend: Box<dyn Backend> = match kind {
            StoreKind::Retrying => Box::new(Direct::new(RetryingFile(cached))),
            StoreKind::Direct => Box::new(Direct::new(cached)),
            StoreKind::Late => {
                Box::new(LateBackend { store: Box::new(cached), waiting: Vec::new(), rng: Rng::new(seed + 7) })
            }
        };
        Store::new(backend)
    });
    let mut engine = PlacementEngine::new(&settings()).unwrap();
    let mut records: Box<dyn Journal> = Box::new(DirectJournal::new(journal.clone()));
    if let StoreKind::Late = kind {
        engine = engine.with_policy(Box::new(Restless(Rng::new(seed + 3))));
        let (journal, rng) = (DirectJournal::new(journal.clone()), Rng::new(seed + 5));
        records = Box::new(LateJournal { journal, hardening: VecDeque::new(), rng });
    }
    let mut driver = Driver::new(half_cached(engine, seed), stores.collect(), records, NoClock);
    let mut host =
        Host { allowed: vec![vec![(0, true)]; driver.capacity().0 as usize / SECTOR], failed: false, drained: false };
    for value in 1..=rng.below(60) {
        host.ask(&mut driver, &mut rng, value)?;
        if matches!(kind, StoreKind::Late) && rng.chance(1, 8) {
            let device = DeviceIndex(rng.below(2) as u16);
            let reshape = if rng.chance(1, 2) { Reshape::Drain { device } } else { Reshape::Keep { device } };
            host.drained |= driver.reshape(reshape, None).is_ok() && matches!(reshape, Reshape::Drain { .. });
        }
        assert_eq!(driver.state() == DeviceState::Failed, driver.failure().is_some());
        let has_reason = driver.state() == DeviceState::Failed || host.drained;
        assert!(!host.failed || has_reason, "a request failed for no reason");
    }
    drop(driver);

    let records = journal.inner.lock().unwrap().hardened(0).collect::<Vec<_>>();
    let engine = restore(&records);
    let stores = paths(folder.path()).map(|path| Store::new(Box::new(Direct::new(FileBackend::open(&path).unwrap()))));
    let journal = SharedJournal { inner: journal.inner.clone(), ..SharedJournal::default() };
    let journal = Box::new(DirectJournal::new(journal));
    let mut driver = Driver::new(Box::new(engine), stores.into(), journal, NoClock);
    let all = Request::read(Lba(0), driver.capacity());
    let data = serve(&mut driver, all, Vec::new()).map_err(|error| error.to_string())?;
    host.check(0..host.allowed.len(), &data)?;
    assert_eq!(driver.state(), DeviceState::Online, "opened anew, it promises again");
    Ok(host.failed)
}

#[test]
fn no_flush_that_said_ok_has_lied() {
    for stores in [StoreKind::Direct, StoreKind::Late] {
        let failed =
            (0..200).filter(|&seed| live_and_reopen(seed, stores).unwrap_or_else(|lost| panic!("{seed}: {lost}")));
        assert!((40..190).contains(&failed.count()), "runs with and without failures");
    }
    let counts = (MOVED.load(Ordering::Relaxed), REDIRECTED.load(Ordering::Relaxed));
    assert!(counts.0 > 100 && counts.1 > 100, "moved and redirected: {counts:?}");
}

/// If a store retries a failed flush and believes the second result, the same check finds lost data.
#[test]
fn a_store_that_tries_again_is_found_out() {
    let caught = (0..200)
        .filter(|&seed| live_and_reopen(seed, StoreKind::Retrying).is_err_and(|lost| lost.starts_with("sector")));
    assert!(caught.count() >= 10);
}

/// After a failed flush, only writes to that store fail, reads of what was not durable there, and all flushes of the
/// host.
#[test]
fn one_failed_store_fails_the_host_s_flushes_and_its_own_writes() {
    let folder = tempfile::tempdir().unwrap();
    let mut failures = 1;
    let stores = paths(folder.path()).into_iter().zip(DEVICES).map(|(path, capacity)| {
        let file = FileBackend::create(&path, capacity).unwrap();
        let failures = std::mem::take(&mut failures);
        let rng = Rng::new(1);
        let cached = CachedFile { file, cache: BTreeMap::new(), dirty: BTreeSet::new(), failures, rng };
        Store::new(Box::new(Direct::new(cached)))
    });
    let stores = stores.collect();
    let engine = PlacementEngine::new(&settings()).unwrap();
    let journal = Box::new(DirectJournal::new(MemoryJournal::default()));
    let mut driver = Driver::new(Box::new(engine), stores, journal, NoClock);
    let write = |extent: u64| Request::write(Lba(extent * SECTORS), EXTENT);
    for extent in 0..2 {
        serve(&mut driver, write(extent), vec![7; EXTENT.0 as usize]).unwrap();
    }
    for _ in 0..3 {
        assert!(serve(&mut driver, FLUSH, Vec::new()).is_err());
    }
    assert_eq!((driver.store_state(0), driver.store_state(1)), (DeviceState::Failed, DeviceState::Online));
    assert_eq!(driver.failure().unwrap().to_string(), "input/output error");
    assert!(serve(&mut driver, Request::write(Lba(0), Bytes(512)), vec![8; 512]).is_err());
    serve(&mut driver, write(1), vec![8; EXTENT.0 as usize]).unwrap();
    // What was not durable on the failed store is lost.
    let both = Request::read(Lba(0), Bytes(EXTENT.0 * 2));
    assert_eq!(serve(&mut driver, both, Vec::new()), Err(DeviceError::Failed));
    let data = serve(&mut driver, Request::read(Lba(SECTORS), EXTENT), Vec::new()).unwrap();
    assert_eq!(data, [8; EXTENT.0 as usize]);
    // A write that replaces a whole extent goes to the other store.
    serve(&mut driver, write(0), vec![9; EXTENT.0 as usize]).unwrap();
    let data = serve(&mut driver, both, Vec::new()).unwrap();
    assert_eq!(data, [[9; EXTENT.0 as usize], [8; EXTENT.0 as usize]].concat());
}
