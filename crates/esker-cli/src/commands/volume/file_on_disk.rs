//! The volume's file while devices join and leave.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use esker_serve::VolumeFile;
use toml_edit::{DocumentMut, value};

use super::file::place;

/// A volume's file that is changed while the volume serves. Comments and the order of lines stay.
pub(super) struct FileOnDisk {
    /// The file, from the root on: the program may be elsewhere.
    path: PathBuf,
    /// As it was named.
    named: PathBuf,
}

impl FileOnDisk {
    pub(super) fn new(named: &Path) -> io::Result<Self> {
        Ok(Self { path: std::path::absolute(named)?, named: named.to_path_buf() })
    }

    fn read(&self) -> io::Result<DocumentMut> {
        fs::read_to_string(&self.path)?.parse().map_err(io::Error::other)
    }

    /// Replaces the file as a whole, durably.
    fn write(&self, document: &DocumentMut) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let mut new = tempfile::NamedTempFile::new_in(folder)?;
        new.write_all(document.to_string().as_bytes())?;
        new.as_file().set_permissions(fs::metadata(&self.path)?.permissions())?;
        new.as_file().sync_all()?;
        new.persist(&self.path)?;
        File::open(folder)?.sync_all()
    }
}

impl VolumeFile for FileOnDisk {
    fn path(&self, name: &str) -> Option<PathBuf> {
        let document = self.read().ok()?;
        let device = document.get("devices")?.get(name)?.as_str()?;
        Some(self.path.parent()?.join(device))
    }

    fn add(&mut self, name: &str, path: &Path) -> io::Result<()> {
        let mut document = self.read()?;
        // Relative paths begin at the folder of the file.
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let path = path.strip_prefix(folder).map_or_else(|_| place(path, &self.named), Path::to_path_buf);
        document["devices"][name] = value(path.to_string_lossy().into_owned());
        self.write(&document)
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        let mut document = self.read()?;
        if let Some(devices) = document["devices"].as_table_like_mut() {
            devices.remove(name);
        }
        self.write(&document)
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
        let mut file = FileOnDisk::new(&path).unwrap();
        file.add("disk", &folder.path().join("disk.img")).unwrap();
        file.add("far", Path::new("/dev/far")).unwrap();
        let text = "# Mine.\n\n[devices]\nflash = \"flash.img\" # fast\ndisk = \"disk.img\"\nfar = \"/dev/far\"\n";
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(file.path("flash"), Some(folder.path().join("flash.img")));
        assert_eq!((file.path("far"), file.path("tape")), (Some("/dev/far".into()), None));
        file.remove("flash").unwrap();
        let text = "# Mine.\n\n[devices]\ndisk = \"disk.img\"\nfar = \"/dev/far\"\n";
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}
