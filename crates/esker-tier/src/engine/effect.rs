//! Inputs, which tell an engine what has happened, and effects, which tell its driver what to do.

use esker_core::{Bytes, DeviceError, Lba, Nanos, OwnedRoom, Request, Retention, Tag, Telemetry};

use crate::extent::{BlockRange, DeviceIndex, ExtentPlace, LogicalExtent, PhysicalExtent};

/// Identifies a request to a device while it is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IoId(pub Tag);

/// The number of a record. Numbers start at 1 and have no gaps; 0 means "no record yet".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordNumber(pub u64);

/// A change of the map, as it is written to the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapRecord {
    /// The extent has its data at `place`. An extent without any record reads as zeroes.
    Mapped {
        /// The extent.
        extent: LogicalExtent,
        /// Where its data are.
        place: ExtentPlace,
        /// The blocks that have been written there. All other blocks read as zeroes.
        blocks: BlockRange,
    },
    /// More blocks of a mapped extent have been written.
    Written {
        /// The extent.
        extent: LogicalExtent,
        /// The blocks.
        blocks: BlockRange,
    },
    /// The data of the extent are now at `place`, with the same written blocks. The former place is free.
    Moved {
        /// The extent.
        extent: LogicalExtent,
        /// Where its data are now.
        place: ExtentPlace,
    },
    /// The extent has no data and reads as zeroes. Its former place is free.
    Freed {
        /// The extent.
        extent: LogicalExtent,
    },
    /// A flash cache holds all data of a line, durably. If the line is dirty, no other device has the latest data.
    Cached {
        /// The line of the volume.
        line: LogicalExtent,
        /// The slot of the flash.
        slot: PhysicalExtent,
        /// Whether the backing device may hold older data.
        dirty: bool,
    },
    /// The line has left the flash cache: the backing device has its latest data.
    Uncached {
        /// The line of the volume.
        line: LogicalExtent,
    },
}

impl MapRecord {
    /// Returns the extent or line that the record describes.
    pub fn extent(&self) -> LogicalExtent {
        match *self {
            Self::Mapped { extent, .. }
            | Self::Written { extent, .. }
            | Self::Moved { extent, .. }
            | Self::Freed { extent } => extent,
            Self::Cached { line, .. } | Self::Uncached { line } => line,
        }
    }
}

/// Names the bytes that a request to a device moves. The engine itself never sees the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataRef {
    /// No bytes: for a flush, a trim, or zeroes.
    None,
    /// Part of the buffer of a host's request, from `offset`.
    Host {
        /// The host's request.
        tag: Tag,
        /// Offset in its buffer.
        offset: Bytes,
    },
    /// Zeroes, then part of the buffer of a host's write, then zeroes: for the first write to blocks that the host
    /// fills only in part.
    Padded {
        /// The host's request.
        tag: Tag,
        /// Offset in its buffer.
        offset: Bytes,
        /// Number of zero bytes before the data.
        head: Bytes,
        /// Number of zero bytes after the data.
        tail: Bytes,
    },
    /// Several pieces of the buffer of a host's request. The first piece has `head` bytes and begins at `offset`; each
    /// later piece has `unit` bytes and ends `round` bytes after the piece before it.
    Striped {
        /// The host's request.
        tag: Tag,
        /// Offset in its buffer.
        offset: Bytes,
        /// Length of the first piece, if the request is that long.
        head: Bytes,
        /// Length of each later piece; the last one may be shorter.
        unit: Bytes,
        /// Distance from the end of one piece to the end of the next.
        round: Bytes,
    },
    /// A buffer of a cache, from `at`. Nothing changes these bytes while the request is under way.
    Cached {
        /// Number of the buffer.
        slot: u32,
        /// Offset in that buffer.
        at: Bytes,
    },
    /// A buffer of the driver, as long as the request. A read fills it, and later writes take their data from it. The
    /// engine reuses the slot only after the last request with that slot has ended.
    Scratch {
        /// Number of the buffer.
        slot: u32,
    },
}

impl DataRef {
    /// Returns the pieces of a host's buffer that a request of `length` bytes moves, in the order in which they lie on
    /// the device: offset in the buffer and length, both in bytes. Padding with zeroes is not included.
    pub fn pieces(self, length: Bytes) -> impl Iterator<Item = (u64, u64)> {
        let (offset, head, unit, round) = match self {
            Self::Striped { offset, head, unit, round, .. } => (offset.0, head.0, unit.0, round.0),
            Self::Host { offset, .. } => (offset.0, length.0, 1, 1),
            Self::Padded { offset, head, tail, .. } => (offset.0, length.0 - head.0 - tail.0, 1, 1),
            Self::None | Self::Cached { .. } | Self::Scratch { .. } => (0, 0, 1, 1),
        };
        let mut left = match self {
            Self::Host { .. } | Self::Striped { .. } => length.0,
            Self::Padded { .. } => head,
            Self::None | Self::Cached { .. } | Self::Scratch { .. } => 0,
        };
        let mut next = (offset, head);
        std::iter::from_fn(move || {
            let (begin, size) = (next.0, next.1.min(left));
            next = (begin + next.1 + round - unit, unit);
            left -= size;
            (size > 0).then_some((begin, size))
        })
    }
}

/// What has happened: an event that the driver reports to an engine.
#[derive(Clone, Debug)]
pub enum Input {
    /// A request of the host has arrived. Its tag is reused only after the reply.
    Host {
        /// Identifies the request until its [`Effect::Reply`].
        tag: Tag,
        /// The request.
        request: Request,
    },
    /// A request to a device ended.
    Done {
        /// The request to the device.
        io: IoId,
        /// When the device ended it. This input may be delivered later, but never earlier.
        at: Nanos,
        /// Success, or the error.
        result: Result<(), DeviceError>,
    },
    /// All records up to this number are durable: they would survive a crash.
    Durable {
        /// The last of these records.
        through: RecordNumber,
    },
    /// A record could not be appended or made durable. No later record will be durable either, so requests that wait
    /// for a record fail.
    JournalFailed,
    /// Telemetry of a device.
    Device {
        /// The device.
        device: DeviceIndex,
        /// Its telemetry.
        telemetry: Telemetry,
    },
    /// The device has dropped the data of a range, as [`Effect::Retain`] allowed. The driver delivers this right after
    /// the input whose effects it was performing when the device dropped the data.
    Dropped {
        /// The device.
        device: DeviceIndex,
        /// Start of the range.
        start: Lba,
        /// Length of the range.
        length: Bytes,
    },
    /// The device, which drops data as [`Effect::Retain`] allows, has worn and now has less room. It keeps the data
    /// that it holds, but may refuse writes ([`DeviceError::NoSpace`]) until the engine has released enough of them.
    /// After a restart such a device first reports how much room it has.
    Room {
        /// The device.
        device: DeviceIndex,
        /// How much room it has now.
        room: OwnedRoom,
    },
    /// The time of an [`Effect::WakeAt`] has come.
    Timer,
}

/// What an engine asks its driver to do.
/// - **Order**: the driver may perform effects in any order, because the engine issues an effect that depends on
///   another one only after it was told that the other one has ended. The exceptions are [`Effect::Cache`] and
///   [`Effect::Retain`], which are performed at once, before any later effect.
/// - **Reports**: the ends of one device's flushes and durable writes have to be reported in the order in which the
///   device performed them. When one of them fails, those after it can no longer report that loss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Send a request to a device, and report its end with [`Input::Done`]. A read for the host fills part of the
    /// host's buffer; the driver fills the parts that no read fills with zeroes.
    Io {
        /// Identifies the request until [`Input::Done`].
        io: IoId,
        /// The host's request that it serves; `None` if it serves several or none.
        host: Option<Tag>,
        /// The device.
        device: DeviceIndex,
        /// The request.
        request: Request,
        /// Where its bytes come from or go to.
        data: DataRef,
    },
    /// Change or read a buffer of a cache.
    Cache(CacheStep),
    /// Tell a device that may drop data how long to keep the data of a range. Performed at once, before any later
    /// effect. Data that the device has dropped never come back: reads of them fail. After a restart the device still
    /// has the data that the journal's records name, and keeps them until it is told otherwise; it first reports which
    /// of these it had dropped.
    Retain {
        /// The device.
        device: DeviceIndex,
        /// Where the range begins.
        start: Lba,
        /// How long it is.
        length: Bytes,
        /// How long the device has to keep the data.
        retention: Retention,
    },
    /// Append a record to the journal. The record need not be durable yet.
    Record {
        /// Its number.
        number: RecordNumber,
        /// The change of the map.
        record: MapRecord,
    },
    /// Make all records up to this number durable, including any that have not reached the journal yet, and then answer
    /// with [`Input::Durable`].
    Harden {
        /// The last of these records.
        through: RecordNumber,
    },
    /// Answer a request of the host.
    Reply {
        /// The tag of the request.
        tag: Tag,
        /// Success, or the error at the lowest address.
        result: Result<(), DeviceError>,
    },
    /// Send [`Input::Timer`] at this time.
    WakeAt(Nanos),
    /// The device that was being drained holds no data and can be removed.
    Drained(DeviceIndex),
    /// The device that was being drained still holds extents, and none of them could be read in several attempts. The
    /// drain resumes when the host overwrites such an extent: a write or trim of the whole extent takes it off the
    /// device, and after a partial write the engine tries again to read it.
    DrainStuck {
        /// The device.
        device: DeviceIndex,
        /// Number of these extents.
        extents: u32,
        /// The first of them.
        first: LogicalExtent,
    },
}

/// One step on a buffer of a cache. The buffers are in the driver's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheStep {
    /// Fill the buffer with zeroes.
    Clear {
        /// Number of the buffer.
        slot: u32,
        /// Its length.
        length: Bytes,
    },
    /// Copy part of the data of a host's write into the buffer.
    Keep {
        /// Number of the buffer.
        slot: u32,
        /// Offset in it.
        at: Bytes,
        /// The host's request.
        tag: Tag,
        /// Offset in the request's buffer.
        offset: Bytes,
        /// Number of bytes.
        length: Bytes,
    },
    /// Copy part of the buffer into the buffer of a host's read.
    Serve {
        /// Number of the buffer.
        slot: u32,
        /// Offset in it.
        at: Bytes,
        /// The host's request.
        tag: Tag,
        /// Offset in the request's buffer.
        offset: Bytes,
        /// How much.
        length: Bytes,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_striped_buffer_is_taken_piece_by_piece() {
        let tag = Tag::new(0, 0);
        let data = DataRef::Striped { tag, offset: Bytes(2), head: Bytes(3), unit: Bytes(10), round: Bytes(40) };
        let pieces = |length| data.pieces(Bytes(length)).collect::<Vec<_>>();
        assert_eq!(pieces(2), [(2, 2)]);
        assert_eq!(pieces(3), [(2, 3)]);
        assert_eq!(pieces(25), [(2, 3), (35, 10), (75, 10), (115, 2)]);
        let whole = DataRef::Host { tag, offset: Bytes(7) };
        assert_eq!(whole.pieces(Bytes(9)).collect::<Vec<_>>(), [(7, 9)]);
        let padded = DataRef::Padded { tag, offset: Bytes(7), head: Bytes(2), tail: Bytes(3) };
        assert_eq!(padded.pieces(Bytes(9)).collect::<Vec<_>>(), [(7, 4)]);
        assert_eq!(DataRef::None.pieces(Bytes(9)).count(), 0);
    }
}
