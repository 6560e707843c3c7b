//! Errors of writing files. Messages name the path as the user gave it, never a temporary one.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use esker_core::Hint;
use thiserror::Error;

/// Why a file cannot be written, or could not.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// The path leads to a file that is read.
    #[error("{}", replaced(path, input))]
    Input {
        /// The path as given; `-` for standard output.
        path: PathBuf,
        /// What is read, as it was named.
        input: String,
    },
    /// The path is a folder, or its name ends like that of a folder.
    #[error("{} is a folder, not a file", path.display())]
    Folder {
        /// The path as given.
        path: PathBuf,
    },
    /// There cannot be a file at this path.
    #[error("cannot write {}: {source}", path.display())]
    Target {
        /// The path as given.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file may be written but not replaced, because its folder takes no new files.
    #[error(
        "cannot replace {}: no new file can be made in its folder, and without one the old one would not stay whole \
         until the end ({source})",
        path.display()
    )]
    ClosedFolder {
        /// The path as given.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The new file could not be given to the owner of the old one.
    #[error(
        "cannot replace {}: the new file could not be given to the old one's owner and group, {owner}:{group}",
        path.display()
    )]
    Owner {
        /// The path as given.
        path: PathBuf,
        /// The old file's user.
        owner: u32,
        /// The old file's group.
        group: u32,
    },
    /// The file is the root of a mount, which cannot be replaced.
    #[error("cannot replace {}: it is mounted there by itself", path.display())]
    Mounted {
        /// The path as given.
        path: PathBuf,
    },
    /// Writing failed, during the work or at its end.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The path as given.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

fn replaced(path: &Path, input: &str) -> String {
    if path == Path::new("-") {
        return format!("standard output is the input {input}");
    }
    format!("`{}` would replace the input {input}", path.display())
}

impl Hint for FileError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Input { path, .. } if path == Path::new("-") => {
                Some("let the shell write to another file; one that `>` has emptied is to be brought back first".into())
            }
            Self::Input { .. } => Some("name another file; an input is never replaced, not with --force either".into()),
            Self::ClosedFolder { .. } | Self::Owner { .. } | Self::Mounted { .. } => Some(
                "write to another place, or name `-` and let the shell write into the file as it is: `> FILE`".into(),
            ),
            Self::Folder { .. } => Some("name a file in it".into()),
            Self::Target { source, .. } if source.kind() == ErrorKind::ResourceBusy => {
                Some("name another file, or end what uses this one".into())
            }
            Self::Target { .. } | Self::Write { .. } => None,
        }
    }

    /// A path that does not exist or is forbidden is a wrong request; a full disk is not.
    fn work_failed(&self) -> bool {
        match self {
            Self::Write { .. } => true,
            Self::Target { source, .. } | Self::ClosedFolder { source, .. } => {
                matches!(source.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
            }
            _ => false,
        }
    }
}
