//! A slot of the flash, and the state of its data.

/// What the journal has been told of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recorded {
    No,
    Clean,
    Dirty,
}

/// No line.
pub(super) const NONE: u32 = u32::MAX;

/// A slot of the flash.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// The line whose data it holds; [`NONE`] if it holds none.
    pub(super) line: u32,
    pub(super) recorded: Recorded,
    /// Whether the backing device may hold older data.
    pub(super) dirty: bool,
    /// When it got its line, and when its data changed last, on the clock of changes.
    pub(super) mapped_at: u64,
    pub(super) changed_at: u64,
}

/// A state of a slot's data: what is durable of them was like this, or is newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) line: u32,
    pub(super) at: u64,
}
