//! Limits of each device: how full it is before extents leave it, and after which time without requests of the host it
//! is left asleep.

use esker_core::{Nanos, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Limits of what moves to and from one device. They do not hold up drains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MoveLimits {
    /// Extents leave the device only while more than this share of its extents is taken (default: they may always
    /// leave).
    #[serde(skip_serializing_if = "is_zero")]
    pub leave_above: Ratio,
    /// Once the host has wanted nothing of the device for this time, nothing moves to it or from it. New extents, and
    /// writes that replace all data of an extent there, go to a device in use that has room (default: the device is
    /// always in use).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asleep_after: Option<Nanos>,
}

impl MoveLimits {
    /// Checks the limits of `devices` devices.
    ///
    /// # Errors
    /// If an entry has no device, or if its device could never be left, or never be used.
    pub fn check(limits: &[Self], devices: usize) -> Result<(), LimitsError> {
        if limits.len() > devices {
            return Err(LimitsError::Devices { limits: limits.len(), devices });
        }
        for (index, Self { leave_above, asleep_after }) in limits.iter().enumerate() {
            if *leave_above >= Ratio::ONE {
                return Err(LimitsError::LeaveAbove(index));
            }
            if *asleep_after == Some(Nanos::ZERO) {
                return Err(LimitsError::AsleepAfter(index));
            }
        }
        Ok(())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(share: &Ratio) -> bool {
    *share == Ratio::ZERO
}

/// Why limits do not fit an engine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LimitsError {
    /// There are limits for more devices than there are.
    #[error("`limits` has entries for {limits} devices; there are {devices}")]
    Devices {
        /// Number of entries.
        limits: usize,
        /// Number of devices.
        devices: usize,
    },
    /// No device is ever that full.
    #[error("`limits[{0}].leave_above` is not less than 100%, so nothing could leave the device")]
    LeaveAbove(usize),
    /// The device would never be in use.
    #[error("`limits[{0}].asleep_after` is 0, so the device would never be in use")]
    AsleepAfter(usize),
}
