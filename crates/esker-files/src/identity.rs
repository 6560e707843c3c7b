//! Whether two names are the same file.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// Identifies a file, whatever its name. Two names are the same file if they share one of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// A regular file or a FIFO: the device of its file system, and its inode number.
    Inode(u64, u64),
    /// A block device by its number, because several nodes may stand for one device.
    Block(u64),
    /// A file that does not exist yet: its folder, and its name.
    Name(u64, u64, OsString),
    /// A descriptor of this process.
    Descriptor(u32),
}

/// The identities of the file with this metadata. Empty for terminals, `/dev/null` and sockets, which may be read and
/// written at once.
pub fn identities(metadata: &Metadata) -> Vec<Identity> {
    let kind = metadata.file_type();
    if kind.is_block_device() {
        let mut all = vec![Identity::Block(metadata.rdev())];
        all.extend(backing_file(metadata.rdev()));
        all
    } else if kind.is_file() || kind.is_fifo() {
        vec![Identity::Inode(metadata.dev(), metadata.ino())]
    } else {
        Vec::new()
    }
}

/// The identities of the input called `path`; `-` is standard input. Empty if there is none: opening it will report
/// that.
pub fn identities_of_input(path: &Path) -> Vec<Identity> {
    let metadata = if path == Path::new("-") { of_descriptor(&io::stdin()) } else { fs::metadata(path) };
    metadata.as_ref().map(identities).unwrap_or_default()
}

/// The metadata of an open descriptor.
pub(crate) fn of_descriptor(descriptor: &impl AsFd) -> io::Result<Metadata> {
    File::from(descriptor.as_fd().try_clone_to_owned()?).metadata()
}

/// The file behind a loop device: writing to one of them changes the other.
fn backing_file(device: u64) -> Option<Identity> {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let node = format!("/sys/dev/block/{major}:{minor}");
    // A partition lies below its device in the tree of devices.
    let whole = [format!("{node}/loop/backing_file"), format!("{node}/../loop/backing_file")];
    let backing = whole.iter().find_map(|path| fs::read_to_string(path).ok())?;
    let metadata = fs::metadata(backing.trim_end_matches('\n')).ok()?;
    Some(Identity::Inode(metadata.dev(), metadata.ino()))
}
