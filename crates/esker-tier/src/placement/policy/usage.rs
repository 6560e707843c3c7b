//! Tracks which extents are in use, and which device holds each.

use esker_core::bits;

use crate::extent::{DeviceIndex, LogicalExtent};

/// Number of requests over which the share of first uses is averaged.
const FIRST_USES_OVER: f64 = 1024.0;
/// A generation lasts until extents were used this many times the number of extents in the volume. If all extents are
/// used equally often, one in nine million is missed.
const USES_PER_EXTENT: u64 = 16;
/// Device of an extent that has no place.
const NOWHERE: u16 = u16::MAX;

/// The extents that were used in this generation or in the one before, one bit each. An extent that was hot long ago is
/// cold now.
#[derive(Clone, Debug)]
pub(super) struct Usage {
    used: Vec<u64>,
    before: Vec<u64>,
    /// Number of uses in this generation.
    uses: u64,
    /// The number after that of the last extent that was ever used: the volume may end there.
    end: u32,
    /// Share of recent requests that went to extents which were not in use before.
    first_uses: f64,
}

impl Default for Usage {
    fn default() -> Self {
        Self { used: Vec::new(), before: Vec::new(), uses: 0, end: 0, first_uses: 1.0 }
    }
}

impl Usage {
    /// Notes a use of `extent`.
    pub(super) fn note(&mut self, LogicalExtent(extent): LogicalExtent) {
        let index = extent as usize;
        if self.used.len() <= index / 64 {
            self.used.resize(index / 64 + 1, 0);
            self.before.resize(index / 64 + 1, 0);
        }
        let first = if self.contains(LogicalExtent(extent)) { 0.0 } else { 1.0 };
        self.first_uses += (first - self.first_uses) / FIRST_USES_OVER;
        bits::set(&mut self.used, index);
        self.end = self.end.max(extent + 1);
        self.uses += 1;
        if self.uses >= USES_PER_EXTENT * u64::from(self.end) {
            self.uses = 0;
            std::mem::swap(&mut self.used, &mut self.before);
            self.used.fill(0);
        }
    }

    /// Returns true if `extent` is in use.
    pub(super) fn contains(&self, LogicalExtent(extent): LogicalExtent) -> bool {
        let index = extent as usize;
        index / 64 < self.used.len() && (bits::is_set(&self.used, index) || bits::is_set(&self.before, index))
    }

    pub(super) fn end(&self) -> u32 {
        self.end
    }

    pub(super) fn first_uses(&self) -> f64 {
        self.first_uses
    }
}

/// The device that holds each extent (two bytes each), and for each device where to look for the next extent that could
/// leave it.
#[derive(Clone, Debug, Default)]
pub(super) struct Residents {
    devices: Vec<u16>,
    hands: Vec<u32>,
}

impl Residents {
    /// Notes where `extent` is now. Returns where it was.
    pub(super) fn placed(
        &mut self,
        LogicalExtent(extent): LogicalExtent,
        device: Option<DeviceIndex>,
    ) -> Option<DeviceIndex> {
        let index = extent as usize;
        if self.devices.len() <= index {
            self.devices.resize(index + 1, NOWHERE);
        }
        let before = std::mem::replace(&mut self.devices[index], device.map_or(NOWHERE, |device| device.0));
        (before != NOWHERE).then_some(DeviceIndex(before))
    }

    /// Returns where `extent` is.
    pub(super) fn device_of(&self, LogicalExtent(extent): LogicalExtent) -> Option<DeviceIndex> {
        self.devices.get(extent as usize).copied().filter(|&device| device != NOWHERE).map(DeviceIndex)
    }

    /// Returns the next extent of `device` for which `leaves` names another device, and that device. Examines up to
    /// `most` extents, after those that were examined last.
    pub(super) fn next_to_leave(
        &mut self,
        device: DeviceIndex,
        most: u32,
        leaves: impl Fn(LogicalExtent) -> Option<DeviceIndex>,
    ) -> Option<(LogicalExtent, DeviceIndex)> {
        let index = usize::from(device.0);
        if self.hands.len() <= index {
            self.hands.resize(index + 1, 0);
        }
        let count = self.devices.len() as u32;
        for _ in 0..most.min(count) {
            let extent = self.hands[index] % count;
            self.hands[index] = extent + 1;
            if self.devices[extent as usize] == device.0
                && let Some(to) = leaves(LogicalExtent(extent))
            {
                return Some((LogicalExtent(extent), to));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_used_for_two_generations_is_not_in_use() {
        let mut usage = Usage::default();
        (0..100).for_each(|extent| usage.note(LogicalExtent(extent)));
        assert!(usage.contains(LogicalExtent(7)) && !usage.contains(LogicalExtent(100)));
        // The first fifty stay in use.
        (0..1_600).for_each(|use_of| usage.note(LogicalExtent(use_of % 50)));
        assert!(usage.contains(LogicalExtent(70)), "a generation ago");
        (0..1_700).for_each(|use_of| usage.note(LogicalExtent(use_of % 50)));
        assert!(usage.contains(LogicalExtent(7)) && !usage.contains(LogicalExtent(70)));
        assert!(usage.end() == 100 && usage.first_uses() < 0.5);
    }

    #[test]
    fn extents_that_could_leave_are_found_in_turn() {
        let mut residents = Residents::default();
        let (one, other) = (DeviceIndex(0), DeviceIndex(1));
        for extent in 0..10 {
            residents.placed(LogicalExtent(extent), Some(DeviceIndex((extent % 2) as u16)));
        }
        residents.placed(LogicalExtent(2), None);
        let mut next = |most| {
            let leaves = |extent: LogicalExtent| (extent.0 != 4).then_some(other);
            residents.next_to_leave(one, most, leaves).map(|(extent, _)| extent.0)
        };
        assert_eq!([10, 10, 10, 2, 2].map(&mut next), [Some(0), Some(6), Some(8), Some(0), None]);
    }
}
