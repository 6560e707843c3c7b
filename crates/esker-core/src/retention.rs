//! Devices that have an owner: a cache that says how long data have to stay when the device cleans.

use thiserror::Error;

use crate::{Bytes, Lba};

/// A device that can have an owner, which decides which data the device keeps.
pub trait Ownable {
    /// Gives the device an owner, before anything else is asked of it. From now on the device is empty, may drop data
    /// as [`Self::retain`] says, and has more addresses than room. With `drops` it drops what is droppable instead of
    /// copying it when it cleans.
    ///
    /// # Errors
    /// If the device, as it is set up, cannot leave to others which data it keeps.
    fn own(&mut self, drops: bool) -> Result<OwnedRoom, CannotOwn>;

    /// Says how long the data of a range have to stay from now on, until they are written or trimmed again. What is
    /// written has to stay at first. Without an owner the device keeps what it holds.
    fn retain(&mut self, start: Lba, length: Bytes, retention: Retention);

    /// Returns the next range whose data the device has dropped since this was last called; `None` if there is none
    /// left. Whoever drives the device calls this after every request and every event, before anything else happens.
    fn take_dropped(&mut self) -> Option<(Lba, Bytes)>;

    /// Returns what the device has room for now, if that has become less since this was last called, as on flash that
    /// wears out. What the device holds beyond that stays until its owner lets it go, but writes may then find no room
    /// ([`crate::DeviceError::NoSpace`]). Called after [`Self::take_dropped`].
    fn take_room(&mut self) -> Option<OwnedRoom>;
}

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
