//! The map from logical to physical extents, and the free extents.

use super::RestoreError;
use crate::engine::MapRecord;
use crate::extent::{DeviceIndex, ExtentPlace, LogicalExtent, PhysicalExtent};

/// Whether the journal has an extent's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recorded {
    /// No: nothing has been written there yet, or only data that may still be lost.
    No,
    /// Not yet: a write has ended, and its record waits until the device has been flushed.
    Waiting,
    /// Yes: its record has been issued.
    Yes,
}

#[derive(Clone, Copy, Debug)]
struct Mapping {
    place: ExtentPlace,
    recorded: Recorded,
}

/// The map from logical to physical extents, and the free extents of each device.
#[derive(Clone, Debug)]
pub(crate) struct ExtentMap {
    places: Vec<Option<Mapping>>,
    /// Free extents of each device, the lowest one last.
    free: Vec<Vec<u32>>,
    sizes: Vec<u32>,
}

impl ExtentMap {
    /// An empty map on devices of these sizes, in extents.
    pub(crate) fn new(sizes: Vec<u32>) -> Self {
        let logical = sizes.iter().map(|&size| size as usize).sum();
        let free = sizes.iter().map(|&size| (0..size).rev().collect()).collect();
        Self { places: vec![None; logical], free, sizes }
    }

    /// The map that results from `records`, applied in order.
    pub(crate) fn restore(sizes: Vec<u32>, records: impl Iterator<Item = MapRecord>) -> Result<Self, RestoreError> {
        let mut map = Self::new(sizes);
        let mut used: Vec<Vec<bool>> = map.sizes.iter().map(|&size| vec![false; size as usize]).collect();
        for record in records {
            let (logical, place) = match record {
                MapRecord::Mapped { extent, place } | MapRecord::Moved { extent, place } => (extent, Some(place)),
                MapRecord::Freed { extent } => (extent, None),
            };
            let entry = map.places.get_mut(logical.0 as usize).ok_or(RestoreError::Extent(logical.0))?;
            let earlier = entry.take().map(|mapping| mapping.place);
            match (record, earlier) {
                (MapRecord::Mapped { place, .. }, Some(_)) => return Err(RestoreError::twice(place)),
                (MapRecord::Moved { .. } | MapRecord::Freed { .. }, None) => {
                    return Err(RestoreError::Absent(logical.0));
                }
                _ => {}
            }
            if let Some(ExtentPlace { device, extent }) = earlier {
                used[device.0 as usize][extent.0 as usize] = false;
            }
            let Some(place) = place else { continue };
            let ExtentPlace { device: DeviceIndex(device), extent: PhysicalExtent(extent) } = place;
            let slot = used.get_mut(device as usize).and_then(|device| device.get_mut(extent as usize));
            let slot = slot.ok_or(RestoreError::Place { device, extent })?;
            if std::mem::replace(slot, true) {
                return Err(RestoreError::twice(place));
            }
            *entry = Some(Mapping { place, recorded: Recorded::Yes });
        }
        for (free, used) in map.free.iter_mut().zip(&used) {
            free.retain(|&extent| !used[extent as usize]);
        }
        Ok(map)
    }

    pub(crate) fn len(&self) -> u32 {
        self.places.len() as u32
    }

    /// Number of extents of each device.
    pub(crate) fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// Keeps only the first `extents` logical extents. None of the others may be mapped (asserted).
    pub(crate) fn shorten(&mut self, extents: u32) {
        let rest = self.places.drain(extents as usize..);
        assert!(rest.into_iter().all(|mapping| mapping.is_none()), "data would lie past the end");
    }

    pub(crate) fn place(&self, extent: LogicalExtent) -> Option<ExtentPlace> {
        self.places[extent.0 as usize].map(|mapping| mapping.place)
    }

    pub(crate) fn recorded(&self, extent: LogicalExtent) -> Recorded {
        self.places[extent.0 as usize].expect("only mapped extents are recorded").recorded
    }

    pub(crate) fn set_recorded(&mut self, extent: LogicalExtent, recorded: Recorded) {
        self.places[extent.0 as usize].as_mut().expect("only mapped extents are recorded").recorded = recorded;
    }

    pub(crate) fn free_extents(&self, device: usize) -> u32 {
        self.free[device].len() as u32
    }

    /// Maps `extent`, which must not be mapped, to the lowest free extent of `device`, which must have one (both
    /// asserted).
    pub(crate) fn map(&mut self, extent: LogicalExtent, device: usize, recorded: Recorded) -> ExtentPlace {
        let free = self.free[device].pop().expect("the device has a free extent");
        let place = ExtentPlace { device: DeviceIndex(device as u16), extent: PhysicalExtent(free) };
        let earlier = self.places[extent.0 as usize].replace(Mapping { place, recorded });
        assert!(earlier.is_none(), "the extent is mapped already");
        place
    }

    /// Takes a free extent of `device`, as the target of a copy; `None` if it has none.
    pub(crate) fn take_free(&mut self, device: DeviceIndex) -> Option<ExtentPlace> {
        let extent = self.free[device.0 as usize].pop()?;
        Some(ExtentPlace { device, extent: PhysicalExtent(extent) })
    }

    /// Gives `extent`, which must be mapped (asserted), the place `to`, which was taken before. Returns the old place.
    pub(crate) fn relocate(&mut self, extent: LogicalExtent, to: ExtentPlace) -> ExtentPlace {
        let mapping = Mapping { place: to, recorded: Recorded::Yes };
        self.places[extent.0 as usize].replace(mapping).expect("only mapped extents move").place
    }

    /// Removes `extent`, which has no data any more. Returns its place, which is not free yet.
    pub(crate) fn unmap(&mut self, extent: LogicalExtent) -> ExtentPlace {
        self.places[extent.0 as usize].take().expect("only mapped extents are freed").place
    }

    /// Makes `place` free. It must belong to no extent.
    pub(crate) fn release(&mut self, place: ExtentPlace) {
        self.free[place.device.0 as usize].push(place.extent.0);
    }

    /// All mapped extents whose records have been issued, in rising order.
    pub(crate) fn recorded_extents(&self) -> impl Iterator<Item = (LogicalExtent, ExtentPlace)> {
        self.places.iter().enumerate().filter_map(|(index, mapping)| {
            let mapping = mapping.filter(|mapping| mapping.recorded == Recorded::Yes)?;
            Some((LogicalExtent(index as u32), mapping.place))
        })
    }

    /// Asserts that every physical extent is free, used by one logical extent, or in `taken`. For tests: takes time
    /// proportional to the map.
    pub(crate) fn check(&self, taken: impl Iterator<Item = ExtentPlace>) {
        let mut owners: Vec<Vec<u32>> = self.sizes.iter().map(|&size| vec![0; size as usize]).collect();
        for mapping in self.places.iter().flatten() {
            owners[mapping.place.device.0 as usize][mapping.place.extent.0 as usize] += 1;
        }
        taken.for_each(|place| owners[place.device.0 as usize][place.extent.0 as usize] += 1);
        for (owners, free) in owners.iter_mut().zip(&self.free) {
            free.iter().for_each(|&extent| owners[extent as usize] += 1);
            assert!(owners.iter().all(|&owners| owners == 1), "an extent is lost, or has two owners");
        }
    }
}
