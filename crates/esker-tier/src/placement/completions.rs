//! Completions: what the engine does when a request to a device has ended.

use std::ops::Range;

use esker_core::{Bytes, DeviceError, Nanos, RequestKind, Tag};

use super::map::{ExtentWork, RecordedPlace};
use super::{Completed, Event, HostPart, Io, PlacementEngine};
use crate::engine::{Effect, IoId, WrittenBlocks};
use crate::extent::LogicalExtent;

impl PlacementEngine {
    /// Handles the end of a request to a device.
    pub(super) fn io_done(
        &mut self,
        now: Nanos,
        io: IoId,
        at: Nanos,
        result: Result<(), DeviceError>,
        effects: &mut Vec<Effect>,
    ) {
        match self.ios.remove(io.0) {
            Io::Part(part) => self.part_ended(now, &part, at, result, effects),
            Io::Flush { device } => {
                let result = self.health.judge(device, RequestKind::Flush, result);
                self.flush_ended(io, device, result, effects);
            }
            Io::Copy { slot, device, kind, sent, length } => {
                let result = self.health.judge(device, kind, result);
                let first = self.copies.get(slot).extent;
                let ok = result.is_ok();
                let done = Completed { device, first, extents: 1, kind, length, sent, at, for_host: false, ok };
                self.notify_policy(now, Event::Completed(done));
                if ok && kind.is_write() {
                    self.takes_copies_again(device);
                }
                self.copy_ended(now, slot, kind, result, effects);
            }
            Io::MergeRead { merge, sent, length } => {
                let (first, from) = self.merges.get_mut(merge).from();
                let (device, kind) = (from.device, RequestKind::Read);
                let result = self.health.judge(device, kind, result);
                let ok = result.is_ok();
                let done = Completed { device, first, extents: 1, kind, length, sent, at, for_host: false, ok };
                self.limits.used(device);
                self.notify_policy(now, Event::Completed(done));
                self.merge_read(now, merge, result, effects);
            }
            // Whether the device has discarded the data is its own affair.
            Io::Trim { first, count } => {
                let _ = self.health.judge(first.device, RequestKind::Trim, result);
                (0..count).for_each(|index| self.leaving.trimmed(first.after(index)));
            }
        }
    }

    fn part_ended(
        &mut self,
        now: Nanos,
        part: &HostPart,
        at: Nanos,
        result: Result<(), DeviceError>,
        effects: &mut Vec<Effect>,
    ) {
        let device = part.place.device;
        let result = self.health.judge(device, part.request.kind, result);
        let result = self.judge_read(part, result);
        let done = Completed {
            device,
            first: part.first,
            extents: part.count,
            kind: part.request.kind,
            length: part.request.length,
            sent: part.sent,
            at,
            for_host: true,
            ok: result.is_ok(),
        };
        self.notify_policy(now, Event::Completed(done));
        self.under_way[usize::from(device.0)] -= 1;
        self.limits.used(device);
        self.first_writes -= u32::from(part.first_write);
        if part.redirect {
            self.redirect_ended(part, result, effects);
        } else {
            let is_read = part.request.kind == RequestKind::Read;
            for (extent, place) in part.places() {
                if self.map.place(extent) == Some(place) {
                    self.map.ended(extent, is_read);
                } else if !self.mirrors.ended(extent, place) {
                    self.leaving.ended(place);
                }
            }
            if is_read && result.is_err() && self.read_again(now, part, effects) {
                return;
            }
            if !is_read {
                self.change_ended(now, part, result, effects);
            }
        }
        if !self.keep_refused(part, result) {
            let (before, after) = part.padding;
            let length = part.request.length - Bytes(before + after);
            let result = result.map_err(|error| error.of_whole(Bytes(part.offset), length, Bytes(before)));
            self.child_ended(part.host, part.offset, result, effects);
        }
    }

    /// Handles the end of a part that changes data.
    fn change_ended(
        &mut self,
        now: Nanos,
        part: &HostPart,
        result: Result<(), DeviceError>,
        effects: &mut Vec<Effect>,
    ) {
        if part.first_write {
            self.first_write_ended(part, result.is_ok(), effects);
        }
        if result.is_ok() {
            if part.first_write {
                self.takes_copies_again(part.place.device);
            }
            self.note_durability(part, effects);
            if self.is_drained(part.place.device) {
                part.places().for_each(|(extent, place)| self.drains.host_wrote(place.device, extent));
            }
        }
        if !self.copies.is_empty() {
            for (extent, place) in part.places() {
                // A write may still go to the place that the extent had before it was trimmed.
                if self.map.place(extent) == Some(place) && self.map.work(extent) == ExtentWork::Copy {
                    let slot = self.copies.of(extent).expect("it is copied");
                    self.step_copy(now, slot, false, effects);
                }
            }
        }
        // A flush covers trims, too, but a trim gives no extent a new place.
        if part.request.kind == RequestKind::Trim {
            if result.is_ok() {
                self.free_trimmed(part, effects);
            }
            // Its first write may have failed meanwhile.
            for (extent, place) in part.places() {
                if self.map.place(extent) == Some(place) {
                    self.free_if_empty(extent, effects);
                }
            }
        }
    }

    /// Returns the blocks of `extent` that `part` touches, counted from the start of the address space.
    pub(super) fn part_blocks(&self, part: &HostPart, extent: LogicalExtent) -> Range<usize> {
        let within = part.request.start.byte_offset() - u64::from(part.place.extent.0) * self.extent;
        let start = u64::from(part.first.0) * self.extent + within;
        self.blocks_within(extent, start..start + part.request.length.0)
    }

    /// Returns the blocks of `extent` that the bytes `range` of the volume touch.
    pub(super) fn blocks_within(&self, extent: LogicalExtent, range: Range<u64>) -> Range<usize> {
        let (all, touched) = (self.map.blocks_of(extent), self.map.blocks.size.touched_by(range));
        all.start.max(touched.start)..all.end.min(touched.end)
    }

    /// Handles the end of the first write to some blocks.
    fn first_write_ended(&mut self, part: &HostPart, ok: bool, effects: &mut Vec<Effect>) {
        for (extent, place) in part.places() {
            // An extent that the host's trim freed during this write has nothing to record.
            if self.map.place(extent) != Some(place) {
                continue;
            }
            let blocks = self.part_blocks(part, extent);
            if !ok {
                self.map.blocks.unclaim(blocks);
                self.free_if_empty(extent, effects);
                continue;
            }
            let runs = self.map.blocks.write(blocks, false);
            // The record that the extent has moved has to come first.
            if part.request.kind.is_fua() && self.map.recorded(extent) != RecordedPlace::Elsewhere {
                self.record(extent, &runs, effects);
                continue;
            }
            for run in runs {
                let blocks = self.map.block_range(&run);
                // The write itself is counted later, in `note_durability`.
                self.unflushed.push(WrittenBlocks { extent, place, blocks });
            }
        }
    }

    /// Handles the successful end of a part that changes data: the data are durable, or have to wait for a flush.
    fn note_durability(&mut self, part: &HostPart, effects: &mut Vec<Effect>) {
        let device = part.place.device;
        if !part.request.kind.is_fua() || !self.unflushed.is_empty() {
            self.durability.written(device);
        }
        for index in 0..self.unflushed.len() {
            self.durability.record_after_flush(self.unflushed[index]);
        }
        self.unflushed.clear();
        if part.request.kind.is_fua() && self.needs_flush(part) {
            self.flush_for(part.host, device, part.request, effects);
        }
        self.flush_first_writes(device, effects);
    }

    /// Returns true if the data that `part` has written durably could not be found after a crash: no record says where
    /// they are, and none may be issued until data that were written earlier are durable, too.
    fn needs_flush(&self, part: &HostPart) -> bool {
        #[cfg(test)]
        if self.has_fault(super::tests::Fault::TrustsDurableWrites) {
            return false;
        }
        part.places().any(|(extent, place)| {
            self.map.place(extent) == Some(place) && !self.is_recorded(extent, self.part_blocks(part, extent))
        })
    }

    /// Handles the end of one of the requests that `host` waits for. `order` decides which of several errors is
    /// reported.
    pub(super) fn child_ended(
        &mut self,
        host: Tag,
        order: u64,
        result: Result<(), DeviceError>,
        effects: &mut Vec<Effect>,
    ) {
        if self.hosts.child_ended(host, order, result) {
            self.children_ended(host, effects);
        }
    }

    /// Handles the end of all requests to devices that `tag` waited for: replies, or waits until the records are
    /// durable.
    pub(super) fn children_ended(&mut self, tag: Tag, effects: &mut Vec<Effect>) {
        let kind = self.hosts.kind(tag);
        let result = self.hosts.result(tag);
        let promises = kind == RequestKind::Flush || kind.is_fua();
        if result.is_ok() && promises && self.durability.wait_for_records(tag, effects) {
            return;
        }
        self.hosts.reply(tag, result, effects);
    }
}
