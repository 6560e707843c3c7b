//! The volume's file, which says where its devices are.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use esker_config::ConfigText;
use esker_volume::{DeviceIo, DeviceSettings, FileBackend, IoChoice, OpenDevice};
use serde::Deserialize;

use crate::args::Common;
use crate::failure::Failure;
use crate::output;

/// The first line of a volume's file.
pub(crate) const FIRST_LINE: &str = "# An esker volume: where its devices are. All else is on them.";

/// What a volume's file says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct VolumeFile {
    /// The path of each device, by name.
    devices: BTreeMap<String, PathBuf>,
}

/// The text of a volume's file.
pub(super) fn text(devices: &[(String, PathBuf)]) -> String {
    let quoted = |path: &Path| toml::Value::String(path.to_string_lossy().into_owned()).to_string();
    let lines: String = devices.iter().map(|(name, path)| format!("{name} = {}\n", quoted(path))).collect();
    format!("{FIRST_LINE}\n\n[devices]\n{lines}")
}

/// The path of a device, as the volume's file has it: as it was given if the file is in the current folder, else from
/// the root on.
pub(super) fn place(device: &Path, volume: &Path) -> PathBuf {
    let folder = volume.parent().unwrap_or(Path::new(""));
    let is_here = folder == Path::new("") || folder == Path::new(".");
    match is_here {
        true => device.to_path_buf(),
        false => std::path::absolute(device).unwrap_or_else(|_| device.to_path_buf()),
    }
}

/// What a command does with the devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// The devices of a volume.
pub(super) struct Opened {
    pub(super) devices: Vec<Box<dyn OpenDevice>>,
    /// Whether all of them will be used past the page cache.
    pub(super) are_direct: bool,
}

/// Where the devices of a volume are.
pub(super) struct Places {
    /// The volume's file, as it was named.
    file: String,
    /// The name and path of each device.
    devices: Vec<(String, PathBuf)>,
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
        let VolumeFile { devices } = config.read()?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let place = |(name, device): (String, PathBuf)| (name, folder.join(device));
        let devices: Vec<(String, PathBuf)> = devices.into_iter().map(place).collect();
        devices.iter().for_each(|(_, path)| esker_files::protect(path));
        Ok(Self { file, devices })
    }

    /// Refuses an image that is one of the devices.
    pub(super) fn refuse_own_device(&self, image: &Path) -> Result<(), Failure> {
        let is_it = |(_, device): &&(String, PathBuf)| is_same_file(device, image);
        match self.devices.iter().find(is_it) {
            Some((name, _)) => Err(Failure::input(format!("{} is {name}, a device of the volume", image.display()))
                .with_hint("name an image; to copy the volume out, say --to")),
            None => Ok(()),
        }
    }

    /// Opens the devices. Those that are not there are left out, with a remark.
    pub(super) fn open(
        &self,
        access: Access,
        io: &DeviceIo,
        settings: DeviceSettings,
        common: &Common,
    ) -> Result<Opened, Failure> {
        let mut opened = Opened { devices: Vec::new(), are_direct: true };
        let mut absent = Vec::new();
        for (name, path) in &self.devices {
            let found = match access {
                Access::Read => FileBackend::open_to_read(path),
                Access::Write => FileBackend::open_alone(path),
            };
            match found {
                Ok(backend) => {
                    let device = io.device(name, backend, settings);
                    opened.are_direct &= device.is_direct();
                    opened.devices.push(Box::new(device));
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    absent.push(format!("{name} ({})", path.display()));
                }
                Err(error) => return Err(cannot_open(name, path, &error)),
            }
        }
        if opened.devices.is_empty() {
            let message = format!("{}: no device is there: {}", self.file, absent.join(", "));
            return Err(Failure::input(message).with_hint("correct the paths in that file"));
        }
        for device in absent.iter().filter(|_| !common.quiet) {
            output::remark(&format!("{device} is not there; the volume is only read, without it"));
        }
        Ok(opened)
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
pub(super) fn open_to_look(places: &Places, common: &Common) -> Result<Vec<Box<dyn OpenDevice>>, Failure> {
    Ok(places.open(Access::Read, &start_io(IoChoice::Threads)?, DeviceSettings::default(), common)?.devices)
}

/// The error for a device that cannot be opened.
pub(super) fn cannot_open(name: &str, path: &Path, error: &std::io::Error) -> Failure {
    let failure = Failure::input(format!("cannot open {name} ({}): {error}", path.display()));
    match error.kind() {
        ErrorKind::ResourceBusy => {
            failure.with_hint("a volume is used by one program at a time, and by none while its devices are mounted")
        }
        ErrorKind::PermissionDenied => failure.with_hint("whole disks belong to root: try `sudo`"),
        ErrorKind::NotFound => failure.with_hint(format!("to make the file, say how large: {},10GiB", path.display())),
        ErrorKind::IsADirectory => failure.with_hint("name a file or a disk"),
        _ => failure,
    }
}

/// Whether two paths lead to one file or disk.
pub(super) fn is_same_file(first: &Path, second: &Path) -> bool {
    let [first, second] =
        [first, second].map(|path| std::fs::metadata(path).map(|found| esker_files::identities(&found)));
    match (first, second) {
        (Ok(first), Ok(second)) => first.iter().any(|one| second.iter().any(|other| one.overlaps(other))),
        _ => false,
    }
}
