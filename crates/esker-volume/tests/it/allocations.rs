//! Requests allocate nothing once as many have been under way before.

use allocation_counter::measure;
use esker_core::{Bytes, Lba, Nanos, Ratio, Request, Rng, Tag};
use esker_tier::{Engine, MemoryCache, PLACEMENTS, PlacementEngine, PlacementSettings, StripeEngine, StripeSettings};
use esker_volume::{Clock, Direct, DirectJournal, MemoryJournal, RealDriver, Store};

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

/// Reads and writes of 4 KiB to 256 KiB anywhere, eight at a time.
fn serve(driver: &mut RealDriver<dyn Engine, NoClock>, rng: &mut Rng, rounds: u32) {
    let capacity = driver.capacity().0;
    for _ in 0..rounds {
        for slot in 0..8 {
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
        driver.step();
        for _ in 0..8 {
            let reply = driver.next_reply().expect("the store answers at once");
            assert_eq!(reply.result, Ok(()));
            driver.recycle(reply.data);
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
        serve(&mut driver, &mut Rng::new(1), 2000);
        let made = measure(|| serve(&mut driver, &mut Rng::new(1), 2000));
        assert_eq!(made.count_total, 0, "16,000 requests to {name} allocate {} bytes", made.bytes_total);
    }
}
