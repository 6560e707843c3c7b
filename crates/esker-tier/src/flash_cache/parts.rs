//! The link between the cache and its partition: which part of the cache each line belongs to.

use esker_cache::ObjectId;
use esker_core::RequestKind;

use super::job::{Job, JobTask};
use super::modes::words;
use super::partition::{CachePolicy, LineAccess, Partition, PartitionBy, PartitionError};
use super::{CacheRole, FlashCacheEngine, FlashCacheError, FlashCacheSettings};

impl FlashCacheEngine {
    /// Counts the access of a job of the host, and assigns its line to a part of the cache.
    pub(super) fn assign_part(&mut self, job: &Job) {
        let (Some(partition), Some(parts)) = (&mut self.partition, self.policy.parts_mut()) else { return };
        let is_write = match job.task {
            JobTask::Write(kind) if kind != RequestKind::Trim => true,
            JobTask::Read => false,
            _ => return,
        };
        let access = LineAccess {
            line: job.line,
            volume: job.stream.0,
            is_write,
            is_whole: job.length == self.line,
            is_held: self.slots.of(job.line).is_some(),
            is_dirty: self.slots.is_dirty(job.line),
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

    /// Assigns a restored line to a part of the cache. If the parts are volumes, the line goes to part 0: a line's
    /// volume is unknown until it is next used.
    pub(super) fn assign_restored(&mut self, line: u32) {
        let is_dirty = self.slots.is_dirty(line);
        if let (Some(partition), Some(parts)) = (&self.partition, self.policy.parts_mut()) {
            parts.assign(ObjectId(line), partition.part_of_restored(is_dirty));
        }
    }

    /// Tells the partition that the cache may now hold `room` lines.
    pub(super) fn resize_parts(&mut self, room: u32) {
        if let Some(partition) = &mut self.partition {
            partition.resize(room);
        }
    }
}

impl FlashCacheSettings {
    /// The partition of a cache that may hold `room` lines in `slots` slots; `None` if the cache is not divided.
    pub(super) fn partition(&self, room: u32, slots: u32) -> Option<Box<Partition>> {
        let partition = self.partition.as_ref()?;
        Some(Box::new(Partition::new(partition, [room, slots], self.line.0, self.seed)))
    }

    /// The replacement policy of a cache that may hold `room` of the volume's `lines` lines.
    pub(super) fn policy(
        &self,
        room: u32,
        lines: u32,
        partition: Option<&Partition>,
    ) -> Result<CachePolicy, FlashCacheError> {
        Ok(match partition {
            None => CachePolicy::Whole(self.build_policy(room, lines)?),
            Some(partition) => CachePolicy::divided(room, lines, partition.weights()),
        })
    }

    /// Checks that the other settings go with a partition.
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
