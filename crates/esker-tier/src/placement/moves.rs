//! The engine's own work: moving extents, and preparing places for reuse.

use esker_core::{Bytes, DeviceError, DeviceState, Lba, Nanos, Request, RequestKind};

use super::copies::Next;
use super::leaving::Ready;
use super::map::Recorded;
use super::{Event, HostPart, Io, MoveOutcome, PlacementEngine, WishedMove};
use crate::engine::{DataRef, Effect, IoId, MapRecord};
use crate::extent::{ExtentPlace, LogicalExtent};

impl PlacementEngine {
    /// Passes `event` to the policy.
    #[inline]
    pub(super) fn notify_policy(&mut self, now: Nanos, event: Event<'_>) {
        if self.policy.observes() {
            self.update_views();
            self.policy.observe(now, &event, &self.views, &mut self.wishes);
        }
    }

    /// Carries out the policy's wishes.
    #[inline]
    pub(super) fn grant_wishes(&mut self, now: Nanos, effects: &mut Vec<Effect>) {
        // A bounded number of rounds: a policy that answers each refusal with another wish would keep the engine here
        // for ever.
        for _ in 0..self.wishes.moves.len() {
            let wished = self.wishes.moves.remove(0);
            let extent = wished.extent;
            if let Err(outcome) = self.begin_move(now, wished, effects) {
                self.notify_policy(now, Event::Moved { extent, outcome });
            }
        }
        if let Some(at) = self.wishes.wake_at.take() {
            effects.push(Effect::WakeAt(at.max(now)));
        }
    }

    /// Begins to move an extent.
    pub(super) fn begin_move(
        &mut self,
        now: Nanos,
        wished: WishedMove,
        effects: &mut Vec<Effect>,
    ) -> Result<(), MoveOutcome> {
        let WishedMove { extent, to, priority } = wished;
        let from = self.map.place(extent).filter(|from| from.device != to && self.copies.of(extent).is_none());
        let from = from.ok_or(MoveOutcome::NothingToDo)?;
        if self.health.has_failed(from.device) || self.health.journal_failed() {
            return Err(MoveOutcome::Failed);
        }
        if self.copies.is_full() || self.health.device(to) != DeviceState::Online {
            return Err(MoveOutcome::NoRoom);
        }
        let to = self.map.take_free(to).ok_or(MoveOutcome::NoRoom)?;
        let writes = self.parts_to(from, |kind| kind != RequestKind::Read);
        let slot = self.copies.begin(extent, (from, to), priority, writes);
        self.step_copy(now, slot, false, effects);
        Ok(())
    }

    /// Number of parts of host requests under way to `place`, of the kinds for which `counts` is true.
    fn parts_to(&self, place: ExtentPlace, counts: impl Fn(RequestKind) -> bool) -> u32 {
        let goes = |io: &Io| matches!(io, Io::Part(part) if part.goes_to(place) && counts(part.request.kind));
        self.ios.iter().filter(|io| goes(io)).count() as u32
    }

    fn step_copy(&mut self, now: Nanos, slot: u32, own: bool, effects: &mut Vec<Effect>) {
        let next = self.copies.step(slot, own);
        let (from, to) = (self.copies.get(slot).from, self.copies.get(slot).to);
        let (place, kind) = match next {
            Next::Nothing => return,
            Next::Read => (from, RequestKind::Read),
            // The write is durable at once, so that the record may follow.
            Next::Write if self.health.has_failed(to.device) => {
                return self.end_copy(now, slot, MoveOutcome::Failed, effects);
            }
            Next::Write => (to, RequestKind::Write { fua: true }),
            Next::Switch if self.health.has_failed(from.device) => {
                return self.end_copy(now, slot, MoveOutcome::Failed, effects);
            }
            Next::Switch => return self.end_copy(now, slot, MoveOutcome::Done, effects),
            Next::GiveUp => return self.end_copy(now, slot, MoveOutcome::WrittenMeanwhile, effects),
        };
        let device = place.device;
        let io = IoId(self.ios.insert(Io::Copy { slot, device, kind, sent: now }));
        let request = Request { priority: self.copies.get(slot).priority, ..self.whole(place, kind) };
        effects.push(Effect::Io { io, host: None, device, request, data: DataRef::Scratch { slot } });
    }

    fn whole(&self, place: ExtentPlace, kind: RequestKind) -> Request {
        Request::new(kind, Lba::containing(u64::from(place.extent.0) * self.extent), Bytes(self.extent))
    }

    /// Handles the end of a read or a write of a copy.
    pub(super) fn copy_ended(
        &mut self,
        now: Nanos,
        slot: u32,
        result: Result<(), DeviceError>,
        effects: &mut Vec<Effect>,
    ) {
        match result {
            Ok(()) => self.step_copy(now, slot, true, effects),
            Err(_) => self.end_copy(now, slot, MoveOutcome::Failed, effects),
        }
    }

    /// Ends the copy in `slot`. If it succeeded, the map changes. Otherwise the target becomes free again once it holds
    /// zeroes.
    fn end_copy(&mut self, now: Nanos, slot: u32, outcome: MoveOutcome, effects: &mut Vec<Effect>) {
        let copy = self.copies.end(slot);
        if outcome == MoveOutcome::Done {
            self.movements.moved += 1;
            self.movements.moved_bytes += self.extent;
            let recorded = self.map.recorded(copy.extent);
            let from = self.map.relocate(copy.extent, copy.to);
            let under_way = self.parts_to(from, |_| true);
            let number = self.durability.issue();
            // A place that no record mentions needs no record to be freed.
            let (record, waits_for) = match recorded {
                Recorded::Yes => (MapRecord::Moved { extent: copy.extent, place: copy.to }, Some(number)),
                Recorded::No | Recorded::Waiting => (MapRecord::Mapped { extent: copy.extent, place: copy.to }, None),
            };
            effects.push(Effect::Record { number, record });
            self.durability.harden(effects);
            self.leaving.add(from, waits_for, under_way);
        } else {
            self.movements.abandoned += 1;
            self.leaving.add(copy.to, None, 0);
        }
        self.notify_policy(now, Event::Moved { extent: copy.extent, outcome });
    }

    /// Notes that writes of the host to extents under copy have ended.
    pub(super) fn write_to_copied_ended(&mut self, now: Nanos, part: &HostPart, effects: &mut Vec<Effect>) {
        for (index, extent) in (0..).zip(part.extents()) {
            // A write may still go to the place that the extent had before it was trimmed.
            let here = |slot: &u32| self.copies.get(*slot).from == part.place.after(index);
            if let Some(slot) = self.copies.of(extent).filter(here) {
                self.copies.host_write(extent, false);
                self.step_copy(now, slot, false, effects);
            }
        }
    }

    /// Frees the extents that `part` trimmed as a whole.
    pub(super) fn free_trimmed(&mut self, part: &HostPart, effects: &mut Vec<Effect>) {
        if !self.free_on_trim {
            return;
        }
        let (start, end) = (part.request.start.byte_offset(), part.request.end_byte());
        for (index, extent) in (0..).zip(part.extents()) {
            let place = part.place.after(index);
            let begin = u64::from(place.extent.0) * self.extent;
            let whole = begin >= start && begin + self.extent <= end;
            if !whole || self.map.place(extent) != Some(place) || self.copies.of(extent).is_some() {
                continue;
            }
            let recorded = self.map.recorded(extent);
            self.map.unmap(extent);
            self.movements.freed += 1;
            let under_way = self.parts_to(place, |_| true);
            let record = (recorded == Recorded::Yes).then(|| self.durability.issue());
            if let Some(number) = record {
                effects.push(Effect::Record { number, record: MapRecord::Freed { extent } });
                self.durability.harden(effects);
            }
            self.leaving.add(place, record, under_way);
        }
    }

    /// Whether `request` writes more new extents than there are free places, while other places are about to be freed.
    pub(super) fn has_to_wait(&self, request: Request) -> bool {
        let RequestKind::Write { .. } = request.kind else { return false };
        if self.copies.is_empty() && self.leaving.is_empty() || request.length == Bytes::ZERO {
            return false;
        }
        let (first, last) = (request.start.byte_offset() / self.extent, (request.end_byte() - 1) / self.extent);
        let is_fresh = |extent: &u64| self.map.place(LogicalExtent(*extent as u32)).is_none();
        let fresh = (first..=last).filter(is_fresh).count() as u64;
        let online = self.health.devices().iter().enumerate().filter(|(_, state)| **state == DeviceState::Online);
        let free: u64 = online.map(|(device, _)| u64::from(self.map.free_extents(device))).sum();
        let becomes_free = || !self.copies.is_empty() || self.leaving.places().any(|place| self.takes_writes(place));
        fresh > free && becomes_free()
    }

    /// Serves the writes that waited for places, as far as places are free now.
    #[inline]
    pub(super) fn serve_waiting_writes(&mut self, now: Nanos, effects: &mut Vec<Effect>) {
        while let Some(&(tag, request)) = self.waiting.front() {
            if self.has_to_wait(request) {
                return;
            }
            self.waiting.pop_front();
            match self.health.journal_failed() {
                true => self.hosts.note(tag, 0, DeviceError::Failed),
                false => self.split(now, tag, request, effects),
            }
            if !self.hosts.waits(tag) {
                self.children_ended(tag, effects);
            }
        }
    }

    fn takes_writes(&self, place: ExtentPlace) -> bool {
        self.health.device(place.device) == DeviceState::Online && !self.health.has_failed(place.device)
    }

    /// Zeroes and releases the places that can be reused now.
    #[inline]
    pub(super) fn reuse_places(&mut self, effects: &mut Vec<Effect>) {
        if self.leaving.is_empty() {
            return;
        }
        let health = &self.health;
        let takes_writes =
            |place: ExtentPlace| health.device(place.device) == DeviceState::Online && !health.has_failed(place.device);
        while let Some(ready) = self.leaving.next_ready(takes_writes) {
            match ready {
                Ready::Free(place) => self.map.release(place),
                Ready::Zero(place) => {
                    let io = IoId(self.ios.insert(Io::Zero { place }));
                    let start = Lba::containing(u64::from(place.extent.0) * self.extent);
                    let kind = RequestKind::WriteZeroes { fua: true };
                    let request = Request::new(kind, start, Bytes(self.extent)).in_background();
                    effects.push(Effect::Io { io, host: None, device: place.device, request, data: DataRef::None });
                }
            }
        }
    }
}
