//! The off-loading map: where each object of each replica is. Thesis, section 4.2.2, "Off-loading Map".
//!
//! A slice that never moved takes no memory of its own: its servers are those of its partition. A replica that has
//! moved has its server (6 bytes), one that is in motion has two levels, source and destination, and a bit for each
//! object (8 bytes, and 8 for each 64 objects).

mod table;
#[cfg(test)]
mod tests;

use esker_core::bits;

use crate::id::{ObjectId, PartitionId, ServerId, SliceId, SliceReplica};
use crate::shape::ClusterShape;
use table::{Ends, MotionTable, SortedTable};

/// The version of the map. Every change of a place raises it, and each effect carries the one under which it was
/// issued: so a server can refuse what was meant for it under an older map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MapEpoch(pub u64);

/// Where a replica of a slice is. `Get_slice_state` of algorithms 1-3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicaPlace {
    /// COMPLETE: all objects are on one server.
    Complete(ServerId),
    /// OFFLOADING: objects that have moved are on the destination.
    Offloading {
        /// Holds the other objects. `None` if it has failed: then only other replicas have them.
        source: Option<ServerId>,
        /// Takes all writes. `None` as long as no server with room could be found after a failure.
        destination: Option<ServerId>,
    },
}

/// Partition list and slice list.
#[derive(Clone, Debug)]
pub struct SliceMap {
    shape: ClusterShape,
    epoch: MapEpoch,
    /// The servers of each partition, one for each replica.
    partitions: Vec<ServerId>,
    /// Replicas that are complete on another server than their partition's.
    settled: SortedTable<u32, ServerId>,
    /// Replicas that are being off-loaded.
    moving: MotionTable,
    /// Objects whose copy on the source misses a write that succeeded on another replica: key and index.
    stale: SortedTable<(u32, u32), ()>,
}

impl SliceMap {
    /// A map in which each slice is where its partition is. `partitions` has the servers of partition 0, one for each
    /// replica, then those of partition 1, and so on.
    pub fn new(shape: ClusterShape, partitions: Vec<ServerId>) -> Self {
        assert_eq!(partitions.len(), shape.partitions as usize * usize::from(shape.replicas));
        let moving = MotionTable::new(shape.objects_per_slice as usize);
        let (settled, stale) = (SortedTable::default(), SortedTable::default());
        Self { shape, epoch: MapEpoch::default(), partitions, settled, moving, stale }
    }

    /// The shape of the cluster.
    pub fn shape(&self) -> &ClusterShape {
        &self.shape
    }

    /// The map's version.
    pub fn epoch(&self) -> MapEpoch {
        self.epoch
    }

    pub(crate) fn raise_epoch(&mut self) -> MapEpoch {
        self.epoch.0 += 1;
        self.epoch
    }

    fn key(&self, replica: SliceReplica) -> u32 {
        replica.slice.0 * u32::from(self.shape.replicas) + u32::from(replica.replica)
    }

    fn replica_of(&self, key: u32) -> SliceReplica {
        let replicas = u32::from(self.shape.replicas);
        SliceReplica { slice: SliceId(key / replicas), replica: (key % replicas) as u8 }
    }

    fn partition_index(&self, partition: PartitionId, replica: u8) -> usize {
        partition.0 as usize * usize::from(self.shape.replicas) + usize::from(replica)
    }

    /// Returns the server that the partition list gives for a replica.
    pub fn partition_home(&self, partition: PartitionId, replica: u8) -> ServerId {
        self.partitions[self.partition_index(partition, replica)]
    }

    /// Returns the servers of a partition, one for each replica.
    pub fn partition_homes(&self, partition: PartitionId) -> &[ServerId] {
        let first = self.partition_index(partition, 0);
        &self.partitions[first..first + usize::from(self.shape.replicas)]
    }

    /// Returns the replicas of a slice.
    pub fn replicas_of(&self, slice: SliceId) -> impl Iterator<Item = SliceReplica> + use<> {
        self.shape.replicas_of(slice)
    }

    /// Returns every replica of every slice.
    pub fn replicas(&self) -> impl Iterator<Item = SliceReplica> + '_ {
        (0..self.shape.slices).flat_map(|slice| self.replicas_of(SliceId(slice)))
    }

    /// Returns whether a server holds a replica, or is at either end of its motion.
    pub fn involves(&self, replica: SliceReplica, server: ServerId) -> bool {
        match self.place(replica) {
            ReplicaPlace::Complete(home) => home == server,
            ReplicaPlace::Offloading { source, destination } => source == Some(server) || destination == Some(server),
        }
    }

    /// Returns where a replica is.
    pub fn place(&self, replica: SliceReplica) -> ReplicaPlace {
        let key = self.key(replica);
        if let Some(ends) = self.moving.ends(key) {
            return ReplicaPlace::Offloading { source: ends.source(), destination: ends.destination() };
        }
        let home = self.settled.get(key);
        let partition = || self.partition_home(self.shape.partition_of(replica.slice), replica.replica);
        ReplicaPlace::Complete(home.unwrap_or_else(partition))
    }

    /// Returns whether object `index` of a replica in motion has moved. `Get_object_state` of algorithms 1 and 3.
    pub fn has_moved(&self, replica: SliceReplica, index: usize) -> bool {
        let key = self.key(replica);
        self.moving.ends(key).is_some() && bits::is_set(self.moving.moved(key), index)
    }

    /// Returns the server that has the newest version of an object in this replica; `None` if none does. Algorithm 3,
    /// with the branch that it lacks: an object of a slice in motion that has not moved is on the source.
    pub fn reader(&self, replica: SliceReplica, index: usize) -> Option<ServerId> {
        match self.place(replica) {
            ReplicaPlace::Complete(home) => Some(home),
            ReplicaPlace::Offloading { destination, .. } if self.has_moved(replica, index) => destination,
            ReplicaPlace::Offloading { source, .. } => source.filter(|_| !self.is_stale(replica, index)),
        }
    }

    /// Returns where an object is written in this replica, and whether it moves there by that. Algorithm 2.
    pub fn writer(&self, replica: SliceReplica, index: usize) -> Option<(ServerId, bool)> {
        match self.place(replica) {
            ReplicaPlace::Complete(home) => Some((home, false)),
            ReplicaPlace::Offloading { destination, .. } => {
                destination.map(|server| (server, !self.has_moved(replica, index)))
            }
        }
    }

    fn is_stale(&self, replica: SliceReplica, index: usize) -> bool {
        self.stale.get((self.key(replica), index as u32)).is_some()
    }

    /// Returns the replicas in motion, in the order of their slices, from `from` on and then round.
    pub fn moving_from(&self, from: SliceReplica) -> impl Iterator<Item = SliceReplica> + '_ {
        let keys = self.moving.keys();
        let first = keys.partition_point(|key| *key < self.key(from));
        keys[first..].iter().chain(&keys[..first]).map(|key| self.replica_of(*key))
    }

    /// Returns the number of replicas in motion.
    pub fn moving_count(&self) -> usize {
        self.moving.len()
    }

    /// Returns the number of replicas that are complete on another server than their partition's.
    pub fn settled_count(&self) -> usize {
        self.settled.len()
    }

    /// Returns the objects of a replica in motion that have not moved, from place `from` in the slice on.
    pub fn not_moved(&self, replica: SliceReplica, from: usize) -> impl Iterator<Item = usize> + '_ {
        let moved = self.moving.moved(self.key(replica));
        let objects = self.shape.objects_per_slice as usize;
        (from..objects).filter(move |index| !bits::is_set(moved, *index))
    }

    /// Returns whether all objects of a replica in motion have moved.
    pub(crate) fn all_moved(&self, replica: SliceReplica) -> bool {
        bits::all_set(self.moving.moved(self.key(replica)), 0..self.shape.objects_per_slice as usize)
    }

    /// Sets a complete replica, or one that was lost, in motion: no object has moved. Only this sets OFFLOADING.
    pub(crate) fn begin(&mut self, replica: SliceReplica, source: Option<ServerId>, destination: Option<ServerId>) {
        self.begin_pinned(replica, source, destination);
        self.unpin(replica);
    }

    /// The same, but its home is still to be forgotten: of many replicas at once if there are many.
    pub(crate) fn begin_pinned(
        &mut self,
        replica: SliceReplica,
        source: Option<ServerId>,
        destination: Option<ServerId>,
    ) {
        let key = self.key(replica);
        self.moving.remove(key);
        self.clear_stale(key);
        self.moving.insert(key, Ends::new(source, destination));
        self.raise_epoch();
    }

    /// Changes the ends of a replica in motion. What has moved stays moved.
    pub(crate) fn set_ends(&mut self, replica: SliceReplica, source: Option<ServerId>, destination: Option<ServerId>) {
        let key = self.key(replica);
        if source.is_none() {
            self.clear_stale(key);
        }
        self.moving.insert(key, Ends::new(source, destination));
        self.raise_epoch();
    }

    /// The source takes the place of the destination, and holds what had not moved. The rest has to come back from
    /// `destination` or, if that is gone, from other replicas.
    pub(crate) fn turn_back(&mut self, replica: SliceReplica, destination: Option<ServerId>, source: ServerId) {
        let (key, objects) = (self.key(replica), self.shape.objects_per_slice as usize);
        for index in 0..objects {
            let here = !self.has_moved(replica, index) && !self.is_stale(replica, index);
            let moved = self.moving.moved_mut(key);
            if here { bits::set(moved, index) } else { bits::clear(moved, index) }
        }
        self.set_ends(replica, destination, Some(source));
    }

    /// What has come to the destination of a replica without a source leaves it for another one.
    pub(crate) fn go_on(&mut self, replica: SliceReplica, from: ServerId, to: ServerId) {
        let (key, objects) = (self.key(replica), self.shape.objects_per_slice as usize);
        for index in (0..objects).filter(|index| !self.has_moved(replica, *index)).collect::<Vec<_>>() {
            self.stale.insert((key, index as u32), ());
        }
        bits::clear_all(self.moving.moved_mut(key), 0..objects);
        self.set_ends(replica, Some(from), Some(to));
    }

    /// Returns whether the source of a replica in motion has the newest version of all its objects.
    pub(crate) fn is_all_at_source(&self, replica: SliceReplica) -> bool {
        let mut objects = 0..self.shape.objects_per_slice as usize;
        objects.all(|index| !self.has_moved(replica, index) && !self.is_stale(replica, index))
    }

    /// Notes that an object has moved. `Update_object_state(OFFLOADED)`.
    pub(crate) fn set_moved(&mut self, replica: SliceReplica, index: usize) {
        let key = self.key(replica);
        bits::set(self.moving.moved_mut(key), index);
        self.stale.remove((key, index as u32));
    }

    /// Notes that this replica misses the newest version of an object, which another replica has.
    pub(crate) fn distrust(&mut self, replica: SliceReplica, index: usize) {
        let key = self.key(replica);
        if let ReplicaPlace::Complete(home) = self.place(replica) {
            self.begin(replica, None, Some(home));
            bits::set_all(self.moving.moved_mut(key), 0..self.shape.objects_per_slice as usize);
        }
        bits::clear(self.moving.moved_mut(key), index);
        if matches!(self.place(replica), ReplicaPlace::Offloading { source: Some(_), .. }) {
            self.stale.insert((key, index as u32), ());
        }
    }

    /// The source of a replica in motion has the newest version of an object after all.
    pub(crate) fn trust_source(&mut self, replica: SliceReplica, index: usize) {
        self.stale.remove((self.key(replica), index as u32));
    }

    /// Ends the motion of a replica whose objects have all moved: in one step the destination becomes the source, the
    /// bits are cleared, and the epoch is raised. Returns source and destination.
    pub(crate) fn complete(&mut self, replica: SliceReplica) -> (Option<ServerId>, ServerId) {
        let key = self.key(replica);
        let ends = self.moving.remove(key).expect("the replica is in motion");
        let home = ends.destination().expect("what has moved has moved somewhere");
        self.clear_stale(key);
        self.settle(replica, home);
        self.raise_epoch();
        (ends.source(), home)
    }

    /// Notes the home of a complete replica, unless it is that of its partition.
    pub(crate) fn settle(&mut self, replica: SliceReplica, home: ServerId) {
        let key = self.key(replica);
        if self.partition_home(self.shape.partition_of(replica.slice), replica.replica) == home {
            self.settled.remove(key);
        } else {
            self.settled.insert(key, home);
        }
    }

    /// Changes a server of a partition. The complete replicas that were there because of it have to be set in motion or
    /// settled before.
    pub(crate) fn set_partition_home(&mut self, partition: PartitionId, replica: u8, home: ServerId) {
        let index = self.partition_index(partition, replica);
        self.partitions[index] = home;
        self.raise_epoch();
    }

    /// Notes the homes of complete replicas, in their order, even if they are those of their partitions, which are
    /// about to change.
    pub(crate) fn pin_all(&mut self, replicas: &[(SliceReplica, ServerId)]) {
        let keys: Vec<(u32, ServerId)> = replicas.iter().map(|(replica, home)| (self.key(*replica), *home)).collect();
        self.settled.insert_all(keys.into_iter());
    }

    /// Forgets the home of a replica if it is in motion now.
    pub(crate) fn unpin(&mut self, replica: SliceReplica) {
        let key = self.key(replica);
        if self.moving.ends(key).is_some() {
            self.settled.remove(key);
        }
    }

    /// Forgets the homes of all replicas that are in motion now.
    pub(crate) fn unpin_moving(&mut self) {
        self.settled.retain(|key| self.moving.ends(key).is_none());
    }

    fn clear_stale(&mut self, key: u32) {
        let first = self.stale.keys().partition_point(|(other, _)| *other < key);
        let after = self.stale.keys().partition_point(|(other, _)| *other <= key);
        for _ in first..after {
            self.stale.remove(self.stale.keys()[first]);
        }
    }

    /// Returns the slice of an object, and its place there.
    pub fn slice_of(&self, object: ObjectId) -> (SliceId, usize) {
        self.shape.slice_of(object)
    }

    /// Returns the bytes of memory that the map takes, without the partition list: what the thesis calls the size of
    /// the metadata (section 7.2.3).
    pub fn offloading_bytes(&self) -> usize {
        self.settled.bytes() + self.moving.bytes() + self.stale.bytes()
    }

    /// Returns the bytes of memory that the whole map takes.
    pub fn bytes(&self) -> usize {
        self.offloading_bytes() + self.partitions.capacity() * size_of::<ServerId>()
    }

    /// Returns the most bytes that a map takes in which `settled` replicas have moved, `moving` are in motion, and
    /// `stale` objects wait for another replica's version.
    pub fn bytes_at_most(shape: &ClusterShape, settled: usize, moving: usize, stale: usize) -> usize {
        shape.partitions as usize * usize::from(shape.replicas) * size_of::<ServerId>()
            + SortedTable::<u32, ServerId>::bytes_at_most(settled)
            + MotionTable::bytes_at_most(moving, shape.objects_per_slice as usize)
            + SortedTable::<(u32, u32), ()>::bytes_at_most(stale)
    }

    /// Returns the number of objects that wait for another replica's version while their source has an older one.
    pub fn stale_count(&self) -> usize {
        self.stale.len()
    }
}
