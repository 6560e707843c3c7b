//! Which logical extent lies where, and what is free.

use super::RestoreError;
use crate::engine::MapRecord;
use crate::extent::{DeviceIndex, LogicalExtent, PhysicalExtent, Place};

/// How far the journal knows of an extent's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recorded {
    /// Nothing has been written there yet, or only what may still be lost.
    No,
    /// A write has ended; its record waits until the device has been flushed.
    Waiting,
    /// Its record has been issued.
    Yes,
}

#[derive(Clone, Copy, Debug)]
struct Mapping {
    place: Place,
    recorded: Recorded,
}

/// The map from logical to physical extents, and the free extents of each device.
#[derive(Clone, Debug)]
pub(crate) struct ExtentMap {
    places: Vec<Option<Mapping>>,
    /// Per device: free extents, the lowest at the end.
    free: Vec<Vec<u32>>,
    sizes: Vec<u32>,
}

impl ExtentMap {
    /// Nothing mapped, on devices of so many extents.
    pub(crate) fn new(sizes: Vec<u32>) -> Self {
        let logical = sizes.iter().map(|&size| size as usize).sum();
        let free = sizes.iter().map(|&size| (0..size).rev().collect()).collect();
        Self { places: vec![None; logical], free, sizes }
    }

    /// What `records` lead to, one after the other.
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
            if let Some(Place { device, extent }) = earlier {
                used[device.0 as usize][extent.0 as usize] = false;
            }
            let Some(place) = place else { continue };
            let Place { device: DeviceIndex(device), extent: PhysicalExtent(extent) } = place;
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

    /// Extents of each device.
    pub(crate) fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// Leaves only the first `extents` logical extents. None of the others is mapped (asserted).
    pub(crate) fn shorten(&mut self, extents: u32) {
        let rest = self.places.drain(extents as usize..);
        assert!(rest.into_iter().all(|mapping| mapping.is_none()), "data would lie past the end");
    }

    pub(crate) fn place(&self, extent: LogicalExtent) -> Option<Place> {
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

    /// Maps `extent`, which was not mapped (asserted), to the lowest free extent of `device`, which has one (asserted).
    pub(crate) fn map(&mut self, extent: LogicalExtent, device: usize, recorded: Recorded) -> Place {
        let free = self.free[device].pop().expect("the device has a free extent");
        let place = Place { device: DeviceIndex(device as u16), extent: PhysicalExtent(free) };
        let earlier = self.places[extent.0 as usize].replace(Mapping { place, recorded });
        assert!(earlier.is_none(), "the extent is mapped already");
        place
    }

    /// Takes a free extent of `device` out of the free ones, for a copy; `None` where it has none.
    pub(crate) fn take_free(&mut self, device: DeviceIndex) -> Option<Place> {
        let extent = self.free[device.0 as usize].pop()?;
        Some(Place { device, extent: PhysicalExtent(extent) })
    }

    /// Gives `extent`, which is mapped (asserted), the place `to`, which was taken. Returns where it was.
    pub(crate) fn relocate(&mut self, extent: LogicalExtent, to: Place) -> Place {
        let mapping = Mapping { place: to, recorded: Recorded::Yes };
        self.places[extent.0 as usize].replace(mapping).expect("only mapped extents move").place
    }

    /// `extent` has no data any more. Returns where they were; that place is not free yet.
    pub(crate) fn unmap(&mut self, extent: LogicalExtent) -> Place {
        self.places[extent.0 as usize].take().expect("only mapped extents are freed").place
    }

    /// `place`, which belongs to no extent, is free.
    pub(crate) fn release(&mut self, place: Place) {
        self.free[place.device.0 as usize].push(place.extent.0);
    }

    /// All mapped extents whose record has been issued, rising.
    pub(crate) fn recorded_extents(&self) -> impl Iterator<Item = (LogicalExtent, Place)> {
        self.places.iter().enumerate().filter_map(|(index, mapping)| {
            let mapping = mapping.filter(|mapping| mapping.recorded == Recorded::Yes)?;
            Some((LogicalExtent(index as u32), mapping.place))
        })
    }

    /// Every physical extent is free, in use by one logical extent, or one of `taken` (asserted). For tests: costs the
    /// whole map.
    pub(crate) fn check(&self, taken: impl Iterator<Item = Place>) {
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
