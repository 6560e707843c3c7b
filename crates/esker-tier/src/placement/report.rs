//! Where the extents are, and what was moved.

use esker_core::Bytes;
use esker_results::{Counters, DeviceExtents, ExtentPlaces, PlacedExtents, PlacementReport};

use super::PlacementEngine;
use crate::extent::LogicalExtent;

impl PlacementEngine {
    /// Sets the counts of moves to zero.
    pub(super) fn forget_moves(&mut self) {
        self.moved = PlacementReport::default();
        self.tokens_before = self.policy.tokens().unwrap_or_default();
    }

    /// Returns what was moved since measuring started.
    pub(super) fn moved_now(&self) -> PlacementReport {
        let tokens = self.policy.tokens().map(|now| now.since(&self.tokens_before));
        PlacementReport { tokens, ..self.moved }
    }
}

impl ExtentPlaces for PlacementEngine {
    fn placed(&self) -> PlacedExtents {
        let targets = self.policy.targets();
        let target = |device: usize| targets.as_ref().and_then(|targets| targets.get(device)).copied();
        let devices = (0..self.health.devices().len())
            .map(|device| DeviceExtents { extents: self.map.mapped(device).into(), target_share: target(device) });
        PlacedExtents { extent: Bytes(self.extent), devices: devices.collect(), moved: self.moved_now() }
    }

    fn visit(&self, visit: &mut dyn FnMut(Option<usize>)) {
        let device = |extent| self.map.place(LogicalExtent(extent)).map(|place| usize::from(place.device.0));
        (0..self.map.len()).for_each(|extent| visit(device(extent)));
    }
}
