//! Mount points of SCMFS on this machine: found, and unmounted.

use crate::users::{self, User};
use esker_scm_channel::MountLine;
use rustix::fs::{AtFlags, CWD, FlockOperation, StatxFlags};
use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A mounted pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountPoint {
    /// The pool.
    pub pool: PathBuf,
    /// Where it is mounted.
    pub directory: PathBuf,
    /// The number of the mount.
    id: u64,
    /// Major and minor number of the device that its files say that they are on.
    device: (u32, u32),
}

/// Why a pool could not be unmounted.
#[derive(Debug, thiserror::Error)]
pub enum UnmountError {
    /// Somebody uses it.
    #[error("{} is in use", .directory.display())]
    Busy {
        /// Where it is mounted.
        directory: PathBuf,
        /// By whom, as far as this user may see.
        users: Vec<User>,
    },
    /// Something else is mounted over it, and would be unmounted in its place.
    #[error("something else is mounted over {}", .directory.display())]
    Covered {
        /// Where it is mounted.
        directory: PathBuf,
    },
    /// An ordinary user needs a program for that, which is not installed.
    #[error("ordinary users unmount by `fusermount3`, which is not installed")]
    NoHelper,
    /// The program `fusermount3` refuses.
    #[error("fusermount3: {0}")]
    Helper(String),
    /// The system refuses.
    #[error("{} cannot be unmounted: {error}", .directory.display())]
    System {
        /// Where it is mounted.
        directory: PathBuf,
        /// Its reason.
        error: io::Error,
    },
}

impl MountPoint {
    /// All mounted pools that this thread can see, the latest last.
    ///
    /// # Errors
    /// `/proc` is not there.
    pub fn all() -> io::Result<Vec<MountPoint>> {
        // Of this thread: it may have mounts of its own.
        let text = std::fs::read("/proc/thread-self/mountinfo")?;
        Ok(MountLine::all(&text).filter(MountLine::is_scmfs).map(MountPoint::of).collect())
    }

    fn of(line: MountLine) -> MountPoint {
        let path = |bytes| PathBuf::from(OsString::from_vec(bytes));
        MountPoint { pool: path(line.source), directory: path(line.directory), id: line.id, device: line.device }
    }

    /// The pool that is mounted at `directory`.
    ///
    /// # Errors
    /// `/proc` is not there.
    pub fn at(directory: &Path) -> io::Result<Option<MountPoint>> {
        let directory = absolute(directory)?;
        Ok(Self::all()?.into_iter().rfind(|point| point.directory == directory))
    }

    /// Where `pool` is mounted.
    ///
    /// # Errors
    /// `/proc` is not there, or the pool is not.
    pub fn of_pool(pool: &Path) -> io::Result<Option<MountPoint>> {
        let pool = pool.canonicalize()?;
        Ok(Self::all()?.into_iter().rfind(|point| point.pool == pool))
    }

    /// Whether it is where it was.
    pub(crate) fn is_there(&self) -> io::Result<bool> {
        Ok(Self::all()?.contains(self))
    }

    /// Whether its path leads elsewhere: something else is mounted there.
    fn is_covered(&self) -> bool {
        // Its process may be this one, or dead: nothing is asked of it.
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT;
        let found = rustix::fs::statx(CWD, &self.directory, flags, StatxFlags::empty());
        // Kernels before 5.8 do not say.
        found.is_ok_and(|found| found.stx_mask & StatxFlags::MNT_ID.bits() != 0 && found.stx_mnt_id != self.id)
    }

    /// Major and minor number of the device that its files say that they are on.
    pub fn device(&self) -> (u32, u32) {
        self.device
    }

    /// Unmounts. Its process ends by itself, once everything is stored.
    ///
    /// # Errors
    /// Somebody uses it, something is mounted over it, or the user may not.
    pub fn unmount(&self) -> Result<(), UnmountError> {
        self.unmount_with(UnmountFlags::NOFOLLOW, &["-u"])
    }

    /// Takes the mount out of the directory tree. Who uses it still can, and its process serves until nobody does.
    ///
    /// # Errors
    /// Something is mounted over it, or the user may not.
    pub fn detach(&self) -> Result<(), UnmountError> {
        self.unmount_with(UnmountFlags::NOFOLLOW | UnmountFlags::DETACH, &["-u", "-z"])
    }

    /// Waits until no process uses the pool any more; false if that takes longer than `patience`.
    #[expect(clippy::disallowed_methods, reason = "the wait is bounded in time")]
    pub fn wait_until_free(&self, patience: Duration) -> bool {
        // A pool that this user may not open is free as far as she can know.
        let Ok(pool) = File::open(&self.pool) else { return true };
        let begin = Instant::now();
        while rustix::fs::flock(&pool, FlockOperation::NonBlockingLockShared).is_err() {
            if begin.elapsed() > patience {
                return false;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        true
    }

    /// Who uses it, as far as this user may see.
    pub fn users(&self) -> Vec<User> {
        users::find(&self.directory, self.id, self.device)
    }

    fn unmount_with(&self, flags: UnmountFlags, helper_options: &[&str]) -> Result<(), UnmountError> {
        if self.is_covered() {
            return Err(UnmountError::Covered { directory: self.directory.clone() });
        }
        match rustix::mount::unmount(&self.directory, flags) {
            Ok(()) => Ok(()),
            Err(Errno::BUSY) => Err(self.busy()),
            Err(Errno::PERM) => self.unmount_by_helper(helper_options),
            Err(error) => Err(UnmountError::System { directory: self.directory.clone(), error: error.into() }),
        }
    }

    fn unmount_by_helper(&self, options: &[&str]) -> Result<(), UnmountError> {
        let run = Command::new(HELPER).args(options).arg("--").arg(&self.directory).stdin(Stdio::null()).output();
        let output = match run {
            Ok(output) => output,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(UnmountError::NoHelper),
            Err(error) => return Err(UnmountError::Helper(error.to_string())),
        };
        let said = String::from_utf8_lossy(&output.stderr).trim().to_string();
        match output.status.success() {
            true => Ok(()),
            false if said.contains("busy") => Err(self.busy()),
            false => Err(UnmountError::Helper(said)),
        }
    }

    fn busy(&self) -> UnmountError {
        UnmountError::Busy { directory: self.directory.clone(), users: self.users() }
    }
}

/// The program by which ordinary users mount and unmount.
pub(crate) const HELPER: &str = "fusermount3";

/// The absolute path of a directory without symbolic links. The directory itself is not looked at: if its process has
/// died, that would fail.
fn absolute(directory: &Path) -> io::Result<PathBuf> {
    if let Ok(path) = directory.canonicalize() {
        return Ok(path);
    }
    let path = std::path::absolute(directory)?;
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok(parent.canonicalize()?.join(name)),
        _ => Ok(path),
    }
}
