use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use esker_core::Rng;
use proptest::prelude::*;

use super::*;
use crate::backend::MemoryBackend;

const CAPACITY: u64 = 64 << 10;
const BLOCK: u64 = 4096;

/// A device that takes whole blocks in aligned memory only, and performs its operations in any order.
#[derive(Clone)]
struct Blocks(Arc<Mutex<State>>);

struct State {
    memory: MemoryBackend,
    waiting: Vec<(u64, Operation)>,
    ended: Vec<Ended>,
    /// Blocks that cannot be read.
    bad: BTreeSet<u64>,
    /// Number of operations that were performed, by kind: reads, writes and what else changes bytes, flushes.
    performed: [u64; 3],
}

impl Blocks {
    fn new(bad: &[u64]) -> Self {
        Self(Arc::new(Mutex::new(State {
            memory: MemoryBackend::new(Bytes(CAPACITY)),
            waiting: Vec::new(),
            ended: Vec::new(),
            bad: bad.iter().copied().collect(),
            performed: [0; 3],
        })))
    }

    /// Performs one of the operations that wait. Returns false if there is none.
    fn perform(&self, rng: &mut Rng) -> bool {
        let mut state = self.0.lock().unwrap();
        if state.waiting.is_empty() {
            return false;
        }
        let index = rng.below(state.waiting.len() as u64) as usize;
        let (id, operation) = state.waiting.swap_remove(index);
        let (kind, offset) = (operation.kind, operation.offset);
        let blocks = (offset..offset + operation.length).step_by(BLOCK as usize);
        let bad = blocks.filter(|at| kind == RequestKind::Read && state.bad.contains(at)).min();
        let ended = match bad {
            Some(bad) => {
                let result = Err(PlacedError::new(bad - offset, io::Error::other("bad block")));
                Ended { id, at: None, result, data: operation.data }
            }
            None => operation.perform(id, &mut state.memory),
        };
        let class = match kind {
            RequestKind::Read => 0,
            RequestKind::Flush => 2,
            _ => 1,
        };
        state.performed[class] += 1;
        state.ended.push(ended);
        true
    }
}

impl Backend for Blocks {
    fn capacity(&self) -> Bytes {
        Bytes(CAPACITY)
    }
    fn submit(&mut self, _: Nanos, id: u64, operation: Operation) {
        let Operation { offset, length, data, .. } = &operation;
        assert!(offset % BLOCK == 0 && length % BLOCK == 0, "{operation:?}");
        let block = BLOCK as usize;
        let fits = |slice: &[u8]| slice.as_ptr().addr().is_multiple_of(block) && slice.len().is_multiple_of(block);
        assert!(match data {
            OperationData::None => true,
            OperationData::Fill(buffer) => fits(buffer),
            OperationData::Take(gather) => gather.slices().all(fits),
        });
        self.0.lock().unwrap().waiting.push((id, operation));
    }
    fn take_ended(&mut self, ended: &mut Vec<Ended>) {
        ended.append(&mut self.0.lock().unwrap().ended);
    }
}

fn over(device: &Blocks) -> WholeBlocks {
    WholeBlocks::new(Box::new(device.clone()), Alignment { block: BLOCK, memory: BLOCK as usize })
}

/// One operation alone, until it has ended.
fn alone(device: &Blocks, back_end: &mut WholeBlocks, kind: RequestKind, offset: u64, data: OperationData) -> Ended {
    let length = match &data {
        OperationData::Take(gather) => gather.slices().flatten().count() as u64,
        OperationData::Fill(buffer) => buffer.len() as u64,
        OperationData::None => BLOCK / 2,
    };
    back_end.submit(Nanos::ZERO, 1, Operation::new(kind, offset, length, data));
    let (mut ended, mut rng) = (Vec::new(), Rng::new(1));
    while ended.is_empty() {
        back_end.take_ended(&mut ended);
        assert!(!ended.is_empty() || device.perform(&mut rng), "nothing is left to do");
    }
    ended.remove(0)
}

fn kinds() -> impl Strategy<Value = RequestKind> {
    prop_oneof![
        4 => any::<bool>().prop_map(|fua| RequestKind::Write { fua }),
        2 => any::<bool>().prop_map(|fua| RequestKind::WriteZeroes { fua }),
        1 => Just(RequestKind::Trim),
        4 => Just(RequestKind::Read),
    ]
}

/// An operation under way, with what a read has to return.
struct Host {
    range: std::ops::Range<usize>,
    kind: RequestKind,
    expected: Vec<Option<u8>>,
}

proptest! {
    /// Operations that do not overlap are under way together, though they share blocks.
    #[test]
    fn it_reads_as_a_byte_array(
        operations in proptest::collection::vec((kinds(), 0..CAPACITY / 512, prop_oneof![1..8u64, 1..40u64]), 1..100),
        seed: u64,
    ) {
        let (device, mut rng) = (Blocks::new(&[]), Rng::new(seed));
        let mut back_end = over(&device);
        let mut bytes = vec![Some(0u8); CAPACITY as usize];
        let mut under_way: Vec<Option<Host>> = Vec::new();
        let mut operations = operations.into_iter().peekable();
        let (mut number, mut ended) = (0u8, Vec::new());
        loop {
            let next = operations.peek().map(|&(kind, start, sectors)| {
                let end = (start + sectors).min(CAPACITY / 512);
                (kind, (start * 512) as usize..(end * 512) as usize)
            });
            let overlaps = |range: &std::ops::Range<usize>| {
                let mut others = under_way.iter().flatten();
                others.any(|other| other.range.start < range.end && range.start < other.range.end)
            };
            let is_last = next.is_none();
            if let Some((kind, range)) = next
                && !overlaps(&range)
                && rng.chance(2, 3)
            {
                operations.next();
                let expected = bytes[range.clone()].to_vec();
                number = number.wrapping_add(1);
                let data = match kind {
                    RequestKind::Read => OperationData::Fill(Buffer::zeroed(range.len())),
                    RequestKind::Write { .. } => {
                        bytes[range.clone()].fill(Some(number));
                        // From a place in memory that is not aligned.
                        let memory = Gather::whole(Buffer::from(vec![number; range.len() + 512]));
                        OperationData::Take(memory.part(512, range.len()))
                    }
                    RequestKind::WriteZeroes { .. } => {
                        bytes[range.clone()].fill(Some(0));
                        OperationData::None
                    }
                    _ => {
                        bytes[range.clone()].fill(None);
                        OperationData::None
                    }
                };
                let operation = Operation::new(kind, range.start as u64, range.len() as u64, data);
                back_end.submit(Nanos::ZERO, under_way.len() as u64, operation);
                under_way.push(Some(Host { range, kind, expected }));
            } else if !device.perform(&mut rng) && is_last && under_way.iter().all(Option::is_none) {
                break;
            }
            back_end.take_ended(&mut ended);
            for ended in ended.drain(..) {
                let Host { range, kind, expected } = under_way[ended.id as usize].take().unwrap();
                prop_assert!(ended.result.is_ok());
                if let (RequestKind::Read, OperationData::Fill(read)) = (kind, &ended.data) {
                    let mut pairs = expected.iter().zip(&**read);
                    prop_assert!(pairs.all(|(byte, read)| byte.is_none_or(|byte| byte == *read)), "{range:?}");
                }
            }
        }
        prop_assert_eq!((back_end.with_parts, back_end.waiting.len(), back_end.under_way.len()), (0, 0, 0));
    }
}

#[test]
fn a_write_fails_with_the_error_of_a_block_that_it_has_to_read_and_writes_nothing() {
    let whole = |length| OperationData::Take(Gather::whole(Buffer::from(vec![7; length])));
    let device = Blocks::new(&[0, 8192]);
    let mut back_end = over(&device);
    let write = RequestKind::Write { fua: true };
    // The last block, then the first one, cannot be read.
    for (offset, length, place) in [(4608, 4096, 3584), (512, 8192, 0), (512, 512, 0)] {
        let ended = alone(&device, &mut back_end, write, offset, whole(length));
        let error = ended.result.unwrap_err();
        assert_eq!((PlacedError::place_of(&error), error.to_string().contains("bad block")), (Bytes(place), true));
    }
    assert_eq!(device.0.lock().unwrap().performed[1..], [0, 0]);
    // What needs no read is written.
    assert!(alone(&device, &mut back_end, write, 8192, whole(4096)).result.is_ok());
    let read = alone(&device, &mut back_end, RequestKind::Read, 7168, OperationData::Fill(Buffer::zeroed(2048)));
    assert_eq!(PlacedError::place_of(&read.result.unwrap_err()), Bytes(1024));
}

#[test]
fn several_writes_become_durable_by_one_flush() {
    let device = Blocks::new(&[]);
    let mut back_end = over(&device);
    let mut performed = |offset, length| {
        device.0.lock().unwrap().performed = [0; 3];
        let data = OperationData::Take(Gather::whole(Buffer::from(vec![7; length])));
        alone(&device, &mut back_end, RequestKind::Write { fua: true }, offset, data).result.unwrap();
        device.0.lock().unwrap().performed
    };
    assert_eq!(performed(4096, 8192), [0, 1, 0]);
    assert_eq!(performed(4608, 512), [1, 1, 0]);
    assert_eq!(performed(4608, 8192), [2, 3, 1]);
}
