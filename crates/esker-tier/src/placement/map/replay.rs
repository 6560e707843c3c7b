//! Builds the map from records.

use super::super::RestoreError;
use super::{ExtentMap, NOWHERE, PlacementRecord, RecordedPlace};
use crate::engine::Record;
use crate::extent::{BlockRange, DeviceIndex, ExtentPlace, LogicalExtent, PhysicalExtent};

impl ExtentMap {
    /// Returns the map that results from applying `records` in order.
    pub(in crate::placement) fn restore(
        sizes: &[u32],
        extent: u64,
        records: impl Iterator<Item = Record>,
    ) -> Result<Self, RestoreError> {
        let mut map = Self::new(sizes, extent);
        for record in records {
            map.apply(PlacementRecord::try_from(record)?)?;
        }
        Ok(map)
    }

    fn apply(&mut self, record: PlacementRecord) -> Result<(), RestoreError> {
        let extent = record.extent();
        let is_mapped = self.entries.get(extent.0 as usize).ok_or(RestoreError::Extent(extent.0))?.device != NOWHERE;
        match record {
            PlacementRecord::Mapped { place, .. } if is_mapped => return Err(RestoreError::twice(place)),
            PlacementRecord::Mapped { place, blocks, .. } => {
                self.claim_place(place)?;
                self.put(extent, place);
                self.entries[extent.0 as usize].recorded = RecordedPlace::Here;
                self.apply_blocks(extent, blocks)?;
            }
            _ if !is_mapped => return Err(RestoreError::Absent(extent.0)),
            PlacementRecord::Written { blocks, .. } => self.apply_blocks(extent, blocks)?,
            PlacementRecord::Scattered { first, blocks, .. } => {
                for run in runs(blocks) {
                    self.apply_blocks(extent, BlockRange { first: first.saturating_add(run.first), ..run })?;
                }
            }
            PlacementRecord::Moved { place, .. } => {
                self.claim_place(place)?;
                let (from, _) = self.relocate(extent, place);
                self.release(from);
            }
            PlacementRecord::Freed { .. } => {
                let (place, _) = self.unmap(extent);
                self.release(place);
            }
        }
        Ok(())
    }

    /// Takes the place that a record names.
    fn claim_place(&mut self, place: ExtentPlace) -> Result<(), RestoreError> {
        let ExtentPlace { device: DeviceIndex(device), extent: PhysicalExtent(extent) } = place;
        let places = self.devices.get_mut(device as usize).filter(|places| extent < places.free.size());
        let places = places.ok_or(RestoreError::Place { device, extent })?;
        if !places.free.is_free(extent) {
            return Err(RestoreError::twice(place));
        }
        places.free.take(extent);
        Ok(())
    }

    fn apply_blocks(&mut self, extent: LogicalExtent, blocks: BlockRange) -> Result<(), RestoreError> {
        if blocks.first.checked_add(blocks.count).is_none_or(|end| end as usize > self.blocks_per_extent) {
            return Err(RestoreError::Blocks { extent: extent.0, first: blocks.first, count: blocks.count });
        }
        let range = self.range(extent, blocks);
        self.blocks.record(range);
        Ok(())
    }
}

/// Returns the runs of set bits.
fn runs(words: [u32; 3]) -> impl Iterator<Item = BlockRange> {
    let mut left = words.iter().rev().fold(0u128, |bits, &word| bits << 32 | u128::from(word));
    std::iter::from_fn(move || {
        let first = left.trailing_zeros();
        let count = (left.checked_shr(first)?).trailing_ones();
        left &= !(((1 << count) - 1) << first);
        Some(BlockRange { first, count })
    })
}
