//! A striped volume over real stores returns what was written to it.

use esker_core::{Bytes, Lba, Nanos, Request, RequestKind, Rng, Tag};
use esker_tier::{StripeEngine, StripeSettings};
use esker_volume::{Clock, Direct, DirectJournal, MemoryBackend, MemoryJournal, RealDriver, Store};

struct NoClock;
impl Clock for NoClock {
    fn now(&self) -> Nanos {
        Nanos::ZERO
    }
}

#[test]
fn a_striped_volume_reads_as_a_byte_array() {
    let devices = vec![Bytes::kib(64); 3];
    let memory = |&capacity: &Bytes| Store::new(Box::new(Direct::new(MemoryBackend::new(capacity))));
    let stores = devices.iter().map(memory).collect();
    let engine = StripeEngine::new(&StripeSettings { unit: Bytes::kib(4), devices }).unwrap();
    let journal = Box::new(DirectJournal::new(MemoryJournal::default()));
    let mut driver = RealDriver::new(Box::new(engine), stores, journal, NoClock);
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
        assert!(kind != RequestKind::Read || reply.data[..] == bytes[range], "sectors {start} to {}", start + sectors);
    }
}
