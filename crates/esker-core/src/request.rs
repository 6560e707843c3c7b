//! What a host asks of a device, and what comes back.

use thiserror::Error;

use crate::{Bytes, Lba, Nanos};

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// Reads the range.
    Read,
    /// Writes the range; `fua` (force unit access): durable before it completes.
    Write {
        /// Durable before it completes.
        fua: bool,
    },
    /// Makes the range read as zeroes.
    WriteZeroes {
        /// Durable before it completes.
        fua: bool,
    },
    /// Gives up the range's content (TRIM, discard, UNMAP).
    Trim,
    /// Makes durable all that completed before this was submitted. Has no range.
    Flush,
}

impl RequestKind {
    /// Whether it counts as a write in statistics.
    pub const fn is_write(self) -> bool {
        matches!(self, Self::Write { .. } | Self::WriteZeroes { .. })
    }
    /// Whether it is a write that has to be durable before it completes.
    pub const fn is_fua(self) -> bool {
        matches!(self, Self::Write { fua: true } | Self::WriteZeroes { fua: true })
    }
    /// Whether it moves data to or from the host.
    pub const fn has_data(self) -> bool {
        matches!(self, Self::Read | Self::Write { .. })
    }
}

/// Who is served first where requests wait; lower is sooner.
///
/// Heeded wherever the host's requests wait for a slot ([`crate::replay`], [`crate::Children`]), by disks for the arm
/// and for room in the buffer, and by solid-state drives for room in the write buffer and after a power failure. What
/// is being served goes on. Where nothing waits, as inside a flash array or in the constant device, it has no meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(pub u8);

impl Priority {
    /// What somebody waits for.
    pub const USER: Self = Self(0);
    /// Copies, rebuilds, checks: what can wait.
    pub const BACKGROUND: Self = Self(1);
    /// Nobody starves: what has waited this long goes next in a [`crate::WaitingLine`], though not twice in a row while
    /// a higher priority waits. As long as in Linux's mq-deadline (`prio_aging_expire`).
    pub const AGING: Nanos = Nanos::from_secs(10);
}

/// Which of the host's streams (process, volume, name space) a request belongs to.
///
/// Heeded by solid-state drives with `streams` over 1, which keep the data of different streams in blocks of their own.
/// All other devices and translation layers ignore it; composite devices pass it on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u16);

/// One request to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What it does.
    pub kind: RequestKind,
    /// First sector.
    pub start: Lba,
    /// Length; zero for a flush.
    pub length: Bytes,
    /// Order of service where requests wait.
    pub priority: Priority,
    /// The stream it belongs to.
    pub stream: StreamId,
}

impl Request {
    /// A request of default priority and stream.
    pub const fn new(kind: RequestKind, start: Lba, length: Bytes) -> Self {
        Self { kind, start, length, priority: Priority::USER, stream: StreamId(0) }
    }
    /// A read of `length` from `start`.
    pub const fn read(start: Lba, length: Bytes) -> Self {
        Self::new(RequestKind::Read, start, length)
    }
    /// A write of `length` at `start`.
    pub const fn write(start: Lba, length: Bytes) -> Self {
        Self::new(RequestKind::Write { fua: false }, start, length)
    }
    /// This request, as background work.
    pub const fn in_background(self) -> Self {
        Self { priority: Priority::BACKGROUND, ..self }
    }
    /// First byte after the request.
    #[inline]
    pub const fn end_byte(&self) -> u64 {
        self.start.byte_offset() + self.length.0
    }
}

/// Names a request while it is under way: the slot of its parent's slab, and the slot's generation, so that a
/// completion that comes twice is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag {
    /// Slot in the parent's slab.
    pub slot: u32,
    /// How often the slot had been used before.
    pub generation: u32,
}

/// A request that ended, whole or with its first error by address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The tag it was submitted with.
    pub tag: Tag,
    /// When it ended.
    pub at: Nanos,
    /// When the device began to work on it; before that it waited.
    pub service_start: Nanos,
    /// How it ended.
    pub result: Result<(), DeviceError>,
}

/// Why a device could not serve a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DeviceError {
    /// The range ends beyond the device's capacity.
    #[error("the request ends at byte {end}, past the device's end at {}", capacity.0)]
    OutOfRange {
        /// First byte after the request.
        end: u64,
        /// The device's capacity.
        capacity: Bytes,
    },
    /// The device takes no more writes (worn out, or set so).
    #[error("the device is read-only")]
    ReadOnly,
    /// No free space is left where the device needs it.
    #[error("the device has no free space left")]
    NoSpace,
    /// The medium could not deliver the data.
    #[error("unrecoverable medium error")]
    Medium,
    /// The device is gone.
    #[error("the device has failed")]
    Failed,
    /// Power failed while the request was under way. What it wrote may have got to the
    /// medium, in whole or in part, or not.
    #[error("power failed before the request had ended")]
    Interrupted,
    /// The device does not know this kind of request.
    #[error("the device does not support this request")]
    Unsupported,
}
