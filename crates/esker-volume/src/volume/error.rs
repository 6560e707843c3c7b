//! Why a volume cannot be created or opened.

use std::io;

use esker_core::registry::NotFound;
use esker_core::{Bytes, Hint, ReadError};
use thiserror::Error;

use super::kinds::EngineError;
use crate::backend::OpenDevice;
use crate::format::{Damage, Identity, LayoutError, SuperblockError};

/// Why a volume cannot be created or opened. Devices have the names that they were given
/// ([`OpenDevice::name`](crate::OpenDevice::name)).
#[derive(Debug, Error)]
pub enum VolumeError {
    /// Something is on a device already.
    #[error("{device} holds {what}; nothing was written")]
    Holds {
        /// The device.
        device: String,
        /// What it holds.
        what: &'static str,
    },
    /// A device is too small.
    #[error("{device}: {error}")]
    Layout {
        /// The device.
        device: String,
        /// What is missing.
        error: LayoutError,
    },
    /// There is no device, or there are too many.
    #[error("{0} devices were given; a volume has 1 to 256")]
    Count(usize),
    /// Too few devices keep the map of a volume that keeps several copies of data.
    #[error("the volume keeps several copies of data, so that two devices have to keep its map")]
    FewKeepers,
    /// There is no such kind of engine.
    #[error(transparent)]
    Kind(NotFound),
    /// An option of the engine is wrong.
    #[error(transparent)]
    Option(ReadError),
    /// The engine's settings contradict each other or the devices, or its map makes no sense.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The settings in the superblocks cannot be read.
    #[error("the settings in the superblocks cannot be read: {0}")]
    SettingsText(serde_json::Error),
    /// The settings are too long for a superblock.
    #[error("the settings have {0} bytes; superblocks hold 8064")]
    SettingsLength(usize),
    /// A device cannot be read or written.
    #[error("{device}: {error}")]
    Io {
        /// The device.
        device: String,
        /// The error.
        error: io::Error,
    },
    /// What an earlier program wrote to a device cannot be made durable.
    #[error(
        "{device}: what was written to it last cannot be made durable: {error}. Nothing that was promised is lost by \
         that"
    )]
    NotDurable {
        /// The device.
        device: String,
        /// The error.
        error: io::Error,
    },
    /// A device fails that went on without the others.
    #[error("{device} fails: {error}; the volume went on without the others, so that what they hold is older")]
    NewestFails {
        /// The device.
        device: String,
        /// The error.
        error: io::Error,
    },
    /// A device was put back from a copy that was made before the volume was opened last.
    #[error(
        "{device} is older than the volume: the volume was opened since and may have been written to, and {device} has \
         nothing of that, as if it had been put back from a copy"
    )]
    OlderCopy {
        /// The device.
        device: String,
    },
    /// A device has no superblock that this program can use.
    #[error("{device} has no superblock of an esker volume, neither at its start nor at its end: {error}")]
    Superblock {
        /// The device.
        device: String,
        /// Why the first one cannot be used.
        error: SuperblockError,
    },
    /// A device is smaller than it was.
    #[error("{device} holds {holds}; {recorded} of it belong to the volume: it was cut off")]
    Smaller {
        /// The device.
        device: String,
        /// Its bytes.
        holds: Bytes,
        /// The bytes that the superblock knows.
        recorded: Bytes,
    },
    /// Devices of two volumes.
    #[error("{device} belongs to volume {found}, and {first} to volume {volume}")]
    TwoVolumes {
        /// The first device.
        first: String,
        /// The device.
        device: String,
        /// Its volume.
        found: Identity,
        /// The volume of the first device.
        volume: Identity,
    },
    /// One device twice.
    #[error("{first} and {second} are the same device, or one is a copy of the other")]
    Twice {
        /// The first.
        first: String,
        /// The second.
        second: String,
    },
    /// A device that is to join a volume is that volume, as a server offers it.
    #[error("{device} is an export of this volume itself")]
    OwnExport {
        /// The device.
        device: String,
    },
    /// A device was to join a volume, and no other one was given.
    #[error("{device} was to join a volume, and did not: it holds nothing of it")]
    NotJoined {
        /// The device.
        device: String,
    },
    /// Superblocks of one generation disagree.
    #[error(
        "{first} and {second} have superblocks of one generation that disagree: the volume was changed on both while \
         the other was away"
    )]
    Split {
        /// The first.
        first: String,
        /// The second.
        second: String,
    },
    /// A device is to be taken out as lost, and there is no such device.
    #[error("the volume has no device {0}")]
    NoDevice(String),
    /// A device is to be taken out as lost, and it is there.
    #[error("{0} is not lost: it is there")]
    NotLost(String),
    /// A device is to be taken out as lost, and nothing else has its data.
    #[error("{kind} volumes keep one copy of their data: what is on {device} is nowhere else")]
    OneCopy {
        /// The kind of volume.
        kind: String,
        /// The device.
        device: String,
    },
    /// A device is to be taken out as lost, and the host is offered more than the others hold.
    #[error("without {device}, the devices hold {holds}, and the volume offers {capacity}")]
    Capacity {
        /// The device.
        device: String,
        /// What the volume offers.
        capacity: Bytes,
        /// What the devices that stay hold.
        holds: Bytes,
    },
    /// No device that keeps the journal is there.
    #[error("no device that keeps the journal is there: {}", names(.0))]
    NoJournal(Vec<Identity>),
    /// No checkpoint can be read.
    #[error("the map cannot be read: {0}")]
    Map(MapDamage),
}

impl VolumeError {
    pub(super) fn io(device: &dyn OpenDevice, error: io::Error) -> Self {
        Self::Io { device: device.name().to_string(), error }
    }
}

impl Hint for VolumeError {
    fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Holds { .. } => "choose another device; if what is there may be lost, say --force",
            Self::Superblock { error: SuperblockError::Damaged(_), .. } => {
                "correct its path in the volume's file; without its line there, the device counts as missing"
            }
            Self::NotDurable { device, .. } => return Some(not_durable(device)),
            Self::NewestFails { device, .. } => {
                return Some(format!(
                    "bring {device} back, or copy it byte by byte to another device as large, and name that one in \
                     the volume's file: without it, what was promised last would be lost"
                ));
            }
            Self::OlderCopy { device } => {
                return Some(format!(
                    "name the device that was in use last in the volume's file. If it is gone for good: without the \
                     line of {device} there, what lies on the others can be read (`esker volume serve --read-only`, \
                     `copy --to`), and where these have copies of everything, `esker volume remove-device --lost` \
                     takes it out"
                ));
            }
            Self::TwoVolumes { .. } => "open one volume at a time",
            Self::Smaller { holds, .. } => {
                return Some(format!(
                    "make it as large as it was: nothing of the first {holds} was changed. What lay behind them may \
                     be gone, and then reads as zeroes: `esker volume check` reads no data, so compare what matters \
                     with a backup"
                ));
            }
            Self::Twice { .. } => "name each device once, and no copy of one",
            Self::OwnExport { .. } => "name an export of another server: what is on this one are the volume's own data",
            Self::NotJoined { .. } => "name the devices of the volume; this one can join again",
            Self::NoDevice(_) => "`esker volume check` lists its devices",
            Self::NotLost(_) => "drain it, and remove it then; one that has failed can be removed at once",
            Self::OneCopy { .. } => "bring it back, or make a new volume and copy into it what can still be read",
            Self::Capacity { .. } => {
                "bring it back, or make a new volume as large and copy this one there: what is written is still read"
            }
            Self::NoJournal(_) => "bring one of these devices back: they alone have the map",
            Self::Kind(error) => return error.hint(),
            Self::Option(error) => return error.hint(),
            Self::Engine(error) => return error.hint(),
            _ => return None,
        };
        Some(text.to_string())
    }

    fn work_failed(&self) -> bool {
        matches!(self, Self::Io { .. } | Self::NotDurable { .. } | Self::NewestFails { .. })
    }
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

/// What to do about a device on which nothing becomes durable.
fn not_durable(device: &str) -> String {
    format!(
        "open it again: that shows what the device holds; if it stays so, `esker volume serve --read-only` and `esker \
         volume copy --to` do without {device}, and where others have copies, `esker volume remove-device --lost` \
         takes it out"
    )
}

/// Returns the names of missing devices.
fn names(devices: &[Identity]) -> String {
    devices.iter().map(Identity::to_string).collect::<Vec<_>>().join(", ")
}
