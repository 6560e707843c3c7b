//! Frees extents whose data were trimmed, and reuses their places.

use esker_core::{Bytes, DeviceState, Lba, Request, RequestKind, Tag};

use super::leaving_places::{ReadyPlace, WaitsFor};
use super::map::{ExtentWork, RecordedPlace};
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
            if whole && self.map.place(extent) == Some(place) && self.map.work(extent) == ExtentWork::None {
                self.moved.freed_extents += 1;
                self.free_extent(extent, effects);
            }
        }
    }

    /// Frees `extent`, which holds no data any more.
    pub(super) fn free_extent(&mut self, extent: LogicalExtent, effects: &mut Vec<Effect>) {
        self.drop_mirror(extent);
        let is_elsewhere = self.map.recorded(extent) == RecordedPlace::Elsewhere;
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

    /// Forgets the records of `extent` that wait for a flush, because the extent leaves its place. Returns the host
    /// requests that wait for that flush.
    fn forget_unrecorded(&mut self, extent: LogicalExtent) -> Vec<Tag> {
        let place = self.map.place(extent).expect("only mapped extents leave");
        match self.is_recorded(extent, self.map.blocks_of(extent)) {
            true => Vec::new(),
            false => self.durability.forget(place.device, extent),
        }
    }

    /// Changes the map: the data of `extent` are at `to` now, and the old place is leaving. Returns the host requests
    /// that wait for a flush of the data at the old place.
    pub(super) fn relocate(&mut self, extent: LogicalExtent, to: ExtentPlace) -> Vec<Tag> {
        self.drop_mirror_of_moved(extent);
        let hosts = self.forget_unrecorded(extent);
        let (from, under_way, is_recorded) = self.change_map(extent, to);
        let waits_for = if is_recorded { WaitsFor::RecordOf(extent) } else { WaitsFor::Nothing };
        self.leaving.add(from, waits_for, under_way, true);
        hosts
    }

    /// Changes the map: the data of `extent` are at `to` now. Returns the old place, how many reads still go there, and
    /// whether the journal names it.
    fn change_map(&mut self, extent: LogicalExtent, to: ExtentPlace) -> (ExtentPlace, u32, bool) {
        let is_recorded = self.map.recorded(extent) == RecordedPlace::Here;
        let (from, under_way) = self.map.relocate(extent, to);
        self.tell_place(extent);
        if is_recorded {
            self.map.set_recorded(extent, RecordedPlace::Elsewhere);
        }
        (from, under_way, is_recorded)
    }

    /// Changes the map: the data of `extent` are at `to` now, where all of them are durable, and the old place does not
    /// leave. Issues the records, and returns what [`Self::change_map`] does.
    pub(super) fn exchange_place(
        &mut self,
        extent: LogicalExtent,
        to: ExtentPlace,
        effects: &mut Vec<Effect>,
    ) -> (ExtentPlace, u32, bool) {
        // Hosts that wait for a flush also wait for the records issued by then.
        let _ = self.forget_unrecorded(extent);
        let (from, under_way, is_recorded) = self.change_map(extent, to);
        if is_recorded {
            self.leaving.names(extent, from);
        }
        self.record_durable(extent, effects);
        (from, under_way, is_recorded)
    }

    pub(super) fn takes_writes(&self, place: ExtentPlace) -> bool {
        self.health.device(place.device) == DeviceState::Online && !self.health.has_failed(place.device)
    }

    /// Trims and releases the places that wait for nothing.
    #[inline]
    pub(super) fn reuse_places(&mut self, effects: &mut Vec<Effect>) {
        if self.leaving.is_empty() {
            return;
        }
        // Places next to each other are trimmed together: devices ignore trims of less than a page.
        let mut run: Option<(ExtentPlace, u32)> = None;
        while let Some(ready) = self.leaving.next_ready() {
            match ready {
                ReadyPlace::Free(place) => self.map.release(place),
                // No trim wakes a device.
                ReadyPlace::Trim(place) if !self.takes_writes(place) || self.is_left_asleep(place.device) => {
                    self.leaving.trimmed(place);
                }
                ReadyPlace::Trim(place) => {
                    run = match run {
                        Some((first, count)) if first.after(count) == place => Some((first, count + 1)),
                        before => {
                            before.into_iter().for_each(|run| self.trim(run, effects));
                            Some((place, 1))
                        }
                    };
                }
            }
        }
        run.into_iter().for_each(|run| self.trim(run, effects));
    }

    /// Trims `count` places from `first` on. After a flush these come by the thousand, and nobody waits for them.
    fn trim(&mut self, (first, count): (ExtentPlace, u32), effects: &mut Vec<Effect>) {
        let io = IoId(self.ios.insert(Io::Trim { first, count }));
        let start = Lba::containing(u64::from(first.extent.0) * self.extent);
        let request = Request::new(RequestKind::Trim, start, Bytes(u64::from(count) * self.extent));
        let request = request.in_background();
        effects.push(Effect::Io { io, host: None, device: first.device, request, data: None });
    }
}
