//! Requests to devices under way.

use std::ops::Range;

use esker_core::{Bytes, Nanos, Request, RequestKind, Tag};

use crate::extent::{DeviceIndex, ExtentPlace, LogicalExtent};

/// A request to a device under way.
#[derive(Clone, Copy, Debug)]
pub(super) enum Io {
    /// A part of a request of the host.
    Part(HostPart),
    /// A flush for all requests that wait for it.
    Flush { device: DeviceIndex },
    /// A read or write of the copy in this slot.
    Copy { slot: u32, device: DeviceIndex, kind: RequestKind, sent: Nanos, length: Bytes },
    /// The read of what a merged write leaves of its extent.
    MergeRead { merge: Tag, sent: Nanos, length: Bytes },
    /// A trim that tells the device that the data of this many places are gone, which lie next to each other.
    Trim { first: ExtentPlace, count: u32 },
}

/// A range of bytes of a host's request, which is split at extents.
pub(super) struct HostRange<'a> {
    pub(super) now: Nanos,
    pub(super) tag: Tag,
    pub(super) request: &'a Request,
    pub(super) range: Range<u64>,
    /// Number of devices that have refused these data.
    pub(super) refusals: u8,
    /// Whether it is a write that [`widened`](super::PlacementEngine::widened) has announced.
    pub(super) widened: bool,
    /// Whether writes may wait for the rest of their extent to be read.
    pub(super) merges: bool,
}

/// A part of a host's request: consecutive extents that lie next to each other on one device.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostPart {
    pub(super) host: Tag,
    /// Offset in the host's request.
    pub(super) offset: u64,
    pub(super) first: LogicalExtent,
    pub(super) place: ExtentPlace,
    pub(super) count: u32,
    /// Whether it writes some of its blocks for the first time.
    pub(super) first_write: bool,
    /// Whether it is a redirected write: its places become those of the extents when it has ended.
    pub(super) redirect: bool,
    /// Whether the data are in the buffer of a merge, and which.
    pub(super) merge: Option<Tag>,
    /// The request sent to the device.
    pub(super) request: Request,
    /// Bytes before and after the host's data: zeroes, less than a block each, or the rest of the extent.
    pub(super) padding: (u64, u64),
    /// Number of devices that have refused these data.
    pub(super) refusals: u8,
    /// Whether it is a write that [`widened`](super::PlacementEngine::widened) has announced. Only another place may
    /// have it.
    pub(super) widened: bool,
    pub(super) sent: Nanos,
}

impl HostPart {
    /// Returns the extents, each with its place.
    pub(super) fn places(&self) -> impl Iterator<Item = (LogicalExtent, ExtentPlace)> + use<> {
        let Self { first, place, .. } = *self;
        (0..self.count).map(move |index| (LogicalExtent(first.0 + index), place.after(index)))
    }
}
