//! Devices that are there, but fail.

use std::io;

use super::error::VolumeError;
use super::superblocks;
use crate::backend::OpenDevice;

/// Takes the devices out of `devices` that are there, but fail: their superblocks cannot be read or, if the volume is
/// `to_be_opened`, what was written to them last cannot be made durable. The volume is as without them. Returns their
/// names, each with the error. All stay if no other one would be left.
pub fn leave_failing_out(devices: &mut Vec<Box<dyn OpenDevice>>, to_be_opened: bool) -> Vec<(String, io::Error)> {
    let errors: Vec<_> = devices.iter_mut().map(|device| error_of(&mut **device, to_be_opened)).collect();
    if errors.iter().all(Option::is_some) {
        return Vec::new();
    }
    let (mut left, mut failing) = (Vec::new(), Vec::new());
    for (device, error) in std::mem::take(devices).into_iter().zip(errors) {
        match error {
            None => left.push(device),
            Some(error) => failing.push((device.name().to_string(), error)),
        }
    }
    *devices = left;
    failing
}

/// The error of a device that fails.
pub(super) fn error_of(device: &mut dyn OpenDevice, to_be_opened: bool) -> Option<io::Error> {
    if to_be_opened && let Err(error) = make_durable(device) {
        return Some(error);
    }
    match superblocks::read(device) {
        Err(VolumeError::Io { error, .. }) => Some(error),
        // Whoever opens the volume is told of all else.
        _ => None,
    }
}

/// Makes durable what the operating system has in memory, and forgets it: a flush that failed earlier may have left
/// bytes there that the device does not hold. Whatever is read afterwards stays.
pub(super) fn make_durable(device: &mut dyn OpenDevice) -> io::Result<()> {
    device.blocking().flush()?;
    device.forget_cached()
}
