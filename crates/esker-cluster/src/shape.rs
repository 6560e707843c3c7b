//! The size of a cluster, and what a server offers it.

use std::ops::Range;

use esker_core::Bytes;
use thiserror::Error;

use crate::fnv::fnv1a_of;
use crate::id::{FailureDomain, ObjectId, PartitionId, SliceId, SliceReplica};

/// The most replicas that a slice can have.
pub const REPLICAS_MAX: u8 = 3;

/// How objects make slices, and slices make partitions.
///
/// Thesis, section 4.2.2 and figure 4.4. There a slice is once a number of objects and once 4 KB; here it is a number
/// of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterShape {
    /// Slices of the cluster.
    pub slices: u32,
    /// `d_s`: consecutive objects in a slice, from 1 to 65,536.
    pub objects_per_slice: u32,
    /// Size of an object, below 4 GiB. The thesis has the size of a flash block, 256 KiB.
    pub object: Bytes,
    /// Ranges of the hash space that the ring gives to servers as a whole.
    pub partitions: u32,
    /// Copies of each slice, from 1 to [`REPLICAS_MAX`].
    pub replicas: u8,
}

/// A server that takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerSpec {
    /// What it fails together with.
    pub domain: FailureDomain,
    /// The most replicas of slices that fit on it.
    pub room: u32,
    /// Its points on the ring. Those of a server with twice the room should be twice as many.
    pub virtual_nodes: u32,
}

/// Returns of how many slices all `replicas` fit where there is room for so many each, and of no slice more than one.
pub fn slices_that_fit(rooms: &[u64], replicas: u64) -> u64 {
    let fit = |slices: u64| {
        let taken: u128 = rooms.iter().map(|room| u128::from(slices.min(*room))).sum();
        taken >= u128::from(slices) * u128::from(replicas)
    };
    let (mut most, mut beyond) = (0, rooms.iter().fold(1, |sum: u64, room| sum.saturating_add(*room)));
    while beyond - most > 1 {
        let slices = most + (beyond - most) / 2;
        *(if fit(slices) { &mut most } else { &mut beyond }) = slices;
    }
    most
}

/// Why there can be no such cluster.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ShapeError {
    /// A number is out of bounds.
    #[error("{what} has to be from {least} to {most}, not {found}")]
    OutOfBounds {
        /// The key of the number, as configurations name it.
        key: &'static str,
        /// What the number counts.
        what: &'static str,
        /// The smallest value.
        least: u64,
        /// The largest value.
        most: u64,
        /// The value.
        found: u64,
    },
    /// Replicas would have to share a failure domain.
    #[error("{replicas} replicas need as many failure domains, and the servers have {domains}")]
    TooFewDomains {
        /// Replicas of each slice.
        replicas: u8,
        /// Failure domains of the servers.
        domains: usize,
    },
    /// What the ring gives to a server does not fit there.
    #[error("server {server} has room for {room} slices, and its share of the ring is {share}")]
    NoRoom {
        /// The server's number.
        server: u16,
        /// Replicas of slices that fit.
        room: u32,
        /// Replicas of slices that the ring gives it.
        share: u32,
    },
}

impl ClusterShape {
    /// Returns the replicas of a slice.
    pub(crate) fn replicas_of(&self, slice: SliceId) -> impl Iterator<Item = SliceReplica> + use<> {
        (0..self.replicas).map(move |replica| SliceReplica { slice, replica })
    }

    /// Checks that the numbers are within their bounds.
    pub fn check(&self) -> Result<(), ShapeError> {
        let replicas = u64::from(self.replicas);
        let bounds = [
            ("replicas", "the number of replicas", 1, u64::from(REPLICAS_MAX), replicas),
            // The map's keys are 32 bits, and name a replica.
            (
                "capacity",
                "the number of slices",
                1,
                u64::from(u32::MAX) / u64::from(REPLICAS_MAX),
                u64::from(self.slices),
            ),
            ("objects_per_slice", "the number of objects in a slice", 1, 1 << 16, u64::from(self.objects_per_slice)),
            ("object", "the size of an object in bytes", 1, u64::from(u32::MAX), self.object.0),
            ("partitions", "the number of partitions", 1, 1 << 24, u64::from(self.partitions)),
        ];
        let out = bounds.into_iter().find(|(_, _, least, most, found)| found < least || found > most);
        match out {
            None => Ok(()),
            Some((key, what, least, most, found)) => Err(ShapeError::OutOfBounds { key, what, least, most, found }),
        }
    }

    /// The number of objects of the cluster.
    pub fn objects(&self) -> u64 {
        u64::from(self.slices) * u64::from(self.objects_per_slice)
    }

    /// Returns the slice that an object belongs to, and the object's place in it.
    pub fn slice_of(&self, object: ObjectId) -> (SliceId, usize) {
        let in_slice = u64::from(self.objects_per_slice);
        (SliceId((object.0 / in_slice) as u32), (object.0 % in_slice) as usize)
    }

    /// Returns the object at place `index` of a slice.
    pub fn object_of(&self, slice: SliceId, index: usize) -> ObjectId {
        ObjectId(u64::from(slice.0) * u64::from(self.objects_per_slice) + index as u64)
    }

    /// Returns the numbers of the objects of a slice.
    pub fn objects_of(&self, slice: SliceId) -> Range<ObjectId> {
        self.object_of(slice, 0)..self.object_of(slice, self.objects_per_slice as usize)
    }

    /// Returns the partition of a slice, by the hash of its number.
    pub fn partition_of(&self, slice: SliceId) -> PartitionId {
        let hash = u128::from(fnv1a_of(u64::from(slice.0)));
        PartitionId(((hash * u128::from(self.partitions)) >> 64) as u32)
    }

    /// Returns where a partition begins on the ring.
    pub fn point_of(&self, partition: PartitionId) -> u64 {
        ((u128::from(partition.0) << 64) / u128::from(self.partitions)) as u64
    }

    /// Returns all slices of a partition. It looks at every slice: for changes of members, not for requests.
    pub fn slices_of(&self, partition: PartitionId) -> impl Iterator<Item = SliceId> + '_ {
        (0..self.slices).map(SliceId).filter(move |slice| self.partition_of(*slice) == partition)
    }

    /// The size of a slice.
    pub fn slice_bytes(&self) -> Bytes {
        Bytes(self.object.0 * u64::from(self.objects_per_slice))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: ClusterShape =
        ClusterShape { slices: 1000, objects_per_slice: 16, object: Bytes::kib(256), partitions: 64, replicas: 2 };

    #[test]
    fn replicas_that_are_apart_fit_as_far_as_small_rooms_go() {
        for (rooms, replicas, slices) in [
            (&[5, 5, 5][..], 1, 15),
            (&[3, 3, 30], 2, 6),
            (&[3, 30], 2, 3),
            (&[30], 2, 0),
            (&[5, 5, 5], 2, 7),
            (&[4, 4, 4], 3, 4),
            (&[4, 4, 4, 1, 0], 3, 4),
            (&[], 1, 0),
        ] {
            assert_eq!(slices_that_fit(rooms, replicas), slices, "{rooms:?}, {replicas}");
        }
    }

    #[test]
    fn every_object_is_in_one_slice_and_every_slice_in_one_partition() {
        assert_eq!(SHAPE.slice_of(ObjectId(33)), (SliceId(2), 1));
        assert_eq!(SHAPE.objects_of(SliceId(2)), ObjectId(32)..ObjectId(48));
        assert_eq!((SHAPE.objects(), SHAPE.slice_bytes()), (16_000, Bytes::mib(4)));
        let listed: usize = (0..64).map(|partition| SHAPE.slices_of(PartitionId(partition)).count()).sum();
        assert_eq!(listed, 1000);
        for slice in SHAPE.slices_of(PartitionId(63)) {
            assert!(SHAPE.point_of(PartitionId(63)) <= fnv1a_of(u64::from(slice.0)));
        }
    }

    #[test]
    fn bounds_are_checked() {
        assert_eq!(SHAPE.check(), Ok(()));
        for wrong in [
            ClusterShape { replicas: 0, ..SHAPE },
            ClusterShape { replicas: 4, ..SHAPE },
            ClusterShape { slices: 0, ..SHAPE },
            ClusterShape { objects_per_slice: 65_537, ..SHAPE },
            ClusterShape { object: Bytes::gib(4), ..SHAPE },
            ClusterShape { partitions: 0, ..SHAPE },
        ] {
            assert!(matches!(wrong.check(), Err(ShapeError::OutOfBounds { .. })), "{wrong:?}");
        }
    }
}
