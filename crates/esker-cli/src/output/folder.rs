//! Folders that are made for outputs.

use std::path::{Path, PathBuf};

/// Folders that were missing before the work. If they are empty at its end, since it failed or was interrupted, they
/// are removed.
#[derive(Debug)]
pub(crate) struct NewFolders(Vec<PathBuf>);

impl NewFolders {
    /// Notes which folders of `path` are missing. To be called before they are made.
    pub(crate) fn of(path: &Path) -> Self {
        let missing = path.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        Self(missing.map(Path::to_path_buf).collect())
    }
}

impl Drop for NewFolders {
    fn drop(&mut self) {
        // From the innermost one outwards. A folder that holds something is not removed, nor are those around it.
        for folder in &self.0 {
            if std::fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_folders_go_if_nothing_is_in_them_and_old_ones_stay() {
        let root = tempfile::tempdir().unwrap();
        let old = root.path().join("old");
        std::fs::create_dir(&old).unwrap();
        for written in [false, true] {
            let inner = old.join("new/inner/");
            let new = NewFolders::of(&inner);
            std::fs::create_dir_all(&inner).unwrap();
            if written {
                std::fs::write(inner.join("file"), "").unwrap();
            }
            drop(new);
            assert_eq!((inner.exists(), old.join("new").exists(), old.exists()), (written, written, true));
        }
        drop(NewFolders::of(&old));
        assert!(old.exists());
    }
}
