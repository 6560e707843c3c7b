//! Sets of objects of few replicas.

use std::collections::BTreeMap;
use std::ops::Range;

use esker_core::bits;

use crate::shape::ClusterShape;

/// Objects of replicas, by the number of the replica. Replicas of which no object is in the set take no memory.
#[derive(Debug)]
pub(super) struct ObjectsOfReplicas {
    objects_per_slice: usize,
    replicas: BTreeMap<usize, Vec<u64>>,
}

impl ObjectsOfReplicas {
    /// No objects.
    pub(super) fn of(shape: &ClusterShape) -> Self {
        Self { objects_per_slice: shape.objects_per_slice as usize, replicas: BTreeMap::new() }
    }

    /// Adds objects of a replica.
    pub(super) fn set(&mut self, replica: usize, objects: Range<u32>) {
        let words = bits::words(self.objects_per_slice);
        let set = self.replicas.entry(replica).or_insert_with(|| vec![0; words]);
        bits::set_all(set, objects.start as usize..objects.end as usize);
    }

    /// Takes out objects of a replica.
    pub(super) fn clear(&mut self, replica: usize, objects: Range<u32>) {
        let Some(set) = self.replicas.get_mut(&replica) else { return };
        bits::clear_all(set, objects.start as usize..objects.end as usize);
        if bits::none_set(set, 0..self.objects_per_slice) {
            self.replicas.remove(&replica);
        }
    }

    /// Takes out all objects of a replica.
    pub(super) fn clear_replica(&mut self, replica: usize) {
        self.replicas.remove(&replica);
    }

    /// Returns whether an object of a replica is in the set.
    pub(super) fn has(&self, replica: usize, object: usize) -> bool {
        self.replicas.get(&replica).is_some_and(|set| bits::is_set(set, object))
    }

    /// The replicas of which an object is in the set.
    pub(super) fn replicas(&self) -> impl Iterator<Item = usize> + '_ {
        self.replicas.keys().copied()
    }

    /// Returns whether any object of a replica is in the set.
    pub(super) fn has_any(&self, replica: usize) -> bool {
        self.replicas.contains_key(&replica)
    }
}
