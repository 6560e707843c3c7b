//! Settings of a placement engine, and their errors.

use esker_core::{Bytes, Hint};
use thiserror::Error;

use super::blocks::BlockSize;
use super::policy::{PlacementEntry, PlacementError, PolicySettings};
use super::{DEVICES_MAX, EXTENTS_MAX};
use crate::engine::RecordError;
use crate::extent::ExtentPlace;

/// The settings of a [`PlacementEngine`](super::PlacementEngine). They stay the same for the life of a volume.
#[derive(Clone, Debug)]
pub struct PlacementSettings {
    /// Bytes of an extent, the unit of placement: a multiple of 4 KiB, or 512 bytes, 1 KiB or 2 KiB.
    pub extent: Bytes,
    /// Capacity of each device. Only whole extents are used.
    pub devices: Vec<Bytes>,
    /// The policy, which chooses a device for each extent.
    pub policy: PolicySettings,
    /// The policies that `policy` is one of: [`PLACEMENTS`](super::PLACEMENTS), or more.
    pub policies: &'static [PlacementEntry],
    /// Whether an extent gives up its place when the host trims all of it.
    pub free_on_trim: bool,
}

impl PlacementSettings {
    /// Checks the settings without making an engine, whose map may be large.
    ///
    /// # Errors
    /// As [`PlacementEngine::new`](super::PlacementEngine::new).
    pub fn check(&self) -> Result<(), SettingsError> {
        let sizes = self.sizes()?;
        self.policy.build(self.policies, sizes.len()).map_err(SettingsError::Policy)?;
        Ok(())
    }

    /// Returns the number of whole extents on each device.
    pub(super) fn sizes(&self) -> Result<Vec<u32>, SettingsError> {
        let (extent, devices) = (self.extent, &self.devices);
        if BlockSize::of_extent(extent).is_none() {
            return Err(SettingsError::Extent(extent));
        }
        if devices.is_empty() || devices.len() > DEVICES_MAX {
            return Err(SettingsError::Devices(devices.len()));
        }
        let extents = devices.iter().fold(0u64, |sum, device| sum.saturating_add(device.0 / extent.0));
        if extents > EXTENTS_MAX {
            return Err(SettingsError::TooMany { extents, extent });
        }
        if let Some(device) = devices.iter().position(|&device| device < extent) {
            return Err(SettingsError::Small { device, capacity: devices[device], extent });
        }
        Ok(devices.iter().map(|device| (device.0 / extent.0) as u32).collect())
    }
}

/// Why an engine cannot be built from its settings.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// The extent is empty, or neither a whole number of blocks of 4 KiB nor a smaller block itself.
    #[error("`extent` is {0}; it has to be a multiple of 4KiB, or 512B, 1KiB or 2KiB")]
    Extent(Bytes),
    /// The number of devices is zero or too large.
    #[error("there are {0} devices; an engine takes 1 to 1024")]
    Devices(usize),
    /// A device has no room for one extent.
    #[error("device {device} holds {capacity}, less than one `extent` of {extent}")]
    Small {
        /// Index of the device.
        device: usize,
        /// Its capacity.
        capacity: Bytes,
        /// Size of an extent.
        extent: Bytes,
    },
    /// The map would need too much memory.
    #[error("the devices hold {extents} pieces of one `extent` of {extent}, more than 2^26 (a map of 1.3 GiB)")]
    TooMany {
        /// Number of extents of all devices.
        extents: u64,
        /// Size of an extent.
        extent: Bytes,
    },
    /// The host would be offered nothing, or more than there is.
    #[error("`capacity` is {capacity}; the devices hold {holds}, in whole pieces of one `extent` of {extent}")]
    Capacity {
        /// The requested capacity.
        capacity: Bytes,
        /// The capacity of the devices.
        holds: Bytes,
        /// Size of an extent.
        extent: Bytes,
    },
    /// The settings of the policy are wrong.
    #[error(transparent)]
    Policy(#[from] PlacementError),
}

impl SettingsError {
    /// Returns the dotted key that the error is about, as configurations name it.
    pub fn key(&self) -> Option<String> {
        match self {
            Self::Extent(_) | Self::Small { .. } | Self::TooMany { .. } => Some("extent".to_string()),
            Self::Capacity { .. } => Some("capacity".to_string()),
            Self::Policy(error) => Some(error.below("policy").key()),
            Self::Devices(_) => None,
        }
    }
}

impl Hint for SettingsError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::TooMany { .. } => Some("use a larger `extent`".to_string()),
            Self::Policy(error) => error.hint(),
            _ => None,
        }
    }
}

/// Why an engine cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RestoreError {
    /// The settings are wrong.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The map names an extent beyond the end of the volume.
    #[error("the map names logical extent {0}, past the end")]
    Extent(u32),
    /// The map names a place that does not exist.
    #[error("the map names extent {extent} of device {device}, which does not exist")]
    Place {
        /// Index of the device.
        device: u16,
        /// Extent of the device.
        extent: u32,
    },
    /// The map names blocks past the end of an extent.
    #[error("the map names {count} blocks from {first} on of logical extent {extent}, past its end")]
    Blocks {
        /// The logical extent.
        extent: u32,
        /// The first block.
        first: u32,
        /// Number of blocks.
        count: u32,
    },
    /// A record is not one of placement.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The map names places of a device that was removed.
    #[error("the map has {extents} extents on device {device}, which was removed")]
    Removed {
        /// Index of the device.
        device: u16,
        /// Number of the host's extents on it.
        extents: u32,
    },
    /// The map changes an extent that has no place.
    #[error("the map writes, moves or frees logical extent {0}, which has no place")]
    Absent(u32),
    /// Two extents have the same place, or one extent two places.
    #[error(
        "the map gives extent {extent} of device {device} to two logical extents, or gives one a second place without \
         moving it"
    )]
    Twice {
        /// Index of the device.
        device: u16,
        /// Extent of the device.
        extent: u32,
    },
}

impl RestoreError {
    pub(super) fn twice(ExtentPlace { device, extent }: ExtentPlace) -> Self {
        Self::Twice { device: device.0, extent: extent.0 }
    }
}
