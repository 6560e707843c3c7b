//! Volumes that are served, each under its name.

use std::path::{Path, PathBuf};

use super::BadValue;

/// A volume that is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VolumeExport {
    /// What clients call it.
    pub(crate) name: String,
    /// The volume's file.
    pub(crate) file: PathBuf,
}

/// Parses `VOLUME`, whose name is that of the file without its ending, or `NAME=VOLUME`. A path with `/` before its
/// first `=` has no name in front of it.
pub(crate) fn volume_export(text: &str) -> Result<VolumeExport, BadValue> {
    let wrong = |message: &str| BadValue::with_hint(message, "such as home.volume, or home=/srv/big.volume");
    match text.split_once('=') {
        Some((name, file)) if !name.contains('/') => {
            if name.is_empty() || file.is_empty() {
                return Err(wrong("it has no name or no path"));
            }
            Ok(VolumeExport { name: name.to_string(), file: file.into() })
        }
        _ => {
            let name = Path::new(text).file_stem().and_then(|name| name.to_str());
            let name = name.ok_or_else(|| wrong("it names no file"))?;
            Ok(VolumeExport { name: name.to_string(), file: text.into() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_is_called_as_its_file_or_as_it_is_said() {
        for (text, name, file) in [
            ("home.volume", "home", "home.volume"),
            ("/srv/db.2024.volume", "db.2024", "/srv/db.2024.volume"),
            ("plain", "plain", "plain"),
            ("big=/srv/a=b.volume", "big", "/srv/a=b.volume"),
            ("./a=b.volume", "a=b", "./a=b.volume"),
        ] {
            let expected = VolumeExport { name: name.to_string(), file: file.into() };
            assert_eq!(volume_export(text).unwrap(), expected, "{text}");
        }
        for text in ["", "=a.volume", "a=", "..", "/"] {
            assert!(volume_export(text).is_err(), "{text}");
        }
    }
}
