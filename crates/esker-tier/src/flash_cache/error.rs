//! Errors of building or restoring a flash cache.

use esker_cache::{BuildError, REPLACEMENTS, ReplacementCapability};
use esker_core::registry;
use esker_core::{Bytes, Hint, Ratio};
use thiserror::Error;

use super::controller::ControllerFault;
use super::modes::{CacheRole, LINE_MAX, LINES_MAX, SlotOrder, WriteHandling};
use crate::engine::RecordError;

/// Why a flash cache cannot be built or restored.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum FlashCacheError {
    /// The line is empty, too long, or not a multiple of the sector size.
    #[error("`line` is {0}; it has to be whole sectors of 512B, {LINE_MAX} at most")]
    Line(Bytes),
    /// The backing device has no room for one line.
    #[error("`line` is {line}, more than the {backing} of the backing device")]
    Backing {
        /// Size of the line.
        line: Bytes,
        /// Capacity of the backing device.
        backing: Bytes,
    },
    /// The flash has no room for two lines.
    #[error("`flash` has {flash}, less than two lines of {line}")]
    Flash {
        /// Size of the line.
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
    /// The routing policy does not exist, or does not accept a parameter.
    #[error(transparent)]
    Routing(BuildError),
    /// The policy needs to know the future.
    #[error("`{0}` needs to know which requests will follow, and cannot run in a device")]
    Future(&'static str),
    /// The policy evicts lines in another order than that of a log.
    #[error(
        "`slots = \"{slots}\"` lets lines leave in the order in which they came in, and `policy = \"{policy}\"` does \
         not"
    )]
    NoLog {
        /// The order of slots.
        slots: SlotOrder,
        /// The policy.
        policy: &'static str,
    },
    /// An append-only log cannot change lines in place, and write-through does.
    #[error("`slots = \"append-only\"` changes nothing where it is, and `write = \"write-through\"` does")]
    AppendThrough,
    /// The role and the handling of writes contradict each other.
    #[error("`role = \"{role}\"` and `write = \"{write}\"` contradict each other")]
    Combination {
        /// Which requests bring a line into the cache.
        role: CacheRole,
        /// What happens to writes.
        write: WriteHandling,
    },
    /// Slots of flash that the cache owns have no order.
    #[error("a cache that owns its flash writes where it likes, and cannot have `slots`")]
    OwnedLog,
    /// The flash that the cache owns has too few slots for the room that was asked for, or that room is less than two
    /// lines.
    #[error("{user} and {suspects} of suspects are too much or too little for {slots} slots of {line}")]
    OwnedRoom {
        /// Bytes that may count as valid.
        user: Bytes,
        /// Bytes of suspects.
        suspects: Bytes,
        /// Number of slots of the flash.
        slots: u32,
        /// The line.
        line: Bytes,
    },
    /// The controller does not go with the settings, or its own settings make no sense.
    #[error(transparent)]
    Controller(#[from] ControllerFault),
    /// The cleaner would start at more dirty lines than there can be.
    #[error("`dirty_high` is {0}, more than 100%")]
    HighMark(Ratio),
    /// The limit at which the cleaner stops is above the one at which it starts.
    #[error("`dirty_low` is {low}, more than the mark where cleaning begins, {high}")]
    LowMark {
        /// The limit at which the cleaner stops.
        low: Ratio,
        /// The limit at which it starts, whatever the host does.
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
    /// A record is not one of a flash cache.
    #[error(transparent)]
    Record(#[from] RecordError),
}

impl FlashCacheError {
    /// Returns the keys that the error is about, as configurations name them.
    pub fn keys(&self) -> &'static [&'static str] {
        match self {
            Self::Line(_) | Self::Lines(_) | Self::Backing { .. } => &["line"],
            Self::Flash { .. } => &["flash"],
            Self::Policy(_) | Self::Future(_) => &["policy"],
            Self::NoLog { .. } => &["slots", "policy"],
            Self::AppendThrough => &["slots", "write"],
            Self::Admission(_) => &["admission"],
            Self::Routing(_) => &["routing"],
            Self::Combination { .. } => &["write", "role"],
            Self::OwnedLog => &["own_flash", "slots"],
            Self::OwnedRoom { .. } => &["own_flash"],
            Self::Controller(fault) => fault.keys,
            Self::HighMark(_) => &["dirty_high"],
            Self::LowMark { .. } => &["dirty_low", "dirty_high"],
            Self::NoLine(_) | Self::NoSlot(_) | Self::Twice { .. } | Self::Record(_) => &[],
        }
    }
}

impl Hint for FlashCacheError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Policy(error) | Self::Admission(error) | Self::Routing(error) => error.hint(),
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
            Self::Controller(fault) => fault.hint.clone(),
            Self::Lines(_) => Some("make `line` larger".to_string()),
            Self::OwnedLog => Some("leave `slots` out".to_string()),
            _ => None,
        }
    }
}
