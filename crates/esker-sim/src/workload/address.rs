//! From (volume, byte) of a trace to sectors of the target.

use esker_core::{Bytes, Lba, Request, RequestKind, StreamId};
use esker_trace::{DenseMap, Operation, Record, TouchedAreas};

use super::WorkloadFault;
use crate::config::BeyondCapacity;

/// Volumes side by side in one address space.
#[derive(Debug)]
pub(super) struct AddressSpace {
    bases: Vec<u64>,
    end: u64,
}

const ALIGNMENT: u64 = 1 << 20;

impl AddressSpace {
    /// For volumes whose used parts end at `ends`.
    pub(super) fn new(ends: &[u64]) -> Self {
        let mut end = 0u64;
        let bases = ends.iter().map(|&used| {
            let base = end.checked_next_multiple_of(ALIGNMENT).unwrap_or(u64::MAX);
            end = base.saturating_add(used);
            base
        });
        let bases = bases.collect();
        Self { bases, end: end.checked_next_multiple_of(512).unwrap_or(u64::MAX) }
    }

    fn place(&self, record: &Record) -> u64 {
        self.bases.get(record.volume.0 as usize).map_or(0, |base| base.saturating_add(record.offset))
    }
}

/// How addresses become those of the target.
#[derive(Debug)]
pub(super) enum Addresses<'a> {
    /// They are those of the target already.
    AsTheyAre,
    /// What lies past the end is left out.
    Clip(&'a AddressSpace),
    /// Modulo the capacity; a request that would run over the end is moved down to end there.
    Wrap(&'a AddressSpace),
    /// Only touched areas count.
    Dense(DenseMap),
}

impl<'a> Addresses<'a> {
    /// What `beyond` says, on a target of `capacity`, if the workload fits then.
    pub(super) fn new(
        space: &'a AddressSpace,
        touched: &TouchedAreas,
        beyond: BeyondCapacity,
        capacity: Bytes,
    ) -> Result<Self, WorkloadFault> {
        let fault = |message: String| WorkloadFault {
            key: "beyond_capacity",
            message,
            hint: Some(
                "take a larger target, or let addresses `wrap`, be left out (`clip`) or close up (`dense`)".into(),
            ),
        };
        let Bytes(capacity) = capacity;
        match beyond {
            BeyondCapacity::Error if space.end > capacity => {
                Err(fault(format!("the workload reaches up to byte {}, but the target ends at {capacity}", space.end)))
            }
            BeyondCapacity::Error | BeyondCapacity::Clip => Ok(Self::Clip(space)),
            BeyondCapacity::Wrap => Ok(Self::Wrap(space)),
            BeyondCapacity::Dense => match DenseMap::new(touched) {
                map if map.end() <= capacity => Ok(Self::Dense(map)),
                map => {
                    let end = map.end();
                    Err(fault(format!(
                        "the workload touches {end} bytes in 1 MiB areas, but the target has {capacity}"
                    )))
                }
            },
        }
    }

    /// The request that `record` stands for, within `capacity` bytes: whole sectors around its bytes. None where nothing
    /// is left of it, several for a trim over areas that were not touched.
    #[inline]
    pub(super) fn requests(&self, record: &Record, capacity: u64) -> impl Iterator<Item = Request> + use<> {
        let length = u64::from(record.length);
        let mut many = Vec::new();
        let one = match (record.operation, self) {
            (Operation::Flush, _) => Some((0, 0)),
            (_, _) if length == 0 => None,
            (_, Self::AsTheyAre) => Some((record.offset, length)),
            (_, Self::Clip(space)) => {
                let start = space.place(record);
                (start < capacity).then(|| (start, length.min(capacity - start)))
            }
            (_, Self::Wrap(space)) => {
                let length = length.min(capacity);
                Some(((space.place(record) % capacity).min(capacity - length), length))
            }
            (Operation::Trim, Self::Dense(map)) => {
                many = map.parts(record.volume, record.offset, length);
                None
            }
            (_, Self::Dense(map)) => map.map(record.volume, record.offset).map(|start| (start, length)),
        };
        let (kind, stream) = (kind(record.operation), StreamId(record.volume.0 as u16));
        one.into_iter().chain(many).map(move |(start, length)| {
            let first = start / 512;
            let sectors = (start + length).div_ceil(512) - first;
            Request { stream, ..Request::new(kind, Lba(first), Bytes(sectors * 512)) }
        })
    }
}

const fn kind(operation: Operation) -> RequestKind {
    match operation {
        Operation::Read => RequestKind::Read,
        Operation::Write => RequestKind::Write { fua: false },
        Operation::Trim => RequestKind::Trim,
        Operation::Flush => RequestKind::Flush,
    }
}

#[cfg(test)]
mod tests {
    use esker_core::Nanos;
    use esker_trace::VolumeIndex;
    use proptest::prelude::*;

    use super::*;

    fn record(volume: u32, offset: u64, length: u32) -> Record {
        let volume = VolumeIndex(volume);
        Record { at: Nanos::ZERO, offset, length, volume, operation: Operation::Write, response: None }
    }

    #[test]
    fn volumes_lie_side_by_side_and_requests_cover_whole_sectors() {
        let space = AddressSpace::new(&[700, 0, 1 << 20]);
        assert_eq!(space.end, 2 << 20);
        let requests = |volume, offset, length| -> Vec<(u64, u64)> {
            let record = record(volume, offset, length);
            Addresses::Clip(&space).requests(&record, 2 << 20).map(|r| (r.start.0, r.length.0)).collect()
        };
        assert_eq!(requests(0, 600, 100), [(1, 512)]);
        assert_eq!(requests(0, 500, 100), [(0, 1024)]);
        assert_eq!(requests(2, 0, 4096), [(2048, 4096)]);
        assert_eq!(requests(2, (1 << 20) - 512, 4096), [(4095, 512)]);
        assert_eq!(requests(2, 1 << 20, 512), []);
        assert_eq!(requests(0, 0, 0), []);
    }

    proptest! {
        #[test]
        fn whatever_the_record_requests_end_within_the_capacity(
            offset: u64, length: u32, sectors in 1u64..1 << 40, ends in prop::collection::vec(any::<u64>(), 1..4), volume in 0u32..4,
        ) {
            let record = record(volume, offset.min(u64::MAX - u64::from(length)), length);
            let (space, capacity) = (AddressSpace::new(&ends), sectors * 512);
            for addresses in [Addresses::Clip(&space), Addresses::Wrap(&space)] {
                for request in addresses.requests(&record, capacity) {
                    prop_assert!(request.end_byte() <= capacity && request.length > Bytes::ZERO);
                }
            }
        }
    }
}
