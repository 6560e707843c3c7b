//! Where slices lie at first, after a restart, and whether all parts of the engine agree on that.

use std::collections::BTreeSet;

use esker_core::{Ratio, bits};
use esker_tier::{Checkpoint, Record, RecordError};
use thiserror::Error;

use super::recorded::RecordedMap;
use super::{ClusterEngine, ClusterError, ClusterSettings, SlotPlace};
use crate::id::{ObjectId, ServerId, SliceId, SliceReplica};
use crate::map::ReplicaPlace;
use crate::route::Router;
use crate::shape::ClusterShape;

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
        if settings.replicas > 1 {
            return Err(RestoreError::Replicas(settings.replicas));
        }
        settings.check()?;
        let mut router = settings.router()?;
        let shape = *router.map().shape();
        let mut map = RecordedMap::new(shape, first_places(&router));
        for record in base.records.iter().chain(records) {
            map.replay(*record)?;
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
        let through = esker_tier::RecordNumber(base.through.0 + records.len() as u64);
        let mut engine = Self::over(settings, router, None, through)?;
        engine.place_all(&map, shape)?;
        engine.recorded = Some(map);
        Ok(engine)
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
                    map.apply(super::ClusterRecord::Written { replica, first: index as u32, count: 1 });
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
