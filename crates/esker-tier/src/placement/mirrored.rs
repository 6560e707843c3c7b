//! Serves extents that have two copies (see `mirrors.rs`): reads go to the one that the policy names, and so do writes
//! while both are equal.

use std::ops::Range;

use esker_core::{DeviceState, Nanos, Request, RequestKind};

use super::io::HostRange;
use super::leaving_places::WaitsFor;
use super::map::ExtentWork;
use super::mirrors::SecondCopy;
use super::{HostPart, PlacementEngine, TwoCopies};
use crate::engine::Effect;
use crate::extent::{DeviceIndex, ExtentPlace, LogicalExtent};

impl PlacementEngine {
    /// Returns the place from which the host's request reads `extent`, which is at `home`.
    #[inline]
    pub(super) fn read_place(&mut self, extent: LogicalExtent, home: ExtentPlace, host: &HostRange<'_>) -> ExtentPlace {
        if self.mirrors.is_empty() || host.request.kind != RequestKind::Read {
            return home;
        }
        self.read_place_of_two(extent, home, host)
    }

    fn read_place_of_two(&mut self, extent: LogicalExtent, home: ExtentPlace, host: &HostRange<'_>) -> ExtentPlace {
        let blocks = self.within(self.blocks_within(extent, host.range.clone()));
        let Some(mirror) = self.mirrors.fresh(extent, blocks) else { return home };
        // A device that has failed may have lost what the second copy still has: not every read of it could be
        // answered in that way, so none is.
        let serves = |place: ExtentPlace| self.health.device(place.device) != DeviceState::Failed;
        if !serves(home) || !serves(mirror) {
            return home;
        }
        self.update_views();
        let read = TwoCopies { extent, home: home.device, mirror: mirror.device, request: host.request };
        if self.policy.reads_from(&read, &self.views) == mirror.device { mirror } else { home }
    }

    /// Returns `blocks` of one extent, counted from the start of the address space, counted from that of the extent.
    fn within(&self, blocks: Range<usize>) -> Range<usize> {
        let blocks = self.map.block_range(&blocks);
        blocks.first as usize..blocks.end() as usize
    }

    /// Notes that `part` was sent to `place`, as far as that concerns the second copy of `extent`. Returns true if it
    /// is a read of the second copy.
    pub(super) fn note_mirrored(&mut self, part: &HostPart, (extent, place): (LogicalExtent, ExtentPlace)) -> bool {
        if part.request.kind != RequestKind::Read {
            #[cfg(test)]
            if self.has_fault(super::tests::Fault::OverlooksStaleMirrors) {
                return false;
            }
            let blocks = self.within(self.part_blocks(part, extent));
            if self.mirrors.host_writes(extent, blocks, self.map.blocks_of(extent).len()) {
                self.drop_mirror(extent);
            }
            return false;
        }
        if self.map.place(extent) == Some(place) {
            return false;
        }
        self.moved.mirror_reads += 1;
        self.mirrors.sent(extent, place)
    }

    /// Reads again what `part` could not read, if it went to a second copy, or to a place that its extent has left
    /// since. Returns false if it did not.
    pub(super) fn read_again(&mut self, now: Nanos, part: &HostPart, effects: &mut Vec<Effect>) -> bool {
        let was_elsewhere = part.places().any(|(extent, place)| self.map.place(extent) != Some(place));
        if !was_elsewhere {
            return false;
        }
        for (extent, place) in part.places() {
            if self.mirrors.place(extent) == Some(place) {
                self.drop_mirror(extent);
            }
        }
        let (request, range) = self.host_request_of(part);
        let HostPart { host, offset, refusals, .. } = *part;
        let range = HostRange { now, tag: host, request: &request, range, refusals, widened: false, merges: false };
        self.split_written(range, effects);
        self.child_ended(host, offset, Ok(()), effects);
        true
    }

    /// Notes that `extent` has a second copy at `place`. It goes at once if its device is being drained by now.
    pub(super) fn add_mirror(&mut self, extent: LogicalExtent, place: ExtentPlace) {
        self.moved.mirrored_extents += 1;
        self.moved.mirrored_bytes += self.extent;
        let copy = SecondCopy { place, reads: 0, left_by: None, is_durable: true };
        self.mirrors.add(extent, copy, self.map.blocks_of(extent).len());
        self.tell_mirror(extent);
        if self.is_drained(place.device) {
            self.drop_mirror(extent);
        }
    }

    /// Drops the second copy of `extent`, if there is one.
    pub(super) fn drop_mirror(&mut self, extent: LogicalExtent) {
        if self.mirrors.is_empty() {
            return;
        }
        if let Some(SecondCopy { place, reads, left_by, .. }) = self.mirrors.remove(extent) {
            #[cfg(test)]
            let reads = if self.has_fault(super::tests::Fault::ForgetsMirrorReads) { 0 } else { reads };
            self.tell_mirror(extent);
            self.leaving.add(place, left_by.map_or(WaitsFor::Nothing, WaitsFor::Record), reads, true);
        }
    }

    /// Drops the second copy of `extent`, which moves.
    pub(super) fn drop_mirror_of_moved(&mut self, extent: LogicalExtent) {
        #[cfg(test)]
        if self.has_fault(super::tests::Fault::KeepsOldMirrors) {
            return;
        }
        self.drop_mirror(extent);
    }

    /// Tells the policy where the second copy of `extent` is.
    fn tell_mirror(&mut self, extent: LogicalExtent) {
        let home = self.map.place(extent).expect("only extents with a place have two").device;
        self.policy.mirrored(extent, home, self.mirrors.place(extent).map(|place| place.device));
    }

    /// Drops all second copies on `device`.
    pub(super) fn drop_mirrors_on(&mut self, device: DeviceIndex) {
        self.mirrors.on(device).into_iter().for_each(|extent| self.drop_mirror(extent));
    }

    /// Drops all second copies.
    pub(super) fn drop_all_mirrors(&mut self) {
        while let Some(extent) = self.mirrors.next_to_drop() {
            self.drop_mirror(extent);
        }
    }

    /// Drops up to `most` second copies whose places other data can have.
    pub(super) fn make_room_of_mirrors(&mut self, most: u64) {
        let mut left = most;
        for _ in 0..self.mirrors.len() {
            let Some(extent) = self.mirrors.next_to_drop().filter(|_| left > 0) else { return };
            if self.mirrors.place(extent).is_some_and(|place| self.is_usable(place)) {
                self.drop_mirror(extent);
                left -= 1;
            }
        }
    }

    fn is_usable(&self, place: ExtentPlace) -> bool {
        self.takes_writes(place) && !self.is_drained(place.device)
    }

    /// Drops second copies as far as `request`, a write, needs more places than are free or become free.
    pub(super) fn make_room_for(&mut self, request: &Request) {
        let (new, free) = (self.needed(request), self.free_for_new());
        if new > free {
            let leaving = self.leaving.places().filter(|&place| self.is_usable(place)).count() as u64;
            self.make_room_of_mirrors((new - free).saturating_sub(leaving));
        }
    }

    /// Returns the place that the host's write to `extent`, which is at `home`, goes to: the second copy changes places
    /// with the extent if it can and the policy wants that.
    pub(super) fn write_place(
        &mut self,
        extent: LogicalExtent,
        home: ExtentPlace,
        host: &HostRange<'_>,
        effects: &mut Vec<Effect>,
    ) -> ExtentPlace {
        if self.mirrors.is_empty() || host.widened || self.health.journal_failed() {
            return home;
        }
        let Some(mirror) = self.movable_mirror(extent) else { return home };
        self.update_views();
        let write = TwoCopies { extent, home: home.device, mirror: mirror.device, request: host.request };
        if self.policy.writes_to(&write, &self.views) != mirror.device {
            return home;
        }
        self.change_places(extent, effects);
        mirror
    }

    /// Returns the place of the second copy of `extent` if the extent may move there without a copy.
    pub(super) fn movable_mirror(&self, extent: LogicalExtent) -> Option<ExtentPlace> {
        let place = self.mirrors.whole(extent)?;
        let is_quiet = self.map.writes(extent) == 0 && self.map.work(extent) == ExtentWork::None;
        let may = is_quiet && self.is_usable(place);
        may.then_some(place)
    }

    /// Moves `extent` to its second copy, whose data are durable. The place that the extent leaves has the second copy
    /// then.
    pub(super) fn change_places(&mut self, extent: LogicalExtent, effects: &mut Vec<Effect>) {
        let SecondCopy { place: to, reads, .. } = self.mirrors.remove(extent).expect("it has a second copy");
        self.tell_mirror(extent);
        let is_durable = self.is_recorded(extent, self.map.blocks_of(extent));
        #[cfg(test)]
        let is_durable = is_durable || self.has_fault(super::tests::Fault::TrustsLeftPlaces);
        let (from, reads_of_old, was_recorded) = self.exchange_place(extent, to, effects);
        self.map.add_reads(extent, reads);
        let left_by = was_recorded.then(|| self.durability.issued());
        #[cfg(test)]
        let left_by = left_by.filter(|_| !self.has_fault(super::tests::Fault::ReusesChangedPlaces));
        let old = SecondCopy { place: from, reads: reads_of_old, left_by, is_durable };
        self.mirrors.add(extent, old, self.map.blocks_of(extent).len());
        self.tell_mirror(extent);
        if self.is_drained(from.device) {
            self.drop_mirror(extent);
        }
    }

    /// Returns true if `extent` could move to its second copy on `device`, and may not leave where it is now.
    pub(super) fn is_exchange_held(&mut self, extent: LogicalExtent, device: DeviceIndex) -> bool {
        let Some(home) = self.map.place(extent).filter(|home| home.device != device) else { return false };
        if self.movable_mirror(extent).is_none_or(|place| place.device != device) {
            return false;
        }
        let obstacle = self.limited_move(home.device, device, true);
        let is_held = self.background.is_paused() || obstacle.is_some();
        obstacle.into_iter().for_each(|obstacle| self.background.is_kept(obstacle));
        is_held
    }

    /// Carries out a move of `extent` to `device`, which has one of its two copies, without a copy: only that one
    /// stays. Returns false if that cannot be done.
    pub(super) fn keep_only(&mut self, extent: LogicalExtent, device: DeviceIndex, effects: &mut Vec<Effect>) -> bool {
        if self.mirrors.is_empty() || self.health.journal_failed() {
            return false;
        }
        let is_home = self.map.place(extent).is_some_and(|place| place.device == device);
        let moves = !is_home && self.movable_mirror(extent).is_some_and(|place| place.device == device);
        if moves {
            self.change_places(extent, effects);
        }
        let keeps = moves || (is_home && self.mirrors.place(extent).is_some());
        if keeps {
            self.drop_mirror(extent);
        }
        keeps
    }
}
