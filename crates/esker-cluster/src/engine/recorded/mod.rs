//! The map as the records issued so far describe it: what an engine is restored from.

mod checkpoint;
mod objects;
mod trust;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use esker_core::bits;
use esker_tier::parts::Snapshot;
use esker_tier::{Record, RecordError};

use super::record::{ClusterRecord, SlotPlace};
use crate::id::{ServerId, SliceId, SliceReplica};
use crate::shape::ClusterShape;
use objects::ObjectsOfReplicas;

/// Places of all replicas, which of their objects were written, and which of them count.
#[derive(Debug)]
pub(super) struct RecordedMap {
    shape: ClusterShape,
    /// Where each replica is, or was before the motion that is under way; `None` if it has no server.
    homes: Vec<Option<SlotPlace>>,
    /// Replicas in motion.
    motions: BTreeMap<usize, Motion>,
    /// A bit for each object of each replica. Where no replica has an object, any of them says whether it was written.
    written: Vec<u64>,
    /// Objects of replicas whose home has them in an older version, or not at all.
    stale: ObjectsOfReplicas,
    /// Objects of replicas that do not count unless no other replica has them, wherever they are.
    unsure: ObjectsOfReplicas,
    /// Slices whose replicas may differ.
    dirty: BTreeSet<SliceId>,
    /// Servers that have failed.
    failed: BTreeSet<ServerId>,
    /// Pages and erases of each server.
    worn: Vec<[u64; 2]>,
    /// A checkpoint that is being taken, in numbers of slices; the number after the last of them stands for servers.
    snapshot: Option<Snapshot>,
}

/// Where a replica is going, and which of its objects are there.
#[derive(Clone, Debug)]
pub(super) struct Motion {
    pub(super) to: SlotPlace,
    pub(super) moved: Vec<u64>,
}

impl RecordedMap {
    /// A new map of this number of servers: nothing was written. `homes` has the places of all replicas of
    /// slice 0, then those of slice 1, and so on.
    pub(super) fn new(shape: ClusterShape, homes: Vec<SlotPlace>, servers: usize) -> Self {
        let written = vec![0; bits::words(homes.len() * shape.objects_per_slice as usize)];
        Self {
            shape,
            homes: homes.into_iter().map(Some).collect(),
            motions: BTreeMap::new(),
            written,
            stale: ObjectsOfReplicas::of(&shape),
            unsure: ObjectsOfReplicas::of(&shape),
            dirty: BTreeSet::new(),
            failed: BTreeSet::new(),
            worn: vec![[0; 2]; servers],
            snapshot: None,
        }
    }

    /// Adds a server that joins.
    pub(super) fn add_server(&mut self) {
        self.worn.push([0; 2]);
    }

    /// Pages that were written to each server, and their erases.
    pub(super) fn worn(&self) -> &[[u64; 2]] {
        &self.worn
    }

    fn index(&self, replica: SliceReplica) -> usize {
        replica.slice.index() * usize::from(self.shape.replicas) + usize::from(replica.replica)
    }

    /// Returns where a replica is, or was before its motion.
    pub(super) fn home(&self, replica: SliceReplica) -> Option<SlotPlace> {
        self.homes[self.index(replica)]
    }

    /// Returns the motion of a replica.
    pub(super) fn motion(&self, replica: SliceReplica) -> Option<&Motion> {
        self.motions.get(&self.index(replica))
    }

    /// Returns where a replica has slots: at its home, and where it is going.
    pub(super) fn places(&self, replica: SliceReplica) -> impl Iterator<Item = SlotPlace> {
        self.home(replica).into_iter().chain(self.motion(replica).map(|motion| motion.to))
    }

    /// The bits of some objects of a replica.
    fn objects(&self, replica: SliceReplica, objects: Range<u32>) -> Range<usize> {
        let first = self.index(replica) * self.shape.objects_per_slice as usize;
        first + objects.start as usize..first + objects.end as usize
    }

    /// Returns whether an object was written in any replica.
    pub(super) fn is_written_somewhere(&self, slice: SliceId, index: usize) -> bool {
        self.shape.replicas_of(slice).any(|replica| self.is_written(replica, index))
    }

    /// Returns whether an object of a replica was written.
    pub(super) fn is_written(&self, replica: SliceReplica, index: usize) -> bool {
        bits::is_set(&self.written, self.objects(replica, 0..0).start + index)
    }

    /// Takes a record of a journal or a checkpoint.
    pub(super) fn replay(&mut self, record: Record) -> Result<(), RecordError> {
        let known = ClusterRecord::try_from(record)?;
        if !self.is_possible(known) {
            return Err(RecordError::meaning(record));
        }
        self.apply(known);
        Ok(())
    }

    /// Whether a record names replicas, objects and servers that there are.
    fn is_possible(&self, record: ClusterRecord) -> bool {
        let (replica, objects) = match record {
            ClusterRecord::Placed { replica, .. }
            | ClusterRecord::Begun { replica, .. }
            | ClusterRecord::Homeless { replica }
            | ClusterRecord::Turned { replica } => (replica, 0..1),
            ClusterRecord::Moved { replica, first, count, .. }
            | ClusterRecord::Written { replica, first, count }
            | ClusterRecord::Missed { replica, first, count }
            | ClusterRecord::Unsure { replica, first, count }
            | ClusterRecord::Sure { replica, first, count } => (replica, first..first.saturating_add(count)),
            ClusterRecord::Discarded { replica, index } => (replica, index..index.saturating_add(1)),
            ClusterRecord::Dirty { slice } | ClusterRecord::Clean { slice } => return slice.0 < self.shape.slices,
            ClusterRecord::Resync => return true,
            ClusterRecord::Worn { server, .. } | ClusterRecord::Failed { server } => {
                return server.index() < self.worn.len();
            }
        };
        let is_there = replica.slice.0 < self.shape.slices
            && replica.replica < self.shape.replicas
            && objects.start < objects.end
            && objects.end <= self.shape.objects_per_slice;
        is_there
            && match record {
                ClusterRecord::Turned { .. } => self.motion(replica).is_some(),
                ClusterRecord::Moved { .. } => self.motion(replica).is_some() || self.misses_some(replica),
                ClusterRecord::Missed { .. } | ClusterRecord::Unsure { .. } => self.home(replica).is_some(),
                _ => true,
            }
    }

    /// Takes a record that was issued.
    pub(super) fn apply(&mut self, record: ClusterRecord) {
        debug_assert!(self.is_possible(record), "{record:?}");
        self.keep_for_checkpoint(record);
        match record {
            ClusterRecord::Placed { replica, place } => {
                let index = self.index(replica);
                self.homes[index] = Some(place);
            }
            ClusterRecord::Homeless { replica } => {
                let index = self.index(replica);
                self.homes[index] = None;
            }
            ClusterRecord::Begun { replica, place } => self.begin(replica, place),
            ClusterRecord::Turned { replica } => self.turn(replica),
            ClusterRecord::Moved { replica, first, count, written } => {
                self.set_written(replica, first..first + count, written);
                self.set_moved(replica, first..first + count);
            }
            ClusterRecord::Written { replica, first, count } => {
                self.set_written(replica, first..first + count, true);
            }
            ClusterRecord::Discarded { replica, index } => self.set_written(replica, index..index + 1, false),
            ClusterRecord::Missed { replica, first, count } => self.miss(replica, first..first + count),
            ClusterRecord::Unsure { replica, first, count } => self.doubt(replica, first..first + count),
            ClusterRecord::Sure { replica, first, count } => self.trust(replica, first..first + count),
            ClusterRecord::Dirty { slice } => _ = self.dirty.insert(slice),
            ClusterRecord::Clean { slice } => _ = self.dirty.remove(&slice),
            ClusterRecord::Resync => self.resync(),
            ClusterRecord::Failed { server } => self.fail(server),
            ClusterRecord::Worn { server, pages, erases } => self.worn[server.index()] = [pages, erases],
        }
    }

    fn set_written(&mut self, replica: SliceReplica, objects: Range<u32>, written: bool) {
        let objects = self.objects(replica, objects);
        if written { bits::set_all(&mut self.written, objects) } else { bits::clear_all(&mut self.written, objects) }
    }

    /// A replica is in motion; one without a home is rebuilt.
    fn begin(&mut self, replica: SliceReplica, place: SlotPlace) {
        let index = self.index(replica);
        if self.homes[index].is_some() {
            let moved = vec![0; bits::words(self.shape.objects_per_slice as usize)];
            self.motions.insert(index, Motion { to: place, moved });
            return;
        }
        self.homes[index] = Some(place);
        self.stale.set(index, 0..self.shape.objects_per_slice);
    }

    /// Objects of a replica are at its destination or, if it is not in motion, at its home again.
    fn set_moved(&mut self, replica: SliceReplica, objects: Range<u32>) {
        let index = self.index(replica);
        self.stale.clear(index, objects.clone());
        self.unsure.clear(index, objects.clone());
        let Some(motion) = self.motions.get_mut(&index) else { return };
        bits::set_all(&mut motion.moved, objects.start as usize..objects.end as usize);
        self.complete_if_moved(index);
    }

    /// A replica in motion goes back to its home.
    fn turn(&mut self, replica: SliceReplica) {
        let index = self.index(replica);
        let motion = self.motions.get_mut(&index).expect("only what is in motion turns");
        let from = self.homes[index].replace(motion.to).expect("what is in motion has a home");
        motion.to = from;
        for object in 0..self.shape.objects_per_slice as usize {
            let is_there = !bits::is_set(&motion.moved, object) && !self.stale.has(index, object);
            if is_there { bits::set(&mut motion.moved, object) } else { bits::clear(&mut motion.moved, object) }
        }
        self.complete_if_moved(index);
    }

    fn complete_if_moved(&mut self, index: usize) {
        let Some(motion) = self.motions.get(&index) else { return };
        if bits::all_set(&motion.moved, 0..self.shape.objects_per_slice as usize) {
            self.homes[index] = Some(motion.to);
            self.motions.remove(&index);
        }
    }
}
