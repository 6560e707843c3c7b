//! Where a workload works: a folder, through system calls, or a pool, through the library.

use crate::error::FsError;
use crate::layout::Kind;
use crate::moment::Moment;
use crate::persist::Persist;
use crate::system::{Access, Caller, FileSystem, Handle, NewFile, ROOT};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Why a workload could not be run.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// A system call failed.
    #[error("{}: {error}", path.display())]
    System {
        /// On what.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A call of the library failed.
    #[error("the pool: {0}")]
    Library(#[from] FsError),
    /// Whoever waits for the workload asked for its end.
    #[error("interrupted")]
    Stopped,
}

/// Files and directories by number. A directory has to be made before its files.
pub trait Target: Sync {
    /// An open file.
    type File: Send + Sync;

    /// Makes directory `directory`.
    ///
    /// # Errors
    /// As the system says.
    fn make_directory(&self, directory: u64) -> Result<(), TargetError>;

    /// Removes directory `directory`, which is empty.
    ///
    /// # Errors
    /// As the system says.
    fn remove_directory(&self, directory: u64) -> Result<(), TargetError>;

    /// Makes and opens file `file` of `directory`.
    ///
    /// # Errors
    /// As the system says.
    fn create(&self, directory: u64, file: u64) -> Result<Self::File, TargetError>;

    /// Opens a file.
    ///
    /// # Errors
    /// As the system says.
    fn open(&self, directory: u64, file: u64) -> Result<Self::File, TargetError>;

    /// Closes a file.
    ///
    /// # Errors
    /// As the system says.
    fn close(&self, file: Self::File) -> Result<(), TargetError>;

    /// Unlinks a file.
    ///
    /// # Errors
    /// As the system says.
    fn unlink(&self, directory: u64, file: u64) -> Result<(), TargetError>;

    /// Reads at `offset`; how many bytes there were.
    ///
    /// # Errors
    /// As the system says.
    fn read(&self, file: &Self::File, offset: u64, into: &mut [u8]) -> Result<usize, TargetError>;

    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    /// As the system says.
    fn write(&self, file: &Self::File, offset: u64, bytes: &[u8]) -> Result<(), TargetError>;

    /// Makes a file durable.
    ///
    /// # Errors
    /// As the system says.
    fn sync(&self, file: &Self::File) -> Result<(), TargetError>;
}

/// A folder of any file system.
#[derive(Debug)]
pub struct FolderTarget {
    folder: PathBuf,
}

impl FolderTarget {
    /// Works in `folder`, which exists and should be empty.
    pub fn new(folder: PathBuf) -> FolderTarget {
        FolderTarget { folder }
    }

    fn directory(&self, directory: u64) -> PathBuf {
        self.folder.join(format!("d{directory}"))
    }

    fn path(&self, directory: u64, file: u64) -> PathBuf {
        self.folder.join(format!("d{directory}/f{file}"))
    }

    fn failed<T>(&self, result: std::io::Result<T>, path: impl FnOnce() -> PathBuf) -> Result<T, TargetError> {
        result.map_err(|error| TargetError::System { path: path(), error })
    }
}

impl Target for FolderTarget {
    type File = File;

    fn make_directory(&self, directory: u64) -> Result<(), TargetError> {
        let path = self.directory(directory);
        self.failed(std::fs::create_dir(&path), || path)
    }

    fn remove_directory(&self, directory: u64) -> Result<(), TargetError> {
        let path = self.directory(directory);
        self.failed(std::fs::remove_dir(&path), || path)
    }

    fn create(&self, directory: u64, file: u64) -> Result<File, TargetError> {
        let path = self.path(directory, file);
        self.failed(OpenOptions::new().read(true).write(true).create_new(true).open(&path), || path)
    }

    fn open(&self, directory: u64, file: u64) -> Result<File, TargetError> {
        let path = self.path(directory, file);
        self.failed(OpenOptions::new().read(true).write(true).open(&path), || path)
    }

    fn close(&self, file: File) -> Result<(), TargetError> {
        drop(file);
        Ok(())
    }

    fn unlink(&self, directory: u64, file: u64) -> Result<(), TargetError> {
        let path = self.path(directory, file);
        self.failed(std::fs::remove_file(&path), || path)
    }

    fn read(&self, file: &File, offset: u64, into: &mut [u8]) -> Result<usize, TargetError> {
        self.failed(file.read_at(into, offset), || self.folder.clone())
    }

    fn write(&self, file: &File, offset: u64, bytes: &[u8]) -> Result<(), TargetError> {
        self.failed(file.write_all_at(bytes, offset), || self.folder.clone())
    }

    fn sync(&self, file: &File) -> Result<(), TargetError> {
        self.failed(file.sync_data(), || self.folder.clone())
    }
}

/// A mounted pool, through the library.
#[derive(Debug)]
pub struct LibraryTarget<P> {
    system: FileSystem<P>,
}

/// A caller whose time is that of the system's own file systems: coarse, and quick to ask for.
fn caller() -> Caller<'static> {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    Caller::root(Moment(now.tv_sec * 1_000_000_000 + now.tv_nsec))
}

impl<P: Persist> LibraryTarget<P> {
    /// Works on `system`.
    pub fn new(system: FileSystem<P>) -> LibraryTarget<P> {
        LibraryTarget { system }
    }

    /// The file system.
    pub fn into_system(self) -> FileSystem<P> {
        self.system
    }

    /// The inode of a directory. Paths are looked up with each call, as a system call would.
    fn directory(&self, directory: u64) -> Result<u64, TargetError> {
        Ok(self.system.lookup(&caller(), ROOT, format!("d{directory}").as_bytes())?.number)
    }
}

impl<P: Persist> Target for LibraryTarget<P> {
    type File = Handle;

    fn make_directory(&self, directory: u64) -> Result<(), TargetError> {
        let new = NewFile::new(Kind::Directory, 0o755);
        self.system.make(&caller(), ROOT, format!("d{directory}").as_bytes(), &new)?;
        Ok(())
    }

    fn remove_directory(&self, directory: u64) -> Result<(), TargetError> {
        Ok(self.system.remove_directory(&caller(), ROOT, format!("d{directory}").as_bytes())?)
    }

    fn create(&self, directory: u64, file: u64) -> Result<Handle, TargetError> {
        let parent = self.directory(directory)?;
        let new = NewFile::new(Kind::File, 0o644);
        let made = self.system.make(&caller(), parent, format!("f{file}").as_bytes(), &new)?;
        Ok(self.system.open(made.number)?)
    }

    fn open(&self, directory: u64, file: u64) -> Result<Handle, TargetError> {
        let parent = self.directory(directory)?;
        let found = self.system.lookup(&caller(), parent, format!("f{file}").as_bytes())?;
        self.system.check(&caller(), found.number, Access { read: true, write: true, execute: false })?;
        Ok(self.system.open(found.number)?)
    }

    fn close(&self, file: Handle) -> Result<(), TargetError> {
        Ok(self.system.close(file)?)
    }

    fn unlink(&self, directory: u64, file: u64) -> Result<(), TargetError> {
        let parent = self.directory(directory)?;
        Ok(self.system.unlink(&caller(), parent, format!("f{file}").as_bytes())?)
    }

    fn read(&self, file: &Handle, offset: u64, into: &mut [u8]) -> Result<usize, TargetError> {
        Ok(self.system.read(&caller(), file, offset, into)?)
    }

    fn write(&self, file: &Handle, offset: u64, bytes: &[u8]) -> Result<(), TargetError> {
        let written = self.system.write(&caller(), file, offset, bytes)?;
        if written < bytes.len() { Err(FsError::NoSpace.into()) } else { Ok(()) }
    }

    fn sync(&self, file: &Handle) -> Result<(), TargetError> {
        Ok(self.system.sync(file)?)
    }
}
