//! Devices of volumes, as arguments and as volume files name them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use esker_core::{Bytes, Hint};
use esker_nbd_device::{CERTIFICATE_FILES, NbdUri, UriError, is_nbd_uri};
use esker_volume::{DEVICE_NAME_RULE, is_device_name};

use super::{BadValue, size};

/// Where a device of a volume is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DevicePlace {
    /// A file or block device.
    File(PathBuf),
    /// An export of an NBD server.
    Export(NbdUri),
}

impl FromStr for DevicePlace {
    type Err = UriError;
    fn from_str(text: &str) -> Result<Self, UriError> {
        if is_nbd_uri(text) { Ok(Self::Export(text.parse()?)) } else { Ok(Self::File(text.into())) }
    }
}

impl fmt::Display for DevicePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Export(uri) => uri.fmt(f),
        }
    }
}

impl DevicePlace {
    /// The path of a file or block device.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Export(_) => None,
        }
    }

    /// The files of certificates of an export over TLS.
    pub(crate) fn certificates(&self) -> impl Iterator<Item = PathBuf> {
        let folder = match self {
            Self::File(_) => None,
            Self::Export(uri) => uri.certificates.clone(),
        };
        folder.into_iter().flat_map(|folder| CERTIFICATE_FILES.map(|name| folder.join(name)))
    }

    /// This place with `change` made to its path, if it has one.
    pub(crate) fn with_path(&self, change: impl FnOnce(&Path) -> PathBuf) -> Self {
        match self {
            Self::File(path) => Self::File(change(path)),
            Self::Export(_) => self.clone(),
        }
    }
}

/// A device of a volume that is created, or of one that joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VolumeDevice {
    /// Its name.
    pub(crate) name: String,
    /// Where it is.
    pub(crate) place: DevicePlace,
    /// The size of a file that is to be made.
    pub(crate) size: Option<Bytes>,
}

/// Parses `NAME=PATH`, `NAME=PATH,SIZE` or `NAME=URI`.
pub(crate) fn volume_device(text: &str) -> Result<VolumeDevice, BadValue> {
    let example = "such as flash=/dev/nvme0n1p3, or flash=flash.img,10GiB, which makes a file";
    let wrong = |message: &str| BadValue::with_hint(message, example);
    let (name, place) = text.split_once('=').ok_or_else(|| wrong("it has no name"))?;
    if !is_device_name(name) {
        return Err(wrong(DEVICE_NAME_RULE));
    }
    let sized = place.rsplit_once(',').and_then(|(place, length)| Some((place, size(length).ok()?)));
    let (place, size) = match sized {
        Some((place, size)) if !is_nbd_uri(place) => (place, Some(size)),
        _ => (place, None),
    };
    if place.is_empty() {
        return Err(wrong("it has no path"));
    }
    Ok(VolumeDevice { name: name.to_string(), place: device_place(place)?, size })
}

/// Parses a path, or the URI of an export.
pub(crate) fn device_place(text: &str) -> Result<DevicePlace, BadValue> {
    text.parse().map_err(|error: UriError| BadValue::with_hint(error.to_string(), error.hint().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_files_and_exports() {
        let device = |text: &str| volume_device(text).unwrap();
        let file = device("flash=flash.img,2GiB");
        assert_eq!((file.place, file.size), (DevicePlace::File("flash.img".into()), Some(Bytes::gib(2))));
        let export = device("far=nbd+unix:///disk?socket=/run/a.sock");
        assert_eq!(export.place.to_string(), "nbd+unix:///disk?socket=/run/a.sock");
        assert_eq!((export.place.path(), export.size), (None, None));
        assert_eq!(device("far=nbd://host/a,10").place.to_string(), "nbd://host:10809/a%2C10");
        assert!(volume_device("far=nbds://host/a?tls-certificates=/etc/pki").is_ok());
        let error = volume_device("far=nbds://host/").unwrap_err();
        assert!(error.to_string().contains("TLS needs a folder of certificates"), "{error}");
    }
}
