//! Redirected writes: a write that replaces all data of an extent may go to another device than the one that holds the
//! extent.

use esker_core::{Bytes, DeviceError, Lba, Nanos, Request};

use super::blocks::BLOCK;
use super::leaving_places::WaitsFor;
use super::map::ExtentWork;
use super::{HostPart, PlacementEngine, Rewrite};
use crate::engine::{Effect, WrittenBlocks};
use crate::extent::{DeviceIndex, ExtentPlace, LogicalExtent};

impl PlacementEngine {
    /// Returns the place on another device for the part of the host's write `request` that touches `extent`, which is
    /// now at `from`. `None` if the part goes to `from`.
    pub(super) fn redirected_place(
        &mut self,
        extent: LogicalExtent,
        from: ExtentPlace,
        request: &Request,
    ) -> Option<ExtentPlace> {
        let promised = self.promised.take().filter(|(promised, _)| *promised == extent);
        let to = promised.map_or_else(|| self.redirects_to(extent, from, request), |(_, to)| Some(to))?;
        let place = self.map.take_near(extent, to)?;
        self.map.set_work(extent, ExtentWork::Redirect);
        self.redirects += 1;
        Some(place)
    }

    /// Returns the device to which that part is redirected, if any. Extents leave devices that fail, take no writes, or
    /// are being drained; otherwise the policy decides.
    pub(super) fn redirects_to(
        &mut self,
        extent: LogicalExtent,
        from: ExtentPlace,
        request: &Request,
    ) -> Option<DeviceIndex> {
        let leaves = !self.takes_writes(from) || self.is_drained(from.device);
        if !leaves && !self.policy.redirects() {
            return None;
        }
        if self.health.journal_failed() || self.map.work(extent) != ExtentWork::None || self.map.writes(extent) > 0 {
            return None;
        }
        let blocks = self.map.blocks_of(extent);
        let start = (request.start.byte_offset().div_ceil(BLOCK) as usize).clamp(blocks.start, blocks.end);
        let end = ((request.end_byte() / BLOCK) as usize).clamp(start, blocks.end);
        let outside = [blocks.start..start, end..blocks.end];
        if start == end || outside.into_iter().any(|blocks| self.map.blocks.next_written(blocks).is_some()) {
            return None;
        }
        // The other parts of the request may need the free places.
        let (new, free) = self.needed_and_free(request);
        if new >= free {
            return None;
        }
        self.update_views();
        let to = if leaves {
            self.choose(extent, Some(request))
        } else {
            let rewrite = Rewrite { extent, from: from.device, write: request };
            self.policy.redirect(&rewrite, &self.views).map(|device| device.0 as usize)
        }?;
        assert!(to < self.views.len(), "the policy named a device that is not there");
        (to != from.device.0 as usize && self.views[to].has_room()).then_some(DeviceIndex(to as u16))
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
        let blocks = Self::request_blocks(request);
        let (start, end) = (held.start.min(blocks.start) as u64 * BLOCK, held.end.max(blocks.end) as u64 * BLOCK);
        let widened = Request { start: Lba::containing(start), length: Bytes(end - start), ..*request };
        self.promised = None;
        let to = self.redirects_to(extent, from, &widened)?;
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
        let (extent, to) = (part.first, part.place);
        self.redirects -= 1;
        self.map.set_work(extent, ExtentWork::None);
        let blocks = self.part_blocks(part, extent);
        if result.is_err() {
            self.map.blocks.unclaim(blocks);
            self.leaving.add(to, WaitsFor::Nothing, 0, true);
            return self.free_if_empty(extent, effects);
        }
        self.moved.redirected_writes += 1;
        let flushing = self.relocate(extent, to);
        self.map.blocks.write(blocks.clone(), false);
        if part.request.kind.is_fua() {
            let runs = self.map.blocks.unrecorded(blocks);
            self.record(extent, &runs, effects);
        } else {
            let blocks = self.map.block_range(&blocks);
            self.durability.written(to.device);
            self.durability.record_after_flush(WrittenBlocks { extent, place: to, blocks });
            self.flush_redirected(flushing, to.device, effects);
            self.flush_first_writes(to.device, effects);
            #[cfg(test)]
            if self.has_fault(super::tests::Fault::RecordsRedirectsEarly) {
                let runs = self.map.blocks.unrecorded(self.map.blocks_of(extent));
                self.record(extent, &runs, effects);
            }
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
