//! Inputs, which tell an engine what has happened, and effects, which tell its driver what to do.

use esker_core::{
    Bytes, Control, DeviceError, Lba, MachineEffect, MachineInput, Nanos, OwnedRoom, Request, Retention, Tag, Telemetry,
};

use super::data::{BufferStep, DataRef};
use super::record::{Record, RecordNumber};
use crate::extent::{DeviceIndex, LogicalExtent};

/// Identifies a request to a device while it is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IoId(pub Tag);

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
    /// Telemetry of a device: as often as [`Machine::look_period`](esker_core::Machine::look_period) says.
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
    /// The device does not know the command of an [`Effect::Control`], and would not know it later.
    Unsupported {
        /// The device.
        device: DeviceIndex,
        /// The command.
        control: DeviceControl,
    },
    /// The time of an [`Effect::WakeAt`] has come.
    Timer,
}

/// A command to a device that is no request, and may come while requests are under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceControl {
    /// Stop (true) or resume (false) wear levelling that moves data only to level wear.
    PauseWearLevelling(bool),
}

impl From<DeviceControl> for Control {
    fn from(control: DeviceControl) -> Self {
        match control {
            DeviceControl::PauseWearLevelling(is_paused) => Self::PauseWearLevelling(is_paused),
        }
    }
}

/// What an engine asks its driver to do.
/// - **Order**: the driver may perform effects in any order, because the engine issues an effect that depends on
///   another one only after it was told that the other one has ended. The exceptions are [`Effect::Buffer`],
///   [`Effect::Retain`] and [`Effect::Control`], which are performed at once, before any later effect.
/// - **Reports**: the ends of one device's flushes and durable writes have to be reported in the order in which the
///   device performed them. When one of them fails, those after it can no longer report that loss. A read that the
///   device performed after a failed flush may have returned data that the flush has lost: it is reported after the
///   flush.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Send a request to a device, and report its end with [`Input::Done`].
    Io {
        /// Identifies the request until [`Input::Done`].
        io: IoId,
        /// The host's request that it serves; `None` if it serves several or none.
        host: Option<Tag>,
        /// The device.
        device: DeviceIndex,
        /// The request.
        request: Request,
        /// Where its bytes come from or go to; `None` for a flush, a trim, or zeroes. While the request is under way,
        /// nothing changes the bytes of a write, and nobody looks at the bytes of a read.
        data: Option<DataRef>,
    },
    /// Change a buffer.
    Buffer(BufferStep),
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
    /// Give a device a command that is no request. A device that does not know it is reported with
    /// [`Input::Unsupported`]; one that does sends no answer.
    Control {
        /// The device.
        device: DeviceIndex,
        /// The command.
        control: DeviceControl,
    },
    /// Append a record to the journal. The record need not be durable yet.
    Record {
        /// Its number.
        number: RecordNumber,
        /// The change of the map.
        record: Record,
    },
    /// Make all records up to this number durable, including any that have not reached the journal yet, and then answer
    /// with [`Input::Durable`].
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

impl MachineInput for Input {
    fn timer() -> Self {
        Self::Timer
    }
}

impl MachineEffect for Effect {
    #[inline]
    fn timer_at(&self) -> Option<Nanos> {
        match *self {
            Self::WakeAt(at) => Some(at),
            _ => None,
        }
    }
}
