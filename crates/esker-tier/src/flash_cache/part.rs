//! The part of a request that lies in one line, or work of the cache's own on a line.

use esker_core::{DeviceError, Priority, RequestKind, StreamId, Tag};

/// What a part is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// A read of the host.
    Read,
    /// A write, a write of zeroes, or a trim of the host.
    Write(RequestKind),
    /// The line is to leave.
    Evict,
    /// The line is to be copied back.
    Clean,
}

/// What a part waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Its turn, and the record that its line has left a slot earlier.
    Lock,
    /// A read of the host, on the flash.
    ReadFlash,
    /// A read of the host, on the backing device.
    ReadBacking,
    /// A read of the whole line from the backing device.
    Fetch,
    /// A write of the whole line to its new slot; in write-through also the host's write to the backing device.
    Fill,
    /// The record after which the line may be changed where it is.
    Announce,
    /// The host's write into the line, where it is; in write-through also to the backing device.
    Change,
    /// A read of the line, which the host changes in part, before it is written to another slot.
    Merge,
    /// A write of the changed line to another slot.
    Append,
    /// The record that the line has left, before the host's write goes around.
    Leave,
    /// The host's write to the backing device alone.
    Around,
    /// A read of a dirty line.
    CopyOut,
    /// The durable write of that line to the backing device.
    CopyBack,
}

/// One line's part of a request. It has the line's lock from its first step to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) line: u32,
    /// Bytes of the line.
    pub(super) from: u64,
    pub(super) length: u64,
    pub(super) task: Task,
    /// The host's request, until it is answered for this part.
    pub(super) host: Option<Tag>,
    /// Where the part begins in the host's buffer.
    pub(super) offset: u64,
    pub(super) priority: Priority,
    pub(super) stream: StreamId,
    /// Whether it shares the lock with others.
    pub(super) shared: bool,
    pub(super) step: Step,
    /// Requests to devices under way.
    pub(super) open: u8,
    /// Errors of this step: of the flash, and of the backing device.
    pub(super) errors: [Option<DeviceError>; 2],
    /// The buffer of the line: its number, and where the line begins in it.
    pub(super) buffer: Option<(u32, u64)>,
    /// A slot that was taken for the line and does not hold it yet.
    pub(super) slot: Option<u32>,
}

impl Part {
    /// Work of the cache's own on a line of `length` bytes.
    pub(super) fn own(line: u32, task: Task, length: u64) -> Self {
        Self {
            line,
            from: 0,
            length,
            task,
            host: None,
            offset: 0,
            priority: Priority::BACKGROUND,
            stream: StreamId::default(),
            shared: false,
            step: Step::Lock,
            open: 0,
            errors: [None; 2],
            buffer: None,
            slot: None,
        }
    }
}
