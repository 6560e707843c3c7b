//! Redirected writes: a write that replaces all that an extent holds need not go where the extent is.

use esker_core::{DeviceError, Request};

use super::blocks::BLOCK;
use super::leaving::WaitsFor;
use super::map::Work;
use super::{HostPart, PlacementEngine, Rewrite};
use crate::engine::{Effect, WrittenBlocks};
use crate::extent::{DeviceIndex, ExtentPlace, LogicalExtent};

impl PlacementEngine {
    /// The place on another device to which the part of the host's write `request` that touches `extent`, now at
    /// `from`, goes; `None` if it goes to `from`. Extents leave devices that fail, take no more writes, or are drained;
    /// else the policy decides.
    pub(super) fn redirected_place(
        &mut self,
        extent: LogicalExtent,
        from: ExtentPlace,
        request: &Request,
    ) -> Option<ExtentPlace> {
        let leaves = !self.takes_writes(from) || self.is_drained(from.device);
        if !leaves && !self.policy.redirects() {
            return None;
        }
        if self.health.journal_failed() || self.map.work(extent) != Work::None || self.map.writes(extent) > 0 {
            return None;
        }
        let blocks = self.map.blocks_of(extent);
        let start = (request.start.byte_offset().div_ceil(BLOCK) as usize).clamp(blocks.start, blocks.end);
        let end = ((request.end_byte() / BLOCK) as usize).clamp(start, blocks.end);
        let outside = [blocks.start..start, end..blocks.end];
        if start == end || outside.into_iter().any(|blocks| self.map.blocks.next_written(blocks).is_some()) {
            return None;
        }
        // The rest of the request may need the places that are free.
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
        let wanted = to != from.device.0 as usize && self.views[to].has_room();
        let to = wanted.then(|| self.map.take_near(extent, DeviceIndex(to as u16)))??;
        self.map.set_work(extent, Work::Redirect);
        self.redirects += 1;
        Some(to)
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
        self.map.set_work(extent, Work::None);
        let blocks = self.part_blocks(part, extent);
        if result.is_err() {
            self.map.blocks.unclaim(blocks);
            self.leaving.add(to, WaitsFor::Nothing, 0, true);
            return self.free_if_empty(extent, effects);
        }
        self.movements.redirected += 1;
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
            #[cfg(test)]
            if self.has_fault(super::tests::Fault::RecordsRedirectsEarly) {
                let runs = self.map.blocks.unrecorded(self.map.blocks_of(extent));
                self.record(extent, &runs, effects);
            }
        }
    }

    /// Frees `extent` if nothing was ever written there: its first write has failed.
    pub(super) fn free_if_empty(&mut self, extent: LogicalExtent, effects: &mut Vec<Effect>) {
        let is_empty = self.map.blocks.all_fresh(self.map.blocks_of(extent));
        if is_empty && self.map.writes(extent) == 0 && self.map.work(extent) == Work::None {
            self.free_extent(extent, effects);
        }
    }
}
