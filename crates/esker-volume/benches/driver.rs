//! The real driver over stores that move no bytes: what a request costs in driver, engine and buffers.

#[path = "../tests/it/null_store.rs"]
mod null_store;

use esker_core::{Bytes, Lba, Ratio, Request, Rng, Tag};
use esker_testkit::Bench;
use esker_tier::{Engine, PLACEMENTS, PlacementEngine, PlacementSettings, StripeEngine, StripeSettings};
use esker_volume::{Direct, DirectJournal, MemoryJournal, RealDriver, Store, SystemClock};
use null_store::NullStore;

/// Requests under way.
const DEPTH: u32 = 32;

fn requests() -> u64 {
    if Bench::is_smoke() { 10_000 } else { 4_000_000 }
}

fn device() -> Bytes {
    if Bench::is_smoke() { Bytes(1 << 30) } else { Bytes(1 << 40) }
}

fn stores() -> Vec<Store> {
    (0..2).map(|_| Store::new(Box::new(Direct::new(NullStore(device()))))).collect()
}

fn placement() -> PlacementEngine {
    let policy = serde_json::from_str(r#"{"kind":"static-split","weights":[2,1]}"#).expect("a policy");
    let devices = vec![device(); 2];
    let settings =
        PlacementSettings { extent: Bytes::kib(1024), devices, policy, policies: PLACEMENTS, free_on_trim: true };
    let mut engine = PlacementEngine::new(&settings).expect("sound settings");
    engine.fill(Ratio::ONE);
    engine
}

/// Random requests of `length`, all read or all write.
fn serve<E: Engine>(mut driver: RealDriver<E, SystemClock>, length: u64, writes: bool) -> u64 {
    let (mut rng, places) = (Rng::new(1), driver.capacity().0 / length);
    for _ in 0..requests() / u64::from(DEPTH) {
        for slot in 0..DEPTH {
            let start = Lba::containing(rng.below(places) * length);
            match writes {
                true => {
                    let data = driver.buffer(length as usize);
                    driver.submit(Tag::new(slot, 0), Request::write(start, Bytes(length)), data);
                }
                false => driver.submit(Tag::new(slot, 0), Request::read(start, Bytes(length)), Vec::new()),
            }
        }
        driver.step();
        while let Some(reply) = driver.next_reply() {
            assert!(reply.result.is_ok(), "a null store takes everything");
            driver.recycle(reply.data);
        }
    }
    requests() / u64::from(DEPTH) * u64::from(DEPTH)
}

fn main() {
    let journal = || Box::new(DirectJournal::new(MemoryJournal::default()));
    for (length, size) in [(4 << 10, "4 KiB"), (128 << 10, "128 KiB")] {
        for (writes, kind) in [(false, "reads"), (true, "writes")] {
            Bench::new(format!("placement over null stores, {kind} of {size}")).rate_with_setup(
                "requests",
                || RealDriver::new(Box::new(placement()), stores(), journal(), SystemClock::start()),
                |driver| serve(driver, length, writes),
            );
            Bench::new(format!("stripes of 64 KiB over null stores, {kind} of {size}")).rate_with_setup(
                "requests",
                || {
                    let settings = StripeSettings { unit: Bytes::kib(64), devices: vec![device(); 2] };
                    let engine = StripeEngine::new(&settings).expect("sound settings");
                    RealDriver::new(Box::new(engine), stores(), journal(), SystemClock::start())
                },
                |driver| serve(driver, length, writes),
            );
        }
    }
}
