//! Writes to a destination.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FlockOperation, OFlags};
use rustix::io::Errno;
use tempfile::NamedTempFile;

use crate::error::FileError;
use crate::target::{FileTarget, TargetKind, folder_of};
use crate::unfinished;

/// A place that may be written to. Everything that can be checked beforehand has been.
#[derive(Debug)]
pub struct Destination {
    given: PathBuf,
    to: To,
    /// The file that was opened last; it is synced at the end.
    opened: Option<File>,
}

#[derive(Debug)]
enum To {
    Descriptor(u32),
    /// Opened only when there is something to write, because opening a FIFO waits for its reader.
    Stream {
        socket: bool,
    },
    Block,
    File {
        draft: Draft,
        target: PathBuf,
    },
}

/// A file that is being written. It has no name yet, or a temporary one, which [`crate::abandon`] knows.
#[derive(Debug)]
enum Draft {
    /// A file without a name: it vanishes with the process, however the process ends.
    Unnamed(File),
    /// A file with a temporary name, on file systems without unnamed files.
    Named(NamedTempFile),
}

impl FileTarget {
    /// Prepares to write here. A new file is begun in the same folder; nothing that exists changes yet.
    pub fn prepare(self) -> Result<Destination, FileError> {
        self.check_is_no_input()?;
        let error = |source| FileError::Target { path: self.given.clone(), source };
        let to = match &self.kind {
            TargetKind::Descriptor(number) => To::Descriptor(*number),
            TargetKind::Stream(metadata) => {
                let access = rustix::fs::Access::WRITE_OK;
                rustix::fs::accessat(CWD, &self.given, access, AtFlags::EACCESS)
                    .map_err(|fault| error(fault.into()))?;
                To::Stream { socket: metadata.file_type().is_socket() }
            }
            TargetKind::Block(_) => {
                open_block(&self.given).map_err(error)?;
                To::Block
            }
            TargetKind::File(target, old) => {
                // A file that may not be written is not replaced either, even if its folder would allow that.
                open_unused(target).map_err(error)?;
                if is_mounted(target) {
                    return Err(FileError::Mounted { path: self.given });
                }
                let draft = Draft::begin(folder_of(target)).map_err(|source| match source.kind() {
                    ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                        FileError::ClosedFolder { path: self.given.clone(), source }
                    }
                    _ => error(source),
                })?;
                draft.copy_ownership(old).map_err(|_| FileError::Owner {
                    path: self.given.clone(),
                    owner: old.uid(),
                    group: old.gid(),
                })?;
                To::File { draft, target: target.clone() }
            }
            TargetKind::Nothing(target) => {
                let draft = Draft::begin(folder_of(target)).map_err(error)?;
                To::File { draft, target: target.clone() }
            }
        };
        Ok(Destination { given: self.given, to, opened: None })
    }
}

impl Destination {
    /// Opens the destination. For one writer.
    pub fn open(&mut self) -> Result<File, FileError> {
        self.check_is_no_input()?;
        let opened = match &self.to {
            To::Descriptor(number) => open_descriptor(*number),
            To::Stream { socket: true } => UnixStream::connect(&self.given).map(|socket| OwnedFd::from(socket).into()),
            To::Stream { socket: false } => OpenOptions::new().write(true).open(&self.given),
            To::Block => open_block(&self.given),
            To::File { draft, .. } => draft.file().try_clone(),
        };
        let file = opened.map_err(|source| self.failed(source))?;
        self.opened = Some(file.try_clone().map_err(|source| self.failed(source))?);
        Ok(file)
    }

    /// Makes the written data appear at the destination. The last step that may fail is the one that makes them appear.
    pub fn commit(mut self) -> Result<(), FileError> {
        let synced = self.opened.take().map_or(Ok(()), |file| sync(&file));
        synced.map_err(|source| self.failed(source))?;
        self.check_is_no_input()?;
        let Self { given, to, .. } = self;
        match to {
            To::File { draft, target } => {
                // It stays locked until it is replaced. What cannot be opened any more was replaced, or is gone.
                let old = match open_unused(&target) {
                    Err(source) if source.kind() == ErrorKind::ResourceBusy => {
                        return Err(FileError::Target { path: given, source });
                    }
                    old => old,
                };
                let placed = draft.rename_into_place(&target);
                drop(old);
                placed.map_err(|source| FileError::Write { path: given, source })
            }
            _ => Ok(()),
        }
    }

    /// Refuses to go on if the destination is read by now: much is read only after it was prepared.
    fn check_is_no_input(&self) -> Result<(), FileError> {
        let at = match &self.to {
            To::File { target, .. } => FileTarget::find(target)?,
            _ => FileTarget::find(&self.given)?,
        };
        FileTarget { given: self.given.clone(), ..at }.check_is_no_input()
    }

    /// Whether the destination is standard output, by whatever name.
    pub fn is_standard_output(&self) -> bool {
        matches!(self.to, To::Descriptor(1))
    }

    /// Makes an error of writing to this destination.
    pub fn failed(&self, source: io::Error) -> FileError {
        FileError::Write { path: self.given.clone(), source }
    }
}

impl Draft {
    fn begin(folder: &Path) -> io::Result<Self> {
        unnamed(folder).map_or_else(|| Self::named(folder), |file| Ok(Self::Unnamed(file)))
    }

    fn named(folder: &Path) -> io::Result<Self> {
        // Opened here, because errors of `tempfile` name the temporary file. The user's umask applies.
        let open = |name: &Path| OpenOptions::new().write(true).create_new(true).mode(0o666).open(name);
        unfinished::while_named(|names| {
            let file = tempfile::Builder::new().prefix(".esker-").make_in(folder, open)?;
            names.push(file.path().to_path_buf());
            Ok(Self::Named(file))
        })
    }

    fn file(&self) -> &File {
        match self {
            Self::Unnamed(file) => file,
            Self::Named(file) => file.as_file(),
        }
    }

    /// Takes over owner, group and permissions from the file that this one will replace.
    fn copy_ownership(&self, old: &Metadata) -> io::Result<()> {
        let new = self.file().metadata()?;
        let differs = |old: u32, new: u32| (old != new).then_some(old);
        let (owner, group) = (differs(old.uid(), new.uid()), differs(old.gid(), new.gid()));
        if owner.is_some() || group.is_some() {
            fchown(self.file(), owner, group)?;
        }
        self.file().set_permissions(Permissions::from_mode(old.mode() & 0o7777))
    }

    /// Gives the file its name.
    fn rename_into_place(self, target: &Path) -> io::Result<()> {
        let folder = folder_of(target);
        unfinished::while_named(|names| match self {
            Self::Named(file) => {
                names.retain(|name| name != file.path());
                file.persist(target).map(|_| ()).map_err(|fault| fault.error)
            }
            Self::Unnamed(file) => {
                // A link cannot replace a file but a rename can, so the file gets another name first.
                let open = name_of_unnamed(&file);
                let link = |name: &Path| Ok(rustix::fs::linkat(CWD, &open, CWD, name, AtFlags::SYMLINK_FOLLOW)?);
                let named = tempfile::Builder::new().prefix(".esker-").make_in(folder, link)?;
                named.persist(target).map(|_| ()).map_err(|fault| fault.error)
            }
        })?;
        // Some file systems cannot promise that the name survives a power failure, so errors are ignored.
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

/// A new file in `folder` without a name; `None` if the file system has no such files, or if it could not be named
/// later.
fn unnamed(folder: &Path) -> Option<File> {
    let flags = OFlags::TMPFILE.bits().cast_signed();
    let file = OpenOptions::new().read(true).write(true).mode(0o666).custom_flags(flags).open(folder).ok()?;
    fs::symlink_metadata(name_of_unnamed(&file)).is_ok().then_some(file)
}

fn name_of_unnamed(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// Opens and locks a file that is to be replaced, unless a program has locked it that serves what is in it: that one
/// would go on with a file that nobody finds any more.
fn open_unused(path: &Path) -> io::Result<File> {
    // Never waits, should it have become a FIFO.
    let file = OpenOptions::new().write(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(io::Error::new(ErrorKind::ResourceBusy, "another program uses it")),
        // Not all file systems know locks.
        _ => Ok(file),
    }
}

/// Opens a disk, unless something uses it, such as a mounted file system.
fn open_block(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).custom_flags(OFlags::EXCL.bits().cast_signed()).open(path)
}

/// Standard output and standard error share their position with other processes that have them open. Other descriptors
/// are opened again, to append.
fn open_descriptor(number: u32) -> io::Result<File> {
    match number {
        1 => io::stdout().as_fd().try_clone_to_owned().map(File::from),
        2 => io::stderr().as_fd().try_clone_to_owned().map(File::from),
        _ => OpenOptions::new().append(true).open(format!("/proc/self/fd/{number}")),
    }
}

/// Syncs the data to the device. A pipe, for example, has nothing to sync.
fn sync(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        other => other,
    }
}

/// Whether something is mounted on this very file.
fn is_mounted(path: &Path) -> bool {
    use rustix::fs::{StatxAttributes, StatxFlags, statx};
    statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::empty())
        .is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_that_another_program_has_locked_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("served");
        fs::write(&path, "served").unwrap();
        let lock = || {
            let file = File::open(&path).unwrap();
            rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).unwrap();
            file
        };
        let prepare = || FileTarget::find(&path).unwrap().prepare();
        let said = "another program uses it";
        let locked = lock();
        assert!(prepare().unwrap_err().to_string().ends_with(said));
        drop(locked);
        let prepared = prepare().unwrap();
        let locked = lock();
        assert!(prepared.commit().unwrap_err().to_string().ends_with(said));
        assert_eq!(fs::read(&path).unwrap(), b"served");
        drop(locked);
        prepare().unwrap().commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
    }

    #[test]
    fn a_file_system_without_unnamed_files_does_as_well() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("result");
        fs::write(&target, "old").unwrap();
        fs::set_permissions(&target, Permissions::from_mode(0o604)).unwrap();
        let begin = || {
            let draft = Draft::named(folder.path()).unwrap();
            draft.copy_ownership(&fs::metadata(&target).unwrap()).unwrap();
            draft.file().write_all(b"new").unwrap();
            draft
        };
        drop(begin());
        assert_eq!(fs::read(&target).unwrap(), b"old");
        begin().rename_into_place(&target).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"new");
        assert_eq!(fs::metadata(&target).unwrap().mode() & 0o777, 0o604);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
        let error = Draft::named(&folder.path().join("nowhere")).unwrap_err();
        assert!(!error.to_string().contains(".esker-"), "{error}");
    }

    #[test]
    fn a_file_without_a_name_gets_one_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let Some(mut file) = unnamed(folder.path()) else { return };
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let target = folder.path().join("result");
        fs::write(&target, "old").unwrap();
        Draft::Unnamed(file).rename_into_place(&target).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
