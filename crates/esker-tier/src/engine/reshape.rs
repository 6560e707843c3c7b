//! Changes of the devices while an engine serves.

use esker_core::{Bytes, Hint};
use thiserror::Error;

use crate::extent::DeviceIndex;

/// A change of the devices of an engine, or of its capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reshape {
    /// A device joins, behind the others. It must not hold anything that is needed.
    Join {
        /// Its capacity.
        capacity: Bytes,
    },
    /// A device has grown.
    Grow {
        /// The device.
        device: DeviceIndex,
        /// Its capacity now.
        capacity: Bytes,
    },
    /// A cache may use less of a device: what lies beyond leaves, while requests are served. What the cache is restored
    /// with says so only after that.
    Shrink {
        /// The device.
        device: DeviceIndex,
        /// What is used of it from now on.
        capacity: Bytes,
    },
    /// The host is offered more.
    Offer {
        /// The new capacity, in whole extents.
        capacity: Bytes,
    },
    /// All data of a device move to the others, in the background. When it is empty, the engine says so with
    /// [`Effect::Drained`](super::Effect::Drained). Until then it may still hold data that have no room elsewhere, or
    /// that cannot be read ([`Effect::DrainStuck`](super::Effect::DrainStuck)). A device that has failed is drained as
    /// far as it still reads.
    Drain {
        /// The device.
        device: DeviceIndex,
    },
    /// A device that was drained, or was to be, or took no more writes, is used again.
    Keep {
        /// The device.
        device: DeviceIndex,
    },
    /// A device that was drained and is empty is taken away: nothing that becomes of it matters from now on. The other
    /// devices keep their numbers, and an engine that is restored is told of it
    /// ([`PlacementEngine::with_removed`](crate::PlacementEngine::with_removed)).
    Remove {
        /// The device.
        device: DeviceIndex,
    },
}

/// Why the devices of an engine cannot be changed in this way.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReshapeError {
    /// The engine computes places instead of keeping a map.
    #[error("this kind of volume cannot change its devices")]
    Unsupported,
    /// There is no such device.
    #[error("there is no device {0}")]
    Device(u16),
    /// A device or the volume would become smaller.
    #[error("{what} has {now}, and cannot shrink to {wanted}")]
    Smaller {
        /// What would: the volume or a device.
        what: String,
        /// Its capacity.
        now: Bytes,
        /// The capacity that was asked for.
        wanted: Bytes,
    },
    /// The host would be offered more than there is.
    #[error("the devices that stay hold {holds}; {wanted} are needed")]
    NoRoom {
        /// Bytes that would be needed.
        wanted: Bytes,
        /// Bytes that the devices hold.
        holds: Bytes,
    },
    /// The device was removed.
    #[error("device {0} was removed")]
    Removed(u16),
    /// A device that is to be removed still holds data, or is not being drained.
    #[error("device {device} still holds {extents} extents, or was not drained")]
    NotDrained {
        /// The device.
        device: u16,
        /// Extents of the host that lie there.
        extents: u32,
    },
    /// There would be too many extents or devices, or a device without any extent.
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
