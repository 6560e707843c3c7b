//! Modes of a flash cache, and limits on its sizes.

use std::fmt::{self, Display, Formatter};

use esker_core::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which requests bring a line into the cache. Cached lines serve reads in every role.
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
    /// It goes to the flash and to the backing device, and ends when both have ended.
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
    /// Any order: the slot that became free last is used first.
    #[default]
    Any,
    /// In the order of their addresses, round after round, so that the flash device is overwritten sequentially. The
    /// lines that the log reaches have to leave; only for policies that evict in the order of insertion.
    Log,
    /// A log in which nothing is changed in place: a line that the host changes goes to the next slot.
    AppendOnly,
}

impl SlotOrder {
    /// Returns true if slots are used one after the other.
    pub fn is_log(self) -> bool {
        self != Self::Any
    }
}

/// How much a cache may keep on flash that it owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnedFlash {
    /// Most bytes in slots whose data count as valid: C_user.
    pub user: Bytes,
    /// Most bytes in slots of suspects: N_SQ.
    pub suspects: Bytes,
    /// Bytes of the most recently used lines that the flash has to keep as if they were dirty.
    pub hot: Bytes,
}

/// Size of the largest line.
pub(super) const LINE_MAX: Bytes = Bytes::mib(1);

/// Largest number of lines. They are numbered with 32 bits, and one number stands for "none".
pub(super) const LINES_MAX: u64 = u32::MAX as u64;

/// Number of slots beyond those that the policy may fill, so that a line can enter while others leave: one in 32, at
/// least 1 and at most 256. Assumed.
pub(super) fn reserve(slots: u32) -> u32 {
    (slots / 32).clamp(1, 256)
}

/// Which slots are trimmed on the flash when they become free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trimming {
    /// None.
    Never,
    /// Those that are not needed right away.
    IfPlenty,
    /// All.
    Always,
}

/// Writes a choice as configurations name it.
fn write_name(choice: &impl Serialize, formatter: &mut Formatter<'_>) -> fmt::Result {
    let value = serde_json::to_value(choice).ok();
    formatter.write_str(value.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default())
}

impl Display for CacheRole {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write_name(self, formatter)
    }
}

impl Display for WriteHandling {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write_name(self, formatter)
    }
}

impl Display for SlotOrder {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write_name(self, formatter)
    }
}
