//! Why a file cannot be written. Messages name the path as the user gave it, never a temporary one.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

use esker_core::Hint;
use thiserror::Error;

/// Why a file cannot be written, or was not.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// It is a folder, or its name ends like that of one.
    #[error("{} is a folder, not a file", path.display())]
    Folder {
        /// As given.
        path: PathBuf,
    },
    /// The place does not take a file.
    #[error("cannot write {}: {source}", path.display())]
    Place {
        /// As given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file may be written, but not replaced, since its folder takes no new files.
    #[error(
        "cannot replace {}: no new file can be made in its folder, and without one the old one would not stay whole \
         until the end ({source})",
        path.display()
    )]
    ClosedFolder {
        /// As given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A new file could not be given to the owner of the old one.
    #[error(
        "cannot replace {}: the new file could not be given to the old one's owner and group, {owner}:{group}",
        path.display()
    )]
    Owner {
        /// As given.
        path: PathBuf,
        /// The old file's user.
        owner: u32,
        /// The old file's group.
        group: u32,
    },
    /// The file is the root of a mount, which cannot be replaced.
    #[error("cannot replace {}: it is mounted there by itself", path.display())]
    Mounted {
        /// As given.
        path: PathBuf,
    },
    /// Writing failed on the way or at the end.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// As given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Hint for FileError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::ClosedFolder { .. } | Self::Owner { .. } | Self::Mounted { .. } => Some(
                "write to another place, or name `-` and let the shell write into the file as it is: `> FILE`".into(),
            ),
            Self::Folder { .. } => Some("name a file in it".into()),
            Self::Place { .. } | Self::Write { .. } => None,
        }
    }

    /// A place that does not exist or is forbidden is bad usage; a full disk is not the user's mistake.
    fn work_failed(&self) -> bool {
        match self {
            Self::Write { .. } => true,
            Self::Place { source, .. } | Self::ClosedFolder { source, .. } => {
                matches!(source.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
            }
            _ => false,
        }
    }
}
