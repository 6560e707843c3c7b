//! What a router is told, and what it answers.

use esker_core::Bytes;
use thiserror::Error;

use crate::id::{ObjectId, ServerId, SliceId, SliceReplica};
use crate::map::MapEpoch;
use crate::plan::Plan;
use crate::shape::ServerSpec;

/// A request's name, chosen by whoever sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestTag(pub u64);

/// The name of an effect. They count up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EffectId(pub u64);

/// Bytes of an object, from `begin` on and before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectRange {
    /// The first byte.
    pub begin: u32,
    /// The byte after the last one.
    pub end: u32,
}

impl ObjectRange {
    pub(super) fn overlaps(self, other: Self) -> bool {
        self.begin < other.end && other.begin < self.end
    }
}

/// What a request does to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectRequest {
    /// Reads these bytes.
    Read(ObjectRange),
    /// Writes these bytes.
    Write(ObjectRange),
    /// Removes the object.
    Delete,
}

/// What a router is told.
#[derive(Clone, Debug)]
pub enum RouterInput {
    /// A request of the host.
    Request {
        /// Its name, which no other request under way has.
        tag: RequestTag,
        /// The object.
        object: ObjectId,
        /// What it does.
        request: ObjectRequest,
    },
    /// Work on a server has ended. All work ends once, also on a server that has failed.
    Done {
        /// The effect.
        effect: EffectId,
        /// Whether it was performed. If not, it may still be performed later, unless the server refuses it.
        ok: bool,
    },
    /// A balancing round begins. Moves that cannot be are refused, and counted in the report.
    Plan(Plan),
    /// So many bytes may be copied from now on, beside what is left of earlier grants, at most one object.
    CopyBudget(Bytes),
    /// A server joins. It takes the number that follows.
    Join(ServerSpec),
    /// A server is to be emptied.
    Drain(ServerId),
    /// A server takes no more writes: it is to be emptied, and what is on its way there turns round.
    Refuse(ServerId),
    /// A server that is being emptied is used again.
    Keep(ServerId),
    /// A server is gone, with its data.
    Fail(ServerId),
    /// A balancing epoch ends: tombstones that nothing needs are dropped, and homeless replicas are placed.
    EpochEnds,
}

/// The order in which effects count.
///
/// A server keeps, for each slice, the epoch of the last [`ServerWork::Purge`], and for each page of an object (also of
/// one that was deleted) the stamp of the work that last changed it. It refuses work of an older epoch, and lets no
/// older version change a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// The epoch of the map under which the work began.
    pub epoch: MapEpoch,
    /// Counts up with each request and each copy; all replicas get the same.
    pub version: u64,
}

/// What a router wants done. Effects may be performed in any order: one that depends on another is issued after the
/// other has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Work on servers.
    Work {
        /// The name by which its end is told.
        id: EffectId,
        /// The request for which it is done; `None` for copies, trims and purges.
        tag: Option<RequestTag>,
        /// The work.
        work: ServerWork,
        /// Its order.
        stamp: Stamp,
    },
    /// A change has succeeded elsewhere, or has failed everywhere, and this replica of the object does not count any
    /// more: it gets the object from another one. Comes before the answer to the request.
    Missed {
        /// The replica.
        replica: SliceReplica,
        /// The place of the object in the slice.
        index: usize,
    },
    /// The source of a replica in motion is its destination now, and the destination its source: what had moved has yet
    /// to come back. No work on the slice is under way.
    Turned {
        /// The replica.
        replica: SliceReplica,
    },
    /// The answer to a request.
    Reply {
        /// The request.
        tag: RequestTag,
        /// What became of it.
        result: Result<ReplyKind, RequestError>,
    },
}

/// A request that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyKind {
    /// The data are those that this effect has read.
    Read(EffectId),
    /// The data are zeroes: the object was never written, and no server has it.
    Zeroes,
    /// So many replicas have the change.
    Changed(usize),
}

/// Work on servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerWork {
    /// Reads bytes of an object.
    Read {
        /// The server.
        server: ServerId,
        /// The object.
        object: ObjectId,
        /// The bytes.
        range: ObjectRange,
    },
    /// Writes the host's bytes to an object. One that did not exist has zeroes elsewhere.
    Write {
        /// The server.
        server: ServerId,
        /// The object.
        object: ObjectId,
        /// The bytes.
        range: ObjectRange,
    },
    /// Writes a whole object to `to`: what `from` has, with the host's bytes in it. From then on `from` refuses older
    /// versions of the object.
    Merge {
        /// Has the object.
        from: ServerId,
        /// Gets the object.
        to: ServerId,
        /// The object.
        object: ObjectId,
        /// The host's bytes.
        range: ObjectRange,
    },
    /// Makes `to` hold what `from` has of an object: its data, or a tombstone if it has none. From then on `from`
    /// refuses older versions of the object.
    Copy {
        /// Has the object.
        from: ServerId,
        /// Gets the object.
        to: ServerId,
        /// The object.
        object: ObjectId,
    },
    /// Removes an object, and keeps the stamp as a tombstone.
    Delete {
        /// The server.
        server: ServerId,
        /// The object.
        object: ObjectId,
    },
    /// Removes a stale copy without a tombstone: the newest version is on another server.
    Trim {
        /// The server.
        server: ServerId,
        /// The object.
        object: ObjectId,
    },
    /// From now on the server refuses work on this slice of epochs before that of the stamp. It drops tombstones of
    /// such epochs and, unless `keep` is set, all objects of such epochs.
    Purge {
        /// The server.
        server: ServerId,
        /// The slice.
        slice: SliceId,
        /// Whether the server holds a replica of the slice.
        keep: bool,
    },
}

impl ServerWork {
    /// The server that is changed, or read for a request.
    pub fn server(&self) -> ServerId {
        match *self {
            Self::Read { server, .. }
            | Self::Write { server, .. }
            | Self::Delete { server, .. }
            | Self::Trim { server, .. }
            | Self::Purge { server, .. }
            | Self::Merge { to: server, .. }
            | Self::Copy { to: server, .. } => server,
        }
    }

    /// The server from which another one gets an object.
    pub fn source(&self) -> Option<ServerId> {
        match *self {
            Self::Merge { from, .. } | Self::Copy { from, .. } => Some(from),
            _ => None,
        }
    }
}

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RequestError {
    /// The cluster has no such object, or the range is empty or reaches beyond it.
    #[error("there is no such object, or no such bytes in it")]
    OutOfRange,
    /// All servers that held the object have failed.
    #[error("the object is lost: every server that held it has failed")]
    Lost,
    /// No server has performed it. Data that it would have changed are undefined until they are written again.
    #[error("no server has performed the request")]
    Failed,
    /// No server that serves requests has room for the slice.
    #[error("no server takes writes of this slice")]
    Unavailable,
}
