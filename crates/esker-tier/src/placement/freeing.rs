//! Extents without data, and places that become free.

use esker_core::{Bytes, DeviceState, Lba, Request, RequestKind, Tag};

use super::leaving::{Ready, WaitsFor};
use super::map::{Recorded, Work};
use super::{HostPart, Io, PlacementEngine};
use crate::engine::{Effect, IoId};
use crate::extent::{ExtentPlace, LogicalExtent};

impl PlacementEngine {
    /// Frees the extents that `part` trimmed as a whole.
    pub(super) fn free_trimmed(&mut self, part: &HostPart, effects: &mut Vec<Effect>) {
        if !self.free_on_trim {
            return;
        }
        let (start, end) = (part.request.start.byte_offset(), part.request.end_byte());
        for (extent, place) in part.places() {
            let begin = u64::from(place.extent.0) * self.extent;
            let whole = begin >= start && begin + self.extent <= end;
            if whole && self.map.place(extent) == Some(place) && self.map.work(extent) == Work::None {
                self.movements.freed += 1;
                self.free_extent(extent, effects);
            }
        }
    }

    /// Frees `extent`, which has no data any more.
    pub(super) fn free_extent(&mut self, extent: LogicalExtent, effects: &mut Vec<Effect>) {
        let is_elsewhere = self.map.recorded(extent) == Recorded::Elsewhere;
        self.forget_unrecorded(extent);
        let record = self.record_freed(extent, effects);
        let (place, under_way) = self.map.unmap(extent);
        self.tell_place(extent);
        let waits_for = match record {
            Some(record) if !is_elsewhere => WaitsFor::Record(record),
            _ => WaitsFor::Nothing,
        };
        self.leaving.add(place, waits_for, under_way, false);
    }

    /// Forgets the records of `extent` that wait for a flush, since it leaves its place. Returns the requests that wait
    /// for that flush.
    fn forget_unrecorded(&mut self, extent: LogicalExtent) -> Vec<Tag> {
        let place = self.map.place(extent).expect("only mapped extents leave");
        match self.is_recorded(extent, self.map.blocks_of(extent)) {
            true => Vec::new(),
            false => self.durability.forget(place.device, extent),
        }
    }

    /// The data of `extent` are at `to` now: changes the map, and lets the old place leave. Returns the requests that
    /// wait for a flush of what was at the old place.
    pub(super) fn relocate(&mut self, extent: LogicalExtent, to: ExtentPlace) -> Vec<Tag> {
        let hosts = self.forget_unrecorded(extent);
        let recorded = self.map.recorded(extent);
        let (from, under_way) = self.map.relocate(extent, to);
        self.tell_place(extent);
        let waits_for = match recorded {
            Recorded::Here => {
                self.map.set_recorded(extent, Recorded::Elsewhere);
                WaitsFor::RecordOf(extent)
            }
            Recorded::No | Recorded::Elsewhere => WaitsFor::Nothing,
        };
        self.leaving.add(from, waits_for, under_way, true);
        hosts
    }

    pub(super) fn takes_writes(&self, place: ExtentPlace) -> bool {
        self.health.device(place.device) == DeviceState::Online && !self.health.has_failed(place.device)
    }

    /// Releases the places that can be used again now.
    #[inline]
    pub(super) fn reuse_places(&mut self, effects: &mut Vec<Effect>) {
        if self.leaving.is_empty() {
            return;
        }
        while let Some(ready) = self.leaving.next_ready() {
            match ready {
                Ready::Free(place) => self.map.release(place),
                Ready::Trim(place) if !self.takes_writes(place) => self.leaving.trimmed(place),
                Ready::Trim(place) => {
                    let io = IoId(self.ios.insert(Io::Trim { place }));
                    let start = Lba::containing(u64::from(place.extent.0) * self.extent);
                    let request = Request::new(RequestKind::Trim, start, Bytes(self.extent));
                    effects.push(Effect::Io { io, host: None, device: place.device, request, data: None });
                }
            }
        }
    }
}
