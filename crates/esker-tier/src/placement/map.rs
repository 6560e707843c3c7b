//! The map from logical to physical extents.

mod record;
mod replay;

use std::ops::Range;

use esker_core::Bytes;

use super::blocks::{BlockSize, Blocks};
use super::free_space::FreeSpace;
use crate::extent::{BlockRange, DeviceIndex, ExtentPlace, LogicalExtent, PhysicalExtent};
pub use record::PlacementRecord;

/// What the journal says about the place of an extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordedPlace {
    /// Nothing: no data have been written there yet, or only data that may still be lost.
    No,
    /// Its present place.
    Here,
    /// An earlier place: the data at the new one may still be lost.
    Elsewhere,
}

/// Work under way on a whole extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExtentWork {
    /// None.
    None,
    /// It is being copied to another device.
    Copy,
    /// A redirected write is replacing all of its data on another device.
    Redirect,
}

/// Device of an extent that has no place.
const NOWHERE: u16 = u16::MAX;

/// Owner of a place that no extent has.
const NOBODY: u32 = u32::MAX;

/// The entry of one logical extent.
#[derive(Clone, Copy, Debug)]
struct MapEntry {
    extent: u32,
    device: u16,
    recorded: RecordedPlace,
    work: ExtentWork,
    /// Number of the host's reads to its place that are under way.
    reads: u32,
    /// Number of the host's other requests to its place that are under way.
    writes: u32,
}

const ABSENT: MapEntry =
    MapEntry { extent: 0, device: NOWHERE, recorded: RecordedPlace::No, work: ExtentWork::None, reads: 0, writes: 0 };

const _: () = assert!(size_of::<MapEntry>() == 16, "the map is as large as it is said to be");

/// The places of a device.
#[derive(Clone, Debug)]
struct DevicePlaces {
    free: FreeSpace,
    /// The logical extent that has each place, or [`NOBODY`].
    owners: Vec<u32>,
    /// Number of logical extents on the device.
    mapped: u32,
}

/// Up to this many bytes, extents are kept together where there is room: a disk takes about as long to read this much
/// as to seek.
const WINDOW: u64 = 1 << 20;

/// How many extents before and after an extent are searched for a place beside it.
const NEIGHBOURS: u32 = 8;

/// The map from logical to physical extents, the free places of each device, and the written blocks.
#[derive(Clone, Debug)]
pub(super) struct ExtentMap {
    entries: Vec<MapEntry>,
    devices: Vec<DevicePlaces>,
    pub(super) blocks: Blocks,
    blocks_per_extent: usize,
}

impl ExtentMap {
    /// Creates an empty map for devices with `sizes` extents, each of `extent` bytes.
    pub(super) fn new(sizes: &[u32], extent: u64) -> Self {
        let size = BlockSize::of_extent(Bytes(extent)).expect("the settings were checked");
        let (blocks, blocks_per_extent) = (Blocks::new(size), (extent / size.bytes()) as usize);
        let mut map = Self { entries: Vec::new(), devices: Vec::new(), blocks, blocks_per_extent };
        sizes.iter().for_each(|&size| map.add_device(size));
        map.resize(sizes.iter().sum());
        map
    }

    /// Number of logical extents.
    pub(super) fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Number of extents of each device.
    pub(super) fn sizes(&self) -> impl Iterator<Item = u32> + Clone {
        self.devices.iter().map(|places| places.free.size())
    }

    /// Adds a device of `size` extents.
    pub(super) fn add_device(&mut self, size: u32) {
        let extent = self.blocks.size.bytes() * self.blocks_per_extent as u64;
        let window = (WINDOW / extent).clamp(1, 64);
        let free = FreeSpace::new(0, 1 << window.ilog2());
        self.devices.push(DevicePlaces { free, owners: Vec::new(), mapped: 0 });
        self.grow_device(self.devices.len() - 1, size);
    }

    /// Adds extents at the end of a device, up to `size`.
    pub(super) fn grow_device(&mut self, device: usize, size: u32) {
        self.devices[device].free.grow(size);
        self.devices[device].owners.resize(size as usize, NOBODY);
    }

    /// Removes all extents of `device`, which must be empty (asserted).
    pub(super) fn remove_device(&mut self, device: usize) {
        assert!(self.is_empty(device), "data would be lost");
        self.devices[device] = DevicePlaces { free: FreeSpace::new(0, 1), owners: Vec::new(), mapped: 0 };
    }

    /// Changes the number of logical extents. No extent past the new end may be mapped (asserted).
    pub(super) fn resize(&mut self, extents: u32) {
        let mut beyond = self.entries.iter().skip(extents as usize);
        assert!(beyond.all(|entry| entry.device == NOWHERE), "data would lie past the end");
        self.entries.resize(extents as usize, ABSENT);
        self.entries.shrink_to_fit();
        self.blocks.resize(extents as usize * self.blocks_per_extent);
    }

    /// Returns all blocks of `extent`, counted from the start of the address space.
    pub(super) fn blocks_of(&self, extent: LogicalExtent) -> Range<usize> {
        let first = extent.0 as usize * self.blocks_per_extent;
        first..first + self.blocks_per_extent
    }

    /// Returns `range`, a range of blocks of the address space that lies in one extent, counted from the start of the
    /// extent.
    pub(super) fn block_range(&self, range: &Range<usize>) -> BlockRange {
        BlockRange { first: (range.start % self.blocks_per_extent) as u32, count: range.len() as u32 }
    }

    /// Returns `blocks` of `extent`, counted from the start of the address space.
    pub(super) fn range(&self, extent: LogicalExtent, blocks: BlockRange) -> Range<usize> {
        let first = self.blocks_of(extent).start;
        first + blocks.first as usize..first + blocks.end() as usize
    }

    #[inline]
    pub(super) fn place(&self, extent: LogicalExtent) -> Option<ExtentPlace> {
        let MapEntry { extent, device, .. } = self.entries[extent.0 as usize];
        (device != NOWHERE).then_some(ExtentPlace { device: DeviceIndex(device), extent: PhysicalExtent(extent) })
    }

    fn entry(&mut self, extent: LogicalExtent) -> &mut MapEntry {
        let entry = &mut self.entries[extent.0 as usize];
        assert!(entry.device != NOWHERE, "the extent has a place");
        entry
    }

    pub(super) fn recorded(&self, extent: LogicalExtent) -> RecordedPlace {
        self.entries[extent.0 as usize].recorded
    }

    pub(super) fn set_recorded(&mut self, extent: LogicalExtent, recorded: RecordedPlace) {
        self.entry(extent).recorded = recorded;
    }

    pub(super) fn work(&self, extent: LogicalExtent) -> ExtentWork {
        self.entries[extent.0 as usize].work
    }

    /// Begins or ends work on `extent`. There is at most one piece of work on an extent at a time (asserted).
    pub(super) fn set_work(&mut self, extent: LogicalExtent, work: ExtentWork) {
        let entry = self.entry(extent);
        assert!((entry.work == ExtentWork::None) != (work == ExtentWork::None), "two works on one extent");
        entry.work = work;
    }

    /// Returns the number of the host's requests under way to the place of `extent`, other than reads.
    pub(super) fn writes(&self, extent: LogicalExtent) -> u32 {
        self.entries[extent.0 as usize].writes
    }

    /// Notes that a request of the host was sent to the place of `extent`.
    #[inline]
    pub(super) fn sent(&mut self, extent: LogicalExtent, is_read: bool) {
        let entry = self.entry(extent);
        *(if is_read { &mut entry.reads } else { &mut entry.writes }) += 1;
    }

    /// Notes `reads` of the host to the place of `extent` that were sent before the extent was there.
    pub(super) fn add_reads(&mut self, extent: LogicalExtent, reads: u32) {
        self.entry(extent).reads += reads;
    }

    /// Notes that a request of the host to the place of `extent` has ended.
    #[inline]
    pub(super) fn ended(&mut self, extent: LogicalExtent, is_read: bool) {
        let entry = self.entry(extent);
        *(if is_read { &mut entry.reads } else { &mut entry.writes }) -= 1;
    }

    pub(super) fn free_extents(&self, device: usize) -> u32 {
        self.devices[device].free.count()
    }

    /// Returns true if no place of `device` is in use.
    pub(super) fn is_empty(&self, device: usize) -> bool {
        self.devices[device].free.count() == self.devices[device].free.size()
    }

    /// Number of logical extents on `device`.
    pub(super) fn mapped(&self, device: usize) -> u32 {
        self.devices[device].mapped
    }

    /// Returns the first extent at place `from` of `device` or after it, with its place.
    pub(super) fn next_on(&self, device: usize, mut from: u32) -> Option<(LogicalExtent, u32)> {
        let DevicePlaces { free, owners, .. } = &self.devices[device];
        loop {
            let place = free.next_used(from)?;
            match owners[place as usize] {
                NOBODY => from = place + 1,
                owner => return Some((LogicalExtent(owner), place)),
            }
        }
    }

    /// Maps `extent`, which must not be mapped, to a free place of `device`, which must have one (both asserted).
    pub(super) fn map(&mut self, extent: LogicalExtent, device: usize) -> ExtentPlace {
        assert!(self.place(extent).is_none(), "the extent is mapped already");
        let place = self.take_near(extent, DeviceIndex(device as u16)).expect("the device has a free extent");
        self.put(extent, place);
        place
    }

    fn put(&mut self, extent: LogicalExtent, place: ExtentPlace) {
        let places = &mut self.devices[place.device.0 as usize];
        places.owners[place.extent.0 as usize] = extent.0;
        places.mapped += 1;
        self.entries[extent.0 as usize] = MapEntry { extent: place.extent.0, device: place.device.0, ..ABSENT };
    }

    /// Takes a free place of `device` for `extent`, beside its neighbors if possible; `None` if the device is full.
    pub(super) fn take_near(&mut self, extent: LogicalExtent, device: DeviceIndex) -> Option<ExtentPlace> {
        let beside = self.place_beside(extent, device);
        let free = &mut self.devices[device.0 as usize].free;
        let place = beside.or_else(|| free.roomy())?;
        free.take(place);
        Some(ExtentPlace { device, extent: PhysicalExtent(place) })
    }

    /// Takes the place `wanted` for `extent` if it is a free one of `device`, or else any (see [`Self::take_near`]).
    pub(super) fn take_at(
        &mut self,
        extent: LogicalExtent,
        device: DeviceIndex,
        wanted: Option<ExtentPlace>,
    ) -> Option<ExtentPlace> {
        let free = &mut self.devices[device.0 as usize].free;
        match wanted {
            Some(wanted) if wanted.device == device && free.is_free(wanted.extent.0) => {
                free.take(wanted.extent.0);
                Some(wanted)
            }
            _ => self.take_near(extent, device),
        }
    }

    /// Returns a free place beside the nearest extents on `device`, so that consecutive data lie one after the other.
    /// Extents in between that have no place yet get room, too.
    fn place_beside(&self, extent: LogicalExtent, device: DeviceIndex) -> Option<u32> {
        let free = &self.devices[device.0 as usize].free;
        let beside = |extents: &mut dyn Iterator<Item = u32>, before: bool| {
            let mut distance = 1;
            for neighbour in extents {
                match self.place(LogicalExtent(neighbour)) {
                    Some(place) if place.device == device => {
                        let own = place.extent.0;
                        let place = if before { own.checked_add(distance) } else { own.checked_sub(distance) };
                        return place.filter(|&place| free.is_free(place));
                    }
                    Some(_) => {}
                    None => distance += 1,
                }
            }
            None
        };
        let number = extent.0;
        let mut before = (number.saturating_sub(NEIGHBOURS)..number).rev();
        let mut after = number + 1..number.saturating_add(NEIGHBOURS + 1).min(self.len());
        beside(&mut before, true).or_else(|| beside(&mut after, false))
    }

    /// Maps `extent` to `place` of `device`, or if that is not free, to any free place there (see [`Self::map`]).
    pub(super) fn map_at(&mut self, extent: LogicalExtent, device: usize, place: u32) -> ExtentPlace {
        let free = &mut self.devices[device].free;
        if !free.is_free(place) {
            return self.map(extent, device);
        }
        free.take(place);
        let place = ExtentPlace { device: DeviceIndex(device as u16), extent: PhysicalExtent(place) };
        self.put(extent, place);
        place
    }

    /// Gives `extent` the place `to`, which was taken before. The extent must be mapped and no write to it under way
    /// (both asserted). Returns the old place, and how many of the host's reads still go there.
    pub(super) fn relocate(&mut self, extent: LogicalExtent, to: ExtentPlace) -> (ExtentPlace, u32) {
        let MapEntry { recorded, work, .. } = *self.entry(extent);
        assert_eq!(self.writes(extent), 0, "a write would go to the old place");
        let (from, reads) = self.vacate(extent);
        self.put(extent, to);
        let entry = self.entry(extent);
        (entry.recorded, entry.work) = (recorded, work);
        (from, reads)
    }

    /// Unmaps `extent`, which has no data any more. Returns its place, which is not free yet, and how many of the
    /// host's requests still go there.
    pub(super) fn unmap(&mut self, extent: LogicalExtent) -> (ExtentPlace, u32) {
        let (place, under_way) = self.vacate(extent);
        self.entries[extent.0 as usize] = ABSENT;
        self.blocks.clear(self.blocks_of(extent));
        (place, under_way)
    }

    fn vacate(&mut self, extent: LogicalExtent) -> (ExtentPlace, u32) {
        let place = self.place(extent).expect("only mapped extents move or are freed");
        let places = &mut self.devices[place.device.0 as usize];
        places.owners[place.extent.0 as usize] = NOBODY;
        places.mapped -= 1;
        let entry = self.entry(extent);
        (place, entry.reads + entry.writes)
    }

    /// Makes `place` free. No extent may have it.
    pub(super) fn release(&mut self, place: ExtentPlace) {
        self.devices[place.device.0 as usize].free.release(place.extent.0);
    }

    /// Asserts that every place is either free, used by one logical extent, or in `taken`. For tests: looks at the
    /// whole map.
    pub(super) fn check(&self, taken: impl Iterator<Item = ExtentPlace>) {
        let mut owners: Vec<Vec<u32>> = self.sizes().map(|size| vec![0; size as usize]).collect();
        taken.for_each(|place| owners[place.device.0 as usize][place.extent.0 as usize] += 1);
        for extent in (0..self.len()).map(LogicalExtent) {
            let blocks = self.blocks_of(extent);
            let Some(place) = self.place(extent) else {
                assert!(self.blocks.all_fresh(blocks), "blocks without a place");
                continue;
            };
            owners[place.device.0 as usize][place.extent.0 as usize] += 1;
            assert_eq!(self.devices[place.device.0 as usize].owners[place.extent.0 as usize], extent.0);
            let is_recorded = !self.blocks.recorded(blocks).is_empty();
            assert_eq!(self.recorded(extent) != RecordedPlace::No, is_recorded, "a record speaks of blocks");
        }
        for (counts, places) in owners.iter().zip(&self.devices) {
            let owned = places.owners.iter().filter(|&&owner| owner != NOBODY).count();
            assert_eq!(owned as u32, places.mapped, "a place has an owner that does not know it");
            let free = |extent: usize| u32::from(places.free.is_free(extent as u32));
            let mut all = counts.iter().enumerate();
            assert!(all.all(|(extent, count)| count + free(extent) == 1), "an extent is lost, or has two owners");
        }
    }
}
