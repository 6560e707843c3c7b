//! Requests to a device, and their completions.

use std::fmt;

use thiserror::Error;

use crate::{Bytes, Lba, Nanos};

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// Reads the range.
    Read,
    /// Writes the range.
    Write {
        /// Force unit access: the data are durable before the request completes.
        fua: bool,
    },
    /// Makes the range read as zeroes.
    WriteZeroes {
        /// Force unit access: durable before the request completes.
        fua: bool,
    },
    /// Discards the range's content (TRIM, discard, UNMAP).
    Trim,
    /// Makes durable all requests that completed before this one was submitted. Has no range.
    Flush,
}

impl RequestKind {
    /// Whether the request counts as a write in statistics.
    pub const fn is_write(self) -> bool {
        matches!(self, Self::Write { .. } | Self::WriteZeroes { .. })
    }
    /// Whether the request is a write that has to be durable before it completes.
    pub const fn is_fua(self) -> bool {
        matches!(self, Self::Write { fua: true } | Self::WriteZeroes { fua: true })
    }
    /// Whether the request moves data to or from the host.
    pub const fn has_data(self) -> bool {
        matches!(self, Self::Read | Self::Write { .. })
    }
}

/// The order in which waiting requests are served; a lower number is served first.
///
/// Used wherever requests of the host wait for a slot ([`crate::replay`], [`crate::Children`]), by disks (for the arm
/// and for room in the buffer), and by solid-state drives (for room in the write buffer and after a power failure). A
/// request in service is not interrupted. Elsewhere, such as inside a flash array or in the constant device, the
/// priority has no effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(pub u8);

impl Priority {
    /// Requests that a user waits for.
    pub const USER: Self = Self(0);
    /// Work that can wait: copies, rebuilds, checks.
    pub const BACKGROUND: Self = Self(1);
    /// The waiting time after which a request of low priority goes next in a [`crate::WaitingLine`], though not twice
    /// in a row while a higher priority waits. As long as in Linux's mq-deadline (`prio_aging_expire`).
    pub const AGING: Nanos = Nanos::from_secs(10);
}

/// Which of the host's streams (process, volume, name space) a request belongs to.
///
/// Used by solid-state drives with `streams` over 1: they keep the data of different streams in different blocks. All
/// other devices and translation layers ignore it; composite devices pass it on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u16);

/// One request to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What the request does.
    pub kind: RequestKind,
    /// First sector.
    pub start: Lba,
    /// Length; zero for a flush.
    pub length: Bytes,
    /// The order of service while requests wait.
    pub priority: Priority,
    /// The stream that the request belongs to.
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
    /// This request with background priority.
    pub const fn in_background(self) -> Self {
        Self { priority: Priority::BACKGROUND, ..self }
    }
    /// First byte after the request.
    #[inline]
    pub const fn end_byte(&self) -> u64 {
        self.start.byte_offset() + self.length.0
    }
}

/// Names a request while it is under way: a slot of its parent's slab, and the generation of that slot. A completion
/// that comes twice is detected by its generation.
// One number, because tags are copied all the time: what was stored as two halves is loaded as one only after a wait.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(u64);

impl Tag {
    /// The tag of `slot`, which had been used `generation` times before.
    #[inline]
    pub const fn new(slot: u32, generation: u32) -> Self {
        Self((slot as u64) << 32 | generation as u64)
    }

    /// Slot in the parent's slab.
    #[inline]
    pub const fn slot(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// How often the slot had been used before.
    #[inline]
    pub const fn generation(self) -> u32 {
        self.0 as u32
    }

    /// The tag as a number, for what knows no tags, such as a back end of a store.
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// The tag of this number, which was one [`to_bits`](Self::to_bits).
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tag {{ slot: {}, generation: {} }}", self.slot(), self.generation())
    }
}

/// The end of a request: as a whole, or with the error at its lowest address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The tag that the request was submitted with.
    pub tag: Tag,
    /// When the request ended.
    pub at: Nanos,
    /// When the device began to work on it; until then the request waited.
    pub service_start: Nanos,
    /// Success, or the error.
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
    /// The device takes no more writes (worn out, or set read-only).
    #[error("the device is read-only")]
    ReadOnly,
    /// The device has no free space left where it needs it.
    #[error("the device has no free space left")]
    NoSpace,
    /// The medium could not return or take the data.
    #[error("unrecoverable medium error")]
    Medium {
        /// Where the first error is, from the start of the request; zero if the device does not say.
        at: Bytes,
    },
    /// The device has failed.
    #[error("the device has failed")]
    Failed,
    /// Power failed while the request was under way. What it wrote may be on the medium as a whole, in part, or not at
    /// all.
    #[error("power failed before the request had ended")]
    Interrupted,
    /// The device does not support this kind of request.
    #[error("the device does not support this request")]
    Unsupported,
}

impl DeviceError {
    /// A medium error of which the device does not say where it is.
    pub const MEDIUM: Self = Self::Medium { at: Bytes::ZERO };

    /// Returns the error of a request of which the `length` bytes from `offset` on have ended with this error. What was
    /// sent to the device began `before` bytes earlier. An error outside the part is told at its nearest byte.
    pub fn of_whole(self, offset: Bytes, length: Bytes, before: Bytes) -> Self {
        match self {
            Self::Medium { at } => {
                let within = at.0.saturating_sub(before.0).min(length.0.saturating_sub(1));
                Self::Medium { at: Bytes(offset.0 + within) }
            }
            other => other,
        }
    }
}
