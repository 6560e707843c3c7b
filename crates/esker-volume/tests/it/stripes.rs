//! A striped volume over real stores returns what was written to it.

use std::sync::Arc;

use esker_core::{Bytes, DeviceError, Lba, Nanos, Request, RequestKind, Rng, Tag};
use esker_tier::{StripeEngine, StripeSettings};
use esker_volume::{Clock, Direct, DirectJournal, MemoryBackend, MemoryJournal, RealDriver, Stacked, Store};

use crate::faulty::{FaultyBackend, StoreFault};

struct NoClock;
impl Clock for NoClock {
    fn now(&self) -> Nanos {
        Nanos::ZERO
    }
}

/// A stripe over `stores`, which hold `device` each.
fn stripe(unit: Bytes, device: Bytes, stores: Vec<Store>) -> RealDriver<StripeEngine, NoClock> {
    let devices = vec![device; stores.len()];
    let engine = StripeEngine::new(&StripeSettings { unit, devices }).unwrap();
    let journal = Box::new(DirectJournal::new(MemoryJournal::default()));
    RealDriver::new(Box::new(engine), stores, journal, NoClock)
}

/// A stripe over two stripes, one of whose devices has a bad sector. Of the reads of one sector each, one fails: it is
/// where a read of everything says that the first error is.
#[test]
fn an_error_says_where_it_is_through_all_layers() {
    for bad in [0, 512, 7 * 512, 100 * 512] {
        let memory = || MemoryBackend::new(Bytes::kib(64));
        let inner = |first: Box<dyn FnOnce() -> Store>| {
            let stores = vec![first(), Store::new(Box::new(Direct::new(memory())))];
            Store::new(Box::new(Stacked::new(stripe(Bytes::kib(1), Bytes::kib(64), stores))))
        };
        let broken = move || {
            let (fault, on) = (StoreFault::BadSector(bad), Arc::new(true.into()));
            Store::new(Box::new(Direct::new(FaultyBackend { memory: memory(), fault, on })))
        };
        let whole = move || Store::new(Box::new(Direct::new(memory())));
        let mut outer = stripe(Bytes::kib(4), Bytes::kib(128), vec![inner(Box::new(whole)), inner(Box::new(broken))]);
        let mut read = |start: u64, length| {
            outer.submit(Tag::new(0, 0), Request::read(Lba(start), length), Vec::new());
            outer.step();
            outer.next_reply().expect("stores in memory answer at once").result
        };
        let sectors = 256 * 2;
        let bad: Vec<u64> = (0..sectors).filter(|&sector| read(sector, Bytes(512)).is_err()).collect();
        let [bad] = bad[..] else { panic!("{bad:?}") };
        assert_eq!(read(0, Bytes(sectors * 512)), Err(DeviceError::Medium { at: Bytes(bad * 512) }));
        assert_eq!(read(bad - 3, Bytes(8 * 512)), Err(DeviceError::Medium { at: Bytes(3 * 512) }));
    }
}

#[test]
fn a_striped_volume_reads_as_a_byte_array() {
    let memory = || Store::new(Box::new(Direct::new(MemoryBackend::new(Bytes::kib(64)))));
    let mut driver = stripe(Bytes::kib(4), Bytes::kib(64), (0..3).map(|_| memory()).collect());
    let mut bytes = vec![0u8; driver.capacity().0 as usize];
    assert_eq!(bytes.len(), 3 * 64 * 1024);
    let mut rng = Rng::new(1);
    for _ in 0..500 {
        let start = rng.below(bytes.len() as u64 / 512);
        let sectors = (1 + rng.below(60)).min(bytes.len() as u64 / 512 - start);
        let range = (start * 512) as usize..((start + sectors) * 512) as usize;
        let (kind, data) = match rng.below(4) {
            0 | 1 => {
                bytes[range.clone()].fill_with(|| rng.below(256) as u8);
                (RequestKind::Write { fua: rng.chance(1, 4) }, bytes[range.clone()].to_vec())
            }
            2 => {
                bytes[range.clone()].fill(0);
                (RequestKind::WriteZeroes { fua: false }, Vec::new())
            }
            _ => (RequestKind::Read, Vec::new()),
        };
        driver.submit(Tag::new(0, 0), Request::new(kind, Lba(start), Bytes(sectors * 512)), data);
        driver.step();
        let reply = driver.next_reply().expect("stores in memory answer at once");
        assert_eq!(reply.result, Ok(()));
        assert!(
            kind != RequestKind::Read || reply.data.to_vec() == bytes[range],
            "sectors {start} to {}",
            start + sectors
        );
    }
}
