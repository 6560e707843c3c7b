//! `esker fs unmount`.

use std::process::ExitCode;
use std::time::Duration;

use esker_scm_mount::{MountPoint, UnmountError};

use super::mount::described;
use crate::args::FsUnmountArguments;
use crate::failure::Failure;

/// How long the process of the mount may take to store what is in memory only.
const PATIENCE: Duration = Duration::from_secs(60);

/// Unmounts, and waits until the pool is free.
pub(super) fn run(arguments: &FsUnmountArguments) -> Result<ExitCode, Failure> {
    let shown = arguments.directory.display();
    let point = MountPoint::at(&arguments.directory).map_err(|error| Failure::input(format!("{shown}: {error}")))?;
    let point = point.ok_or_else(|| {
        let failure = Failure::input(format!("{shown}: no pool is mounted there"));
        failure.with_hint("`esker fs stat POOL` says where a pool is mounted")
    })?;
    point.unmount().map_err(|error| {
        let failure = Failure::work(described(&error));
        match error {
            UnmountError::Busy { users, .. } if users.is_empty() => {
                failure.with_hint("root sees by whom: run the command again as root")
            }
            UnmountError::Busy { .. } => failure.with_hint("end them, or have them leave the directory"),
            UnmountError::Covered { .. } => failure.with_hint("unmount that first"),
            UnmountError::NoHelper => failure.with_hint("as root: apt-get install fuse3; or unmount as root"),
            UnmountError::Helper(_) | UnmountError::System { .. } => failure,
        }
    })?;
    if point.wait_until_free(PATIENCE) {
        Ok(ExitCode::SUCCESS)
    } else {
        let pool = point.pool.display();
        let failure = Failure::work(format!("{pool}: the process of the mount has not ended within {PATIENCE:?}"));
        Err(failure.with_hint("it ends when everything is stored, and nobody has a file open any more"))
    }
}
