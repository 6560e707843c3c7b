//! A server, by the rules of [`super::super::Stamp`] and [`ServerWork`].

use std::collections::{BTreeMap, BTreeSet};

use crate::id::{ObjectId, SliceId};
use crate::map::{MapEpoch, SliceMap};
use crate::route::{ObjectRange, ServerWork, Stamp};

/// Bytes of an object; each is a page that has a version of its own.
pub(super) const PAGES: usize = 4;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// Zero if never written, or deleted.
    pub(super) value: u64,
    version: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) pages: [Page; PAGES],
    /// Whether the object was deleted, or never was.
    pub(super) tombstone: bool,
    epoch: MapEpoch,
    /// Whether the router was told that the server has this.
    pub(super) confirmed: bool,
}

impl Stored {
    fn nothing() -> Self {
        Self { pages: Default::default(), tombstone: true, epoch: MapEpoch::default(), confirmed: true }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Store {
    pub(super) objects: BTreeMap<ObjectId, Stored>,
    fences: BTreeMap<SliceId, MapEpoch>,
}

impl Store {
    /// Whether work of this epoch may still be done.
    pub(super) fn admits(&self, slice: SliceId, stamp: Stamp) -> bool {
        self.fences.get(&slice).is_none_or(|fence| stamp.epoch >= *fence)
    }

    pub(super) fn values(&self, object: ObjectId) -> [u64; PAGES] {
        self.objects.get(&object).map_or([0; PAGES], |stored| stored.pages.map(|page| page.value))
    }

    /// Changes the pages for which there is a value. Returns whether all of them were older.
    pub(super) fn put(
        &mut self,
        object: ObjectId,
        values: [Option<u64>; PAGES],
        tombstone: bool,
        stamp: Stamp,
    ) -> bool {
        let stored = self.objects.entry(object).or_insert_with(Stored::nothing);
        let mut all = true;
        for (page, value) in stored.pages.iter_mut().zip(values) {
            let Some(value) = value else { continue };
            if stamp.version >= page.version {
                *page = Page { value, version: stamp.version };
            } else {
                all = false;
            }
        }
        stored.tombstone = if tombstone { stored.pages.iter().all(|page| page.value == 0) } else { false };
        stored.epoch = stored.epoch.max(stamp.epoch);
        all
    }

    /// Returns the values that another server gets, and refuses older versions from now on.
    pub(super) fn hand_over(&mut self, object: ObjectId, stamp: Stamp) -> [u64; PAGES] {
        let stored = self.objects.entry(object).or_insert_with(Stored::nothing);
        stored.pages.iter_mut().for_each(|page| page.version = page.version.max(stamp.version));
        stored.epoch = stored.epoch.max(stamp.epoch);
        stored.pages.map(|page| page.value)
    }

    pub(super) fn trim(&mut self, object: ObjectId, stamp: Stamp) {
        let is_older = |stored: &Stored| stored.pages.iter().all(|page| page.version <= stamp.version);
        if self.objects.get(&object).is_some_and(is_older) {
            self.objects.remove(&object);
        }
    }

    pub(super) fn purge(&mut self, slice: SliceId, of_slice: impl Fn(ObjectId) -> bool, keep: bool, epoch: MapEpoch) {
        let fence = self.fences.entry(slice).or_default();
        *fence = epoch.max(*fence);
        let goes = |stored: &Stored| stored.epoch < epoch && (stored.tombstone || !keep);
        self.objects.retain(|object, stored| !(of_slice(*object) && goes(stored)));
    }
}

/// The values that a request of the host gives to the pages in its range.
pub(super) fn host_values(range: ObjectRange, value: u64) -> [Option<u64>; PAGES] {
    std::array::from_fn(|page| (range.begin as usize..range.end as usize).contains(&page).then_some(value))
}

/// The object that work is on, if it is on one.
pub(super) fn object_of(work: &ServerWork) -> Option<ObjectId> {
    match *work {
        ServerWork::Read { object, .. }
        | ServerWork::Write { object, .. }
        | ServerWork::Merge { object, .. }
        | ServerWork::Copy { object, .. }
        | ServerWork::Delete { object, .. }
        | ServerWork::Trim { object, .. } => Some(object),
        ServerWork::Purge { .. } => None,
    }
}

/// The objects that no server has any more.
pub(super) fn lost_of(map: &SliceMap) -> BTreeSet<ObjectId> {
    let is_lost = |object: &ObjectId| {
        let (slice, index) = map.slice_of(*object);
        map.replicas_of(slice).all(|replica| map.reader(replica, index).is_none())
    };
    (0..map.shape().objects()).map(ObjectId).filter(is_lost).collect()
}
