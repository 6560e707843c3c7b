//! Limits of each device: how full it is before extents leave it, and after which time without requests of the host it
//! is left asleep.

use esker_core::{Nanos, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::PlacementEngine;
use super::background::Obstacle;
use crate::extent::DeviceIndex;

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

/// The limits of all devices, and when the host last wanted something of each.
#[derive(Debug, Default)]
pub(super) struct Limits {
    /// By device; missing ones have none.
    of: Vec<MoveLimits>,
    /// By device, as long as `of` has any: the time at which its last request of the host ended.
    used_at: Vec<Nanos>,
    now: Nanos,
}

impl Limits {
    /// Notes the time of an input. Devices that were not there before are in use from then on.
    #[inline]
    pub(super) fn pass_time(&mut self, now: Nanos, devices: usize) {
        if !self.of.is_empty() {
            self.now = now;
            self.used_at.resize(devices, now);
        }
    }

    /// Notes that a request of the host to `device` has ended.
    #[inline]
    pub(super) fn used(&mut self, device: DeviceIndex) {
        if let Some(used_at) = self.used_at.get_mut(usize::from(device.0)) {
            *used_at = self.now;
        }
    }

    fn of(&self, device: DeviceIndex) -> MoveLimits {
        self.of.get(usize::from(device.0)).copied().unwrap_or_default()
    }
}

impl PlacementEngine {
    /// Limits what moves to and from each device, before any input: an entry for each, in their order, which
    /// [`MoveLimits::check`] has found sound. Devices without one have no limits.
    pub fn with_limits(mut self, limits: Vec<MoveLimits>) -> Self {
        self.limits.of = limits;
        self
    }

    /// Returns true if the host has wanted nothing of `device` for so long that it is left asleep.
    #[inline]
    pub(super) fn is_left_asleep(&self, device: DeviceIndex) -> bool {
        let Some(after) = self.limits.of(device).asleep_after else { return false };
        let index = usize::from(device.0);
        let used_at = self.limits.used_at.get(index).copied().unwrap_or(self.limits.now);
        self.under_way[index] == 0 && self.limits.now.saturating_sub(used_at) >= after
    }

    /// Returns what keeps an extent from moving to `to` now; `leaves` if it would leave `from`, and is not only copied
    /// from there.
    pub(super) fn limited_move(&self, from: DeviceIndex, to: DeviceIndex, leaves: bool) -> Option<Obstacle> {
        if self.limits.of.is_empty() {
            return None;
        }
        if let Some(device) = [to, from].into_iter().find(|device| self.is_left_asleep(*device)) {
            return Some(Obstacle::Asleep(device));
        }
        let index = usize::from(from.0);
        let size = self.map.sizes().nth(index).expect("the extent is on a device");
        let taken = u64::from(size - self.map.free_extents(index));
        let stays = taken <= self.limits.of(from).leave_above.of(u64::from(size));
        (leaves && stays).then_some(Obstacle::FillsFirst(from))
    }

    /// Returns true if any device is left asleep.
    pub(super) fn leaves_any_asleep(&self) -> bool {
        (0..self.limits.of.len() as u16).any(|device| self.is_left_asleep(DeviceIndex(device)))
    }
}
