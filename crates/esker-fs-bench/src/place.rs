//! Where a workload runs.

use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use esker_core::Bytes;
use esker_results::fs_bench::{FsBenchPlace, FsWay};
use esker_scm::bench::LibraryTarget;
use esker_scm::{Caller, FileSystem, Mapped, Mode, Moment, mkfs};
use esker_scm_mount::{Mount, MountPoint};

use crate::BenchError;

/// How files are reached in a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By system calls, in the folder.
    Folder,
    /// By system calls, with an fsync after each write: each record of a transfer, each file of Postmark.
    SyncedFolder,
    /// Through the library of SCMFS, in a pool that is made in the folder.
    Library {
        /// What is durable when a call returns.
        mode: Mode,
        /// Size of the pool.
        pool: Bytes,
    },
    /// By system calls, in such a pool, mounted by FUSE.
    Mount {
        /// What is durable when a call returns.
        mode: Mode,
        /// Size of the pool.
        pool: Bytes,
    },
}

/// Where a workload runs: a folder, or a pool in it that exists as long as the workload runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its name in tables.
    pub name: String,
    /// The folder.
    pub folder: PathBuf,
    /// How files are reached.
    pub way: Way,
}

impl Place {
    /// Reaches `folder` in a way; nothing is made durable on purpose.
    pub fn new(name: impl Into<String>, folder: impl Into<PathBuf>, way: Way) -> Self {
        Self { name: name.into(), folder: folder.into(), way }
    }

    /// The place as results have it.
    pub fn described(&self, unreachable: Option<String>) -> FsBenchPlace {
        let way = match self.way {
            Way::Folder => FsWay::Folder,
            Way::SyncedFolder => FsWay::SyncedFolder,
            Way::Library { .. } => FsWay::Library,
            Way::Mount { .. } => FsWay::Mount,
        };
        FsBenchPlace { name: self.name.clone(), way, unreachable }
    }

    /// An empty folder there, removed when it is dropped.
    pub(crate) fn fresh_folder(&self) -> Result<tempfile::TempDir, BenchError> {
        let made = tempfile::Builder::new().prefix("esker-fs-bench-").tempdir_in(&self.folder);
        made.map_err(|error| BenchError::Folder { folder: self.folder.clone(), error })
    }

    /// Hands `work` an empty folder of the place, which is removed again.
    ///
    /// # Errors
    /// The place cannot be used by system calls, or `work` fails.
    pub fn in_folder<T>(&self, work: impl FnOnce(&Path) -> Result<T, BenchError>) -> Result<T, BenchError> {
        let folder = self.fresh_folder()?;
        match self.way {
            Way::Folder | Way::SyncedFolder => work(folder.path()),
            Way::Library { .. } => Err(BenchError::Missing("the library makes no folder".into())),
            Way::Mount { mode, pool } => {
                let mounted = Served::new(folder.path(), mode, pool)?;
                let done = work(&mounted.point.directory);
                mounted.end()?;
                done
            }
        }
    }
}

/// A new pool in `folder`, as a target.
pub(crate) fn library(folder: &Path, mode: Mode, pool: Bytes) -> Result<LibraryTarget<Mapped>, BenchError> {
    Ok(LibraryTarget::new(new_system(&folder.join("pool"), mode, pool)?))
}

#[expect(clippy::disallowed_methods, reason = "files have the times of the real world")]
fn new_system(path: &Path, mode: Mode, size: Bytes) -> Result<FileSystem<Mapped>, BenchError> {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let now = Moment(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX));
    let pool = Mapped::create(path, size.0)?;
    // Storage-class memory is there before it is written to; pages of tmpfs would be made by the first writes.
    pool.populate(path)?;
    mkfs(&pool, [0; 16], &Caller::root(now))?;
    Ok(FileSystem::mount(pool, mode)?)
}

/// A pool that a thread of this program serves by FUSE. It is unmounted in the end, whatever happens.
struct Served {
    point: MountPoint,
    thread: Option<JoinHandle<std::io::Result<()>>>,
}

impl Served {
    fn new(folder: &Path, mode: Mode, size: Bytes) -> Result<Self, BenchError> {
        let (path, directory) = (folder.join("pool"), folder.join("mounted"));
        let failed = |error| BenchError::Folder { folder: folder.into(), error };
        std::fs::create_dir(&directory).map_err(failed)?;
        let mount = Mount::new(new_system(&path, mode, size)?, &path, &directory)?;
        let point = mount.point().clone();
        let thread = std::thread::Builder::new().name("scmfs".into()).spawn(move || mount.serve());
        match thread {
            Ok(thread) => Ok(Self { point, thread: Some(thread) }),
            Err(error) => {
                // The connection ended with the mount that was not served.
                let _ = point.detach();
                Err(failed(error))
            }
        }
    }

    fn end(mut self) -> Result<(), BenchError> {
        self.point.unmount()?;
        let thread = self.thread.take().expect("it ends once");
        let failed = |error| BenchError::Folder { folder: self.point.directory.clone(), error };
        thread.join().expect("a server does not panic").map_err(failed)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take()
            && self.point.detach().is_ok()
        {
            let _ = thread.join();
        }
    }
}
