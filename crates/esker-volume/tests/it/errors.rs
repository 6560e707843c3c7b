//! Stores that refuse writes, never answer, cannot be read, or are removed.

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use esker_core::{Bytes, DeviceError, DeviceState, Lba, Nanos, Request, RequestKind, Tag};
use esker_tier::{DeviceIndex, PLACEMENTS, PlacementEngine, PlacementSettings, Reshape};
use esker_volume::{
    Backend, Clock, Direct, DirectJournal, Ended, MemoryBackend, MemoryJournal, Operation, RealDriver, Store,
};

use crate::faulty::{FaultyBackend, StoreFault};

const EXTENT: Bytes = Bytes::kib(8);
const EXTENTS: u64 = 100;
const DEVICE: Bytes = Bytes(EXTENT.0 * EXTENTS);
const FLUSH: Request = Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO);

#[derive(Default)]
struct HandClock(Cell<Nanos>);

impl Clock for HandClock {
    fn now(&self) -> Nanos {
        self.0.get()
    }
}

/// A back end that never answers.
struct SilentBackend;

impl Backend for SilentBackend {
    fn capacity(&self) -> Bytes {
        DEVICE
    }
    fn submit(&mut self, _: Nanos, _: u64, _: Operation) {}
    fn take_ended(&mut self, _: &mut Vec<Ended>) {}
}

type Driver<'a> = RealDriver<PlacementEngine, &'a HandClock>;

/// Creates a driver of two stores, the first of which is `first`.
fn driver(first: Store, clock: &HandClock) -> Driver<'_> {
    let policy = serde_json::from_str(r#"{"kind":"static-split"}"#).unwrap();
    let settings = PlacementSettings {
        extent: EXTENT,
        devices: vec![DEVICE; 2],
        policy,
        policies: PLACEMENTS,
        free_on_trim: true,
    };
    let second = Store::new(Box::new(Direct::new(MemoryBackend::new(DEVICE))));
    let engine = PlacementEngine::new(&settings).unwrap();
    RealDriver::new(
        Box::new(engine),
        vec![first, second],
        Box::new(DirectJournal::new(MemoryJournal::default())),
        clock,
    )
}

fn faulty(fault: StoreFault) -> (Store, Arc<AtomicBool>) {
    let on = Arc::new(AtomicBool::new(false));
    let store = FaultyBackend { memory: MemoryBackend::new(DEVICE), fault, on: on.clone() };
    (Store::new(Box::new(Direct::new(store))), on)
}

fn ask(driver: &mut Driver<'_>, request: Request, data: Vec<u8>) -> Result<Vec<u8>, DeviceError> {
    driver.submit(Tag::new(0, 0), request, data);
    driver.step();
    let reply = driver.next_reply().expect("it ends at once");
    reply.result.map(|()| reply.data.to_vec())
}

fn write(driver: &mut Driver<'_>, extent: u64) -> Result<Vec<u8>, DeviceError> {
    let request = Request::write(Lba::containing(extent * EXTENT.0), EXTENT);
    ask(driver, request, vec![extent as u8 + 1; EXTENT.0 as usize])
}

fn read(driver: &mut Driver<'_>, extent: u64) -> Result<Vec<u8>, DeviceError> {
    ask(driver, Request::read(Lba::containing(extent * EXTENT.0), EXTENT), Vec::new())
}

/// None of 80 writes fails, although one of the two stores is full. Later that store is tried again.
#[test]
fn a_full_store_costs_the_host_no_write_and_is_tried_again() {
    let clock = HandClock::default();
    let (store, full) = faulty(StoreFault::Full);
    let mut driver = driver(store, &clock);
    full.store(true, Ordering::Relaxed);
    for extent in 0..80 {
        write(&mut driver, extent).unwrap();
    }
    ask(&mut driver, FLUSH, Vec::new()).unwrap();
    assert_eq!((driver.store_state(0), driver.state()), (DeviceState::ReadOnly, DeviceState::ReadOnly));
    assert!(driver.failure().is_none(), "nothing is lost");
    for extent in 0..80 {
        assert_eq!(read(&mut driver, extent).unwrap(), vec![extent as u8 + 1; EXTENT.0 as usize]);
    }
    full.store(false, Ordering::Relaxed);
    clock.0.set(Nanos::from_secs(20));
    write(&mut driver, 80).unwrap();
    assert_eq!(driver.state(), DeviceState::Online);
    assert_eq!(driver.next_event(), Nanos::NEVER, "nothing is left to look at");
}

#[test]
fn a_store_that_does_not_answer_has_failed_after_its_limit() {
    let clock = HandClock::default();
    let store = Store::new(Box::new(SilentBackend)).with_answer_limit(Nanos::from_secs(2));
    let mut driver = driver(store, &clock);
    // Extent 0 is on the first store, extent 1 on the second.
    let tags = [Tag::new(0, 0), Tag::new(1, 0)];
    for (extent, tag) in tags.into_iter().enumerate() {
        let request = Request::write(Lba::containing(extent as u64 * EXTENT.0), EXTENT);
        driver.submit(tag, request, vec![9; EXTENT.0 as usize]);
    }
    driver.step();
    assert_eq!(driver.next_reply().map(|reply| (reply.tag, reply.result)), Some((tags[1], Ok(()))));
    assert!(driver.next_reply().is_none() && driver.is_busy());
    for due in [Nanos::from_millis(1_800), Nanos::from_secs(2)] {
        assert_eq!(driver.next_event(), due);
        clock.0.set(due);
        driver.step();
    }
    assert_eq!(driver.next_reply().map(|reply| (reply.tag, reply.result)), Some((tags[0], Err(DeviceError::Failed))));
    assert_eq!((driver.store_state(0), driver.store_state(1)), (DeviceState::Failed, DeviceState::Online));
    let told = driver.failure().unwrap();
    assert_eq!((told.kind(), told.to_string().contains("2s")), (io::ErrorKind::TimedOut, true), "{told}");
    assert!(!driver.is_busy());
    // The other store goes on, and new data go there.
    for extent in 1..20 {
        write(&mut driver, extent).unwrap();
        assert_eq!(read(&mut driver, extent).unwrap()[0], extent as u8 + 1);
    }
    assert_eq!(ask(&mut driver, FLUSH, Vec::new()), Err(DeviceError::Failed), "what it had acknowledged may be lost");
}

/// A back end that answers flushes only when the test says so.
struct HoldsFlushes {
    inner: Direct<MemoryBackend>,
    held: Vec<(u64, Operation)>,
    hold: Arc<AtomicBool>,
}

impl HoldsFlushes {
    /// A store that holds them as long as `hold` says so.
    fn store(hold: &Arc<AtomicBool>) -> Store {
        let inner = Direct::new(MemoryBackend::new(DEVICE));
        Store::new(Box::new(Self { inner, held: Vec::new(), hold: hold.clone() }))
    }
}

impl Backend for HoldsFlushes {
    fn capacity(&self) -> Bytes {
        DEVICE
    }
    fn submit(&mut self, now: Nanos, id: u64, operation: Operation) {
        match operation.kind {
            RequestKind::Flush if self.hold.load(Ordering::Relaxed) => self.held.push((id, operation)),
            _ => self.inner.submit(now, id, operation),
        }
    }
    fn take_ended(&mut self, ended: &mut Vec<Ended>) {
        if !self.hold.load(Ordering::Relaxed) {
            self.held.drain(..).for_each(|(id, operation)| self.inner.submit(Nanos::ZERO, id, operation));
        }
        self.inner.take_ended(ended);
    }
}

/// The process was stopped, or its machine was: what its devices have answered meanwhile it can only take afterwards.
#[test]
fn a_store_has_not_failed_because_the_process_stood_still() {
    let clock = HandClock::default();
    let hold = Arc::new(AtomicBool::new(true));
    let mut driver = driver(HoldsFlushes::store(&hold), &clock);
    write(&mut driver, 0).unwrap();
    driver.submit(Tag::new(7, 0), FLUSH, Vec::new());
    driver.step();
    clock.0.set(Nanos::from_secs(90));
    driver.step();
    hold.store(false, Ordering::Relaxed);
    driver.step();
    assert_eq!(driver.next_reply().map(|reply| (reply.tag.slot(), reply.result)), Some((7, Ok(()))));
    assert_eq!(driver.state(), DeviceState::Online);
}

/// A flush that waits for a store ends when the store is removed: it holds no data any more.
#[test]
fn a_flush_under_way_ends_when_its_store_is_removed() {
    let clock = HandClock::default();
    let hold = Arc::new(AtomicBool::new(false));
    let mut driver = driver(HoldsFlushes::store(&hold), &clock);
    write(&mut driver, 0).unwrap();
    hold.store(true, Ordering::Relaxed);
    driver.submit(Tag::new(7, 0), FLUSH, Vec::new());
    driver.step();
    assert!(driver.next_reply().is_none(), "the first store has not flushed");
    let device = DeviceIndex(0);
    driver.reshape(Reshape::Drain { device }, None).unwrap();
    driver.step();
    assert_eq!(driver.drained(), [0]);
    driver.reshape(Reshape::Remove { device }, None).unwrap();
    driver.step();
    assert_eq!(driver.next_reply().map(|reply| (reply.tag.slot(), reply.result)), Some((7, Ok(()))));
    assert_eq!(driver.state(), DeviceState::Online);
    assert_eq!(read(&mut driver, 0).unwrap()[0], 1);
}

/// The drain of a store that cannot be read ends once the host has replaced its data; then the store can be removed.
#[test]
fn a_store_is_drained_and_removed() {
    let clock = HandClock::default();
    let (store, unreadable) = faulty(StoreFault::Unreadable);
    let mut driver = driver(store, &clock);
    for extent in 0..8 {
        write(&mut driver, extent).unwrap();
    }
    unreadable.store(true, Ordering::Relaxed);
    let device = DeviceIndex(0);
    driver.reshape(Reshape::Drain { device }, None).unwrap();
    for second in 1..10 {
        clock.0.set(Nanos::from_secs(second));
        driver.step();
    }
    let stuck = driver.stuck();
    assert!(stuck.len() == 1 && stuck[0].extents == 4 && stuck[0].store == 0, "{stuck:?}");
    assert!(driver.reshape(Reshape::Remove { device }, None).is_err());
    for extent in 0..8 {
        write(&mut driver, extent).unwrap();
    }
    ask(&mut driver, FLUSH, Vec::new()).unwrap();
    assert_eq!((driver.drained(), driver.stuck()), (&[0][..], &[][..]));
    driver.reshape(Reshape::Remove { device }, None).unwrap();
    for extent in 0..20 {
        write(&mut driver, extent).unwrap();
        assert_eq!(read(&mut driver, extent).unwrap()[0], extent as u8 + 1);
    }
    ask(&mut driver, FLUSH, Vec::new()).unwrap();
    assert_eq!(driver.state(), DeviceState::Online);
}
