//! What an engine is told, and what it asks for.

use esker_core::{Bytes, DeviceError, Nanos, Request, Tag, Telemetry};

use crate::extent::{DeviceIndex, LogicalExtent, Place};

/// A request to a device while it is under way.
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
    /// The extent's data were copied: they are at `place` now, and where they were before is free.
    Moved {
        /// Which extent.
        extent: LogicalExtent,
        /// Where it is now.
        place: Place,
    },
    /// The extent has no data any more and reads as zeroes; where they were is free.
    Freed {
        /// Which extent.
        extent: LogicalExtent,
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
    /// Pieces of a host request's buffer: of `head` bytes from `offset` on, then of `unit` bytes each; between the ends
    /// of two pieces lie `round` bytes.
    Striped {
        /// The host's request.
        tag: Tag,
        /// Where in its buffer.
        offset: Bytes,
        /// Bytes of the first piece, where the request is as long.
        head: Bytes,
        /// Bytes of each later one; the last is what is left.
        unit: Bytes,
        /// From the end of a piece to the end of the next one.
        round: Bytes,
    },
    /// A buffer of the driver's own, as long as the request: what is read into it is written from it later. The engine
    /// uses a slot again only after the request that used it last has ended.
    Scratch {
        /// Which buffer.
        slot: u32,
    },
}

impl DataRef {
    /// The pieces of a host request's buffer that a request of `length` bytes to a device moves, in the device's order:
    /// where each begins in the buffer, and how long it is.
    pub fn pieces(self, length: Bytes) -> impl Iterator<Item = (u64, u64)> {
        let (offset, head, unit, round) = match self {
            Self::Striped { offset, head, unit, round, .. } => (offset.0, head.0, unit.0, round.0),
            Self::Host { offset, .. } => (offset.0, length.0, 1, 1),
            Self::None | Self::Scratch { .. } => (0, 0, 1, 1),
        };
        let mut left = if matches!(self, Self::Host { .. } | Self::Striped { .. }) { length.0 } else { 0 };
        let mut next = (offset, head);
        std::iter::from_fn(move || {
            let (begin, size) = (next.0, next.1.min(left));
            next = (begin + next.1 + round - unit, unit);
            left -= size;
            (size > 0).then_some((begin, size))
        })
    }
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
    /// A request to a device ended.
    Done {
        /// Which one.
        io: IoId,
        /// When the device ended it: not after the time of this input, which may come late.
        at: Nanos,
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
    /// Send a request to a device and answer with [`Input::Done`]. A read of a host's buffer fills its part; parts of
    /// the buffer that no request fills are zeroes.
    Io {
        /// Names it until it is done.
        io: IoId,
        /// The host's request that it is part of; `None` where it serves several, or none.
        host: Option<Tag>,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_striped_buffer_is_taken_piece_by_piece() {
        let tag = Tag { slot: 0, generation: 0 };
        let data = DataRef::Striped { tag, offset: Bytes(2), head: Bytes(3), unit: Bytes(10), round: Bytes(40) };
        let pieces = |length| data.pieces(Bytes(length)).collect::<Vec<_>>();
        assert_eq!(pieces(2), [(2, 2)]);
        assert_eq!(pieces(3), [(2, 3)]);
        assert_eq!(pieces(25), [(2, 3), (35, 10), (75, 10), (115, 2)]);
        let whole = DataRef::Host { tag, offset: Bytes(7) };
        assert_eq!(whole.pieces(Bytes(9)).collect::<Vec<_>>(), [(7, 9)]);
        assert_eq!(DataRef::None.pieces(Bytes(9)).count(), 0);
    }
}
