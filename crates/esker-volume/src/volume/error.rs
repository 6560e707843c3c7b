//! Why a volume cannot be created or opened.

use std::io;

use esker_tier::{RestoreError, SettingsError};
use thiserror::Error;

use crate::format::{Damage, Identity, LayoutError, SuperblockError};

/// Why a volume cannot be created or opened. Devices are named by their place in the list that was given.
#[derive(Debug, Error)]
pub enum VolumeError {
    /// Something is on a device already.
    #[error("device {device} holds {what}: nothing was written. Erase it first, or choose another device")]
    Holds {
        /// The device.
        device: usize,
        /// What it holds.
        what: &'static str,
    },
    /// A device is too small.
    #[error("device {device}: {error}")]
    Layout {
        /// The device.
        device: usize,
        /// What is missing.
        error: LayoutError,
    },
    /// There is no device, or there are too many.
    #[error("{0} devices were given; a volume has 1 to 256")]
    Count(usize),
    /// The settings are wrong.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The settings in the superblocks cannot be read.
    #[error("the settings in the superblocks cannot be read: {0}")]
    SettingsText(serde_json::Error),
    /// The settings are too long for a superblock.
    #[error("the settings have {0} bytes; superblocks hold 8064")]
    SettingsLength(usize),
    /// A device cannot be read or written.
    #[error("device {device}: {error}")]
    Io {
        /// The device.
        device: usize,
        /// The error.
        error: io::Error,
    },
    /// What an earlier program wrote to a device cannot be made durable.
    #[error(
        "device {device}: what was written to it last cannot be made durable: {error}. Nothing that was promised is \
         lost by that; opening again shows what the device holds"
    )]
    NotDurable {
        /// The device.
        device: usize,
        /// The error.
        error: io::Error,
    },
    /// A device has no superblock that this program can use.
    #[error("device {device} has no superblock of an esker volume, neither at its start nor at its end: {error}")]
    Superblock {
        /// The device.
        device: usize,
        /// Why the first one cannot be used.
        error: SuperblockError,
    },
    /// A device is smaller than it was.
    #[error("device {device} holds {holds} bytes; {recorded} bytes of it belong to the volume: it was cut off")]
    Smaller {
        /// The device.
        device: usize,
        /// Its bytes.
        holds: u64,
        /// The bytes that the superblock knows.
        recorded: u64,
    },
    /// Devices of two volumes.
    #[error("device {device} belongs to volume {found}, device 0 to volume {volume}: open one volume at a time")]
    TwoVolumes {
        /// The device.
        device: usize,
        /// Its volume.
        found: Identity,
        /// The volume of the first device.
        volume: Identity,
    },
    /// One device twice.
    #[error("devices {first} and {second} are the same device, or one is a copy of the other")]
    Twice {
        /// The first.
        first: usize,
        /// The second.
        second: usize,
    },
    /// Superblocks of one generation disagree.
    #[error(
        "devices {first} and {second} have superblocks of one generation that disagree: \
         the volume was changed on both while the other was away"
    )]
    Split {
        /// The first.
        first: usize,
        /// The second.
        second: usize,
    },
    /// No device that keeps the journal is there.
    #[error("no device that keeps the journal is there: {}", names(.0))]
    NoJournal(Vec<Identity>),
    /// No checkpoint can be read.
    #[error("the map cannot be read: {0}")]
    Map(MapDamage),
    /// The map makes no sense.
    #[error("the map contradicts itself: {0}")]
    Restore(#[from] RestoreError),
}

/// Why the map cannot be read from any device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MapDamage {
    /// No checkpoint is whole.
    #[error("neither checkpoint is whole on any device ({0})")]
    Checkpoints(Damage),
    /// A batch of the journal is damaged on all devices, and later ones are there.
    #[error("batch {batch} of the journal is damaged on all devices that keep it, and batch {later} is there")]
    Batch {
        /// The batch.
        batch: u64,
        /// A later one.
        later: u64,
    },
}

/// Returns the names of missing devices.
fn names(devices: &[Identity]) -> String {
    devices.iter().map(Identity::to_string).collect::<Vec<_>>().join(", ")
}
