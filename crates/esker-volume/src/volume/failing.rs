//! Devices that are there, but fail.

use std::io;

use super::error::VolumeError;
use super::superblocks::{self, OnDevice};
use crate::backend::OpenDevice;
use crate::format::{Identity, Superblock};

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

/// Takes the device of this name out of `devices` if it fails, can only be read or is older than the volume, and
/// another one would be left.
///
/// # Errors
/// If it went on without the others: what they hold is older.
pub(super) fn leave_out(devices: &mut Vec<Box<dyn OpenDevice>>, name: &str) -> Result<LeftOut, VolumeError> {
    let Some(device) = devices.iter().position(|device| device.name() == name) else { return Ok(LeftOut::default()) };
    let mut looks = look_at(devices, true);
    if devices[device].only_reads() {
        looks[device].error.get_or_insert_with(|| io::ErrorKind::ReadOnlyFilesystem.into());
    }
    let others = looks.iter().enumerate().filter(|(other, _)| *other != device);
    let others: Vec<&OnDevice> = others.filter_map(|(_, look)| look.superblocks.as_ref()).collect();
    let own = looks[device].superblocks.as_ref();
    let own = own.filter(|own| others.iter().all(|other| other.superblock.volume == own.superblock.volume));
    let is_older = own.is_some_and(|own| own.is_older(others.iter().copied()));
    if devices.len() == 1 || looks[device].error.is_none() && !is_older {
        return Ok(LeftOut::default());
    }
    refuse_newest(devices, &looks)?;
    devices.remove(device);
    Ok(LeftOut { identity: own.map(|own| own.superblock.member().id), shows_its_end: own.is_some() && !is_older })
}

/// A device that was left out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LeftOut {
    /// Who it is, if it has a superblock of the volume that can be read.
    pub(super) identity: Option<Identity>,
    /// Whether that shows that it had not gone on without the others. An older copy of the device shows nothing.
    pub(super) shows_its_end: bool,
}

/// The newer superblock of a device.
fn newer(look: &Look) -> Option<&Superblock> {
    look.superblocks.as_ref().map(|found| &found.superblock)
}

/// What a look at a device has shown.
struct Look {
    /// Why it fails.
    error: Option<io::Error>,
    /// Its superblocks, if it has one that can be read.
    superblocks: Option<OnDevice>,
}

fn look_at(devices: &mut [Box<dyn OpenDevice>], to_be_opened: bool) -> Vec<Look> {
    let look = |device: &mut Box<dyn OpenDevice>| {
        let is_durable = if to_be_opened { make_durable(&mut **device) } else { Ok(()) };
        let (superblocks, unreadable) = match superblocks::read(&mut **device) {
            Ok(found) => (Some(found), None),
            Err(VolumeError::Io { error, .. }) => (None, Some(error)),
            // Whoever opens the volume is told of all else.
            Err(_) => (None, None),
        };
        Look { error: is_durable.err().or(unreadable), superblocks }
    };
    devices.iter_mut().map(look).collect()
}

/// Refuses to do without a device that fails, and whose superblock is newer than those of all devices of its volume
/// that do not: it went on without them, so that they lack what was promised since.
fn refuse_newest(devices: &[Box<dyn OpenDevice>], looks: &[Look]) -> Result<(), VolumeError> {
    let whole = || looks.iter().filter(|look| look.error.is_none()).filter_map(newer);
    for (device, look) in devices.iter().zip(looks) {
        let (Some(error), Some(own)) = (&look.error, newer(look)) else { continue };
        let newest = whole().filter(|other| other.volume == own.volume).max_by_key(|other| other.generation);
        let is_newer = |newest: &Superblock| {
            // An opening that was cut off has changed the generation alone.
            newest.generation < own.generation && !own.says_the_same(&newest.members, &newest.settings)
        };
        if newest.is_some_and(is_newer) {
            let error = io::Error::new(error.kind(), error.to_string());
            return Err(VolumeError::NewestFails { device: device.name().to_string(), error });
        }
    }
    Ok(())
}

/// Makes durable what the operating system has in memory, and forgets it: a flush that failed earlier may have left
/// bytes there that the device does not hold. Whatever is read afterwards stays.
pub(super) fn make_durable(device: &mut dyn OpenDevice) -> io::Result<()> {
    match device.blocking().flush() {
        // Nor does a file system that became read-only after an error take a flush, and what is there is to be read.
        Err(error) if device.only_reads() && error.kind() == io::ErrorKind::ReadOnlyFilesystem => {}
        flushed => flushed?,
    }
    device.forget_cached()
}
