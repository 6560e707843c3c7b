//! The volume's file, which says where its devices are.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use esker_config::{ConfigText, FileKind};
use esker_core::Hint;
use esker_nbd_device::UriError;
use esker_volume::{DeviceIo, DeviceSettings, IoChoice, OpenDevice, leave_failing_out};
use serde::Deserialize;

use super::away::Away;
use super::device::{Access, Cause, OpenError, OpenedDevice, is_same_file, is_same_place, open_device};
use crate::args::Common;
use crate::failure::Failure;
use crate::output;
use crate::values::DevicePlace;

/// The first line of a volume's file.
pub(crate) const FIRST_LINE: &str = "# An esker volume: where its devices are. All else is on them.";

/// What a volume's file says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct VolumeFile {
    /// The place of each device, by name.
    devices: BTreeMap<String, String>,
}

/// The text of a volume's file.
pub(super) fn text(devices: &[(String, DevicePlace)]) -> String {
    let quoted = |place: &DevicePlace| toml::Value::String(place.to_string()).to_string();
    let lines: String = devices.iter().map(|(name, place)| format!("{name} = {}\n", quoted(place))).collect();
    format!("{FIRST_LINE}\n\n[devices]\n{lines}")
}

/// The place of a device, as the volume's file has it: a path as it was given if the file is in the current folder,
/// else from the root on.
pub(super) fn place(device: &DevicePlace, volume: &Path) -> DevicePlace {
    let folder = volume.parent().unwrap_or(Path::new(""));
    let is_here = folder == Path::new("") || folder == Path::new(".");
    match is_here {
        true => device.clone(),
        false => device.with_path(|path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())),
    }
}

/// The devices of a volume.
pub(super) struct Opened {
    pub(super) devices: Vec<Box<dyn OpenDevice>>,
    /// Whether all of them will be used past the page cache.
    pub(super) are_direct: bool,
    /// Devices that are left out.
    pub(super) away: Away,
}

impl Opened {
    /// Leaves devices out that are there, but fail, with a remark: the volume is only read.
    pub(super) fn without_failing(mut self, to_be_opened: bool, common: &Common) -> Result<Self, Failure> {
        let failing = leave_failing_out(&mut self.devices, to_be_opened)?;
        for (name, error) in failing.iter().filter(|_| !common.quiet) {
            output::remark(&format!("{name} fails: {error}; the volume is only read, without it"));
        }
        Ok(self)
    }
}

/// Where the devices of a volume are.
pub(super) struct Places {
    /// The volume's file, as it was named.
    file: PathBuf,
    /// The name and place of each device.
    devices: Vec<(String, DevicePlace)>,
}

impl Places {
    /// Reads the volume's file at `path`. Relative paths begin at its folder. Nothing replaces the devices from now on.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let file = path.display().to_string();
        let text = esker_files::read_to_string(path).map_err(|error| {
            let failure = Failure::input(format!("cannot read {file}: {error}"));
            match error.kind() {
                ErrorKind::InvalidData => failure.with_hint("name the volume's file, not one of its devices"),
                ErrorKind::NotFound => failure.with_hint("`esker volume create` makes a volume and its file"),
                _ => failure,
            }
        })?;
        let config = ConfigText::parse(&text, &file)?;
        config.check_kind(FileKind::Volume)?;
        let VolumeFile { devices } = config.read()?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let place = |(name, device): (String, String)| {
            let place: DevicePlace = device.parse().map_err(|error: UriError| {
                Failure::input(format!("{file}: {name}: {error}")).with_hint(error.hint().unwrap_or_default())
            })?;
            Ok((name, place.with_path(|path| folder.join(path))))
        };
        let devices: Vec<(String, DevicePlace)> = devices.into_iter().map(place).collect::<Result<_, Failure>>()?;
        for (index, (name, place)) in devices.iter().enumerate() {
            if let Some((other, _)) = devices[..index].iter().find(|(_, other)| is_same_place(other, place)) {
                return Err(Failure::input(format!("{file}: {other} and {name} are one device: {place}"))
                    .with_hint("correct one of them in that file"));
            }
        }
        devices.iter().filter_map(|(_, place)| place.path()).for_each(esker_files::protect);
        devices.iter().flat_map(|(_, place)| place.certificates()).for_each(|path| esker_files::protect(&path));
        Ok(Self { file: path.to_path_buf(), devices })
    }

    /// The volume's file.
    pub(super) fn path(&self) -> &Path {
        &self.file
    }

    /// Returns true if a device is an export of another server, which no lock protects.
    pub(super) fn have_exports(&self) -> bool {
        self.devices.iter().any(|(_, place)| matches!(place, DevicePlace::Export(_)))
    }

    /// A device that another volume has, too: its name here, and its place.
    pub(super) fn shared_with(&self, other: &Self) -> Option<&(String, DevicePlace)> {
        let is_there = |place: &DevicePlace| other.devices.iter().any(|(_, found)| is_same_place(found, place));
        self.devices.iter().find(|(_, place)| is_there(place))
    }

    /// Refuses an image that is one of the devices.
    pub(super) fn refuse_own_device(&self, image: &Path) -> Result<(), Failure> {
        let is_it = |(_, device): &&(String, DevicePlace)| device.path().is_some_and(|path| is_same_file(path, image));
        match self.devices.iter().find(is_it) {
            Some((name, _)) => Err(Failure::input(format!("{} is {name}, a device of the volume", image.display()))
                .with_hint("name an image; to copy the volume out, say --to")),
            None => Ok(()),
        }
    }

    /// Opens the devices that are there, of which one is needed. To read, those that fail are left out as well.
    pub(super) fn open(&self, access: Access, io: &DeviceIo, settings: DeviceSettings) -> Result<Opened, Failure> {
        self.open_without(&|_| access == Access::Read, access, io, settings)
    }

    /// Opens the devices that are there to write, although this one may fail or can only be read: the volume is to
    /// lose it.
    pub(super) fn open_to_lose(&self, lost: &str, io: &DeviceIo) -> Result<Opened, Failure> {
        self.open_without(&|name| name == lost, Access::Write, io, DeviceSettings::default())
    }

    /// Opens the devices that are there, without those that fail if they `may_fail`.
    fn open_without(
        &self,
        may_fail: &dyn Fn(&str) -> bool,
        access: Access,
        io: &DeviceIo,
        settings: DeviceSettings,
    ) -> Result<Opened, Failure> {
        let (mut devices, mut are_direct, mut away) = (Vec::new(), true, Away::of(&self.file));
        for (name, place) in &self.devices {
            let found = match open_device(name, place, access, io, settings) {
                // What it holds shows whether the volume can do without it.
                Err(error) if error.cause == Cause::OnlyRead && may_fail(name) => {
                    open_device(name, place, Access::Read, io, settings)
                }
                found => found,
            };
            match found {
                Ok(OpenedDevice { device, is_direct }) => {
                    are_direct &= is_direct;
                    devices.push((device, place));
                }
                Err(OpenError { cause: Cause::Missing, .. }) => away.is_absent(name, place),
                Err(error) if error.cause == Cause::Fails && may_fail(name) => away.fails(name, place, &error),
                Err(error) => return Err(error.into()),
            }
        }
        if devices.is_empty() {
            let message = format!("{}: no device is there: {}", self.file.display(), away.places());
            return Err(Failure::input(message).with_hint("correct the paths in that file"));
        }
        Ok(Opened { devices: away.leave_blank_ones_out(devices), are_direct, away })
    }
}

/// The way to read and write the devices.
pub(super) fn start_io(choice: IoChoice) -> Result<DeviceIo, Failure> {
    DeviceIo::start(choice).map_err(|error| {
        Failure::work(format!("cannot begin to read and write: {error}"))
            .with_hint("leave --io out, or say --io threads")
    })
}

/// The devices of a volume that is not served, but looked at.
pub(super) fn open_to_look(places: &Places, common: &Common) -> Result<Opened, Failure> {
    let opened = places.open(Access::Read, &start_io(IoChoice::Threads)?, DeviceSettings::default())?;
    opened.without_failing(false, common)
}
