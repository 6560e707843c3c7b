//! Second copies of extents, on other devices than the extents themselves.
//!
//! No record speaks of a second copy: after a crash or a restart each extent has one place, and the other is free. So a
//! second copy costs no record and no flush, and the rules of records hold as if it were not there. The price is that
//! the host's writes go to the place that the journal knows. They make their blocks of the second copy stale. While
//! nothing is stale, both copies may change places, which is a move without a copy.

use std::collections::BTreeMap;
use std::ops::Range;

use esker_core::bits;

use crate::engine::RecordNumber;
use crate::extent::{DeviceIndex, ExtentPlace, LogicalExtent};

/// The second copy of an extent.
#[derive(Debug)]
pub(super) struct Mirror {
    place: ExtentPlace,
    /// A bit for each block of the extent: the host has written it since, so that the second copy is old there.
    stale: Box<[u64]>,
    /// Number of the host's reads of the second copy that are under way.
    reads: u32,
    /// See [`SecondCopy`].
    left_by: Option<RecordNumber>,
    is_durable: bool,
}

/// A second copy that comes or goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct SecondCopy {
    pub(super) place: ExtentPlace,
    /// Number of the host's reads that go there.
    pub(super) reads: u32,
    /// If this was the extent's own place before: the record that says that the extent is elsewhere. Before that is
    /// durable, the place must not be used again.
    pub(super) left_by: Option<RecordNumber>,
    /// Whether all data there are durable. Those of a place that was the extent's own need not be, and nobody flushes
    /// them for the extent any more.
    pub(super) is_durable: bool,
}

/// All second copies. Each takes a bit for each of its blocks, and about 80 bytes.
#[derive(Debug, Default)]
pub(super) struct Mirrors {
    by_extent: BTreeMap<LogicalExtent, Mirror>,
    /// The extent from which the next second copy is dropped when a place is needed.
    next_dropped: LogicalExtent,
    /// Whether any was removed since [`Self::have_been_dropped`] was called last.
    dropped: bool,
}

impl Mirrors {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.by_extent.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.by_extent.len()
    }

    /// Returns the place of the second copy of `extent`.
    #[inline]
    pub(super) fn place(&self, extent: LogicalExtent) -> Option<ExtentPlace> {
        self.by_extent.get(&extent).map(|mirror| mirror.place)
    }

    /// Returns all places of second copies.
    pub(super) fn places(&self) -> impl Iterator<Item = ExtentPlace> {
        self.by_extent.values().map(|mirror| mirror.place)
    }

    /// Returns the place of the second copy of `extent` if its `blocks`, counted from the start of the extent, are as
    /// the host has written them last.
    #[inline]
    pub(super) fn fresh(&self, extent: LogicalExtent, blocks: Range<usize>) -> Option<ExtentPlace> {
        let mirror = self.by_extent.get(&extent)?;
        bits::none_set(&mirror.stale, blocks).then_some(mirror.place)
    }

    /// Adds the second copy of `extent`, of `blocks` blocks. There must be none yet (asserted).
    pub(super) fn add(&mut self, extent: LogicalExtent, added: SecondCopy, blocks: usize) {
        let stale = vec![0; bits::words(blocks)].into_boxed_slice();
        let SecondCopy { place, reads, left_by, is_durable } = added;
        let earlier = self.by_extent.insert(extent, Mirror { place, stale, reads, left_by, is_durable });
        assert!(earlier.is_none(), "an extent has two second copies");
    }

    /// Notes that the host writes `blocks` of `extent`, an extent of `all` blocks, counted from its start. Returns true
    /// if the second copy is no longer worth its place.
    pub(super) fn host_writes(&mut self, extent: LogicalExtent, blocks: Range<usize>, all: usize) -> bool {
        let Some(mirror) = self.by_extent.get_mut(&extent) else { return false };
        bits::set_all(&mut mirror.stale, blocks);
        let stale: u32 = mirror.stale.iter().map(|word| word.count_ones()).sum();
        2 * stale as usize > all
    }

    /// Notes that a read of the host was sent to `place`. Returns false if that is not the second copy of `extent`.
    pub(super) fn sent(&mut self, extent: LogicalExtent, place: ExtentPlace) -> bool {
        self.at(extent, place).map(|mirror| mirror.reads += 1).is_some()
    }

    /// Notes that a read of the host from `place` has ended. Returns false if that is not the second copy of `extent`.
    pub(super) fn ended(&mut self, extent: LogicalExtent, place: ExtentPlace) -> bool {
        self.at(extent, place).map(|mirror| mirror.reads -= 1).is_some()
    }

    fn at(&mut self, extent: LogicalExtent, place: ExtentPlace) -> Option<&mut Mirror> {
        self.by_extent.get_mut(&extent).filter(|mirror| mirror.place == place)
    }

    /// Removes the second copy of `extent`.
    pub(super) fn remove(&mut self, extent: LogicalExtent) -> Option<SecondCopy> {
        let Mirror { place, reads, left_by, is_durable, .. } = self.by_extent.remove(&extent)?;
        self.dropped = true;
        Some(SecondCopy { place, reads, left_by, is_durable })
    }

    /// Returns the place of the second copy of `extent` if all of it is as the host has written it last, and durable.
    pub(super) fn whole(&self, extent: LogicalExtent) -> Option<ExtentPlace> {
        let mirror = self.by_extent.get(&extent)?;
        (mirror.is_durable && mirror.stale.iter().all(|&word| word == 0)).then_some(mirror.place)
    }

    /// Returns true if any was removed since the last call.
    #[inline]
    pub(super) fn have_been_dropped(&mut self) -> bool {
        std::mem::take(&mut self.dropped)
    }

    /// Returns the extents whose second copies lie on `device`.
    pub(super) fn on(&self, device: DeviceIndex) -> Vec<LogicalExtent> {
        let on = |(_, mirror): &(&LogicalExtent, &Mirror)| mirror.place.device == device;
        self.by_extent.iter().filter(on).map(|(extent, _)| *extent).collect()
    }

    /// Returns the extent whose second copy should go because its place is needed: one after the other, so that no part
    /// of the volume loses all.
    pub(super) fn next_to_drop(&mut self) -> Option<LogicalExtent> {
        let after = self.by_extent.range(self.next_dropped..).next();
        let (&extent, _) = after.or_else(|| self.by_extent.iter().next())?;
        self.next_dropped = LogicalExtent(extent.0 + 1);
        Some(extent)
    }
}
