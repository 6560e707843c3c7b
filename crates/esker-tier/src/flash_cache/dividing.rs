//! A cache in parts: which part an access is about.

use esker_cache::ObjectId;
use esker_core::RequestKind;

use super::modes::words;
use super::part::{Part, Task};
use super::partition::{LineAccess, Partition, PartitionBy, PartitionError, Policy};
use super::{CacheRole, FlashCacheEngine, FlashCacheError, FlashCacheSettings};

impl FlashCacheEngine {
    /// Counts the access of a part of the host's, and says to which part of the cache its line goes.
    pub(super) fn divide(&mut self, part: &Part) {
        let (Some(partition), Some(parts)) = (&mut self.partition, self.policy.parts_mut()) else { return };
        let is_write = match part.task {
            Task::Write(kind) if kind != RequestKind::Trim => true,
            Task::Read => false,
            _ => return,
        };
        let access = LineAccess {
            line: part.line,
            volume: part.stream.0,
            is_write,
            is_whole: part.length == self.line,
            is_held: self.slots.of(part.line).is_some(),
            is_dirty: self.slots.is_dirty(part.line),
        };
        let counts = match self.role {
            CacheRole::Read => !is_write,
            CacheRole::Write => is_write,
            CacheRole::Unified => true,
        };
        if !counts {
            return;
        }
        if partition.access(self.now, &access) {
            parts.divide(partition.weights());
        }
        parts.assign(ObjectId(access.line), partition.part_of(&access));
    }

    /// A restored line goes to the part of dirty lines if it is one; of which volume it is nobody knows before it is
    /// used.
    pub(super) fn divide_restored(&mut self, line: u32) {
        let is_dirty = self.slots.is_dirty(line);
        if let (Some(partition), Some(parts)) = (&self.partition, self.policy.parts_mut()) {
            parts.assign(ObjectId(line), partition.part_of_restored(is_dirty));
        }
    }

    /// The cache may hold so many lines.
    pub(super) fn resize_parts(&mut self, room: u32) {
        if let Some(partition) = &mut self.partition {
            partition.resize(room);
        }
    }
}

impl FlashCacheSettings {
    /// The parts of a cache for `room` lines on `slots` slots, if it has some.
    pub(super) fn partition(&self, room: u32, slots: u32) -> Option<Box<Partition>> {
        let partition = self.partition.as_ref()?;
        Some(Box::new(Partition::new(partition, [room, slots], self.line.0, self.seed)))
    }

    /// The replacement policy, for `room` of `lines` lines.
    pub(super) fn policy(
        &self,
        room: u32,
        lines: u32,
        partition: Option<&Partition>,
    ) -> Result<Policy, FlashCacheError> {
        Ok(match partition {
            None => Policy::Whole(self.build_policy(room, lines)?),
            Some(partition) => Policy::parted(room, lines, partition.weights()),
        })
    }

    /// Checks what a cache in parts needs of the other settings.
    pub(super) fn check_partition(&self) -> Result<(), FlashCacheError> {
        let Some(partition) = &self.partition else { return Ok(()) };
        if self.policy.kind != "lru" {
            return Err(PartitionError::Policy(self.policy.kind.clone()).into());
        }
        if self.slots.is_log() {
            return Err(PartitionError::Log(words(&self.slots)).into());
        }
        if self.allocation.is_some() {
            return Err(PartitionError::Allocation.into());
        }
        let is_write_back = self.write == super::WriteHandling::WriteBack && self.role == CacheRole::Unified;
        if partition.by == PartitionBy::Access && !is_write_back {
            return Err(PartitionError::Access { role: words(&self.role), write: words(&self.write) }.into());
        }
        Ok(partition.check(self.line).map_err(PartitionError::Setting)?)
    }
}
