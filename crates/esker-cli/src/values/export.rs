//! What is served, each under its name.

use std::fs;
use std::path::{Path, PathBuf};

use clap::builder::{PathBufValueParser, TypedValueParser};

use super::volume_device::device_place;
use super::{BadValue, DevicePlace};

/// A volume or a device that is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Export {
    /// What clients call it.
    pub(crate) name: String,
    /// Its file; of a device, this may be the name of a preset.
    pub(crate) file: PathBuf,
}

impl Export {
    /// Returns true if it is called otherwise than its file without the ending.
    pub(crate) fn has_own_name(&self) -> bool {
        self.file.file_stem().is_none_or(|stem| stem != self.name.as_str())
    }
}

/// Parses `VOLUME` or `NAME=VOLUME`.
pub(crate) fn volume_export(text: &str) -> Result<Export, BadValue> {
    let export = export(text, "such as home.volume, or home=/srv/big.volume")?;
    Ok(Export { file: linked(export.file), ..export })
}

/// Takes the path of a volume's file, or of a link to it.
pub(crate) fn volume_file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(linked)
}

/// Takes the path of a volume's file, or of a link to it, or the URI of an export.
pub(crate) fn volume_place(text: &str) -> Result<DevicePlace, BadValue> {
    match device_place(text)? {
        DevicePlace::File(path) => Ok(DevicePlace::File(linked(path))),
        export => Ok(export),
    }
}

/// The file that is named or linked to, which may be about to be made: relative paths in it, its control socket and the
/// copies of its maps are where the file is, not where a link to it is.
fn linked(path: PathBuf) -> PathBuf {
    let target = || {
        let end = esker_files::follow(&path).ok()?;
        let folder = end.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(fs::canonicalize(folder).ok()?.join(end.file_name()?))
    };
    // A link that leads nowhere is an error where the file is opened.
    if path.is_symlink() { target().unwrap_or(path) } else { path }
}

/// Parses `DEVICE` or `NAME=DEVICE`.
pub(crate) fn device_export(text: &str) -> Result<Export, BadValue> {
    export(text, "such as fast.toml, or fast=/srv/disk.toml")
}

/// Parses `FILE`, whose name is that of the file without its ending, or `NAME=FILE`. A path with `/` before its first
/// `=` has no name in front of it.
fn export(text: &str, hint: &str) -> Result<Export, BadValue> {
    let wrong = |message: &str| BadValue::with_hint(message, hint);
    match text.split_once('=') {
        Some((name, file)) if !name.contains('/') => {
            if name.is_empty() || file.is_empty() {
                return Err(wrong("it has no name or no path"));
            }
            Ok(Export { name: name.to_string(), file: file.into() })
        }
        _ => {
            let name = Path::new(text).file_stem().and_then(|name| name.to_str());
            let name = name.ok_or_else(|| wrong("it names no file"))?;
            Ok(Export { name: name.to_string(), file: text.into() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_is_called_as_its_file_or_as_it_is_said() {
        for (text, name, file) in [
            ("home.volume", "home", "home.volume"),
            ("/srv/db.2024.volume", "db.2024", "/srv/db.2024.volume"),
            ("plain", "plain", "plain"),
            ("big=/srv/a=b.volume", "big", "/srv/a=b.volume"),
            ("./a=b.volume", "a=b", "./a=b.volume"),
        ] {
            let expected = Export { name: name.to_string(), file: file.into() };
            assert_eq!(volume_export(text).unwrap(), expected, "{text}");
        }
        for text in ["", "=a.volume", "a=", "..", "/"] {
            assert!(volume_export(text).is_err(), "{text}");
        }
        assert!(device_export("=").unwrap_err().hint.unwrap().contains("fast.toml"));
    }
}
