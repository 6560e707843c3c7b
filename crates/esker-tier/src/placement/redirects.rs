//! Redirected writes: a write that replaces all data of an extent may go to another device than the one that holds the
//! extent; so may one that replaces a part, with the rest (see `merges.rs`).

use std::ops::Range;

use esker_core::{Bytes, DeviceError, Lba, Nanos, Request};

use super::copies::MERGES_MAX;
use super::io::HostRange;
use super::leaving_places::WaitsFor;
use super::map::ExtentWork;
use super::{HostPart, PlacementEngine, Rewrite};
use crate::engine::{Effect, WrittenBlocks};
use crate::extent::{DeviceIndex, ExtentPlace, LogicalExtent};

/// Where a part of the host's write goes instead of the place of its extent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Redirected {
    /// It replaces all data of the extent.
    Whole(ExtentPlace),
    /// These blocks, counted from the start of the address space, have to be read first, and go with it.
    Merged(ExtentPlace, Range<usize>),
}

impl PlacementEngine {
    /// Returns the place on another device for the part of the host's write that touches `extent`, which is now at
    /// `from`; `wanted` if that is free on the same device. `None` if the part goes to `from`.
    pub(super) fn redirected_place(
        &mut self,
        extent: LogicalExtent,
        from: ExtentPlace,
        host: &HostRange<'_>,
        wanted: Option<ExtentPlace>,
    ) -> Option<Redirected> {
        let promised = self.promised.take().filter(|(promised, _)| *promised == extent);
        let (to, rest) = match promised {
            Some((_, to)) => (to, 0..0),
            None => self.redirects_to(extent, from, host.request, host.merges)?,
        };
        // A device that takes no writes must not cost the host its own.
        if !rest.is_empty() && self.takes_writes(from) {
            let size = self.map.blocks.size;
            let (own, blocks) = (self.request_blocks(host.request), self.map.blocks_of(extent));
            let span = own.start.clamp(blocks.start, rest.start)..own.end.clamp(rest.end, blocks.end);
            let all = size.bytes_of(&blocks);
            let own = host.range.end.min(all.end) - host.range.start.max(all.start);
            // What is written beyond the host's data is written to move the extent.
            if !self.may_write_copy(host.now, size.length_of(&span) - Bytes(own), false) {
                return None;
            }
        }
        let place = self.map.take_at(extent, to, wanted)?;
        self.map.set_work(extent, ExtentWork::Redirect);
        self.redirects += 1;
        Some(if rest.is_empty() { Redirected::Whole(place) } else { Redirected::Merged(place, rest) })
    }

    /// Returns the device to which that part is redirected, if any, and the blocks that have to be read and go with it:
    /// none if it replaces all data of the extent. Unless `merges`, only such parts are redirected. Extents leave
    /// devices that fail, take no writes, are being drained, or are left asleep; otherwise the policy decides.
    pub(super) fn redirects_to(
        &mut self,
        extent: LogicalExtent,
        from: ExtentPlace,
        request: &Request,
        merges: bool,
    ) -> Option<(DeviceIndex, Range<usize>)> {
        let must_leave = !self.takes_writes(from) || self.is_drained(from.device);
        let leaves = must_leave || self.is_left_asleep(from.device);
        if !leaves && !self.policy.redirects() {
            return None;
        }
        if self.health.journal_failed() || self.map.work(extent) != ExtentWork::None || self.map.writes(extent) > 0 {
            return None;
        }
        let rest = self.rest_beside(extent, request)?;
        let is_possible = rest.is_empty() || (merges && self.may_merge(from, leaves));
        if !is_possible {
            return None;
        }
        // The other parts of the request may need the free places.
        if !self.has_place_beside(request) {
            return None;
        }
        self.update_views();
        let to = if leaves {
            self.choose(extent, Some(request))
        } else {
            let length = self.map.blocks.size.length_of(&rest);
            let rewrite = Rewrite { extent, from: from.device, write: request, rest: length };
            self.policy.redirect(&rewrite, &self.views).map(|device| device.0 as usize)
        }?;
        assert!(to < self.views.len(), "the policy named a device that is not there");
        let device = DeviceIndex(to as u16);
        let goes = device != from.device && self.views[to].has_room() && (must_leave || !self.is_left_asleep(device));
        goes.then_some((device, rest))
    }

    /// Returns the blocks of `extent` from the first that has data which `request`, a write, does not replace, to the
    /// last; none if it replaces all. `None` if it does not even replace a block.
    fn rest_beside(&self, extent: LogicalExtent, request: &Request) -> Option<Range<usize>> {
        let (blocks, size) = (self.map.blocks_of(extent), self.map.blocks.size);
        let start = size.at_or_after(request.start.byte_offset()).clamp(blocks.start, blocks.end);
        let end = size.containing(request.end_byte()).clamp(start, blocks.end);
        let written = |blocks| self.map.blocks.span(blocks);
        let after = written(end..blocks.end);
        #[cfg(test)]
        let after = after.filter(|_| !self.has_fault(super::tests::Fault::OverlooksRestBehind));
        match (written(blocks.start..start), after) {
            (Some(before), Some(after)) => Some(before.start..after.end),
            (Some(rest), None) | (None, Some(rest)) => Some(rest),
            (None, None) => (start < end).then_some(0..0),
        }
    }

    /// Returns true if a write to a part of an extent may wait until the rest has been read at `from`, which the extent
    /// `leaves` anyway or not. While a device is drained it still takes writes to parts of extents, which are copied
    /// later.
    fn may_merge(&self, from: ExtentPlace, leaves: bool) -> bool {
        let wanted = if leaves { !self.takes_writes(from) } else { self.policy.merges() };
        let reads = !self.health.has_failed(from.device) && !self.health.is_absent(from.device);
        wanted && reads && self.merges.len() < MERGES_MAX
    }

    /// Widens `request`, a write of the host within one extent, to a write of all data of the extent, if that write
    /// will be redirected. The widened write has to be the next input: at the old place it could undo other writes to
    /// the extent.
    pub(super) fn widened(&mut self, now: Nanos, request: &Request) -> Option<Request> {
        let first = request.start.byte_offset() / self.extent;
        if (request.end_byte() - 1) / self.extent != first {
            return None;
        }
        let extent = LogicalExtent(first as u32);
        let from = self.map.place(extent)?;
        let held = self.map.blocks.span(self.map.blocks_of(extent))?;
        let blocks = self.request_blocks(request);
        let all = held.start.min(blocks.start)..held.end.max(blocks.end);
        let Range { start, end } = self.map.blocks.size.bytes_of(&all);
        let widened = Request { start: Lba::containing(start), length: Bytes(end - start), ..*request };
        self.promised = None;
        let (to, _) = self.redirects_to(extent, from, &widened, false)?;
        // What is written beyond the request is written to move the extent.
        if !self.may_write_copy(now, widened.length - request.length, false) {
            return None;
        }
        self.promised = Some((extent, to));
        Some(widened)
    }

    /// Handles the end of a redirected write.
    pub(super) fn redirect_ended(
        &mut self,
        part: &HostPart,
        result: Result<(), DeviceError>,
        effects: &mut Vec<Effect>,
    ) {
        if let Some(merge) = part.merge {
            self.merges.remove(merge);
        }
        for (extent, to) in part.places() {
            self.redirects -= 1;
            self.map.set_work(extent, ExtentWork::None);
            let blocks = self.part_blocks(part, extent);
            if result.is_err() {
                self.map.blocks.unclaim(blocks);
                self.leaving.add(to, WaitsFor::Nothing, 0, true);
                self.free_if_empty(extent, effects);
            } else {
                self.extent_redirected((extent, to), blocks, part.request.kind.is_fua(), effects);
            }
        }
        if result.is_err() {
            return;
        }
        self.moved.redirected_writes += 1;
        if part.merge.is_some() {
            self.moved.merged_writes += 1;
            self.moved.merged_bytes += part.padding.0 + part.padding.1;
        }
        if !part.request.kind.is_fua() {
            self.flush_first_writes(part.place.device, effects);
        }
    }

    /// Notes that a redirected write has written `blocks` of `extent` at `to`, where the extent is from now on.
    fn extent_redirected(
        &mut self,
        (extent, to): (LogicalExtent, ExtentPlace),
        blocks: Range<usize>,
        is_durable: bool,
        effects: &mut Vec<Effect>,
    ) {
        let flushing = self.relocate(extent, to);
        self.map.blocks.write(blocks.clone(), false);
        if is_durable {
            let runs = self.map.blocks.unrecorded(blocks);
            return self.record(extent, &runs, effects);
        }
        self.durability.written(to.device);
        // What the host writes between these runs meanwhile, the flush does not cover.
        let mut from = blocks.start;
        while let Some(run) = self.map.blocks.next_written(from..blocks.end) {
            let blocks = self.map.block_range(&run);
            self.durability.record_after_flush(WrittenBlocks { extent, place: to, blocks });
            from = run.end;
        }
        self.flush_redirected(flushing, to.device, effects);
        #[cfg(test)]
        if self.has_fault(super::tests::Fault::RecordsRedirectsEarly) {
            let runs = self.map.blocks.unrecorded(self.map.blocks_of(extent));
            self.record(extent, &runs, effects);
        }
    }

    /// Frees `extent` if none of its blocks was ever written, because its first write has failed.
    pub(super) fn free_if_empty(&mut self, extent: LogicalExtent, effects: &mut Vec<Effect>) {
        let is_empty = self.map.blocks.all_fresh(self.map.blocks_of(extent));
        if is_empty && self.map.writes(extent) == 0 && self.map.work(extent) == ExtentWork::None {
            self.free_extent(extent, effects);
        }
    }
}
