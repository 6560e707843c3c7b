//! What a path leads to.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::error::FileError;
use crate::identity::{Identity, identities, of_descriptor};
use crate::inputs::input_among;

/// The number of links that the system follows.
const LINKS_MAX: usize = 40;

/// What a path leads to, after following links.
#[derive(Debug)]
pub struct FileTarget {
    /// The path as the user gave it; `-` for standard output.
    pub(crate) given: PathBuf,
    /// What is at the end of the path.
    pub kind: TargetKind,
}

/// What is at the end of a path.
#[derive(Debug)]
pub enum TargetKind {
    /// A descriptor of this process: `-`, `/dev/stdout`, `/dev/fd/3`.
    Descriptor(u32),
    /// A FIFO, a socket or a character device.
    Stream(Metadata),
    /// A block device, such as a disk.
    Block(Metadata),
    /// A regular file: its path after following all links of its name.
    File(PathBuf, Metadata),
    /// Nothing yet: the path to create, after following all links of its name.
    Nothing(PathBuf),
}

impl FileTarget {
    /// Follows `path`; `-` is standard output.
    pub fn find(path: &Path) -> Result<Self, FileError> {
        let error = |source| FileError::Target { path: path.to_path_buf(), source };
        let found = |kind| Ok(Self { given: path.to_path_buf(), kind });
        if path == Path::new("-") {
            return found(TargetKind::Descriptor(1));
        }
        // The system is asked first: it may refuse to follow a link.
        let metadata = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => return Err(FileError::Folder { path: path.to_path_buf() }),
            Ok(metadata) => Some(metadata),
            Err(fault) if fault.kind() == ErrorKind::NotFound => None,
            Err(fault) => return Err(error(fault)),
        };
        if metadata.is_none() && path.as_os_str().as_bytes().ends_with(b"/") {
            return Err(FileError::Folder { path: path.to_path_buf() });
        }
        let end = follow(path).map_err(error)?;
        if let Some(number) = descriptor(&end) {
            return found(TargetKind::Descriptor(number));
        }
        found(match metadata {
            None => TargetKind::Nothing(end),
            Some(metadata) if metadata.is_file() => TargetKind::File(end, metadata),
            Some(metadata) if metadata.file_type().is_block_device() => TargetKind::Block(metadata),
            Some(metadata) => TargetKind::Stream(metadata),
        })
    }

    /// The identities of the target, to be compared with those of inputs and other outputs.
    pub fn identities(&self) -> Vec<Identity> {
        match &self.kind {
            TargetKind::Descriptor(number) => {
                let metadata = match number {
                    1 => of_descriptor(&io::stdout()),
                    2 => of_descriptor(&io::stderr()),
                    _ => fs::metadata(format!("/proc/self/fd/{number}")),
                };
                let mut all = metadata.as_ref().map(identities).unwrap_or_default();
                all.push(Identity::Descriptor(*number));
                all
            }
            TargetKind::Stream(metadata) | TargetKind::Block(metadata) | TargetKind::File(_, metadata) => {
                identities(metadata)
            }
            TargetKind::Nothing(path) => {
                let folder = fs::metadata(folder_of(path));
                let name = path.file_name().unwrap_or_default().to_os_string();
                folder.map(|folder| vec![Identity::Name(folder.dev(), folder.ino(), name)]).unwrap_or_default()
            }
        }
    }

    /// Refuses a target that is read.
    ///
    /// # Errors
    /// [`FileError::Input`] names what is read.
    pub fn check_is_no_input(&self) -> Result<(), FileError> {
        let metadata = match &self.kind {
            TargetKind::File(_, metadata) => Some(metadata),
            _ => None,
        };
        let input = input_among(&self.identities(), metadata);
        input.map_or(Ok(()), |input| Err(FileError::Input { path: self.given.clone(), input }))
    }

    /// The file whose content writing would destroy, if it can be read.
    pub fn content(&self) -> Option<&Path> {
        match &self.kind {
            TargetKind::File(path, _) => Some(path),
            TargetKind::Block(_) => Some(&self.given),
            _ => None,
        }
    }
}

/// The folder that contains `path`.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Follows the links of the last name of `path`, as far as they lead: also to a file that is not there yet.
///
/// # Errors
/// If they lead round in circles, or cannot be read.
pub fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut at = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        let is_link = fs::symlink_metadata(&at).is_ok_and(|metadata| metadata.is_symlink());
        // Links of /proc/self/fd lead to an open file, not to a name.
        if !is_link || descriptor(&at).is_some() {
            return Ok(at);
        }
        at = folder_of(&at).join(fs::read_link(&at)?);
    }
    Err(io::Error::from(rustix::io::Errno::LOOP))
}

/// The number of the descriptor that `path` names.
fn descriptor(path: &Path) -> Option<u32> {
    let number = path.file_name()?.to_str()?.parse().ok()?;
    let own = fs::canonicalize("/proc/self/fd").ok()?;
    (fs::canonicalize(folder_of(path)).ok()? == own).then_some(number)
}
