//! Errors of settings of controllers.

use esker_core::Hint;
use esker_tier::{CacheRole, ControllerFault, SlotOrder, WriteHandling};
use thiserror::Error;

/// A setting that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SettingFault {
    /// The keys of the setting, as configurations name them.
    pub(crate) keys: &'static [&'static str],
    /// What is wrong with it.
    pub(crate) message: String,
}

/// Why a cache cannot choose its size as its settings ask.
#[derive(Clone, Debug, PartialEq, Error)]
pub(crate) enum AllocationError {
    /// An allocation would change the size of a log.
    #[error("`slots = \"{0}\"` uses all slots in turn, and `allocation` leaves some of them empty")]
    Log(SlotOrder),
    /// Without trims the flash would not know which slots are empty.
    #[error(
        "`allocation` leaves a part of the flash to cleaning, and without `trim_freed` the flash is not told which"
    )]
    WithoutTrims,
    /// The windows of `allocation` are measured in writes, and a cache of reads has none: no window would end.
    #[error("`allocation` decides after so many bytes of writes, and `role = \"read\"` caches none")]
    Reads,
    /// Flash that the cache owns leaves no part to cleaning.
    #[error("a cache that owns its flash writes where it likes, and cannot have `allocation`")]
    OwnedFlash,
    /// A setting of `allocation` makes no sense.
    #[error("{}", .0.message)]
    Setting(SettingFault),
}

impl AllocationError {
    fn keys(&self) -> &'static [&'static str] {
        match self {
            Self::Log(_) => &["slots", "allocation"],
            Self::WithoutTrims => &["allocation"],
            Self::Reads => &["allocation", "role"],
            Self::OwnedFlash => &["own_flash", "allocation"],
            Self::Setting(fault) => fault.keys,
        }
    }
}

impl Hint for AllocationError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Log(_) => "leave `slots` out",
            Self::WithoutTrims => "add `trim_freed = true`",
            Self::Reads => "leave `allocation` out, and set `flash_capacity`",
            Self::OwnedFlash => "leave `allocation` out",
            Self::Setting(_) => return None,
        };
        Some(hint.to_string())
    }
}

impl From<AllocationError> for ControllerFault {
    fn from(error: AllocationError) -> Self {
        Self { keys: error.keys(), message: error.to_string(), hint: error.hint() }
    }
}

/// Why a cache cannot be divided as its settings ask.
#[derive(Clone, Debug, PartialEq, Error)]
pub(crate) enum PartitionError {
    /// Parts evict lines in an order of their own. Contains the policy's name.
    #[error("`partition` replaces the least recently used lines of each part, and `policy` is \"{0}\"")]
    Policy(String),
    /// A log evicts lines in an order of its own.
    #[error("`slots = \"{0}\"` lets lines leave in the order in which they came in, and `partition` does not")]
    Log(SlotOrder),
    /// `allocation` and `partition` cannot be combined.
    #[error("`allocation` changes the size of the cache, and `partition` divides one that stays")]
    Allocation,
    /// There are no dirty lines, or no clean ones.
    #[error(
        "`by = \"access\"` divides the cache between clean and dirty lines, and there are not both with \
         `role = \"{role}\"` and `write = \"{write}\"`"
    )]
    Access {
        /// Which requests bring a line into the cache.
        role: CacheRole,
        /// What happens to writes.
        write: WriteHandling,
    },
    /// A setting of `partition` makes no sense.
    #[error("{}", .0.message)]
    Setting(SettingFault),
}

impl PartitionError {
    fn keys(&self) -> &'static [&'static str] {
        match self {
            Self::Policy(_) => &["policy", "partition"],
            Self::Log(_) => &["slots", "partition"],
            Self::Allocation => &["partition", "allocation"],
            Self::Access { .. } => &["partition", "by"],
            Self::Setting(fault) => fault.keys,
        }
    }
}

impl Hint for PartitionError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Policy(_) => "leave `policy` out",
            Self::Log(_) => "leave `slots` out",
            Self::Allocation => "leave one of them out",
            Self::Access { .. } => "use `role = \"unified\"` with `write = \"write-back\"`, or `by = \"volume\"`",
            Self::Setting(_) => return None,
        };
        Some(hint.to_string())
    }
}

impl From<PartitionError> for ControllerFault {
    fn from(error: PartitionError) -> Self {
        Self { keys: error.keys(), message: error.to_string(), hint: error.hint() }
    }
}
