//! Parts of the host's requests, and work for them on servers, while under way.

use esker_core::{Bytes, DeviceError, Request, RequestKind, Tag};
use esker_tier::{BufferId, DeviceIndex};

use crate::id::{ObjectId, ServerId, SliceReplica};
use crate::route::{EffectId, ObjectRange, RequestTag, ServerWork};

/// The part of a host's request that is about one object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) host: Tag,
    pub(super) request: Request,
    /// Where it begins in the host's request.
    pub(super) offset: Bytes,
    pub(super) range: ObjectRange,
    /// The first error of a server.
    pub(super) error: Option<DeviceError>,
}

impl Piece {
    pub(super) fn length(&self) -> Bytes {
        Bytes(u64::from(self.range.end - self.range.begin))
    }

    /// The buffer of its data.
    pub(super) fn buffer(&self) -> BufferId {
        BufferId::Host(self.host)
    }

    /// Whether it writes zeroes instead of data.
    pub(super) fn is_zeroes(&self) -> bool {
        !self.request.kind.has_data()
    }
}

/// A request to a device, under way.
#[derive(Clone, Copy, Debug)]
pub(super) enum Io {
    /// A flush.
    Flush(DeviceIndex),
    /// A step of a task.
    Task {
        task: EffectId,
        server: ServerId,
        kind: RequestKind,
        /// Bytes before those of the host.
        before: Bytes,
    },
}

/// Work of the router, under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub(super) tag: Option<RequestTag>,
    pub(super) work: ServerWork,
    /// Whether others wait until it has ended.
    pub(super) holds_queue: bool,
    /// Whether its slice stays dirty until it has ended.
    pub(super) makes_dirty: bool,
    /// The buffer in which an object is copied.
    pub(super) buffer: Option<u32>,
    /// Replicas from which it could not be fetched, by bit.
    pub(super) unreadable: u8,
    /// What it makes of the map.
    pub(super) change: Option<MapChange>,
}

impl Task {
    pub(super) fn new(tag: Option<RequestTag>, work: ServerWork) -> Self {
        let (holds_queue, makes_dirty) = (false, false);
        Self { tag, work, holds_queue, makes_dirty, buffer: None, unreadable: 0, change: None }
    }
}

/// A change of what a server holds, as recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct MapChange {
    pub(super) replica: SliceReplica,
    /// Whether the object is on this server only from now on.
    pub(super) moves: bool,
    /// Whether the object is written from now on. All others read as zeroes.
    pub(super) written: bool,
}

/// The object that work is about.
pub(super) fn object_of(work: &ServerWork) -> ObjectId {
    match *work {
        ServerWork::Read { object, .. }
        | ServerWork::Write { object, .. }
        | ServerWork::Merge { object, .. }
        | ServerWork::Copy { object, .. }
        | ServerWork::Delete { object, .. }
        | ServerWork::Trim { object, .. } => object,
        ServerWork::Purge { slice, .. } => unreachable!("a purge is about {slice}"),
    }
}
