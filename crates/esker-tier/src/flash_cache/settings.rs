//! Settings of a flash cache.

use esker_cache::{Admission, NO_ADMISSION, REPLACEMENTS, Replacement, ReplacementCapability, Shape, build_admission};
use esker_core::registry::{self, Choice};
use esker_core::{Bytes, Ratio};

use super::CacheStreams;
use super::allocation::{AllocationSettings, Allocator};
use super::controller::CacheController;
use super::error::FlashCacheError;
use super::modes::{CacheRole, LINE_MAX, LINES_MAX, OwnedFlash, SlotOrder, Trimming, WriteHandling, words};
use super::partition::{Partition, PartitionBy, PartitionError, PartitionSettings};

/// The settings of a flash cache.
#[derive(Clone, Debug, PartialEq)]
pub struct FlashCacheSettings {
    /// Size of a line, which is cached as a whole: a multiple of the sector size.
    pub line: Bytes,
    /// Capacity of the flash (device 0).
    pub flash: Bytes,
    /// Capacity of the backing device (device 1). The volume consists of the whole lines that fit into it.
    pub backing: Bytes,
    /// The replacement policy.
    pub policy: Choice,
    /// The order in which slots are used.
    pub slots: SlotOrder,
    /// The streams of writes to the flash.
    pub streams: CacheStreams,
    /// The admission policy: which lines that miss may enter the cache.
    pub admission: Choice,
    /// Which requests bring a line into the cache.
    pub role: CacheRole,
    /// What happens to writes.
    pub write: WriteHandling,
    /// While the host is idle, the cleaner works until at most this share of the slots is dirty.
    pub dirty_low: Ratio,
    /// Above this share of dirty slots, the cleaner works whatever the host does.
    pub dirty_high: Ratio,
    /// Whether slots that become free are trimmed on the flash.
    pub trim_freed: bool,
    /// How the cache chooses, in each window, how much of the flash its lines take; `None` if they take all of it.
    pub allocation: Option<AllocationSettings>,
    /// How the cache is divided into parts; `None` if it is not.
    pub partition: Option<PartitionSettings>,
    /// How much may be kept on the flash, if the cache owns it; `None` for a drive, which keeps everything that is
    /// written to it.
    pub owned: Option<OwnedFlash>,
    /// Seed of the policies' random numbers.
    pub seed: u64,
}

impl FlashCacheSettings {
    /// The default settings, which are assumed: lines of 4 KiB, LRU, no admission policy, both reads and writes,
    /// write-through; cleaning from 60% down to 40%; no trims.
    pub fn new(flash: Bytes, backing: Bytes) -> Self {
        Self {
            line: Bytes::kib(4),
            flash,
            backing,
            policy: Choice::named("lru"),
            slots: SlotOrder::default(),
            streams: CacheStreams::default(),
            admission: Choice::named(NO_ADMISSION),
            role: CacheRole::default(),
            write: WriteHandling::default(),
            dirty_low: Ratio::percent(40),
            dirty_high: Ratio::percent(60),
            trim_freed: false,
            allocation: None,
            partition: None,
            owned: None,
            seed: 0,
        }
    }

    /// Returns the number of lines of the volume and the number of slots of the flash, or the setting that makes no
    /// sense.
    pub(super) fn sizes(&self) -> Result<(u32, u32), FlashCacheError> {
        let line = self.line;
        if line == Bytes::ZERO || !line.0.is_multiple_of(Bytes::SECTOR.0) || line > LINE_MAX {
            return Err(FlashCacheError::Line(line));
        }
        let (lines, slots) = (self.backing.0 / line.0, self.flash.0 / line.0);
        if lines == 0 {
            return Err(FlashCacheError::Backing { line, backing: self.backing });
        }
        if slots < 2 {
            return Err(FlashCacheError::Flash { line, flash: self.flash });
        }
        if lines.max(slots) > LINES_MAX {
            return Err(FlashCacheError::Lines(lines.max(slots)));
        }
        let fits = match self.write {
            WriteHandling::WriteAround => self.role == CacheRole::Read,
            WriteHandling::WriteBack => self.role != CacheRole::Read,
            WriteHandling::WriteThrough => true,
        };
        if !fits {
            return Err(FlashCacheError::Combination { role: self.role, write: self.write });
        }
        if self.slots == SlotOrder::AppendOnly && self.write == WriteHandling::WriteThrough {
            return Err(FlashCacheError::AppendThrough);
        }
        if self.dirty_high > Ratio::ONE {
            return Err(FlashCacheError::HighMark(self.dirty_high));
        }
        if self.dirty_low > self.dirty_high {
            return Err(FlashCacheError::LowMark { low: self.dirty_low, high: self.dirty_high });
        }
        if let Some(allocation) = &self.allocation {
            self.check_allocation(allocation)?;
        }
        if self.owned.is_some() && self.slots.is_log() {
            return Err(FlashCacheError::OwnedFlash { key: "slots" });
        }
        if self.owned.is_some() && self.allocation.is_some() {
            return Err(FlashCacheError::OwnedFlash { key: "allocation" });
        }
        self.check_partition()?;
        Ok((lines as u32, slots as u32))
    }

    fn check_allocation(&self, allocation: &AllocationSettings) -> Result<(), FlashCacheError> {
        if self.slots.is_log() {
            return Err(FlashCacheError::AllocationOfLog { slots: self.slots });
        }
        if !self.trim_freed {
            return Err(FlashCacheError::AllocationWithoutTrims);
        }
        if self.role == CacheRole::Read {
            return Err(FlashCacheError::AllocationOfReads);
        }
        allocation.check(self.line).map_err(FlashCacheError::Allocation)
    }

    /// The controller of a cache on a flash of `slots` slots, of which lines may take `most`, and `room` of them at
    /// rest; `None` if size and shares are fixed.
    pub(super) fn controller(&self, room: u32, most: u32, slots: u32) -> Option<Box<dyn CacheController>> {
        let (line, seed) = (self.line.0, self.seed);
        if let Some(allocation) = &self.allocation {
            return Some(Box::new(Allocator::new(allocation, slots, line, seed)));
        }
        let partition = self.partition.as_ref()?;
        Some(Box::new(Partition::new(partition, [room, most], line, seed)))
    }

    /// The replacement policy of a cache that may hold `capacity` of the volume's `lines` lines.
    pub(super) fn build_policy(&self, capacity: u32, lines: u32) -> Result<Box<dyn Replacement>, FlashCacheError> {
        if let Ok(entry) = registry::find(REPLACEMENTS, "cache policy", &self.policy.kind) {
            if entry.can(ReplacementCapability::Future) {
                return Err(FlashCacheError::Future(entry.name));
            }
            if self.slots.is_log() && !entry.can(ReplacementCapability::Log) {
                return Err(FlashCacheError::NoLog { slots: self.slots, policy: entry.name });
            }
        }
        let shape = Shape { capacity, objects: lines, seed: self.seed };
        Ok(esker_cache::build(&self.policy, &shape)?)
    }

    /// The admission policy of a cache that may hold `capacity` of the volume's `lines` lines.
    pub(super) fn build_admission(&self, capacity: u32, lines: u32) -> Result<Box<dyn Admission>, FlashCacheError> {
        let shape = Shape { capacity, objects: lines, seed: self.seed };
        build_admission(&self.admission, &shape).map_err(FlashCacheError::Admission)
    }
}

impl FlashCacheSettings {
    /// Checks that the other settings go with a partition.
    fn check_partition(&self) -> Result<(), FlashCacheError> {
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
        let is_write_back = self.write == WriteHandling::WriteBack && self.role == CacheRole::Unified;
        if partition.by == PartitionBy::Access && !is_write_back {
            return Err(PartitionError::Access { role: words(&self.role), write: words(&self.write) }.into());
        }
        Ok(partition.check(self.line).map_err(PartitionError::Setting)?)
    }

    pub(super) fn trimming(&self) -> Trimming {
        match (self.owned, self.trim_freed) {
            (Some(_), _) => Trimming::Always,
            (None, true) => Trimming::IfPlenty,
            (None, false) => Trimming::Never,
        }
    }
}
