//! Settings of a flash cache.

use esker_cache::{
    Admission, BuildError, NO_ADMISSION, REPLACEMENTS, Replacement, ReplacementCapability, Shape, build_admission,
};
use esker_core::registry::{self, Choice};
use esker_core::{Bytes, Hint, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::CacheStreams;
use super::allocation::{AllocationFault, AllocationSettings, Allocator};
use super::partition::{PartitionError, PartitionSettings};

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
const LINE_MAX: Bytes = Bytes::mib(1);

/// The largest number of lines: they are numbered with 32 bits, and one number means none.
const LINES_MAX: u64 = u32::MAX as u64;

/// Slots beyond what the policy may hold, so that a line can enter while others leave: a thirty-second of them, one at
/// least and 256 at most. Assumed.
pub(super) fn reserve(slots: u32) -> u32 {
    (slots / 32).clamp(1, 256)
}

/// Why a flash cache cannot be built.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum FlashCacheError {
    /// The line is empty, too long, or not whole sectors.
    #[error("`line` is {0}; it has to be whole sectors of 512B, {LINE_MAX} at most")]
    Line(Bytes),
    /// The backing device has no room for one line.
    #[error("`line` is {line}, more than the {backing} of the backing device")]
    Backing {
        /// The line.
        line: Bytes,
        /// Capacity of the backing device.
        backing: Bytes,
    },
    /// The flash has no room for two lines.
    #[error("`flash` has {flash}, less than two lines of {line}")]
    Flash {
        /// The line.
        line: Bytes,
        /// Capacity of the flash.
        flash: Bytes,
    },
    /// There are too many lines.
    #[error("there would be {0} lines; a cache numbers {LINES_MAX} at most")]
    Lines(u64),
    /// The policy does not exist, or does not accept a parameter.
    #[error(transparent)]
    Policy(#[from] BuildError),
    /// The admission policy does not exist, or does not accept a parameter.
    #[error(transparent)]
    Admission(BuildError),
    /// The policy needs to know the future.
    #[error("`{0}` needs to know which requests will follow, and cannot run in a device")]
    Future(&'static str),
    /// The policy chooses lines in another order than that of a log.
    #[error(
        "`slots = \"{}\"` lets lines leave in the order in which they came in, and `policy = \"{policy}\"` does not",
        words(slots)
    )]
    NoLog {
        /// The order of slots.
        slots: SlotOrder,
        /// The policy.
        policy: &'static str,
    },
    /// Lines that are there are changed, and could not be.
    #[error("`slots = \"append-only\"` changes nothing where it is, and `write = \"write-through\"` does")]
    AppendThrough,
    /// Role and handling of writes contradict each other.
    #[error("`role = \"{}\"` and `write = \"{}\"` contradict each other", words(role), words(write))]
    Combination {
        /// Which requests bring a line into the cache.
        role: CacheRole,
        /// What happens to writes.
        write: WriteHandling,
    },
    /// The size of a log would change.
    #[error("`slots = \"{}\"` uses all slots in turn, and `allocation` leaves some of them empty", words(slots))]
    AllocationOfLog {
        /// The order of slots.
        slots: SlotOrder,
    },
    /// The flash would not learn that the cache is smaller.
    #[error(
        "`allocation` leaves a part of the flash to cleaning, and without `trim_freed` the flash is not told which"
    )]
    AllocationWithoutTrims,
    /// No window would ever end.
    #[error("`allocation` decides after so many bytes of writes, and `role = \"read\"` caches none")]
    AllocationOfReads,
    /// A setting of `allocation` makes no sense: which, and why.
    #[error("{}", .0.message)]
    Allocation(AllocationFault),
    /// It cannot have these parts.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// The cleaner would begin at more dirty lines than there are.
    #[error("`dirty_high` is {0}, more than 100%")]
    HighMark(Ratio),
    /// The cleaner would end before it begins.
    #[error("`dirty_low` is {low}, more than the mark where cleaning begins, {high}")]
    LowMark {
        /// Where the cleaner ends.
        low: Ratio,
        /// From where on it works whatever the host does.
        high: Ratio,
    },
    /// The map names a line past the end of the volume.
    #[error("the map names line {0}, past the end of the volume")]
    NoLine(u32),
    /// The map names a slot past the end of the flash.
    #[error("the map names slot {0}, past the end of the flash")]
    NoSlot(u32),
    /// The map gives one slot to two lines, or one line two slots.
    #[error("the map gives slot {slot} to line {line}, but one of them is in use")]
    Twice {
        /// The line.
        line: u32,
        /// The slot.
        slot: u32,
    },
    /// The map is that of another engine.
    #[error("the map is one of extents, not that of a flash cache")]
    Placement,
}

/// A choice as it is written in configurations.
pub(super) fn words(choice: &impl Serialize) -> String {
    let value = serde_json::to_value(choice).ok();
    value.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default().to_string()
}

impl FlashCacheError {
    /// The keys that it is about, as configurations call them.
    pub fn keys(&self) -> &'static [&'static str] {
        match self {
            Self::Line(_) | Self::Lines(_) | Self::Backing { .. } => &["line"],
            Self::Flash { .. } => &["flash"],
            Self::Policy(_) | Self::Future(_) => &["policy"],
            Self::NoLog { .. } => &["slots", "policy"],
            Self::AppendThrough => &["slots", "write"],
            Self::Admission(_) => &["admission"],
            Self::Combination { .. } => &["write", "role"],
            Self::AllocationOfLog { .. } => &["slots", "allocation"],
            Self::AllocationWithoutTrims => &["allocation"],
            Self::AllocationOfReads => &["allocation", "role"],
            Self::Allocation(fault) => fault.keys,
            Self::Partition(error) => error.keys(),
            Self::HighMark(_) => &["dirty_high"],
            Self::LowMark { .. } => &["dirty_low", "dirty_high"],
            Self::NoLine(_) | Self::NoSlot(_) | Self::Twice { .. } | Self::Placement => &[],
        }
    }
}

impl Hint for FlashCacheError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Policy(error) | Self::Admission(error) => error.hint(),
            Self::Future(_) => {
                let can_run = |capabilities: &[_]| !capabilities.contains(&ReplacementCapability::Future);
                let entries = REPLACEMENTS.iter().filter(|entry| can_run(entry.capabilities));
                Some(format!("choose one of {}", entries.map(|entry| entry.name).collect::<Vec<_>>().join(", ")))
            }
            Self::AppendThrough => Some("use `write = \"write-back\"`, or `slots = \"log\"`".to_string()),
            Self::NoLog { .. } => {
                let able = registry::names_with(REPLACEMENTS, ReplacementCapability::Log);
                let able: Vec<String> = able.map(|name| format!("policy = \"{name}\"")).collect();
                Some(format!("leave `slots` out, or use {}", able.join(" or ")))
            }
            Self::Combination { write: WriteHandling::WriteAround, .. } => {
                Some("writes that go around are for `role = \"read\"`".to_string())
            }
            Self::Combination { .. } => {
                Some("a cache of reads holds nothing dirty: `write = \"write-through\"`".into())
            }
            Self::Lines(_) => Some("make `line` larger".to_string()),
            Self::AllocationOfLog { .. } => Some("leave `slots` out".to_string()),
            Self::Partition(error) => error.hint(),
            Self::AllocationOfReads => Some("leave `allocation` out, and set `flash_capacity`".to_string()),
            Self::AllocationWithoutTrims => Some("add `trim_freed = true`".to_string()),
            _ => None,
        }
    }
}
