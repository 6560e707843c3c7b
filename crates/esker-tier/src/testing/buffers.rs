//! The buffers of a driver, for the tests of engines.

use std::collections::BTreeMap;

use esker_core::{Bytes, Request, RequestKind, Tag};

use super::Store;
use crate::engine::{BufferId, BufferPlace, BufferStep, DataRef};

/// What memory holds that nobody has filled: no host has written it.
const GARBAGE: u64 = u64::MAX / 2;

/// Buffers with a value for each sector.
#[derive(Debug, Default)]
pub struct Buffers(BTreeMap<BufferId, Vec<u64>>);

fn sectors(bytes: Bytes) -> usize {
    (bytes.0 / 512) as usize
}

impl Buffers {
    /// Keeps the buffer of a request of the host with what it writes; a read brings nothing.
    pub fn begin(&mut self, tag: Tag, request: &Request, mut data: Vec<u64>) {
        data.resize(sectors(request.length), GARBAGE);
        assert!(self.0.insert(BufferId::Host(tag), data).is_none(), "the tag is in use");
    }

    /// Returns the buffer of a request that is answered now.
    pub fn end(&mut self, tag: Tag) -> Vec<u64> {
        self.0.remove(&BufferId::Host(tag)).expect("a request is answered once")
    }

    /// Performs a step.
    pub fn step(&mut self, step: BufferStep) {
        match step {
            BufferStep::Zero { into, length } => self.fill(into, &vec![0; sectors(length)]),
            BufferStep::Copy { from, into, length } => {
                let values = self.part(from, length).to_vec();
                self.fill(into, &values);
            }
            BufferStep::Add { .. } => panic!("no engine computes parity yet"),
        }
    }

    /// Performs `request` on `store`.
    pub fn perform(&mut self, store: &mut Store, request: &Request, data: Option<DataRef>) {
        let range = request.start.0 as usize..request.start.0 as usize + sectors(request.length);
        match (request.kind, data) {
            (RequestKind::Flush, None) => store.flush(),
            (RequestKind::Trim, None) => range.for_each(|sector| store.write(sector, 0, false)),
            (RequestKind::WriteZeroes { fua }, None) => range.for_each(|sector| store.write(sector, 0, fua)),
            (RequestKind::Write { fua }, Some(data)) => {
                let values = data.segments(request.length).flat_map(|segment| match segment.place {
                    Some(place) => self.part(place, segment.length).to_vec(),
                    None => vec![0; sectors(segment.length)],
                });
                range.zip(values).for_each(|(sector, value)| store.write(sector, value, fua));
            }
            (RequestKind::Read, Some(data)) => {
                let mut rest = &store.live[range];
                for segment in data.segments(request.length) {
                    let (values, more) = rest.split_at(sectors(segment.length));
                    self.fill(segment.place.expect("a read fills memory"), values);
                    rest = more;
                }
            }
            other => panic!("unexpected: {other:?}"),
        }
    }

    fn part(&self, place: BufferPlace, length: Bytes) -> &[u64] {
        let buffer = self.0.get(&place.buffer).expect("only what was filled is read");
        &buffer[sectors(place.offset)..][..sectors(length)]
    }

    /// A buffer of the engine's own grows as far as it is filled.
    fn fill(&mut self, place: BufferPlace, values: &[u64]) {
        let (start, end) = (sectors(place.offset), sectors(place.offset) + values.len());
        let buffer = match place.buffer {
            BufferId::Host(_) => self.0.get_mut(&place.buffer).expect("the host's request is under way"),
            own => self.0.entry(own).or_default(),
        };
        if buffer.len() < end && !matches!(place.buffer, BufferId::Host(_)) {
            buffer.resize(end, GARBAGE);
        }
        buffer[start..end].copy_from_slice(values);
    }
}
