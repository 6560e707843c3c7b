//! Keeps to the limits of each device: knows how full it is, and when the host last wanted something of it.

use esker_core::Nanos;

use super::PlacementEngine;
use super::background::Obstacle;
use crate::engine::MoveLimits;
use crate::extent::DeviceIndex;

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
    /// Replaces the limits of all devices. Those that had none are in use until then.
    pub(super) fn set(&mut self, limits: Vec<MoveLimits>, now: Nanos, devices: usize) {
        if limits.is_empty() {
            self.used_at.clear();
        }
        self.of = limits;
        self.pass_time(now, devices);
    }

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
