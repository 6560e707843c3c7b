//! A policy that may ask for anything.

use esker_core::Rng;

use super::*;

/// Places, redirects, moves and mirrors extents at random, whether there is room or not.
#[derive(Debug)]
pub(super) struct RestlessPolicy {
    rng: Rng,
    /// Number of extents that were ever placed, up to the last one.
    extents: u32,
}

impl RestlessPolicy {
    pub(super) fn new(seed: u64) -> Self {
        Self { rng: Rng::new(seed), extents: 0 }
    }

    fn any(&mut self, devices: &[DeviceView]) -> DeviceIndex {
        DeviceIndex(self.rng.below(devices.len() as u64) as u16)
    }
}

impl Placement for RestlessPolicy {
    fn place(&mut self, _: &NewExtent<'_>, devices: &[DeviceView]) -> DeviceIndex {
        self.any(devices)
    }
    fn placed(&mut self, extent: LogicalExtent, _: Bytes, _: Option<DeviceIndex>) {
        self.extents = self.extents.max(extent.0 + 1);
    }
    fn observe(&mut self, _: Nanos, _: &Event<'_>, devices: &[DeviceView], wishes: &mut Wishes) {
        if self.extents == 0 || !self.rng.chance(1, 4) {
            return;
        }
        let (extent, to) = (LogicalExtent(self.rng.below(self.extents.into()) as u32), self.any(devices));
        let wished = match self.rng.chance(1, 2) {
            true => WishedMove::in_background(extent, to),
            false => WishedMove::among_requests(extent, to),
        };
        match self.rng.below(8) {
            0 => wishes.drop_mirrors.push(extent),
            1..5 => wishes.mirrors.push(wished),
            _ => wishes.moves.push(wished),
        }
    }
    fn observes(&self) -> bool {
        true
    }
    fn redirect(&mut self, _: &Rewrite<'_>, devices: &[DeviceView]) -> Option<DeviceIndex> {
        self.rng.chance(1, 2).then(|| self.any(devices))
    }
    fn reads_from(&mut self, read: &TwoCopies<'_>, devices: &[DeviceView]) -> DeviceIndex {
        match self.rng.below(8) {
            0 => self.any(devices),
            1 => read.home,
            _ => read.mirror,
        }
    }
    fn writes_to(&mut self, write: &TwoCopies<'_>, devices: &[DeviceView]) -> DeviceIndex {
        self.reads_from(write, devices)
    }
    fn redirects(&self) -> bool {
        true
    }
    fn merges(&self) -> bool {
        true
    }
    fn devices_joined(&mut self, _: usize) {}
}
