//! A copy of the workspace, in which faults are made.

use std::fs;
use std::path::{Path, PathBuf};

/// What of the workspace is copied.
const COPIED: [&str; 6] = ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml", ".cargo", "crates", "packaging"];

/// A copy of the workspace's code.
pub(super) struct WorkspaceCopy(PathBuf);

impl WorkspaceCopy {
    /// Copies the workspace in the current folder into `folder`, and removes what an earlier copy has left there. What
    /// was built there stays.
    pub(super) fn create(folder: &Path) -> Result<Self, String> {
        let place = |error| format!("{}: {error}", folder.display());
        let root = folder.join("workspace");
        if root.exists() {
            fs::remove_dir_all(&root).map_err(place)?;
        }
        fs::create_dir_all(&root).map_err(place)?;
        for name in COPIED {
            let from = Path::new(name);
            if from.exists() {
                copy(from, &root.join(name)).map_err(|error| format!("{name}: {error}"))?;
            }
        }
        Ok(Self(root))
    }

    /// The folder of the copy.
    pub(super) fn root(&self) -> &Path {
        &self.0
    }

    /// The folder for what is built.
    pub(super) fn target(&self) -> PathBuf {
        self.0.with_file_name("target")
    }

    /// Lets `act` see the file `name` of the folder `crates` with `find` replaced, and restores the file.
    pub(super) fn with_replaced<T>(
        &self,
        name: &str,
        (find, replace): (&str, &str),
        act: impl FnOnce() -> T,
    ) -> Result<T, String> {
        let path = self.0.join("crates").join(name);
        let place = |error| format!("{}: {error}", path.display());
        let text = fs::read_to_string(&path).map_err(place)?;
        let count = text.matches(find).count();
        if count != 1 {
            return Err(format!("crates/{name} has `{find}` {count} times, not once; adapt the fault to the code"));
        }
        fs::write(&path, text.replacen(find, replace, 1)).map_err(place)?;
        let result = act();
        fs::write(&path, text).map_err(place)?;
        Ok(result)
    }
}

/// Copies a file or a folder. The copies are new, so that what was last built with a fault is built again.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    fs::copy(from, to).map(drop)
}
