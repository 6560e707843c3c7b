//! A device of a volume as its journal sees it.

use esker_core::Nanos;

use crate::format::Superblock;
use crate::part::Part;
use crate::store::{ANSWER_LIMIT, Patience};

/// A device of a volume.
pub(crate) struct VolumeDevice {
    /// All of the device; `None` if it is missing.
    pub(crate) whole: Option<Part>,
    /// Whether something is still written to it.
    pub(crate) is_live: bool,
    /// Whether it is becoming a device that keeps journal and checkpoints.
    pub(crate) joining: Joining,
    pub(super) under_way: UnderWay,
    /// Its superblock.
    pub(crate) superblock: Superblock,
}

/// The operations of a device that are under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnderWay {
    pub(super) count: u32,
    /// Since when none of them has ended.
    pub(super) since: Nanos,
    pub(super) patience: Patience,
}

impl Default for UnderWay {
    fn default() -> Self {
        Self { count: 0, since: Nanos::ZERO, patience: Patience::new(ANSWER_LIMIT) }
    }
}

impl VolumeDevice {
    /// A device whose superblock says whether it keeps the journal; without `whole`, it is missing.
    pub(crate) fn new(whole: Option<Part>, is_live: bool, superblock: Superblock) -> Self {
        Self { whole, is_live, joining: Joining::No, under_way: UnderWay::default(), superblock }
    }

    /// A device that is never to keep the journal: something is left there that the journal could be thought to go on
    /// with.
    pub(crate) fn that_never_joins(self) -> Self {
        Self { joining: Joining::Never, ..self }
    }
}

/// How far a device is on its way to keep journal and checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joining {
    /// It is on no such way.
    No,
    /// It may not be on one.
    Never,
    /// The next checkpoint is written to it, too.
    WithNextCheckpoint,
    /// Checkpoint and journal are written to it, too. Once the checkpoint is complete, it is believed.
    Copying,
}

impl Joining {
    pub(super) fn is_under_way(self) -> bool {
        matches!(self, Self::WithNextCheckpoint | Self::Copying)
    }
}
