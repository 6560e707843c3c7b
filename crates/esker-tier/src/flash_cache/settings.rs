//! Settings of a flash cache.

use esker_cache::{Admission, NO_ADMISSION, REPLACEMENTS, Replacement, ReplacementCapability, Shape, build_admission};
use esker_core::registry::{self, Choice};
use esker_core::{Bytes, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::allocation::{AllocationSettings, Allocator};
use super::owned::Owned;
use super::partition::PartitionSettings;
use super::{CacheStreams, FlashCacheError, OwnedFlash};

/// Which requests bring a line into the cache. Lines that are there serve reads in every role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CacheRole {
    /// Reads alone.
    Read,
    /// Writes alone.
    Write,
    /// Reads and writes.
    #[default]
    Unified,
}

/// What happens to a write of the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WriteHandling {
    /// It goes to the flash and to the backing device, and has ended when both have ended.
    #[default]
    WriteThrough,
    /// It goes to the flash. The line is dirty until it is copied back.
    WriteBack,
    /// It goes to the backing device, and the line leaves the cache.
    WriteAround,
}

/// The order in which the slots of the flash are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SlotOrder {
    /// Any: the slot that became free last is used next.
    #[default]
    Any,
    /// One after the other, round after round, so that the flash device is overwritten in the order of its addresses.
    /// The lines that come next leave; only for policies that evict in the order of insertion.
    Log,
    /// A log in which nothing is changed where it is: a line that the host changes goes to the next slot.
    AppendOnly,
}

impl SlotOrder {
    /// Whether slots are used one after the other.
    pub(super) fn is_log(self) -> bool {
        self != Self::Any
    }
}

/// The settings of a flash cache.
#[derive(Clone, Debug, PartialEq)]
pub struct FlashCacheSettings {
    /// Bytes of a line, which is cached as a whole: whole sectors.
    pub line: Bytes,
    /// Capacity of the flash (device 0).
    pub flash: Bytes,
    /// Capacity of the backing device (device 1). The volume has its whole lines.
    pub backing: Bytes,
    /// The replacement policy.
    pub policy: Choice,
    /// The order in which slots are used.
    pub slots: SlotOrder,
    /// The streams of what is written to the flash.
    pub streams: CacheStreams,
    /// The admission policy: which of the lines that miss may enter.
    pub admission: Choice,
    /// Which requests bring a line into the cache.
    pub role: CacheRole,
    /// What happens to writes.
    pub write: WriteHandling,
    /// The cleaner works until no larger share of the slots is dirty, while no request of the host is under way.
    pub dirty_low: Ratio,
    /// From this share of dirty slots on, the cleaner works whatever the host does.
    pub dirty_high: Ratio,
    /// Whether slots that become free are trimmed on the flash.
    pub trim_freed: bool,
    /// How the cache chooses how much of the flash lines take, anew in each window; `None` if they take all of it.
    pub allocation: Option<AllocationSettings>,
    /// The parts of the cache and their shares; `None` if it has none.
    pub partition: Option<PartitionSettings>,
    /// What may be kept on the flash, if the cache owns it; `None` for a drive, which keeps all that it is given.
    pub owned: Option<OwnedFlash>,
    /// Seed of what the policies draw at random.
    pub seed: u64,
}

impl FlashCacheSettings {
    /// The defaults, which are assumed: lines of 4 KiB, LRU, no admission policy, unified, write-through; cleaning from
    /// 60% to 40%; no trims.
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

    /// Number of lines of the volume, and of slots of the flash.
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

    /// What chooses the size of a cache of `slots` slots.
    pub(super) fn allocator(&self, slots: u32) -> Option<Allocator> {
        self.allocation.as_ref().map(|settings| Allocator::new(settings, slots, self.line.0, self.seed))
    }

    /// The policy, for `capacity` of `lines` lines.
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

    /// The admission policy, for `capacity` of `lines` lines.
    pub(super) fn build_admission(&self, capacity: u32, lines: u32) -> Result<Box<dyn Admission>, FlashCacheError> {
        let shape = Shape { capacity, objects: lines, seed: self.seed };
        build_admission(&self.admission, &shape).map_err(FlashCacheError::Admission)
    }
}

/// The largest line.
pub(super) const LINE_MAX: Bytes = Bytes::mib(1);

/// The largest number of lines: they are numbered with 32 bits, and one number means none.
pub(super) const LINES_MAX: u64 = u32::MAX as u64;

/// Slots beyond what the policy may hold, so that a line can enter while others leave: a thirty-second of them, one at
/// least and 256 at most. Assumed.
pub(super) fn reserve(slots: u32) -> u32 {
    (slots / 32).clamp(1, 256)
}

/// Which slots that become free the flash is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trimming {
    /// None.
    Never,
    /// Those that are not needed at once.
    IfPlenty,
    /// All.
    Always,
}

impl FlashCacheSettings {
    pub(super) fn trimming(&self) -> Trimming {
        match (self.owned, self.trim_freed) {
            (Some(_), _) => Trimming::Always,
            (None, true) => Trimming::IfPlenty,
            (None, false) => Trimming::Never,
        }
    }

    /// What is kept on the flash, which has so many slots, if the cache owns it.
    pub(super) fn owned_slots(&self, slots: u32) -> Result<Option<Owned>, FlashCacheError> {
        let Some(OwnedFlash { user, suspects }) = self.owned else { return Ok(None) };
        let [most, suspected] = [user, suspects].map(|bytes| bytes.0 / self.line.0);
        if most < 2 || most + suspected > u64::from(slots) {
            return Err(FlashCacheError::OwnedRoom { user, suspects, slots, line: self.line });
        }
        Ok(Some(Owned::new(slots, most as u32, suspected as u32)))
    }
}
