//! The volume's file while devices join and leave.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use esker_core::{Bytes, DriveWear};
use esker_serve::{ControlError, Opening, VolumeFile};
use esker_sim::read_ranges;
use esker_volume::{DeviceIo, DeviceSettings, VolumeMap};
use toml_edit::{DocumentMut, value};

use super::device::{Access, is_same_place, open_device, size_in_use};
use super::file::place;
use super::range_map;
use super::wear::Wear;
use crate::values::DevicePlace;

/// A volume's file that is changed while the volume serves. Comments and the order of lines stay.
pub(super) struct FileOnDisk {
    /// The file, from the root on: the program may be elsewhere. It is no link.
    path: PathBuf,
    /// As it was named.
    named: PathBuf,
    /// How devices that join are used.
    settings: DeviceSettings,
    wear: Wear,
}

impl FileOnDisk {
    pub(super) fn new(named: &Path, settings: DeviceSettings) -> io::Result<Self> {
        let path = std::path::absolute(named)?;
        let volume = path.clone();
        let wear = Wear::watch(move || {
            let devices = devices(&volume).into_iter();
            devices.filter_map(|(name, place)| Some((name, place.path()?.to_path_buf()))).collect()
        });
        Ok(Self { path, named: named.to_path_buf(), settings, wear })
    }

    fn folder(&self) -> &Path {
        folder(&self.path)
    }

    fn devices(&self) -> Vec<(String, DevicePlace)> {
        devices(&self.path)
    }

    fn place(&self, name: &str) -> Option<DevicePlace> {
        self.devices().into_iter().find(|(found, _)| found == name).map(|(_, place)| place)
    }

    /// Replaces the file as a whole, durably.
    fn write(&self, document: &DocumentMut) -> io::Result<()> {
        self.replace(document.to_string().as_bytes()).map_err(|error| of(&self.path, &error))
    }

    fn replace(&self, text: &[u8]) -> io::Result<()> {
        let mut new = tempfile::NamedTempFile::new_in(self.folder())?;
        new.write_all(text)?;
        new.as_file().set_permissions(fs::metadata(&self.path)?.permissions())?;
        new.as_file().sync_all()?;
        new.persist(&self.path)?;
        File::open(self.folder())?.sync_all()
    }
}

/// The folder of a volume's file, where relative paths begin.
fn folder(file: &Path) -> &Path {
    file.parent().unwrap_or(Path::new("/"))
}

/// An error with the file in which it happened.
fn of(file: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", file.display()))
}

fn read(file: &Path) -> io::Result<DocumentMut> {
    let text = fs::read_to_string(file).map_err(|error| of(file, &error))?;
    text.parse().map_err(|error| of(file, &io::Error::other(error)))
}

/// The devices that the file names, with their places.
fn devices(file: &Path) -> Vec<(String, DevicePlace)> {
    let Ok(document) = read(file) else { return Vec::new() };
    let Some(devices) = document.get("devices").and_then(|devices| devices.as_table_like()) else {
        return Vec::new();
    };
    let device = |(name, place): (&str, &toml_edit::Item)| {
        let place: DevicePlace = place.as_str()?.parse().ok()?;
        Some((name.to_string(), place.with_path(|path| folder(file).join(path))))
    };
    devices.iter().filter_map(device).collect()
}

impl VolumeFile for FileOnDisk {
    fn has(&self, name: &str) -> bool {
        self.place(name).is_some()
    }

    fn size(&self, name: &str) -> Result<Bytes, ControlError> {
        let place = self.place(name).ok_or_else(|| ControlError::new(format!("nothing says where {name} is")))?;
        size_in_use(name, &place).map_err(|error| ControlError::of(&error))
    }

    fn wear(&self, name: &str) -> Option<DriveWear> {
        self.wear.of(name)
    }

    fn opening(&self, name: &str, place: &str, io: &DeviceIo) -> Opening {
        let (name, place, io, settings) = (name.to_string(), place.parse(), io.clone(), self.settings);
        let devices = self.devices();
        Box::new(move || {
            let place: DevicePlace = place.map_err(|error| ControlError::of(&error))?;
            if let Some((other, _)) = devices.iter().find(|(_, other)| is_same_place(other, &place)) {
                return Err(ControlError::new(format!("{place} is {other}, a device of the volume")));
            }
            let opened = open_device(&name, &place, Access::Write, &io, settings);
            Ok(opened.map_err(|error| ControlError::of(&error))?.device)
        })
    }

    fn add(&mut self, name: &str, device: &str) -> io::Result<()> {
        let mut document = read(&self.path)?;
        let device: DevicePlace = device.parse().map_err(io::Error::other)?;
        let is_here = |path: &&Path| !path.as_os_str().is_empty();
        let within = device.path().and_then(|path| path.strip_prefix(self.folder()).ok()).filter(is_here);
        let written = match within {
            Some(path) => DevicePlace::File(path.to_path_buf()),
            None => place(&device, &self.named),
        };
        document["devices"][name] = value(written.to_string());
        self.write(&document)?;
        self.wear.ask_again();
        Ok(())
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        let mut document = read(&self.path)?;
        if let Some(devices) = document["devices"].as_table_like_mut() {
            devices.remove(name);
        }
        self.write(&document)
    }

    fn keep_map(&mut self, place: &str, devices: &[&str]) -> Result<VolumeMap, ControlError> {
        let place = Path::new(place);
        // Nobody may be served while this waits for a writer.
        if place.exists() && !place.is_file() {
            return Err(ControlError::new(format!("the map {} is no file", place.display())));
        }
        let kept = read_ranges(place, devices.iter().copied())
            .and_then(|ranges| range_map::keep(&self.path, ranges, devices.len()));
        kept.map_err(|problem| ControlError::of(&problem))
    }

    fn forget_map(&mut self, name: &str) {
        range_map::forget(&self.path, name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_come_and_go_and_the_rest_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("home.volume");
        fs::write(&path, "# Mine.\n\n[devices]\nflash = \"flash.img\" # fast\n").unwrap();
        let mut file = FileOnDisk::new(&path, DeviceSettings::default()).unwrap();
        file.add("disk", folder.path().join("disk.img").to_str().unwrap()).unwrap();
        file.add("far", "/dev/far").unwrap();
        file.add("farther", "nbd://host/").unwrap();
        let text = "# Mine.\n\n[devices]\nflash = \"flash.img\" # fast\ndisk = \"disk.img\"\nfar = \"/dev/far\"\n\
                    farther = \"nbd://host:10809/\"\n";
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(file.place("flash"), Some(DevicePlace::File(folder.path().join("flash.img"))));
        assert!(file.has("farther") && !file.has("tape"));
        let io = DeviceIo::start(esker_volume::IoChoice::Threads).unwrap();
        let error = file.opening("again", "nbd://HOST/", &io)().err().unwrap();
        assert_eq!(error.message, "nbd://host:10809/ is farther, a device of the volume");
        assert!(file.size("farther").unwrap_err().hint.is_some());
        file.remove("flash").unwrap();
        let text = "# Mine.\n\n[devices]\ndisk = \"disk.img\"\nfar = \"/dev/far\"\nfarther = \"nbd://host:10809/\"\n";
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("home.volume");
        let file = FileOnDisk::new(&path, DeviceSettings::default()).unwrap();
        let error = file.write(&DocumentMut::new()).unwrap_err();
        assert!(error.to_string().starts_with(&format!("{}: ", path.display())), "{error}");
    }
}
