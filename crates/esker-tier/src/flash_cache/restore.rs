//! Checkpoints, and restoring a cache from its records.

use esker_cache::{Access, AccessKind, NEVER, ObjectId};

use super::slots::RecordedState;
use super::{FlashCacheEngine, FlashCacheError, FlashCacheRecord, FlashCacheSettings};
use crate::engine::{Record, RecordNumber, Snapshot};
use crate::extent::{LogicalExtent, PhysicalExtent};

impl FlashCacheEngine {
    /// Restores the cache as the records of a `checkpoint`, and those of the `journal` that follow it, describe it.
    /// `through` is the last record that the checkpoint includes. The cache holds the same lines, but the order in
    /// which they were last used is lost, because it is not recorded.
    ///
    /// A source whose reading fails ends early and keeps its error: look at that before the engine is used.
    ///
    /// # Errors
    /// If the settings contradict each other, or the records contradict the settings or each other.
    pub fn restore(
        settings: &FlashCacheSettings,
        through: RecordNumber,
        checkpoint: &mut dyn Iterator<Item = Record>,
        journal: &mut dyn Iterator<Item = Record>,
    ) -> Result<Self, FlashCacheError> {
        let mut through = through;
        let mut engine = Self::empty(settings, through)?;
        for record in checkpoint.chain(journal.inspect(|_| through.0 += 1)) {
            engine.apply(FlashCacheRecord::try_from(record)?)?;
        }
        engine.slots.restored();
        engine.durability = crate::engine::Durability::new(2, through);
        engine.to_evict.extend(engine.slots.to_leave());
        let mut to_stay = engine.slots.to_stay();
        if engine.owned.is_some() {
            to_stay = engine.most_needed(to_stay);
        }
        for line in to_stay {
            let bytes = engine.line as u32;
            let access = Access { object: ObjectId(line), bytes, kind: AccessKind::Read, next_use: NEVER };
            engine.assign_restored(line);
            engine.policy.hit(&access);
            let left = engine.policy.insert(&access);
            engine.to_evict.extend(left.map(|object| object.0));
        }
        Ok(engine)
    }

    fn apply(&mut self, record: FlashCacheRecord) -> Result<(), FlashCacheError> {
        let LogicalExtent(line) = record.line();
        if line >= self.slots.lines() {
            return Err(FlashCacheError::NoLine(line));
        }
        match record {
            FlashCacheRecord::Cached { slot: PhysicalExtent(slot), dirty, .. } => {
                if slot >= self.slots.limit() {
                    return Err(FlashCacheError::NoSlot(slot));
                }
                if self.slots.of(line) == Some(slot) {
                    self.slots.set_dirty(line, dirty);
                    self.slots.set_recorded(line, if dirty { RecordedState::Dirty } else { RecordedState::Clean });
                } else if !self.slots.restore(line, slot, dirty) {
                    return Err(FlashCacheError::Twice { line, slot });
                }
            }
            FlashCacheRecord::Uncached { .. } => {
                if self.slots.of(line).is_some() {
                    self.slots.unmap(line, None);
                }
            }
        }
        Ok(())
    }

    /// Returns the record that makes what the journal knows about `line`; `None` if it is not in the cache.
    fn recorded_line(&self, line: u32) -> Option<Record> {
        let slot_of = |line| self.slots.of(line).expect("a recorded line has a slot");
        let (slot, dirty) = match self.slots.recorded(line) {
            RecordedState::Clean => (slot_of(line), false),
            RecordedState::Dirty => (slot_of(line), true),
            RecordedState::No => (*self.slots.former_named().get(&line)?, true),
        };
        #[cfg(test)]
        if self.fault == Some(super::Fault::ForgetsFormer) && self.slots.former_named().contains_key(&line) {
            return None;
        }
        let record = FlashCacheRecord::Cached { line: LogicalExtent(line), slot: PhysicalExtent(slot), dirty };
        Some(record.into())
    }

    /// Begins a checkpoint in steps, and discards one that was under way. Returns the last record that it includes.
    pub(super) fn begin_snapshot(&mut self) -> RecordNumber {
        self.snapshot = Some(Snapshot::new(self.slots.lines()));
        self.durability.issued()
    }

    /// Calls `visit` with the records of up to `most` further lines. Returns true if the checkpoint is complete.
    pub(super) fn continue_snapshot(&mut self, most: u32, visit: &mut dyn FnMut(Record)) -> bool {
        let Some(mut snapshot) = self.snapshot.take() else { return true };
        for line in snapshot.advance(most) {
            match snapshot.take_kept(line) {
                Some(kept) => kept.into_iter().for_each(&mut *visit),
                None => self.recorded_line(line).into_iter().for_each(&mut *visit),
            }
        }
        let is_complete = snapshot.is_complete();
        self.snapshot = (!is_complete).then_some(snapshot);
        is_complete
    }

    /// Keeps what the journal knows about `line` for the checkpoint under way, before a record changes it.
    pub(super) fn keep_for_snapshot(&mut self, line: u32) {
        if self.snapshot.as_ref().is_some_and(|snapshot| snapshot.needs(line)) {
            let record = self.recorded_line(line);
            self.snapshot.as_mut().expect("one is under way").keep(line, record.into_iter().collect());
        }
    }
}
