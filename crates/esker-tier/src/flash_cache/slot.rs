//! A slot of the flash, and the versions of its data.

/// What the journal's records say about a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordedState {
    No,
    Clean,
    Dirty,
}

/// Stands for "no line" and "no slot".
pub(super) const NONE: u32 = u32::MAX;

/// A slot of the flash.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// The line that it holds; [`NONE`] if it holds none.
    pub(super) line: u32,
    pub(super) recorded: RecordedState,
    /// Whether the backing device may hold older data.
    pub(super) dirty: bool,
    /// When it got its line, and when its data last changed, on the clock of changes.
    pub(super) mapped_at: u64,
    pub(super) changed_at: u64,
}

/// The version of a line's data at one moment. When a flush that began after that moment has ended, this version or a
/// newer one is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DataVersion {
    pub(super) line: u32,
    pub(super) at: u64,
}
