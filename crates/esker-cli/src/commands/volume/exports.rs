//! Volumes that one server is to serve.

use super::file::Places;
use crate::commands::serving::check_names;
use crate::failure::Failure;
use crate::values::Export;

/// Refuses volumes that have one name, or devices in common. Nothing replaces the devices from now on.
pub(super) fn check(volumes: &[Export]) -> Result<(), Failure> {
    check_names(volumes)?;
    let mut all: Vec<(&Export, Places)> = Vec::new();
    for volume in volumes {
        let file = volume.file.display();
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
