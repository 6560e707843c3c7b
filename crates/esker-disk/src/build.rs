//! Builds the disk that settings describe.

use esker_results::Reporting;

use crate::{Disk, DiskError, DiskSettings, MultiActuatorDisk, ShingledDisk};

/// Builds the disk that `settings` describe, called `name` in reports: a [`Disk`], a disk with several arms, or a
/// shingled disk.
///
/// # Errors
/// The first setting that the model cannot represent, with the accepted values.
pub fn build(name: &str, settings: &DiskSettings) -> Result<Box<dyn Reporting>, DiskError> {
    if settings.shingled.is_some() {
        return Ok(Box::new(ShingledDisk::new(name, settings)?));
    }
    if settings.actuators != 1 {
        return Ok(Box::new(MultiActuatorDisk::new(name, settings)?));
    }
    Ok(Box::new(Disk::new(name, settings)?))
}
