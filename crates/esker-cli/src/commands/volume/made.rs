//! Files that are made for devices of a volume.

use std::io::ErrorKind;
use std::path::PathBuf;

use esker_volume::FileBackend;

use crate::failure::Failure;
use crate::values::{DevicePlace, VolumeDevice};

/// Files that were made for a volume. They are removed again unless they are kept.
#[derive(Default)]
pub(super) struct MadeFiles(Vec<PathBuf>);

impl MadeFiles {
    /// Makes the file of a device that is given with a size.
    pub(super) fn make(&mut self, device: &VolumeDevice) -> Result<(), Failure> {
        let VolumeDevice { name, place: DevicePlace::File(path), size: Some(size) } = device else { return Ok(()) };
        FileBackend::create(path, *size).map_err(|error| {
            let failure = Failure::input(format!("cannot make {name} ({}): {error}", path.display()));
            match error.kind() {
                ErrorKind::AlreadyExists => failure.with_hint("to use what is there, leave its size out"),
                _ => failure,
            }
        })?;
        self.0.push(path.clone());
        Ok(())
    }

    /// Takes over a file that was made.
    pub(super) fn made(&mut self, path: PathBuf) {
        self.0.push(path);
    }

    pub(super) fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for MadeFiles {
    fn drop(&mut self) {
        for path in &self.0 {
            // What cannot be removed stays as an empty file.
            let _ = std::fs::remove_file(path);
        }
    }
}
