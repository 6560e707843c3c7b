//! Maps (volume, byte) of a trace to sectors of the target.

use std::cell::Cell;

use esker_core::{Bytes, Lba, Request, RequestKind, StreamId};
use esker_results::LeftOut;
use esker_trace::{DenseMap, Operation, Record, SpreadMap};

use super::WorkloadError;
use crate::config::BeyondCapacity;

/// The volumes side by side in one address space.
#[derive(Clone, Debug)]
pub(super) struct AddressSpace {
    bases: Vec<u64>,
    end: u64,
}

const ALIGNMENT: u64 = 1 << 20;

impl AddressSpace {
    /// An address space of volumes whose used parts end at `ends`.
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

/// How addresses are mapped to the target.
#[derive(Debug)]
pub(super) enum Addresses<'a> {
    /// Addresses are already those of the target.
    AsTheyAre,
    /// Leave out everything beyond the end.
    Clip(&'a AddressSpace),
    /// Addresses modulo the capacity. A request that would cross the end is moved down to end there.
    Wrap(&'a AddressSpace),
    /// Only touched areas, packed.
    Dense(&'a DenseMap),
    /// Volumes one after another, with the distances of the trace times one factor.
    Spread(SpreadMap<'a>),
}

impl<'a> Addresses<'a> {
    /// Chooses the mapping for `beyond` on a target of `capacity`; requests may be spread over `spread_over` of it. It
    /// is an error if the workload does not fit.
    pub(super) fn new(
        space: &'a AddressSpace,
        map: &'a DenseMap,
        beyond: BeyondCapacity,
        (capacity, spread_over): (Bytes, Bytes),
    ) -> Result<Self, WorkloadError> {
        let fault = |message: String| WorkloadError {
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
            BeyondCapacity::Dense | BeyondCapacity::Spread if map.end() > capacity => {
                let end = map.end();
                Err(fault(format!("the workload touches {end} bytes in 1 MiB areas, but the target has {capacity}")))
            }
            BeyondCapacity::Dense => Ok(Self::Dense(map)),
            BeyondCapacity::Spread => Ok(Self::Spread(SpreadMap::new(map, spread_over.0))),
        }
    }

    /// Returns the ranges of `record` within `capacity` bytes. Counts records that do not reach the target as a whole.
    #[inline]
    pub(super) fn places(&self, record: &Record, capacity: u64, left_out: &Cell<LeftOut>) -> Places {
        let length = u64::from(record.length);
        let places = match (record.operation, self) {
            (Operation::Flush, _) => NO_PLACE,
            (_, _) if length == 0 => (None, Vec::new()),
            (_, Self::AsTheyAre) => (Some((record.offset, length)), Vec::new()),
            (_, Self::Clip(space)) => {
                let start = space.place(record);
                ((start < capacity).then(|| (start, length.min(capacity - start))), Vec::new())
            }
            (Operation::Trim, Self::Wrap(space)) => (None, round_the_end(space.place(record), length, capacity)),
            (_, Self::Wrap(space)) => {
                let length = length.min(capacity);
                (Some(((space.place(record) % capacity).min(capacity - length), length)), Vec::new())
            }
            (Operation::Trim, Self::Dense(map)) => (None, map.parts(record.volume, record.offset, length)),
            (Operation::Trim, Self::Spread(map)) => (None, map.parts(record.volume, record.offset, length)),
            (_, Self::Dense(map)) => (map.map(record.volume, record.offset).map(|start| (start, length)), Vec::new()),
            (_, Self::Spread(map)) => (map.map(record.volume, record.offset).map(|start| (start, length)), Vec::new()),
        };
        let (one, many) = &places;
        let reached = one.map_or(0, |(_, length)| length) + many.iter().map(|(_, length)| length).sum::<u64>();
        if reached < length || record.operation == Operation::Trim || length == 0 {
            self.count(record, reached, one.iter().chain(many), left_out);
        }
        places
    }

    /// Counts `record` if it does not reach the target as a whole; `reached` of its bytes are mapped.
    #[cold]
    fn count<'p>(
        &self,
        record: &Record,
        reached: u64,
        mut places: impl Iterator<Item = &'p (u64, u64)>,
        left_out: &Cell<LeftOut>,
    ) {
        let mut counts = left_out.get();
        let length = u64::from(record.length);
        match (record.operation, self) {
            (Operation::Flush, _) => {}
            _ if length == 0 => counts.empty_requests += 1,
            (_, Self::Clip(_)) if reached == 0 => counts.requests_past_the_end += 1,
            (_, Self::Clip(_)) if reached < length => counts.requests_cut_short += 1,
            (Operation::Trim, _)
                if !places.any(|&(start, length)| whole_sectors(RequestKind::Trim, start, length).is_some()) =>
            {
                counts.trims_of_nothing += 1;
            }
            _ => {}
        }
        left_out.set(counts);
    }
}

/// Ranges of a request in the target, as (byte, length): usually one; a trim may have many or none.
pub(super) type Places = (Option<(u64, u64)>, Vec<(u64, u64)>);

/// The range of a flush: it is sent, but has no address.
const NO_PLACE: Places = (Some((0, 0)), Vec::new());

/// Splits a range that crosses the end in two, the second from address zero on. For trims only: reads and writes are
/// moved down instead, to stay one request, but a moved trim would drop bytes that nobody trimmed.
fn round_the_end(start: u64, length: u64, capacity: u64) -> Vec<(u64, u64)> {
    let (start, length) = (start % capacity, length.min(capacity));
    let before_end = length.min(capacity - start);
    let mut parts = vec![(start, before_end)];
    if before_end < length {
        parts.push((0, length - before_end));
    }
    parts
}

/// Returns the request of `record` for this (byte, length) range of the target, in whole sectors; `None` for a trim
/// that covers no whole sector.
#[inline]
pub(super) fn request_at(record: &Record, (start, length): (u64, u64)) -> Option<Request> {
    let request = whole_sectors(kind(record.operation), start, length)?;
    Some(Request { stream: StreamId(record.volume.0 as u16), ..request })
}

/// Converts a range to whole sectors. Reads and writes take every sector that they touch. Trims take only sectors that
/// lie wholly within the range, since the rest of a sector was not trimmed; `None` if there are none.
#[inline]
fn whole_sectors(kind: RequestKind, start: u64, length: u64) -> Option<Request> {
    let end = start + length;
    let (first, behind) = match kind {
        RequestKind::Trim => (start.div_ceil(512), end / 512),
        _ => (start / 512, end.div_ceil(512)),
    };
    (first < behind || kind == RequestKind::Flush)
        .then(|| Request::new(kind, Lba(first), Bytes(behind.saturating_sub(first) * 512)))
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
    use esker_trace::{TouchedAreas, VolumeIndex};
    use proptest::prelude::*;

    use super::*;

    impl Addresses<'_> {
        fn requests(&self, record: &Record, capacity: u64, left_out: &Cell<LeftOut>) -> Vec<Request> {
            let (one, many) = self.places(record, capacity, left_out);
            one.into_iter().chain(many).filter_map(|place| request_at(record, place)).collect()
        }
    }

    fn record(volume: u32, offset: u64, length: u32) -> Record {
        let volume = VolumeIndex(volume);
        Record { at: Nanos::ZERO, offset, length, volume, operation: Operation::Write, response: None }
    }

    #[test]
    fn volumes_lie_side_by_side_and_requests_cover_whole_sectors() {
        let space = AddressSpace::new(&[700, 0, 1 << 20]);
        assert_eq!(space.end, 2 << 20);
        let left_out = Cell::new(LeftOut::default());
        let requests = |volume, offset, length| -> Vec<(u64, u64)> {
            let record = record(volume, offset, length);
            let requests = Addresses::Clip(&space).requests(&record, 2 << 20, &left_out);
            requests.iter().map(|r| (r.start.0, r.length.0)).collect()
        };
        assert_eq!(requests(0, 600, 100), [(1, 512)]);
        assert_eq!(requests(0, 500, 100), [(0, 1024)]);
        assert_eq!(requests(2, 0, 4096), [(2048, 4096)]);
        assert_eq!(requests(2, (1 << 20) - 512, 4096), [(4095, 512)]);
        assert_eq!(requests(2, 1 << 20, 512), []);
        assert_eq!(requests(0, 0, 0), []);
        let counts =
            LeftOut { empty_requests: 1, requests_past_the_end: 1, requests_cut_short: 1, trims_of_nothing: 0 };
        assert_eq!(left_out.get(), counts);
    }

    fn trim(volume: u32, offset: u64, length: u32) -> Record {
        Record { operation: Operation::Trim, ..record(volume, offset, length) }
    }

    #[test]
    fn a_trim_takes_whole_sectors_only_and_goes_round_the_end() {
        let space = AddressSpace::new(&[1 << 20]);
        let mut touched = TouchedAreas::default();
        touched.add(&record(0, 0, 1 << 20));
        let (map, left_out) = (DenseMap::new(&touched), Cell::new(LeftOut::default()));
        let all = [
            Addresses::AsTheyAre,
            Addresses::Clip(&space),
            Addresses::Wrap(&space),
            Addresses::Dense(&map),
            Addresses::Spread(SpreadMap::new(&map, 1 << 20)),
        ];
        let sectors = |addresses: &Addresses<'_>, record: &Record| -> Vec<(u64, u64)> {
            addresses.requests(record, 1 << 20, &left_out).iter().map(|r| (r.start.0, r.length.0 / 512)).collect()
        };
        for addresses in &all {
            assert_eq!(sectors(addresses, &trim(0, 100, 1436)), [(1, 2)]);
            assert_eq!(sectors(addresses, &trim(0, 513, 1000)), []);
        }
        assert_eq!(left_out.get().trims_of_nothing, 5);
        // A trim across the end continues at the beginning. It must not touch the bytes before it.
        let over = trim(0, (1 << 20) - 1024, 2048);
        assert_eq!(sectors(&all[2], &over), [(2046, 2), (0, 2)]);
        assert_eq!(sectors(&all[1], &over), [(2046, 2)]);
        assert_eq!(sectors(&all[2], &trim(0, 0, 4 << 20)), [(0, 2048)]);
    }

    proptest! {
        #[test]
        fn whatever_the_record_requests_end_within_the_capacity(
            offset: u64, length: u32, sectors in 1u64..1 << 40,
            ends in prop::collection::vec(any::<u64>(), 1..4), volume in 0u32..4,
        ) {
            let record = record(volume, offset.min(u64::MAX - u64::from(length)), length);
            let (space, capacity) = (AddressSpace::new(&ends), sectors * 512);
            let left_out = Cell::default();
            for addresses in [Addresses::Clip(&space), Addresses::Wrap(&space)] {
                for operation in [Operation::Write, Operation::Trim] {
                    for request in addresses.requests(&Record { operation, ..record }, capacity, &left_out) {
                        prop_assert!(request.end_byte() <= capacity && request.length > Bytes::ZERO);
                    }
                }
            }
        }
    }
}
