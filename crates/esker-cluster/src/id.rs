//! Numbers of servers, slices and objects.

use std::fmt;

/// A server, by its place in the server list. A number is never given to another server, so that what is still under
/// way for one that failed cannot be taken for work of its successor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerId(pub u16);

/// What fails together: a host, a rack, a power feed. Two replicas of a slice never share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FailureDomain(pub u32);

/// A range of the hash space, whose slices lie on the same servers unless the off-loading map says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PartitionId(pub u32);

/// A slice: consecutive objects that move together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SliceId(pub u32);

/// An object, numbered from 0 over the whole cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u64);

/// One replica of a slice. The replicas of a slice move independently of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SliceReplica {
    /// The slice.
    pub slice: SliceId,
    /// Which of its replicas, from 0.
    pub replica: u8,
}

impl ServerId {
    /// The index of the server in tables of all servers.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl SliceId {
    /// The index of the slice in tables of all slices.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "server {}", self.0)
    }
}

impl fmt::Display for SliceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "slice {}", self.0)
    }
}
