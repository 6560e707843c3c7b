//! What policies of two tiers share: which devices are the slow tier, how large an extent is, and what is moving.

use esker_core::Bytes;
use esker_tier::{DeviceIndex, DeviceView, LogicalExtent, NewPolicy, PlacementError, WishedMove, Wishes, check_device};

/// The fast device. All others are the slow tier.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tiers {
    pub(super) fast: DeviceIndex,
}

impl Tiers {
    /// Checks that `fast`, which the key `fast` of a policy names, is one of its devices.
    pub(super) fn new(fast: u16, policy: &NewPolicy<'_>) -> Result<Self, PlacementError> {
        check_device("fast", fast, policy.devices)?;
        Ok(Self { fast: DeviceIndex(fast) })
    }

    pub(super) fn fast_view<'a>(&self, devices: &'a [DeviceView]) -> &'a DeviceView {
        &devices[usize::from(self.fast.0)]
    }

    /// Returns the slow devices.
    pub(super) fn slow<'a>(&self, devices: &'a [DeviceView]) -> impl Iterator<Item = (DeviceIndex, &'a DeviceView)> {
        let fast = self.fast;
        (0..).map(DeviceIndex).zip(devices).filter(move |(device, _)| *device != fast)
    }

    /// Returns the slow device with the most free extents; `None` if no slow device has room.
    pub(super) fn slow_with_room(&self, devices: &[DeviceView]) -> Option<DeviceIndex> {
        let with_room = self.slow(devices).filter(|(_, view)| view.has_room());
        with_room.max_by_key(|(_, view)| view.free_extents).map(|(device, _)| device)
    }

    /// Returns the device for a new extent, which should go to the fast tier if `fast`, else to the slow one. If that
    /// tier has no room, it goes to the other one.
    pub(super) fn place(&self, fast: bool, devices: &[DeviceView]) -> DeviceIndex {
        if fast && self.fast_view(devices).has_room() {
            return self.fast;
        }
        self.slow_with_room(devices).unwrap_or(self.fast)
    }

    /// Returns the fast device for a write that replaces an extent on the slow tier, if it has room.
    pub(super) fn redirect(&self, from: DeviceIndex, devices: &[DeviceView]) -> Option<DeviceIndex> {
        (from != self.fast && self.fast_view(devices).has_room()).then_some(self.fast)
    }
}

/// The size of an extent. A policy is not told it, but hears where extents begin.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ExtentSize(Option<Bytes>);

impl ExtentSize {
    /// Learns that `extent` begins at byte `start`. The first extent begins at zero, whatever its size.
    pub(super) fn learn(&mut self, extent: LogicalExtent, start: Bytes) {
        if self.0.is_none() && extent.0 > 0 {
            self.0 = Some(Bytes(start.0 / u64::from(extent.0)));
        }
    }

    /// Returns the size, or that of a block if it is not known yet.
    pub(super) fn bytes(self) -> u64 {
        self.0.map_or(4096, |size| size.0)
    }
}

/// The extents whose moves a policy has asked for and that have not ended.
#[derive(Debug, Default)]
pub(super) struct MovesUnderWay(Vec<LogicalExtent>);

impl MovesUnderWay {
    /// Asks for a move. Returns false if that extent is moving already.
    pub(super) fn ask(&mut self, wished: WishedMove, wishes: &mut Wishes) -> bool {
        let is_new = !self.has(wished.extent);
        if is_new {
            self.0.push(wished.extent);
            wishes.moves.push(wished);
        }
        is_new
    }

    /// Notes that a move has ended. Returns false if the policy had not asked for it.
    pub(super) fn ended(&mut self, extent: LogicalExtent) -> bool {
        let position = self.0.iter().position(|&moving| moving == extent);
        position.map(|position| self.0.swap_remove(position)).is_some()
    }

    pub(super) fn has(&self, extent: LogicalExtent) -> bool {
        self.0.contains(&extent)
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }
}
