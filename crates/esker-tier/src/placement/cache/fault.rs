//! Faults that tests introduce into a cache.

/// A fault of a cache, which the properties have to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::placement) enum CacheFault {
    /// Data fetched during a write are kept.
    OverlooksWrites,
    /// Trimmed data stay in the cache.
    OverlooksTrims,
    /// A write does not change the cached data.
    WritesAround,
    /// The data of a failed write stay in the cache.
    KeepsFailedWrites,
    /// The data of the later of two overlapping writes stay in the cache, whichever the device performs last.
    OverlooksOverlaps,
}
