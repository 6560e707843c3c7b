//! Flushes and records. A record describes only data that are durable on their device.

use std::collections::BTreeSet;
use std::ops::Range;

use esker_core::{Bytes, DeviceError, Lba, Request, RequestKind, Tag};

use super::map::{PlacementRecord, RecordedPlace};
use super::{Io, PlacementEngine};
use crate::engine::{Effect, FlushOutcome, FlushWait, IoId, NextFlush, RecordNumber, WrittenBlocks};
use crate::extent::{BlockRange, DeviceIndex, LogicalExtent};

/// Number of unrecorded first writes on one device at which the engine flushes it without being asked. Their records
/// are issued in one step, which takes a few milliseconds, and until then each takes 32 bytes.
pub(super) const FIRST_WRITES_MAX: usize = 4_096;

/// A flush on behalf of the engine itself.
const FLUSH: Request = Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO);

impl PlacementEngine {
    /// Issues `record`.
    fn issue(&mut self, record: PlacementRecord, effects: &mut Vec<Effect>) -> RecordNumber {
        let extent = record.extent();
        self.keep_for_snapshot(extent);
        if let PlacementRecord::Mapped { blocks, .. } | PlacementRecord::Written { blocks, .. } = record {
            let range = self.map.range(extent, blocks);
            self.map.blocks.record(range);
        }
        if !matches!(record, PlacementRecord::Freed { .. }) {
            self.map.set_recorded(extent, RecordedPlace::Here);
        }
        let number = self.durability.issue();
        self.leaving.recorded(extent, number);
        effects.push(Effect::Record { number, record: record.into() });
        number
    }

    /// Issues the records of the place of `extent` and of its blocks `runs`. All of its data are durable.
    pub(super) fn record(&mut self, extent: LogicalExtent, runs: &[Range<usize>], effects: &mut Vec<Effect>) {
        #[cfg(test)]
        let runs = match self.has_fault(super::tests::Fault::ForgetsLastRun) && runs.len() > 1 {
            true => &runs[..runs.len() - 1],
            false => runs,
        };
        let place = self.map.place(extent).expect("written extents have a place");
        if self.map.recorded(extent) == RecordedPlace::Elsewhere {
            self.issue(PlacementRecord::Moved { extent, place }, effects);
        }
        for blocks in runs.iter().map(|run| self.map.block_range(run)).collect::<Vec<_>>() {
            let record = match self.map.recorded(extent) {
                RecordedPlace::No => PlacementRecord::Mapped { extent, place, blocks },
                _ => PlacementRecord::Written { extent, blocks },
            };
            self.issue(record, effects);
        }
    }

    /// Issues and hardens the record that `extent` has no data any more, and returns its number; `None` if the journal
    /// knows nothing about the extent.
    pub(super) fn record_freed(&mut self, extent: LogicalExtent, effects: &mut Vec<Effect>) -> Option<RecordNumber> {
        (self.map.recorded(extent) != RecordedPlace::No).then(|| {
            let number = self.issue(PlacementRecord::Freed { extent }, effects);
            self.durability.harden(effects);
            number
        })
    }

    /// Handles a flush of the host. It waits for a flush of every device with completed writes that no flush covers
    /// yet. If a device has failed, the flush fails but still makes durable what it can.
    pub(super) fn flush(&mut self, tag: Tag, request: Request, effects: &mut Vec<Effect>) {
        for index in 0..self.health.devices().len() {
            let device = DeviceIndex(index as u16);
            // Nothing has been written to it since the engine was restored.
            if self.health.is_absent(device) {
                continue;
            }
            if self.health.has_failed(device) {
                self.hosts.note(tag, index as u64, DeviceError::Failed);
                continue;
            }
            self.flush_for(tag, device, request, effects);
        }
    }

    /// Has the host's request `tag` wait until the writes completed so far on `device` are durable. If that needs a new
    /// flush, it is one like `request`.
    pub(super) fn flush_for(&mut self, tag: Tag, device: DeviceIndex, request: Request, effects: &mut Vec<Effect>) {
        match self.durability.wait_for_flush(device, Some(tag), request) {
            FlushWait::Nothing => return,
            FlushWait::UnderWay => {}
            FlushWait::NewFlush => self.send_flush(device, vec![tag], request, effects),
        }
        self.hosts.wait(tag);
    }

    fn send_flush(&mut self, device: DeviceIndex, hosts: Vec<Tag>, like: Request, effects: &mut Vec<Effect>) {
        let io = IoId(self.ios.insert(Io::Flush { device }));
        self.durability.flush_begun(device, io, hosts);
        let request = Request { kind: RequestKind::Flush, start: Lba(0), length: Bytes::ZERO, ..like };
        effects.push(Effect::Io { io, host: None, device, request, data: None });
    }

    /// Returns true if a flush by the engine would let places become free.
    pub(super) fn frees_by_flush(&self) -> bool {
        let places = self.leaving.unrecorded().filter_map(|extent| self.map.place(extent));
        places.into_iter().any(|place| !self.health.has_failed(place.device))
    }

    /// Flushes the devices whose unrecorded data keep places from becoming free.
    pub(super) fn flush_for_space(&mut self, effects: &mut Vec<Effect>) {
        let places = self.leaving.unrecorded().filter_map(|extent| self.map.place(extent));
        let devices: BTreeSet<DeviceIndex> = places.map(|place| place.device).collect();
        devices.into_iter().for_each(|device| self.flush_unasked(device, effects));
        self.durability.harden(effects);
    }

    /// Flushes `device` for the engine itself, if it has writes that no flush covers.
    fn flush_unasked(&mut self, device: DeviceIndex, effects: &mut Vec<Effect>) {
        if !self.health.has_failed(device)
            && self.durability.lacks_flush(device)
            && let FlushWait::NewFlush = self.durability.wait_for_flush(device, None, FLUSH)
        {
            self.send_flush(device, Vec::new(), FLUSH, effects);
        }
    }

    /// Flushes `device` if the records of many first writes wait for that.
    #[inline]
    pub(super) fn flush_first_writes(&mut self, device: DeviceIndex, effects: &mut Vec<Effect>) {
        if self.durability.records_waiting(device) >= FIRST_WRITES_MAX {
            self.flush_unasked(device, effects);
        }
    }

    pub(super) fn flush_ended(
        &mut self,
        io: IoId,
        device: DeviceIndex,
        result: Result<(), DeviceError>,
        effects: &mut Vec<Effect>,
    ) {
        let FlushOutcome { hosts, mut durable, next } = self.durability.flush_ended(device, io, result.is_ok());
        if let Some(NextFlush { hosts, like }) = next {
            self.send_flush(device, hosts, like, effects);
        }
        durable.sort();
        // Adjacent blocks are one record.
        let joined = durable.chunk_by(|one, next| {
            (one.extent, one.place) == (next.extent, next.place) && one.blocks.end() == next.blocks.first
        });
        for blocks in joined {
            let WrittenBlocks { extent, place, blocks: BlockRange { first, .. } } = blocks[0];
            assert_eq!(self.map.place(extent), Some(place), "what has gone is forgotten");
            let count = blocks.iter().map(|written| written.blocks.count).sum();
            let runs = self.map.blocks.unrecorded(self.map.range(extent, BlockRange { first, count }));
            self.record(extent, &runs, effects);
        }
        if hosts.is_empty() {
            self.durability.harden(effects);
        }
        for host in hosts {
            self.child_ended(host, u64::from(device.0), result, effects);
        }
    }

    /// Returns true if records describe the present place of `extent` and its blocks `range`.
    pub(super) fn is_recorded(&self, extent: LogicalExtent, range: Range<usize>) -> bool {
        self.map.recorded(extent) == RecordedPlace::Here && !self.map.blocks.any_unrecorded(range)
    }

    /// Has `hosts` wait for a flush of `device`, too. They were flushing data of which no record was issued before a
    /// redirected write to `device` replaced them. The old data will never be found again, so the new data have to be
    /// durable.
    pub(super) fn flush_redirected(&mut self, hosts: Vec<Tag>, device: DeviceIndex, effects: &mut Vec<Effect>) {
        #[cfg(test)]
        if self.has_fault(super::tests::Fault::ForgetsRedirected) {
            return;
        }
        for host in hosts {
            self.flush_for(host, device, FLUSH, effects);
        }
    }
}
