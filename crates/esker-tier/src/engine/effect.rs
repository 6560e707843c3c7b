//! What an engine is told, and what it asks for.

use esker_core::{Bytes, DeviceError, Nanos, Request, Tag, Telemetry};

use crate::extent::{DeviceIndex, LogicalExtent, Place};

/// A child I/O while it is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IoId(pub Tag);

/// Records are numbered from 1 without gaps; 0 stands for "none yet".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordNumber(pub u64);

/// A change of the map, for the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapRecord {
    /// The extent has its data at `place`. Before its first record an extent reads as zeroes.
    Mapped {
        /// Which extent.
        extent: LogicalExtent,
        /// Where it is.
        place: Place,
    },
}

/// Which bytes a child I/O moves. The engine never sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataRef {
    /// None: a flush, a trim, zeroes.
    None,
    /// Part of a host request's buffer, from `offset` on.
    Host {
        /// The host's request.
        tag: Tag,
        /// Where in its buffer.
        offset: Bytes,
    },
    /// Part of a buffer of the driver's own, for migration and part extents.
    Scratch {
        /// Which buffer.
        slot: u32,
        /// Where in it.
        offset: Bytes,
    },
}

/// What an engine is told.
#[derive(Clone, Debug)]
pub enum Input {
    /// The host asks for something. A tag is used again only after its reply.
    Host {
        /// Names the request until its [`Effect::Reply`].
        tag: Tag,
        /// What it asks for.
        request: Request,
    },
    /// A child I/O ended.
    Done {
        /// Which one.
        io: IoId,
        /// How.
        result: Result<(), DeviceError>,
    },
    /// All records up to this number would survive a crash.
    Durable {
        /// The last of them.
        through: RecordNumber,
    },
    /// A record was not appended or not made durable. No later one is, and none that waits is answered any more.
    JournalFailed,
    /// What a device says about itself.
    Device {
        /// Which one.
        device: DeviceIndex,
        /// What it says.
        telemetry: Telemetry,
    },
    /// The time of a [`Effect::WakeAt`] has come.
    Timer,
}

/// What an engine asks its driver to do. Effects may be performed in any order: what has to wait for something is only
/// asked for once the engine has been told of it. The engine is told of the ends of one device's flushes and durable
/// writes in the order in which they were performed: where one fails, those after it have nothing left to report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Perform a child I/O and answer with [`Input::Done`]. A read of a host's buffer fills its part; parts of the
    /// buffer that no child I/O fills are zeroes.
    Io {
        /// Names it until it is done.
        io: IoId,
        /// The device.
        device: DeviceIndex,
        /// What to do there.
        request: Request,
        /// The bytes it moves.
        data: DataRef,
    },
    /// Append a record to the journal; it need not be durable.
    Record {
        /// Its number.
        number: RecordNumber,
        /// The change.
        record: MapRecord,
    },
    /// Make all records up to this number durable, those that are still on their way to the journal too, and
    /// answer with [`Input::Durable`].
    Harden {
        /// The last of them.
        through: RecordNumber,
    },
    /// A host's request ended.
    Reply {
        /// Which one.
        tag: Tag,
        /// How: whole, or with its first error by address.
        result: Result<(), DeviceError>,
    },
    /// Send [`Input::Timer`] at this time.
    WakeAt(Nanos),
}
