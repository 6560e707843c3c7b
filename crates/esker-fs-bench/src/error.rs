//! Why a workload could not be run.

use std::io;
use std::path::PathBuf;

use esker_scm::bench::TargetError;
use esker_scm::{MapError, MkfsError, MountError};
use esker_scm_mount::{MountAtError, UnmountError};

/// Why a workload could not be run in a place.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The place fails, or is too small.
    #[error(transparent)]
    Target(TargetError),
    /// Whoever waits asked for the end.
    #[error("interrupted")]
    Stopped,
    /// Files cannot be made there.
    #[error("{}: {error}", .folder.display())]
    Folder {
        /// Where.
        folder: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A pool cannot be mapped.
    #[error(transparent)]
    Map(#[from] MapError),
    /// A pool cannot be made.
    #[error("the pool: {0}")]
    Pool(#[from] MkfsError),
    /// A pool cannot be used.
    #[error("the pool: {0}")]
    Unusable(#[from] MountError),
    /// A pool cannot be mounted by FUSE.
    #[error(transparent)]
    Mount(#[from] MountAtError),
    /// A pool cannot be unmounted.
    #[error(transparent)]
    Unmount(#[from] UnmountError),
    /// A program of others failed.
    #[error("{program}: {}", .said.trim())]
    Program {
        /// Which.
        program: &'static str,
        /// What it said.
        said: String,
    },
    /// It needs a right, a program or a part of the kernel that is not here.
    #[error("{0}")]
    Missing(String),
}

impl From<TargetError> for BenchError {
    fn from(error: TargetError) -> Self {
        match error {
            TargetError::Stopped => Self::Stopped,
            error => Self::Target(error),
        }
    }
}
