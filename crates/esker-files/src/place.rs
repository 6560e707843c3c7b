//! Where a path leads.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::error::FileError;
use crate::identity::{Identity, identities, of_descriptor};

/// As many links as the system follows.
const LINKS_MAX: usize = 40;

/// What a path leads to, through links.
#[derive(Debug)]
pub struct Place {
    /// As the user gave it; `-` for standard output.
    pub(crate) given: PathBuf,
    /// What is there.
    pub kind: PlaceKind,
}

/// What is at a place.
#[derive(Debug)]
pub enum PlaceKind {
    /// A descriptor that this process has: `-`, `/dev/stdout`, `/dev/fd/3`.
    Descriptor(u32),
    /// A FIFO, a socket or a device that takes characters.
    Stream(Metadata),
    /// A disk, or what looks like one.
    Block(Metadata),
    /// A regular file: its path with all links of its name followed.
    File(PathBuf, Metadata),
    /// Nothing yet; the path to make, with all links of its name followed.
    Nothing(PathBuf),
}

impl Place {
    /// Where `path` leads; `-` is standard output.
    pub fn find(path: &Path) -> Result<Self, FileError> {
        let error = |source| FileError::Place { path: path.to_path_buf(), source };
        let place = |kind| Ok(Self { given: path.to_path_buf(), kind });
        if path == Path::new("-") {
            return place(PlaceKind::Descriptor(1));
        }
        // What the system says first: it may refuse to follow a link.
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
            return place(PlaceKind::Descriptor(number));
        }
        place(match metadata {
            None => PlaceKind::Nothing(end),
            Some(metadata) if metadata.is_file() => PlaceKind::File(end, metadata),
            Some(metadata) if metadata.file_type().is_block_device() => PlaceKind::Block(metadata),
            Some(metadata) => PlaceKind::Stream(metadata),
        })
    }

    /// What it is, to be compared with inputs and other outputs.
    pub fn identities(&self) -> Vec<Identity> {
        match &self.kind {
            PlaceKind::Descriptor(number) => {
                let metadata = match number {
                    1 => of_descriptor(&io::stdout()),
                    2 => of_descriptor(&io::stderr()),
                    _ => fs::metadata(format!("/proc/self/fd/{number}")),
                };
                let mut all = metadata.as_ref().map(identities).unwrap_or_default();
                all.push(Identity::Descriptor(*number));
                all
            }
            PlaceKind::Stream(metadata) | PlaceKind::Block(metadata) | PlaceKind::File(_, metadata) => {
                identities(metadata)
            }
            PlaceKind::Nothing(path) => {
                let folder = fs::metadata(folder_of(path));
                let name = path.file_name().unwrap_or_default().to_os_string();
                folder.map(|folder| vec![Identity::Name(folder.dev(), folder.ino(), name)]).unwrap_or_default()
            }
        }
    }

    /// Whether it is a file, or will be one, rather than a device or a descriptor.
    pub fn is_regular(&self) -> bool {
        matches!(self.kind, PlaceKind::File(..) | PlaceKind::Nothing(_))
    }

    /// What is there that writing would put an end to, where it can be read.
    pub fn content(&self) -> Option<&Path> {
        match &self.kind {
            PlaceKind::File(path, _) => Some(path),
            PlaceKind::Block(_) => Some(&self.given),
            _ => None,
        }
    }
}

/// The folder that a path lies in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// `path` with the links that its last name stands for followed, as far as they go.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut at = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        let is_link = fs::symlink_metadata(&at).is_ok_and(|metadata| metadata.is_symlink());
        // Links of /proc/self/fd lead to what is open there, not to a name.
        if !is_link || descriptor(&at).is_some() {
            return Ok(at);
        }
        at = folder_of(&at).join(fs::read_link(&at)?);
    }
    Err(io::Error::from(rustix::io::Errno::LOOP))
}

/// The number of the descriptor that `path` means.
fn descriptor(path: &Path) -> Option<u32> {
    let number = path.file_name()?.to_str()?.parse().ok()?;
    let own = fs::canonicalize("/proc/self/fd").ok()?;
    (fs::canonicalize(folder_of(path)).ok()? == own).then_some(number)
}
