//! Devices that are there, but fail.

use std::io;

use super::error::VolumeError;
use super::superblocks;
use crate::backend::OpenDevice;
use crate::format::Superblock;

/// Takes the devices out of `devices` that are there, but fail: their superblocks cannot be read or, if the volume is
/// `to_be_opened`, what was written to them last cannot be made durable. The volume is as without them. Returns their
/// names, each with the error. All stay if no other one would be left.
///
/// # Errors
/// If one that fails went on without the others: what they hold is older.
pub fn leave_failing_out(
    devices: &mut Vec<Box<dyn OpenDevice>>,
    to_be_opened: bool,
) -> Result<Vec<(String, io::Error)>, VolumeError> {
    let looks = look_at(devices, to_be_opened);
    if looks.iter().all(|look| look.error.is_some()) {
        return Ok(Vec::new());
    }
    refuse_newest(devices, &looks)?;
    let (mut left, mut failing) = (Vec::new(), Vec::new());
    for (device, look) in std::mem::take(devices).into_iter().zip(looks) {
        match look.error {
            None => left.push(device),
            Some(error) => failing.push((device.name().to_string(), error)),
        }
    }
    *devices = left;
    Ok(failing)
}

/// Takes the device of this name out of `devices` if it fails or can only be read, and another one would be left.
/// Returns whether its superblock was read.
///
/// # Errors
/// If it went on without the others: what they hold is older.
pub(super) fn leave_out(devices: &mut Vec<Box<dyn OpenDevice>>, name: &str) -> Result<bool, VolumeError> {
    let Some(device) = devices.iter().position(|device| device.name() == name) else { return Ok(false) };
    let mut looks = look_at(devices, true);
    if devices[device].only_reads() {
        looks[device].error.get_or_insert_with(|| io::ErrorKind::ReadOnlyFilesystem.into());
    }
    if devices.len() > 1 && looks[device].error.is_some() {
        refuse_newest(devices, &looks)?;
        devices.remove(device);
    }
    Ok(looks[device].superblock.is_some())
}

/// What a look at a device has shown.
struct Look {
    /// Why it fails.
    error: Option<io::Error>,
    /// Its superblock, if it has one that can be read.
    superblock: Option<Superblock>,
}

fn look_at(devices: &mut [Box<dyn OpenDevice>], to_be_opened: bool) -> Vec<Look> {
    let look = |device: &mut Box<dyn OpenDevice>| {
        let is_durable = if to_be_opened { make_durable(&mut **device) } else { Ok(()) };
        let (superblock, unreadable) = match superblocks::read(&mut **device) {
            Ok((superblock, _)) => (Some(superblock), None),
            Err(VolumeError::Io { error, .. }) => (None, Some(error)),
            // Whoever opens the volume is told of all else.
            Err(_) => (None, None),
        };
        Look { error: is_durable.err().or(unreadable), superblock }
    };
    devices.iter_mut().map(look).collect()
}

/// Refuses to do without a device that fails, and whose superblock is newer than those of all devices of its volume
/// that do not: it went on without them, so that they lack what was promised since.
fn refuse_newest(devices: &[Box<dyn OpenDevice>], looks: &[Look]) -> Result<(), VolumeError> {
    let whole = || looks.iter().filter(|look| look.error.is_none()).filter_map(|look| look.superblock.as_ref());
    for (device, look) in devices.iter().zip(looks) {
        let (Some(error), Some(own)) = (&look.error, &look.superblock) else { continue };
        let newest = whole().filter(|other| other.volume == own.volume).map(|other| other.generation).max();
        if newest.is_some_and(|newest| newest < own.generation) {
            let error = io::Error::new(error.kind(), error.to_string());
            return Err(VolumeError::NewestFails { device: device.name().to_string(), error });
        }
    }
    Ok(())
}

/// Makes durable what the operating system has in memory, and forgets it: a flush that failed earlier may have left
/// bytes there that the device does not hold. Whatever is read afterwards stays.
pub(super) fn make_durable(device: &mut dyn OpenDevice) -> io::Result<()> {
    device.blocking().flush()?;
    device.forget_cached()
}
