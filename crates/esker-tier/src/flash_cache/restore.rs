//! Checkpoints, and restoring a cache from its records.

use esker_cache::{Access, AccessKind, NEVER, ObjectId};

use super::slots::RecordedState;
use super::{FlashCacheEngine, FlashCacheError, FlashCacheSettings};
use crate::engine::{CachedLine, Checkpoint, MapRecord};
use crate::extent::{LogicalExtent, PhysicalExtent};

impl FlashCacheEngine {
    /// Restores the cache as its records describe it. It holds the same lines, but the order in which they were last
    /// used is lost, because it is not recorded.
    ///
    /// # Errors
    /// If the settings contradict each other, or the records contradict the settings or each other.
    pub fn restore(
        settings: &FlashCacheSettings,
        checkpoint: &Checkpoint,
        records: &mut dyn Iterator<Item = MapRecord>,
    ) -> Result<Self, FlashCacheError> {
        if !checkpoint.extents.is_empty() {
            return Err(FlashCacheError::Placement);
        }
        let mut engine = Self::empty(settings, checkpoint.through)?;
        let mut through = checkpoint.through;
        for &CachedLine { line, slot, dirty } in &checkpoint.cached {
            if engine.slots.of(line.0).is_some() {
                return Err(FlashCacheError::Twice { line: line.0, slot: slot.0 });
            }
            engine.apply(MapRecord::Cached { line, slot, dirty })?;
        }
        for record in records {
            engine.apply(record)?;
            through.0 += 1;
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

    fn apply(&mut self, record: MapRecord) -> Result<(), FlashCacheError> {
        let LogicalExtent(line) = record.extent();
        if line >= self.slots.lines() {
            return Err(FlashCacheError::NoLine(line));
        }
        match record {
            MapRecord::Cached { slot: PhysicalExtent(slot), dirty, .. } => {
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
            MapRecord::Uncached { .. } => {
                if self.slots.of(line).is_some() {
                    self.slots.unmap(line, None);
                }
            }
            _ => return Err(FlashCacheError::Placement),
        }
        Ok(())
    }

    /// Returns a complete checkpoint: the lines as described by the records issued so far.
    pub(super) fn recorded_lines(&self) -> Checkpoint {
        let recorded = self.slots.held().filter(|(_, _, recorded, _)| *recorded != RecordedState::No);
        let recorded = recorded.map(|(line, slot, recorded, _)| (line, slot, recorded == RecordedState::Dirty));
        let outdated = self.slots.former_named().iter().map(|(&line, &slot)| (line, slot, true));
        let as_line = |(line, slot, dirty)| CachedLine { line: LogicalExtent(line), slot: PhysicalExtent(slot), dirty };
        let mut cached: Vec<CachedLine> = recorded.chain(outdated).map(as_line).collect();
        cached.sort_unstable_by_key(|cached| cached.line);
        Checkpoint { through: self.durability.issued(), cached, ..Checkpoint::default() }
    }
}
