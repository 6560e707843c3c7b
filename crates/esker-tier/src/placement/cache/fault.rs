//! Faults for tests.

/// Ways in which a cache can be made faulty, so that the properties have to find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::placement) enum Fault {
    /// A fetch during a write is kept.
    OverlooksWrites,
    /// What a trim empties stays in the cache.
    OverlooksTrims,
    /// A write does not change what is cached.
    WritesAround,
    /// What a failed write was to change stays in the cache.
    KeepsFailedWrites,
}
