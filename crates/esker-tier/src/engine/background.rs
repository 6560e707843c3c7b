//! Background work: what an operator allows of it, and what an engine tells about it.

use esker_core::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::extent::DeviceIndex;

/// What an operator allows of the background work of an engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BackgroundSettings {
    /// Whether nothing moves in the background: no extent because the policy wants it elsewhere, and none off a device
    /// that is being drained.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// Bytes that moves of the policy may write in any 24 hours, at least one extent (default: any number). In the
    /// first day it grows evenly from nothing. Drains count, but are not held up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_bytes_per_day: Option<Bytes>,
}

impl BackgroundSettings {
    /// Returns true if nothing is limited, so that the settings need not be written down.
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }
}

/// What a device has used of its rated life since a policy began to hold it, as a share of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LifeSpent {
    /// What was used; `None` if the device does not say how worn it is.
    pub used: Option<f64>,
    /// What might have been used.
    pub allowed: f64,
}

/// What an engine does in the background.
#[derive(Clone, Debug, PartialEq)]
pub struct BackgroundReport {
    /// The limits in effect.
    pub settings: BackgroundSettings,
    /// Number of extents that are being copied.
    pub copies: u32,
    /// Bytes that copies have written since the engine began.
    pub moved: Bytes,
    /// Bytes that copies have written in the last 24 hours, in steps of five minutes.
    pub moved_in_day: Bytes,
    /// Why no extent is being copied although some should move; `None` if some are, or if none should move.
    pub held: Option<HeldReason>,
    /// What devices have used of the life that the policy holds.
    pub lives: Vec<(DeviceIndex, LifeSpent)>,
}

/// Why extents do not move although they should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeldReason {
    /// The operator has paused background work.
    Paused,
    /// The volume is only read: a device is missing.
    OnlyRead,
    /// The budget of the last 24 hours is spent.
    Budget,
    /// The budget is not spent, and does not allow the next extent yet: it grows evenly in the first 24 hours. Whether
    /// the policy would move one is not known.
    BudgetGrows,
    /// The journal has failed, so that no move could be recorded.
    JournalFailed,
    /// A device has refused a copy. It is tried again when it takes other new data or has grown, when a device joins,
    /// or after ten minutes.
    Refused(DeviceIndex),
    /// These devices have no free extent.
    NoRoom(Vec<DeviceIndex>),
    /// An extent should leave this device, and cannot be read: the device has failed.
    Failed(DeviceIndex),
    /// An extent should leave this device or get another copy, and can be read neither there nor elsewhere.
    Unreadable(DeviceIndex),
    /// The host has wanted nothing of this device for so long that it is left asleep.
    Asleep(DeviceIndex),
    /// Extents should leave this device, which has to be fuller before they may.
    FillsFirst(DeviceIndex),
    /// Too few devices are left for all copies: each of them has one already.
    TooFewDevices,
}
