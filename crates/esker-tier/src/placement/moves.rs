//! Moves of extents: the policy's wishes, and the copies that carry them out.

use std::ops::Range;

use esker_core::{Bytes, DeviceError, DeviceState, Lba, Nanos, Request, RequestKind};

use super::background::Obstacle;
use super::copies::{CopyPurpose, CopyStep, ExtentCopy};
use super::leaving_places::WaitsFor;
use super::map::ExtentWork;
use super::{Event, Io, MoveOutcome, PlacementEngine, WishedMove};
use crate::engine::{BufferId, DataRef, Effect, IoId};
use crate::extent::{ExtentPlace, LogicalExtent};

/// How a move has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MoveBegun {
    /// The data are being copied.
    Copy,
    /// It is done: the data were there already.
    Done,
}

impl PlacementEngine {
    /// Passes `event` to the policy.
    #[inline]
    pub(super) fn notify_policy(&mut self, now: Nanos, event: Event<'_>) {
        if self.policy.observes() {
            self.update_views();
            self.hold_views(now);
            self.policy.observe(now, &event, &self.views, &mut self.wishes);
        }
    }

    /// Carries out the policy's wishes as far as possible, and tells the policy about those that fail.
    #[inline]
    pub(super) fn grant_wishes(&mut self, now: Nanos, effects: &mut Vec<Effect>) {
        // The number of rounds is bounded: a policy that answers each refusal with another wish would keep the engine
        // here forever.
        for _ in 0..self.wishes.moves.len() {
            let wished = self.wishes.moves.remove(0);
            self.grant(now, wished, CopyPurpose::Move, effects);
        }
        for _ in 0..self.wishes.drop_mirrors.len() {
            let extent = self.wishes.drop_mirrors.remove(0);
            self.drop_mirror(extent);
        }
        for _ in 0..self.wishes.mirrors.len() {
            let wished = self.wishes.mirrors.remove(0);
            self.grant(now, wished, CopyPurpose::Mirror, effects);
        }
        self.send_controls(effects);
        let without_room = std::mem::take(&mut self.wishes.without_room);
        if without_room > 0 {
            self.moved.moves_without_room += without_room;
            self.background.is_kept(Obstacle::NoRoom);
        }
        if let Some(at) = self.wishes.wake_at.take() {
            effects.push(Effect::WakeAt(at.max(now)));
        }
    }

    fn grant(&mut self, now: Nanos, wished: WishedMove, purpose: CopyPurpose, effects: &mut Vec<Effect>) {
        let extent = wished.extent;
        match self.begin_move(now, wished, purpose, effects) {
            Ok(MoveBegun::Copy) => {}
            Ok(MoveBegun::Done) => self.notify_policy(now, Event::Moved { extent, outcome: MoveOutcome::Done }),
            Err(outcome) => self.notify_policy(now, Event::Moved { extent, outcome }),
        }
    }

    /// Begins a move, or the copy for a second place.
    pub(super) fn begin_move(
        &mut self,
        now: Nanos,
        wished: WishedMove,
        purpose: CopyPurpose,
        effects: &mut Vec<Effect>,
    ) -> Result<MoveBegun, MoveOutcome> {
        let drains = purpose == CopyPurpose::Drain;
        let WishedMove { extent, to, priority } = wished;
        if purpose == CopyPurpose::Move && self.map.work(extent) == ExtentWork::None {
            if self.is_exchange_held(extent, to) {
                return Err(MoveOutcome::Held);
            }
            if self.keep_only(extent, to, effects) {
                return Ok(MoveBegun::Done);
            }
        }
        let from = self.map.place(extent).filter(|from| from.device != to && self.map.work(extent) == ExtentWork::None);
        let from = from.ok_or(MoveOutcome::NothingToDo)?;
        let has_mirror = purpose == CopyPurpose::Mirror && self.mirrors.place(extent).is_some();
        if has_mirror || self.map.blocks.next_written(self.map.blocks_of(extent)).is_none() {
            return Err(MoveOutcome::NothingToDo);
        }
        // Draining a failed device saves the data that it can still read.
        let reads = !self.health.is_absent(from.device) && (drains || !self.health.has_failed(from.device));
        if !reads || self.health.journal_failed() {
            self.background.is_kept(Obstacle::Failed(from.device));
            return Err(MoveOutcome::Failed);
        }
        if let Some(held) = self.held_move(now, from.device, to, purpose) {
            return Err(held);
        }
        if self.copies.is_full() || self.health.device(to) != DeviceState::Online || self.is_drained(to) {
            return Err(MoveOutcome::NoRoom);
        }
        if drains && self.keep_only(extent, to, effects) {
            return Ok(MoveBegun::Done);
        }
        let Some(to) = self.map.take_near(extent, to) else {
            self.moved.moves_without_room += u64::from(!drains);
            self.background.is_kept(Obstacle::NoRoom);
            return Err(MoveOutcome::NoRoom);
        };
        self.background.move_begins();
        self.map.set_work(extent, ExtentWork::Copy);
        let slot = self.copies.begin(extent, (from, to), priority, purpose);
        self.step_copy(now, slot, false, effects);
        Ok(MoveBegun::Copy)
    }

    pub(super) fn step_copy(&mut self, now: Nanos, slot: u32, own: bool, effects: &mut Vec<Effect>) {
        let writes = self.map.writes(self.copies.get(slot).extent);
        #[cfg(test)]
        let writes = if self.copies.overlooks_writes { 0 } else { writes };
        let next = self.copies.step(slot, own, writes);
        let ExtentCopy { extent, from, to, purpose, .. } = *self.copies.get(slot);
        let drains = purpose == CopyPurpose::Drain;
        let lost = self.has_lost(extent, from, self.map.blocks_of(extent));
        let from_failed = lost || (!drains && self.health.has_failed(from.device));
        match next {
            CopyStep::Nothing => {}
            CopyStep::Read if self.background.is_paused() => self.end_copy(now, slot, MoveOutcome::Held, effects),
            CopyStep::Read => self.send_copy(now, slot, from, RequestKind::Read, effects),
            CopyStep::Write | CopyStep::Switch if self.health.has_failed(to.device) || from_failed => {
                self.end_copy(now, slot, MoveOutcome::Failed, effects);
            }
            CopyStep::Write if !self.may_write_copy(now, self.written_of(extent), drains) => {
                self.end_copy(now, slot, MoveOutcome::Held, effects);
            }
            // The write is durable at once, so that the record may follow.
            CopyStep::Write => self.send_copy(now, slot, to, RequestKind::Write { fua: true }, effects),
            CopyStep::Switch => self.end_copy(now, slot, MoveOutcome::Done, effects),
        }
    }

    /// Sends the read or the write of a copy: from the first written block of the extent to the last one.
    fn send_copy(&mut self, now: Nanos, slot: u32, place: ExtentPlace, kind: RequestKind, effects: &mut Vec<Effect>) {
        let copy = self.copies.get(slot);
        let blocks = self.map.blocks_of(copy.extent);
        let written = self.copied_blocks(copy.extent);
        let size = self.map.blocks.size;
        let within = size.length_of(&(blocks.start..written.start));
        let start = u64::from(place.extent.0) * self.extent + within.0;
        let length = size.length_of(&written);
        let request = Request { priority: copy.priority, ..Request::new(kind, Lba::containing(start), length) };
        if kind == RequestKind::Read {
            self.moved.copied_bytes += length.0;
        }
        let device = place.device;
        let io = IoId(self.ios.insert(Io::Copy { slot, device, kind, sent: now, length }));
        let data = Some(DataRef::new(BufferId::Copy(slot), Bytes::ZERO));
        effects.push(Effect::Io { io, host: None, device, request, data });
    }

    /// Returns the blocks of an extent that a copy reads and writes.
    fn copied_blocks(&self, extent: LogicalExtent) -> Range<usize> {
        // A trim empties no extent that is copied.
        self.map.blocks.span(self.map.blocks_of(extent)).expect("an extent that is copied has data")
    }

    /// Returns the bytes that a copy of `extent` writes.
    fn written_of(&self, extent: LogicalExtent) -> Bytes {
        self.map.blocks.size.length_of(&self.copied_blocks(extent))
    }

    /// Handles the end of a copy's read or write.
    pub(super) fn copy_ended(
        &mut self,
        now: Nanos,
        slot: u32,
        kind: RequestKind,
        result: Result<(), DeviceError>,
        effects: &mut Vec<Effect>,
    ) {
        match result {
            Ok(()) => self.step_copy(now, slot, true, effects),
            Err(DeviceError::NoSpace | DeviceError::ReadOnly) if kind.is_write() => {
                self.background.refused(self.copies.get(slot).to.device, now);
                self.end_copy(now, slot, MoveOutcome::NoRoom, effects);
                self.ask_after_refusals(effects);
            }
            Err(_) => {
                let ExtentCopy { from, .. } = *self.copies.get(slot);
                if kind == RequestKind::Read {
                    self.background.is_kept(Obstacle::Failed(from.device));
                }
                self.end_copy(now, slot, MoveOutcome::Failed, effects);
            }
        }
    }

    /// Ends the copy in `slot`. If it succeeded, the map changes; otherwise the target becomes free again.
    fn end_copy(&mut self, now: Nanos, slot: u32, outcome: MoveOutcome, effects: &mut Vec<Effect>) {
        let copy = self.copies.end(slot);
        let extent = copy.extent;
        let outcome = if copy.purpose == CopyPurpose::Nothing { MoveOutcome::Held } else { outcome };
        self.map.set_work(extent, ExtentWork::None);
        match (outcome, copy.purpose) {
            (MoveOutcome::Done, CopyPurpose::Mirror) => self.add_mirror(extent, copy.to),
            (MoveOutcome::Done, _) => {
                self.moved.moved_extents += 1;
                self.moved.moved_bytes += self.extent;
                self.move_to_durable(extent, copy.to, effects);
            }
            _ => {
                self.moved.abandoned_moves += 1;
                self.leaving.add(copy.to, WaitsFor::Nothing, 0, true);
            }
        }
        if copy.purpose == CopyPurpose::Drain {
            self.drains.copy_ended(copy.from, extent, outcome);
        }
        self.notify_policy(now, Event::Moved { extent, outcome });
    }

    /// Changes the map: the data of `extent` are at `to` now, where all of them are durable.
    fn move_to_durable(&mut self, extent: LogicalExtent, to: ExtentPlace, effects: &mut Vec<Effect>) {
        // Hosts that wait for a flush also wait for the records issued by then.
        let _ = self.relocate(extent, to);
        self.record_durable(extent, effects);
    }

    /// Issues the records of `extent`, of which all data are durable where it is.
    pub(super) fn record_durable(&mut self, extent: LogicalExtent, effects: &mut Vec<Effect>) {
        let runs = self.map.blocks.unrecorded(self.map.blocks_of(extent));
        self.record(extent, &runs, effects);
        self.durability.harden(effects);
    }
}
