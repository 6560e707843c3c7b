//! Disks as members of a volume.

/// What has become of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is in use, or was to join the volume.
    IsThere,
    /// It has died, and is missing when the volume is opened.
    HasDied,
    /// The volume has said that it was removed.
    WasRemoved,
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Join {
        /// Whether the disk was prepared for a while.
        was_prepared: bool,
    },
    Grow,
    Offer,
    Set,
    /// A drain, or its end.
    Drain,
    /// The removal of a disk of the world.
    Remove(usize),
}
