//! Changes of the devices while an engine serves.

use esker_core::{Bytes, Hint};
use thiserror::Error;

use crate::extent::DeviceIndex;

/// A change of the devices of an engine, or of its capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reshape {
    /// A device joins, after the existing ones. It must hold nothing that is still needed.
    Join {
        /// Its capacity.
        capacity: Bytes,
    },
    /// A device has grown.
    Grow {
        /// The device.
        device: DeviceIndex,
        /// Its new capacity.
        capacity: Bytes,
    },
    /// A cache is to use less of a device. Lines beyond the new size leave while requests are served. Only when they
    /// have left may the settings from which the cache is restored be changed.
    Shrink {
        /// The device.
        device: DeviceIndex,
        /// How much of it the cache uses from now on.
        capacity: Bytes,
    },
    /// The host is offered more capacity.
    Offer {
        /// The new capacity, in whole extents.
        capacity: Bytes,
    },
    /// All data of a device move to the others in the background. When the device is empty, the engine reports
    /// [`Effect::Drained`](super::Effect::Drained). Until then it may hold data for which there is no room elsewhere,
    /// or that cannot be read ([`Effect::DrainStuck`](super::Effect::DrainStuck)). From a failed device, everything
    /// that can still be read is moved.
    Drain {
        /// The device.
        device: DeviceIndex,
    },
    /// A device is used again: its drain is cancelled or undone, and it may take writes again.
    Keep {
        /// The device.
        device: DeviceIndex,
    },
    /// A device that was drained and is empty is removed: the engine no longer uses it. The other devices keep their
    /// numbers. An engine that is restored later has to be told of the removal
    /// ([`PlacementEngine::with_removed`](crate::PlacementEngine::with_removed)).
    Remove {
        /// The device.
        device: DeviceIndex,
    },
}

/// Why a [`Reshape`] was refused. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReshapeError {
    /// The engine cannot change its devices in this way.
    #[error("this kind of volume cannot change its devices")]
    Unsupported,
    /// There is no such device.
    #[error("there is no device {0}")]
    Device(u16),
    /// A device or the volume would become smaller.
    #[error("{what} has {now}, and cannot shrink to {wanted}")]
    Smaller {
        /// What would become smaller: the volume or a device.
        what: String,
        /// Its current capacity.
        now: Bytes,
        /// The requested capacity.
        wanted: Bytes,
    },
    /// The remaining devices would not hold the data or the capacity.
    #[error("the devices that stay hold {holds}; {wanted} are needed")]
    NoRoom {
        /// Bytes that are needed.
        wanted: Bytes,
        /// Bytes that the remaining devices hold.
        holds: Bytes,
    },
    /// The device was removed.
    #[error("device {0} was removed")]
    Removed(u16),
    /// The device to remove still holds data, or was not drained.
    #[error("device {device} still holds {extents} extents, or was not drained")]
    NotDrained {
        /// The device.
        device: u16,
        /// Number of the host's extents on it.
        extents: u32,
    },
    /// A limit would be exceeded: the message names it.
    #[error("{0}")]
    Limit(String),
}

impl Hint for ReshapeError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::NoRoom { .. } => Some("add a device first, or trim data that are not needed".to_string()),
            Self::NotDrained { .. } => Some("drain it first, and remove it once it is told to be empty".to_string()),
            Self::Removed(_) => Some("add a device instead".to_string()),
            _ => None,
        }
    }
}
