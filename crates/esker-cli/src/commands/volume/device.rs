//! Opens devices of volumes.

use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::Path;

use esker_core::{Bytes, Hint};
use esker_nbd_device::{ExportDevice, ExportError};
use esker_volume::{BlockingBackend, DeviceIo, DeviceSettings, FileBackend, OpenDevice};
use rustix::io::Errno;

use crate::values::DevicePlace;

/// What a command does with a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// A device that is open.
pub(super) struct OpenedDevice {
    pub(super) device: Box<dyn OpenDevice>,
    /// Whether it will be used past the page cache.
    pub(super) is_direct: bool,
}

/// Why a device cannot be opened.
#[derive(Debug)]
pub(super) struct OpenError {
    message: String,
    hint: Option<String>,
    pub(super) cause: Cause,
}

/// What kind of reason that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// Nothing is there.
    Missing,
    /// It is there, and fails.
    Fails,
    /// It can only be read, and was to be written.
    OnlyRead,
    /// Something that the user can put right.
    Mistake,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for OpenError {}

impl Hint for OpenError {
    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}

/// Opens the device that is called `name`, to be read and written by `io`. A file is locked.
pub(super) fn open_device(
    name: &str,
    place: &DevicePlace,
    access: Access,
    io: &DeviceIo,
    settings: DeviceSettings,
) -> Result<OpenedDevice, OpenError> {
    let message = |error: &dyn fmt::Display| format!("cannot open {name} ({place}): {error}");
    match place {
        DevicePlace::File(path) => {
            let found = match access {
                Access::Read => FileBackend::open_to_read(path),
                Access::Write => FileBackend::open_alone(path),
            };
            let file = found.map_err(|error| {
                let cause = cause(&error);
                OpenError { message: message(&error), hint: hint(name, path, &error, cause), cause }
            })?;
            let device = io.device(name, file, settings);
            Ok(OpenedDevice { is_direct: device.is_direct(), device: Box::new(device) })
        }
        DevicePlace::Export(uri) => {
            let found = match access {
                Access::Read => ExportDevice::open_to_read(name, uri, io, settings.limits),
                Access::Write => ExportDevice::open(name, uri, io, settings.limits),
            };
            let device = found.map_err(|error| OpenError {
                message: message(&error),
                hint: error.hint(),
                cause: match &error {
                    ExportError::ReadOnly => Cause::OnlyRead,
                    error if error.is_missing() => Cause::Missing,
                    error if error.fails() => Cause::Fails,
                    _ => Cause::Mistake,
                },
            })?;
            // This machine keeps nothing of it.
            Ok(OpenedDevice { is_direct: true, device: Box::new(device) })
        }
    }
}

/// Why a file or a disk cannot be opened.
fn cause(error: &io::Error) -> Cause {
    match Errno::from_io_error(error) {
        _ if error.kind() == ErrorKind::NotFound => Cause::Missing,
        // A disk that has died or was pulled out keeps its name for a while.
        Some(Errno::NXIO | Errno::NODEV | Errno::IO | Errno::NOMEDIUM) => Cause::Fails,
        Some(Errno::ROFS) => Cause::OnlyRead,
        _ => Cause::Mistake,
    }
}

fn hint(name: &str, path: &Path, error: &io::Error, cause: Cause) -> Option<String> {
    if cause == Cause::Fails {
        return Some(format!(
            "what a volume has elsewhere is still read: `esker volume serve --read-only` and `esker volume copy --to` \
             do without {name}, and where others have copies as new, `esker volume remove-device --lost` takes it out"
        ));
    }
    let text = match error.kind() {
        _ if cause == Cause::OnlyRead => {
            "have its file system take writes again; a volume that is there is still read, by `esker volume serve \
             --read-only` and `esker volume copy --to`"
        }
        ErrorKind::ResourceBusy => {
            "a volume is used by one program at a time, and by none while its devices are mounted"
        }
        ErrorKind::PermissionDenied => "whole disks belong to root: try `sudo`",
        ErrorKind::NotFound => {
            // What follows a comma was meant as a size, and is none.
            let path = path.display().to_string();
            let is_size = |end: &str| end.starts_with(|first: char| first.is_ascii_digit()) && !end.contains('/');
            let path = path.rsplit_once(',').filter(|(_, end)| is_size(end)).map_or(path.as_str(), |(path, _)| path);
            return Some(format!("to make the file, say how large: {path},10GiB"));
        }
        ErrorKind::IsADirectory => "name a file or a disk",
        _ => return None,
    };
    Some(text.to_string())
}

/// The size that a device has now, while it is in use.
pub(super) fn size_in_use(name: &str, place: &DevicePlace) -> Result<Bytes, OpenError> {
    let failed = |message, hint| OpenError { message, hint, cause: Cause::Mistake };
    match place {
        DevicePlace::File(path) => FileBackend::open(path)
            .map(|file| file.capacity())
            .map_err(|error| failed(format!("{}: {error}", path.display()), None)),
        DevicePlace::Export(_) => {
            let message = format!("{name} is an export, which has the size that it had when the volume was made");
            Err(failed(message, Some("have a larger one join, and drain this one".to_string())))
        }
    }
}

/// Whether two devices are one file, disk or export, as far as their places tell.
pub(super) fn is_same_place(first: &DevicePlace, second: &DevicePlace) -> bool {
    match (first, second) {
        (DevicePlace::File(first), DevicePlace::File(second)) => first == second || is_same_file(first, second),
        (DevicePlace::Export(first), DevicePlace::Export(second)) => {
            (&first.server, &first.export) == (&second.server, &second.export)
        }
        _ => false,
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
