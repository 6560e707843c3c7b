//! Data that a failed device may have lost. What was durable when it failed is still read. A place whose data were not
//! durable may hold what another extent has left there: nobody reads that, and it is moved nowhere.

use std::ops::Range;

use esker_core::{DeviceError, DeviceState, RequestKind};

use super::{HostPart, PlacementEngine};
use crate::extent::{ExtentPlace, LogicalExtent};

impl PlacementEngine {
    /// Returns true if the device of `place` has failed before all data in `blocks` of `extent` were durable there.
    pub(super) fn has_lost(&self, extent: LogicalExtent, place: ExtentPlace, blocks: Range<usize>) -> bool {
        #[cfg(test)]
        if self.has_fault(super::tests::Fault::TrustsFailedDevices) {
            return false;
        }
        self.health.device(place.device) == DeviceState::Failed && !self.is_recorded(extent, blocks)
    }

    /// Returns true if the bytes `range` of the volume, which `count` extents from `first` have at `place`, can be
    /// read.
    pub(super) fn can_read(&self, first: LogicalExtent, place: ExtentPlace, count: u32, range: Range<u64>) -> bool {
        if self.health.device(place.device) != DeviceState::Failed {
            return true;
        }
        let lost = |index| {
            let extent = LogicalExtent(first.0 + index);
            self.has_lost(extent, place.after(index), self.blocks_within(extent, range.clone()))
        };
        !self.health.is_absent(place.device) && !(0..count).any(lost)
    }

    /// Returns what the result of `part` is worth: the device may have failed while it was read.
    pub(super) fn judge_read(&self, part: &HostPart, result: Result<(), DeviceError>) -> Result<(), DeviceError> {
        let is_in_doubt = part.request.kind == RequestKind::Read
            && result.is_ok()
            && self.health.device(part.place.device) == DeviceState::Failed;
        if !is_in_doubt {
            return result;
        }
        let lost = |(extent, place)| match self.map.place(extent) == Some(place) {
            true => self.has_lost(extent, place, self.part_blocks(part, extent)),
            // The extent has moved away since, and nothing says whether its data were durable here.
            false => true,
        };
        if part.places().any(lost) { Err(DeviceError::Failed) } else { Ok(()) }
    }
}
