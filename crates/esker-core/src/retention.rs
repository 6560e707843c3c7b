//! Devices that have an owner: a cache that says how long data have to stay when the device cleans.

use thiserror::Error;

use crate::Bytes;

/// How long the data of a range have to stay. For devices that may drop data for their owner, a cache, which has
/// another copy or can do without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retention {
    /// They have to stay.
    #[default]
    Kept,
    /// They may be dropped when the device would otherwise have to copy them.
    Droppable,
    /// Nobody needs them. They count as trimmed, but can be had back until they are erased.
    Suspected,
}

/// What a device with an owner has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnedRoom {
    /// Most bytes that may count as valid at a time: C_user.
    pub user: Bytes,
    /// Most bytes that are worth suspecting beside these: N_SQ (Xia 2017, equation 2.2). The device can address both.
    pub suspects: Bytes,
    /// The smallest range that it keeps or drops: ranges begin at multiples of it, and have whole ones.
    pub unit: Bytes,
}

/// Why a device cannot have an owner.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct CannotOwn {
    /// What is wrong, with the key of the device's table that it is about.
    pub message: String,
}
