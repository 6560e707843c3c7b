//! Volumes that one server is to serve.

use super::file::Places;
use crate::failure::Failure;
use crate::values::VolumeExport;

/// Refuses volumes that have one name, or devices in common. Nothing replaces the devices from now on.
pub(super) fn check(volumes: &[VolumeExport]) -> Result<(), Failure> {
    let mut all: Vec<(&VolumeExport, Places)> = Vec::new();
    for volume in volumes {
        let file = volume.file.display();
        if let Some((other, _)) = all.iter().find(|(other, _)| other.name == volume.name) {
            let message = format!("clients would call both {} and {file} `{}`", other.file.display(), volume.name);
            return Err(Failure::input(message).with_hint(format!("call one of them otherwise: NAME={file}")));
        }
        let places = Places::read(&volume.file)?;
        for (other, others) in &all {
            if let Some((name, place)) = places.shared_with(others) {
                let message = format!("{} and {file} have one device: {name} is {place}", other.file.display());
                return Err(Failure::input(message).with_hint("name each volume once, and correct their files"));
            }
        }
        all.push((volume, places));
    }
    Ok(())
}
