//! Requests allocate nothing once as many have been under way before.

use allocation_counter::measure;
use esker_core::{Bytes, Lba, Nanos, Ratio, Request, Rng, Tag};
use esker_tier::{Engine, MemoryCache, PLACEMENTS, PlacementEngine, PlacementSettings, StripeEngine, StripeSettings};
use esker_volume::{
    Backend, Clock, DeviceIo, DeviceSettings, Direct, DirectJournal, FileBackend, IoChoice, MemoryJournal, OpenDevice,
    RealDriver, Store, divide,
};

use crate::null_store::NullStore;

const DEVICE: Bytes = Bytes::mib(64);

struct NoClock;
impl Clock for NoClock {
    fn now(&self) -> Nanos {
        Nanos::ZERO
    }
}

fn placement() -> PlacementEngine {
    let policy = serde_json::from_str(r#"{"kind":"static-split","weights":[2,1]}"#).unwrap();
    let settings = PlacementSettings {
        extent: Bytes::kib(128),
        devices: vec![DEVICE; 2],
        policy,
        policies: PLACEMENTS,
        free_on_trim: true,
    };
    let mut engine = PlacementEngine::new(&settings).unwrap();
    engine.offer(Bytes::mib(100)).unwrap();
    engine.fill(Ratio::ONE);
    engine
}

/// Reads and writes of 4 KiB to 256 KiB anywhere, `depth` at a time. `wait` waits until stores have ended something.
fn serve(driver: &mut RealDriver<dyn Engine, NoClock>, rounds: u32, depth: u32, mut wait: impl FnMut()) {
    let (mut rng, capacity) = (Rng::new(1), driver.capacity().0);
    for _ in 0..rounds {
        for slot in 0..depth {
            let length = 4096 << rng.below(7);
            let start = Lba::containing(rng.below((capacity - length) / 4096) * 4096);
            let (request, length) = (Request::read(start, Bytes(length)), length as usize);
            match rng.chance(1, 2) {
                true => driver.submit(Tag::new(slot, 0), request, Vec::new()),
                false => {
                    let data = driver.buffer(length);
                    driver.submit(Tag::new(slot, 0), Request::write(start, Bytes(length as u64)), data);
                }
            }
        }
        let mut left = depth;
        while left > 0 {
            driver.step();
            let before = left;
            while let Some(reply) = driver.next_reply() {
                assert_eq!(reply.result, Ok(()));
                driver.recycle(reply.data);
                left -= 1;
            }
            if left == before {
                wait();
            }
        }
    }
}

#[test]
fn requests_allocate_nothing() {
    let stripes = StripeEngine::new(&StripeSettings { unit: Bytes::kib(16), devices: vec![DEVICE; 2] }).unwrap();
    let engines: [(&str, Box<dyn Engine>); 3] = [
        ("placement", Box::new(placement())),
        ("stripes", Box::new(stripes)),
        ("memory cache", Box::new(MemoryCache::new(placement(), 20))),
    ];
    for (name, engine) in engines {
        let stores = (0..2).map(|_| Store::new(Box::new(Direct::new(NullStore(DEVICE))))).collect();
        let journal = Box::new(DirectJournal::new(MemoryJournal::default()));
        let mut driver = RealDriver::new(engine, stores, journal, NoClock);
        // The same requests, so that no more of one size are under way than before.
        let late = || panic!("the store answers at once");
        serve(&mut driver, 2000, 8, late);
        let made = measure(|| serve(&mut driver, 2000, 8, late));
        assert_eq!(made.count_total, 0, "16,000 requests to {name} allocate {} bytes", made.bytes_total);
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "what is skipped is said")]
fn requests_to_files_allocate_nothing() {
    for is_direct in [false, true] {
        let io = match DeviceIo::start(IoChoice::Ring) {
            Ok(io) => io,
            Err(error) => return eprintln!("skipped: io_uring: {error}"),
        };
        let folder = tempfile::tempdir().unwrap();
        let store = |name: &str| {
            let file = FileBackend::create(&folder.path().join(name), DEVICE).unwrap();
            let device = io.device("a file", file, DeviceSettings { is_direct, ..DeviceSettings::default() });
            let mut parts = divide(Box::new(device).into_backend(), &[(0, DEVICE.0)]);
            Store::new(Box::new(parts.remove(0)) as Box<dyn Backend>)
        };
        let stores = ["first", "second"].map(store).into();
        let journal = Box::new(DirectJournal::new(MemoryJournal::default()));
        let engine: Box<dyn Engine> = Box::new(placement());
        let mut driver = RealDriver::new(engine, stores, journal, NoClock);
        let wait = || io.wait(None);
        // Later steps end fewer operations at once, so lists need not grow any more.
        serve(&mut driver, 20, 32, wait);
        serve(&mut driver, 300, 8, wait);
        let made = measure(|| serve(&mut driver, 300, 8, wait));
        assert_eq!(made.count_total, 0, "2,400 requests allocate {} bytes", made.bytes_total);
    }
}
