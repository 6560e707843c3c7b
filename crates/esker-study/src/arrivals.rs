//! Trace records as arrivals at a device: addresses mapped densely, sectors rounded outward.

use std::collections::VecDeque;

use esker_core::{Arrival, Bytes, Lba, Nanos, Request, RequestKind};
use esker_trace::{DenseMap, Operation, Record};

/// Maps records to arrivals.
pub(crate) struct Arrivals<'a, I> {
    records: I,
    map: &'a DenseMap,
    shift: Shift<'a>,
    /// Further parts of a trim that fell into several places.
    pending: VecDeque<Arrival>,
}

/// Bytes to add to every address, per volume.
#[derive(Clone, Copy)]
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

impl<'a, I: Iterator<Item = Record>> Arrivals<'a, I> {
    /// `map` holds every area that the shifted reads and writes touch.
    pub(crate) fn new(records: I, map: &'a DenseMap, shift: Shift<'a>) -> Self {
        Self { records, map, shift, pending: VecDeque::new() }
    }
}

impl<I: Iterator<Item = Record>> Iterator for Arrivals<'_, I> {
    type Item = Arrival;

    #[inline]
    fn next(&mut self) -> Option<Arrival> {
        if let Some(arrival) = self.pending.pop_front() {
            return Some(arrival);
        }
        loop {
            let record = self.shift.apply(self.records.next()?);
            let kind = match record.operation {
                Operation::Read => RequestKind::Read,
                Operation::Write => RequestKind::Write { fua: false },
                Operation::Flush => {
                    return Some(Arrival {
                        at: record.at,
                        request: Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO),
                    });
                }
                Operation::Trim => {
                    // A trim of what is never read or written has no place in the active region.
                    let parts = self.map.parts(record.volume, record.offset, u64::from(record.length));
                    self.pending.extend(parts.into_iter().map(|(offset, length)| {
                        // Only whole sectors can be forgotten.
                        let (from, to) = (offset.div_ceil(512), (offset + length) / 512);
                        let length = Bytes(to.saturating_sub(from) * 512);
                        arrival(record.at, RequestKind::Trim, from, length)
                    }));
                    self.pending.retain(|arrival| arrival.request.length > Bytes::ZERO);
                    match self.pending.pop_front() {
                        Some(arrival) => return Some(arrival),
                        None => continue,
                    }
                }
            };
            let offset = self.map.map(record.volume, record.offset).expect("what the trace touches is mapped");
            let (from, to) = (offset / 512, (offset + u64::from(record.length)).div_ceil(512));
            return Some(arrival(record.at, kind, from, Bytes((to - from) * 512)));
        }
    }
}

#[inline]
fn arrival(at: Nanos, kind: RequestKind, sector: u64, length: Bytes) -> Arrival {
    Arrival { at, request: Request::new(kind, Lba(sector), length) }
}

#[cfg(test)]
mod tests {
    use esker_trace::{TouchedAreas, VolumeIndex};

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
        let trim = record(Operation::Trim, 899 << 20, 2 << 20);
        let elsewhere = record(Operation::Trim, 0, 4096);
        let arrivals: Vec<_> = Arrivals::new([write, elsewhere, trim].into_iter(), &map, Shift::None).collect();
        let requests: Vec<_> = arrivals.iter().map(|arrival| arrival.request).collect();
        assert_eq!(
            requests,
            [Request::write(Lba(1), Bytes(512)), Request::new(RequestKind::Trim, Lba(0), Bytes::mib(1)),]
        );
    }
}
