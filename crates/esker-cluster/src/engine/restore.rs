//! Where slices lie at first, after a restart, and whether all parts of the engine agree on that.

use std::collections::BTreeSet;

use esker_core::{Bytes, Ratio, bits};
use esker_tier::parts::EngineRecord;
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
    /// Records do not say yet which replica is newer.
    #[error("a cluster with {0} replicas cannot be restored: only one with a single copy of each slice can")]
    Replicas(u8),
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
    let count = shape.replicas;
    let of = move |slice| (0..count).map(move |replica| SliceReplica { slice: SliceId(slice), replica });
    (0..shape.slices).flat_map(of)
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
    /// The settings are not those of the records, or the cluster has replicas.
    pub fn restore(settings: &ClusterSettings, base: &Checkpoint, records: &[Record]) -> Result<Self, RestoreError> {
        Self::reopen(settings, base.through, &mut base.records.iter().copied(), &mut records.iter().copied())
    }

    /// The engine as a checkpoint through a record, and the records of the journal that follow it, describe it. The
    /// servers of the settings that are no founders have joined since.
    ///
    /// # Errors
    /// The settings are not those of the records, or the cluster has replicas.
    pub fn reopen(
        settings: &ClusterSettings,
        through: RecordNumber,
        checkpoint: &mut dyn Iterator<Item = Record>,
        journal: &mut dyn Iterator<Item = Record>,
    ) -> Result<Self, RestoreError> {
        if settings.replicas > 1 {
            return Err(RestoreError::Replicas(settings.replicas));
        }
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
            let motion = map.motion(replica).map(|motion| (motion.to.server, &motion.moved[..]));
            let servers = router.servers().len();
            let place = [Some(map.home(replica)), map.motion(replica).map(|motion| motion.to)];
            if let Some(place) = place.into_iter().flatten().find(|place| place.server.index() >= servers) {
                return Err(slot_error(replica.slice, place));
            }
            router.restore(replica, map.home(replica).server, motion);
        }
        let mut engine = Self::over(settings, router, None, through)?;
        engine.place_all(&map, shape)?;
        engine.epochs.restore_wear(map.worn());
        engine.recorded = Some(map);
        Ok(engine)
    }

    /// The engine while a device is missing, before any input: what lies elsewhere is read, and nothing moves.
    pub fn without(mut self, device: DeviceIndex) -> Self {
        self.health.miss(device);
        self.is_frozen = true;
        self
    }

    /// The engine after a device was drained and removed, before any input.
    ///
    /// # Errors
    /// The records say that a slice is there.
    pub fn with_removed(mut self, device: DeviceIndex) -> Result<Self, RestoreError> {
        let server = ServerId(device.0);
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

    fn place_all(&mut self, map: &RecordedMap, shape: ClusterShape) -> Result<(), RestoreError> {
        let mut taken = BTreeSet::new();
        for replica in replicas(&shape) {
            let home = map.home(replica);
            let to = map.motion(replica).map(|motion| motion.to);
            for place in std::iter::once(home).chain(to) {
                let slots = self.router.servers().get(place.server).spec.room;
                if place.slot >= slots || !taken.insert((place.server, place.slot)) {
                    return Err(slot_error(replica.slice, place));
                }
                self.stores[place.server.index()].place(replica.slice, place.slot);
            }
            for index in 0..shape.objects_per_slice as usize {
                if map.is_written(replica, index) {
                    let has_moved = map.motion(replica).filter(|motion| bits::is_set(&motion.moved, index));
                    let server = has_moved.map_or(home.server, |motion| motion.to.server);
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
            let Some(map) = self.recorded.as_mut().filter(|map| map.worn()[server.index()] != now) else { continue };
            let record = ClusterRecord::Worn { server, pages, erases };
            map.apply(record);
            effects.push(Effect::Record { number: self.durability.issue(), record: record.record() });
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
            for replica in (0..shape.replicas).map(|replica| SliceReplica { slice, replica }) {
                let Some(server) = self.router.map().reader(replica, index) else { continue };
                self.stores[server.index()].set(object, true);
                if let Some(map) = &mut self.recorded {
                    map.apply(ClusterRecord::Written { replica, first: index as u32, count: 1 });
                }
            }
        }
    }

    /// Asserts that what the router knows, what stores hold and what was recorded are the same, when nothing is under
    /// way.
    pub(super) fn check_stores(&self) {
        let Some(map) = &self.recorded else { return };
        if !self.tasks.is_empty() {
            return;
        }
        let shape = self.router.map().shape();
        for replica in replicas(shape) {
            let recorded = (map.home(replica), map.motion(replica).map(|motion| motion.to));
            let slot = |server: ServerId| {
                self.stores[server.index()].slot(replica.slice).map(|slot| SlotPlace { server, slot })
            };
            match self.router.map().place(replica) {
                ReplicaPlace::Complete(home) => {
                    assert_eq!((slot(home), None), (Some(recorded.0), recorded.1), "{replica:?}");
                }
                ReplicaPlace::Offloading { source, destination } => {
                    assert_eq!(source.and_then(slot), Some(recorded.0), "{replica:?}");
                    // A motion is recorded with the first object. The destination may have a slot from before.
                    if recorded.1.is_some() {
                        assert_eq!(destination.and_then(slot), recorded.1, "{replica:?}");
                    }
                }
            }
            for index in 0..shape.objects_per_slice as usize {
                let reader = self.router.map().reader(replica, index).expect("there is one copy");
                let has = self.stores[reader.index()].has(shape.object_of(replica.slice, index));
                assert_eq!(has, map.is_written(replica, index), "{replica:?}, object {index}");
            }
        }
    }
}

fn slot_error(slice: SliceId, place: SlotPlace) -> RestoreError {
    RestoreError::Slot { slice, server: place.server, slot: place.slot }
}
