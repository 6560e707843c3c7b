//! Inputs and effects: what an engine is told, and what it asks for.

use esker_core::{Bytes, DeviceError, Lba, Nanos, OwnedRoom, Request, Retention, Tag, Telemetry};

use super::data::{BufferStep, DataRef};
use crate::extent::{BlockRange, DeviceIndex, ExtentPlace, LogicalExtent, PhysicalExtent};

/// Names a request to a device while it is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IoId(pub Tag);

/// The number of a record. Records count from 1 without gaps; 0 means "none yet".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordNumber(pub u64);

/// A change of the map, as written to the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapRecord {
    /// The extent has its data at `place`. Until its first record an extent reads as zeroes.
    Mapped {
        /// The extent.
        extent: LogicalExtent,
        /// Where its data are.
        place: ExtentPlace,
        /// The blocks that have been written there. All others read as zeroes.
        blocks: BlockRange,
    },
    /// More blocks of a mapped extent have been written.
    Written {
        /// The extent.
        extent: LogicalExtent,
        /// The blocks.
        blocks: BlockRange,
    },
    /// The data of the extent, with the blocks that were written before, are at `place` now. The place where they were
    /// is free.
    Moved {
        /// The extent.
        extent: LogicalExtent,
        /// Where its data are now.
        place: ExtentPlace,
    },
    /// The extent has no data any more and reads as zeroes. The place where they were is free.
    Freed {
        /// The extent.
        extent: LogicalExtent,
    },
    /// A flash cache holds all data of a line, and they are durable there. If the line is dirty, only there.
    Cached {
        /// The line of the volume.
        line: LogicalExtent,
        /// The slot of the flash.
        slot: PhysicalExtent,
        /// Whether the backing device may hold older data.
        dirty: bool,
    },
    /// A flash cache does not hold the line any more: the backing device has its data.
    Uncached {
        /// The line of the volume.
        line: LogicalExtent,
    },
}

impl MapRecord {
    /// The extent or line that it speaks of.
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

/// An event that an engine is told.
#[derive(Clone, Debug)]
pub enum Input {
    /// A request of the host. Its tag is used again only after the reply.
    Host {
        /// Names the request until its [`Effect::Reply`].
        tag: Tag,
        /// The request.
        request: Request,
    },
    /// A request to a device ended.
    Done {
        /// The request to the device.
        io: IoId,
        /// When the device ended it. Not later than the time of this input, which may come late.
        at: Nanos,
        /// Success, or the error.
        result: Result<(), DeviceError>,
    },
    /// All records up to this number would survive a crash.
    Durable {
        /// The last of these records.
        through: RecordNumber,
    },
    /// A record could not be appended or made durable. No later record will be, and nothing that waits for one is
    /// answered.
    JournalFailed,
    /// Telemetry of a device.
    Device {
        /// The device.
        device: DeviceIndex,
        /// Its telemetry.
        telemetry: Telemetry,
    },
    /// The device has dropped the data of a range, which [`Effect::Retain`] said that it might. The next input after
    /// the one whose effects it was performing then.
    Dropped {
        /// The device.
        device: DeviceIndex,
        /// Where the range begins.
        start: Lba,
        /// How long it is.
        length: Bytes,
    },
    /// The device, which drops data as [`Effect::Retain`] says, is worn and has room for less from now on. What it
    /// holds stays there, but writes may be refused ([`DeviceError::NoSpace`]) until the engine has let as much go.
    /// After a restart such a device says first what it has room for.
    Room {
        /// The device.
        device: DeviceIndex,
        /// What it has room for now.
        room: OwnedRoom,
    },
    /// The time of an [`Effect::WakeAt`] has come.
    Timer,
}

/// What an engine asks its driver to do. Effects may be performed in any order: an effect that depends on another one
/// is issued only after the engine was told that the other one has ended. Steps on buffers alone are performed at once,
/// before any effect behind them. The ends of one device's flushes and durable
/// writes have to be told in the order in which they were performed: if one fails, those after it have nothing left to
/// report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Send a request to a device, and answer with [`Input::Done`].
    Io {
        /// Names the request until it is done.
        io: IoId,
        /// The host's request that it belongs to; `None` if it serves several, or none.
        host: Option<Tag>,
        /// The device.
        device: DeviceIndex,
        /// The request.
        request: Request,
        /// The bytes that it moves; `None` for a flush, a trim, or zeroes. While it is under way, nothing changes what
        /// a write takes, and nobody looks at what a read fills.
        data: Option<DataRef>,
    },
    /// Change a buffer.
    Buffer(BufferStep),
    /// Tell a device that may drop data how long those of a range have to stay. Performed at once, before any effect
    /// behind it. What it has dropped it never gives out again: reads of it fail. After a restart it has what the
    /// records name, and no more, and that has to stay until it is told otherwise; what it has dropped of that it says
    /// first.
    Retain {
        /// The device.
        device: DeviceIndex,
        /// Where the range begins.
        start: Lba,
        /// How long it is.
        length: Bytes,
        /// How long its data have to stay.
        retention: Retention,
    },
    /// Append a record to the journal. It need not be durable yet.
    Record {
        /// Its number.
        number: RecordNumber,
        /// The change of the map.
        record: MapRecord,
    },
    /// Make all records up to this number durable, including those that are still on their way to the journal, and
    /// answer with [`Input::Durable`].
    Harden {
        /// The last of these records.
        through: RecordNumber,
    },
    /// Answer a request of the host. All bytes of a read that succeeded have been read, copied or zeroed; the buffer of
    /// one that failed may hold anything.
    Reply {
        /// The tag of the request.
        tag: Tag,
        /// Success, or the error at the lowest address.
        result: Result<(), DeviceError>,
    },
    /// Send [`Input::Timer`] at this time.
    WakeAt(Nanos),
    /// No data are left on this device, which was to be drained: it can be taken away.
    Drained(DeviceIndex),
    /// This device, which was to be drained, still holds extents that could not be read in several attempts, and
    /// nothing else. Each that the host writes as a whole or trims leaves it; each that it writes in part is tried
    /// again.
    DrainStuck {
        /// The device.
        device: DeviceIndex,
        /// Number of these extents.
        extents: u32,
        /// The first of them.
        first: LogicalExtent,
    },
}
