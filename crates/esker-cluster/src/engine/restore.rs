//! Where slices lie at first, after a restart, and whether all parts of the engine agree on that.

use std::collections::BTreeSet;

use esker_core::{Bytes, Ratio};
use esker_tier::{Checkpoint, DeviceIndex, Effect, Record, RecordError, RecordNumber};
use thiserror::Error;

use super::recorded::RecordedMap;
use super::{ClusterEngine, ClusterError, ClusterRecord, ClusterSettings, SlotPlace};
use crate::id::{ObjectId, ServerId, SliceId, SliceReplica};
use crate::map::ReplicaPlace;
use crate::route::Router;
use crate::shape::ClusterShape;

/// Objects that are looked at in one call.
const RUN_MOST: usize = 1 << 16;

/// Why a cluster cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RestoreError {
    /// The settings are wrong.
    #[error(transparent)]
    Settings(#[from] ClusterError),
    /// A record is none of a cluster of these settings.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Two slices would have one slot, or a slice a slot that there is not.
    #[error("{slice} cannot be in slot {slot} of {server}")]
    Slot {
        /// The slice.
        slice: SliceId,
        /// The server.
        server: ServerId,
        /// The slot.
        slot: u32,
    },
    /// A server was lost, and no other one has a copy of a slice that was there.
    #[error("the only copy of {slice} is on {server}")]
    LastCopy {
        /// The slice.
        slice: SliceId,
        /// The server.
        server: ServerId,
    },
    /// A server was removed, and records say that a slice is there.
    #[error("{slice} is on {server}, which was removed")]
    Removed {
        /// The slice.
        slice: SliceId,
        /// The server.
        server: ServerId,
    },
}

/// All replicas of all slices, in order.
pub(super) fn replicas(shape: &ClusterShape) -> impl Iterator<Item = SliceReplica> + use<> {
    let shape = *shape;
    (0..shape.slices).flat_map(move |slice| shape.replicas_of(SliceId(slice)))
}

/// The places of all replicas of a new cluster: each server's slots are taken in the order of slices.
pub(super) fn first_places(router: &Router) -> Vec<SlotPlace> {
    let mut next = vec![0; router.servers().len()];
    let place = |replica| {
        let ReplicaPlace::Complete(server) = router.map().place(replica) else {
            unreachable!("nothing of a new cluster is in motion")
        };
        let slot = next[server.index()];
        next[server.index()] += 1;
        SlotPlace { server, slot }
    };
    replicas(router.map().shape()).map(place).collect()
}

impl ClusterEngine {
    /// The engine as a checkpoint and the records that follow it describe it.
    ///
    /// # Errors
    /// The settings are not those of the records.
    pub fn restore(settings: &ClusterSettings, base: &Checkpoint, records: &[Record]) -> Result<Self, RestoreError> {
        Self::reopen(settings, base.through, &mut base.records.iter().copied(), &mut records.iter().copied())
    }

    /// The engine as a checkpoint through a record, and the records of the journal that follow it, describe it. The
    /// servers of the settings that are no founders have joined since.
    ///
    /// # Errors
    /// The settings are not those of the records.
    pub fn reopen(
        settings: &ClusterSettings,
        through: RecordNumber,
        checkpoint: &mut dyn Iterator<Item = Record>,
        journal: &mut dyn Iterator<Item = Record>,
    ) -> Result<Self, RestoreError> {
        settings.check()?;
        let mut router = settings.router()?;
        let shape = *router.map().shape();
        let mut map = RecordedMap::new(shape, first_places(&router), settings.servers.len());
        settings.joined().into_iter().for_each(|spec| router.restore_joined(spec));
        for record in checkpoint {
            map.replay(record)?;
        }
        let mut through = through;
        for record in journal {
            map.replay(record)?;
            through.0 += 1;
        }
        for replica in replicas(&shape) {
            let servers = router.servers().len();
            if let Some(place) = map.places(replica).find(|place| place.server.index() >= servers) {
                return Err(slot_error(replica.slice, place));
            }
            let motion = map.motion(replica).map(|motion| (motion.to.server, &motion.moved[..]));
            router.restore(replica, map.home(replica).map(|home| home.server), motion);
            let objects = 0..if map.misses_some(replica) { shape.objects_per_slice as usize } else { 0 };
            for index in objects.filter(|index| map.reader(replica, *index).is_none()) {
                router.distrust(replica, index);
            }
        }
        let failed: Vec<ServerId> = map.failed_servers().collect();
        let mut engine = Self::over(settings, router, map, through)?;
        engine.place_all(shape)?;
        engine.epochs.restore_wear(engine.recorded.worn());
        engine.had_failed(&failed);
        engine.has_begun = false;
        Ok(engine)
    }

    /// The engine while a device is missing, before any input: what lies elsewhere is read, and nothing moves.
    pub fn without(mut self, device: DeviceIndex) -> Self {
        self.health.miss(device);
        self.only_read()
    }

    /// The engine of a cluster that is only read, before any input: nothing moves.
    pub fn only_read(self) -> Self {
        Self { is_frozen: true, ..self }
    }

    /// The engine after a device was removed, before any input: it was drained, or other replicas make up for it.
    ///
    /// # Errors
    /// The records say that a slice is there, and no other device has a copy of it.
    pub fn with_removed(mut self, device: DeviceIndex) -> Result<Self, RestoreError> {
        let server = ServerId(device.0);
        if self.settings.replicas > 1 {
            // The router hears of it with the first input, so that a record can say what is lost.
            self.leave(server);
            return match self.last_copy_on(server) {
                Some(slice) => Err(RestoreError::LastCopy { slice, server }),
                None => Ok(self),
            };
        }
        let map = self.router.map();
        if let Some(replica) = map.replicas().find(|replica| map.involves(*replica, server)) {
            return Err(RestoreError::Removed { slice: replica.slice, server });
        }
        self.leave(server);
        while let Some(input) = self.inputs.pop_front() {
            self.tell_router(input, &mut Vec::new());
        }
        Ok(self)
    }

    fn place_all(&mut self, shape: ClusterShape) -> Result<(), RestoreError> {
        let (map, mut taken) = (&self.recorded, BTreeSet::new());
        for replica in replicas(&shape) {
            for place in map.places(replica) {
                let slots = self.router.servers().get(place.server).spec.room;
                if place.slot >= slots || !taken.insert((place.server, place.slot)) {
                    return Err(slot_error(replica.slice, place));
                }
                self.stores[place.server.index()].place(replica.slice, place.slot);
            }
            for index in 0..shape.objects_per_slice as usize {
                if let Some(server) = map.holder(replica, index).filter(|_| map.is_written(replica, index)) {
                    self.stores[server.index()].set(shape.object_of(replica.slice, index), true);
                }
            }
        }
        Ok(())
    }

    /// Records what servers have worn since the last record, so that it is known when the engine is restored.
    pub(super) fn record_wear(&mut self, effects: &mut Vec<Effect>) {
        for server in (0..self.stores.len() as u16).map(ServerId) {
            let now @ [pages, erases] = self.epochs.worn(server);
            if self.recorded.worn()[server.index()] != now {
                self.note(ClusterRecord::Worn { server, pages, erases }, effects);
            }
        }
    }

    /// Returns how many bytes from `start` on are in objects of which either all or none were written, and which.
    pub(super) fn run_of_objects(&self, start: Bytes, length: Bytes) -> (Bytes, bool) {
        let (map, end) = (self.router.map(), start.0 + length.0);
        let size = map.shape().object.0;
        let is_written = |object: u64| {
            let (slice, index) = map.slice_of(ObjectId(object));
            let reader = map.replicas_of(slice).find_map(|replica| map.reader(replica, index));
            reader.is_none_or(|server| self.stores[server.index()].has(ObjectId(object)))
        };
        if start.0 >= end || end > map.shape().objects() * size {
            return (length, true);
        }
        let first = is_written(start.0 / size);
        let objects = start.0 / size..end.div_ceil(size);
        let other = objects.take(RUN_MOST).find(|object| is_written(*object) != first);
        let until = other.unwrap_or((start.0 / size).saturating_add(RUN_MOST as u64));
        (Bytes((until * size).min(end) - start.0), first)
    }

    /// Makes the first objects count as written.
    pub(super) fn fill_objects(&mut self, share: Ratio) {
        assert!(self.pieces.is_empty(), "requests are under way");
        let shape = *self.router.map().shape();
        for object in (0..share.of(shape.objects())).map(ObjectId) {
            let (slice, index) = shape.slice_of(object);
            for replica in shape.replicas_of(slice) {
                let Some(server) = self.router.map().reader(replica, index) else { continue };
                self.stores[server.index()].set(object, true);
                self.recorded.apply(ClusterRecord::Written { replica, first: index as u32, count: 1 });
            }
        }
    }

    /// Asserts that what the router knows, what stores hold and what was recorded are the same, when nothing is under
    /// way.
    pub(super) fn check_stores(&self) {
        if !self.tasks.is_empty() || self.is_frozen || !self.has_begun || self.health.journal_failed() {
            return;
        }
        let (map, shape) = (&self.recorded, self.router.map().shape());
        let slot = |server: ServerId, slice: SliceId| {
            self.stores[server.index()].slot(slice).map(|slot| SlotPlace { server, slot })
        };
        for replica in replicas(shape) {
            if let ReplicaPlace::Complete(home) = self.router.map().place(replica) {
                assert_eq!((map.home(replica), map.motion(replica).is_none()), (slot(home, replica.slice), true));
            }
            for place in map.places(replica) {
                assert_eq!(slot(place.server, replica.slice), Some(place), "{replica:?}");
            }
            for index in 0..shape.objects_per_slice as usize {
                let reader = self.router.map().reader(replica, index);
                assert_eq!(reader, map.reader(replica, index), "{replica:?}, object {index}");
                let object = shape.object_of(replica.slice, index);
                let has = reader.map(|reader| self.stores[reader.index()].has(object));
                assert!(has.is_none_or(|has| has == map.is_written(replica, index)), "{replica:?}, object {index}");
            }
        }
    }
}

fn slot_error(slice: SliceId, place: SlotPlace) -> RestoreError {
    RestoreError::Slot { slice, server: place.server, slot: place.slot }
}
