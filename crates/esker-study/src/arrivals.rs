//! Trace records as arrivals at a device: addresses mapped densely, in whole sectors.

use esker_core::Arrival;
use esker_sim::dense_requests;
use esker_trace::{DenseMap, Record};

/// Bytes to add to every address, per volume.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shift<'a> {
    /// As traced.
    None,
    /// By volume number.
    PerVolume(&'a [u64]),
}

impl Shift<'_> {
    /// `record`, shifted.
    #[inline]
    pub(crate) fn apply(self, record: Record) -> Record {
        match self {
            Self::None => record,
            Self::PerVolume(shifts) => Record { offset: record.offset + shifts[record.volume.0 as usize], ..record },
        }
    }
}

/// The arrivals that `records` stand for, as `beyond_capacity = "dense"` of an experiment has them. `map` holds every
/// area that the shifted reads and writes touch.
pub(crate) fn arrivals<'a>(
    records: impl Iterator<Item = Record> + 'a,
    map: &'a DenseMap,
    shift: Shift<'a>,
) -> impl Iterator<Item = Arrival> + 'a {
    records.flat_map(move |record| {
        let record = shift.apply(record);
        dense_requests(map, &record).map(move |request| Arrival { at: record.at, request })
    })
}

#[cfg(test)]
mod tests {
    use esker_core::{Bytes, Lba, Nanos, RequestKind};
    use esker_trace::{Operation, TouchedAreas, VolumeIndex};

    use super::*;

    fn record(operation: Operation, offset: u64, length: u32) -> Record {
        Record { at: Nanos(7), offset, length, volume: VolumeIndex(0), operation, response: None }
    }

    #[test]
    fn addresses_become_dense_and_sectors_whole() {
        let write = record(Operation::Write, (900 << 20) + 700, 100);
        let mut touched = TouchedAreas::default();
        touched.add(&write);
        let map = DenseMap::new(&touched);
        let records = [
            write,
            record(Operation::Trim, 0, 4096),
            record(Operation::Trim, 899 << 20, 2 << 20),
            record(Operation::Trim, (900 << 20) + 100, 1500),
            record(Operation::Read, 5 << 30, 0),
        ];
        let requests: Vec<_> = arrivals(records.into_iter(), &map, Shift::None)
            .map(|arrival| {
                let request = arrival.request;
                (arrival.at, request.kind, request.start, request.length)
            })
            .collect();
        assert_eq!(
            requests,
            [
                (Nanos(7), RequestKind::Write { fua: false }, Lba(1), Bytes(512)),
                (Nanos(7), RequestKind::Trim, Lba(0), Bytes::mib(1)),
                (Nanos(7), RequestKind::Trim, Lba(1), Bytes(1024)),
            ]
        );
    }
}
