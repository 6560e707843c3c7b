//! Whether two names are the same file.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

/// Identifies a file, whatever its name. Two names are the same file if they share one of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// A regular file or a FIFO: the device of its file system, and its inode number.
    Inode(u64, u64),
    /// Sectors of a disk, from the first up to the second. The disk is known by its number, because several nodes may
    /// stand for one device; a partition is a part of its disk.
    Sectors(u64, u64, u64),
    /// A file that does not exist yet: its folder, and its name.
    Name(u64, u64, OsString),
    /// A descriptor of this process.
    Descriptor(u32),
}

impl Identity {
    /// Whether writing to one of the two changes the other.
    pub fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Sectors(disk, from, to), Self::Sectors(other, begin, end)) => {
                disk == other && from < end && begin < to
            }
            _ => self == other,
        }
    }
}

/// The identities of the file with this metadata. Empty for terminals, `/dev/null` and sockets, which may be read and
/// written at once.
pub fn identities(metadata: &Metadata) -> Vec<Identity> {
    let kind = metadata.file_type();
    if kind.is_block_device() {
        of_disk(metadata.rdev())
    } else if kind.is_file() || kind.is_fifo() {
        vec![Identity::Inode(metadata.dev(), metadata.ino())]
    } else {
        Vec::new()
    }
}

/// The metadata of an open descriptor.
pub(crate) fn of_descriptor(descriptor: &impl AsFd) -> io::Result<Metadata> {
    File::from(descriptor.as_fd().try_clone_to_owned()?).metadata()
}

/// What is written with a block device: its own sectors, those of the disks that it is made of (as logical volumes
/// are), and the file behind a loop device.
fn of_disk(device: u64) -> Vec<Identity> {
    let node = format!("/sys/dev/block/{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let number = |path: String| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let part = || {
        number(format!("{node}/partition"))?;
        let (start, length) = (number(format!("{node}/start"))?, number(format!("{node}/size"))?);
        Some(Identity::Sectors(device_number(&format!("{node}/../dev"))?, start, start + length))
    };
    let mut all = vec![part().unwrap_or(Identity::Sectors(device, 0, u64::MAX))];
    for below in fs::read_dir(format!("{node}/slaves")).into_iter().flatten().flatten() {
        all.extend(device_number(&below.path().join("dev").display().to_string()).into_iter().flat_map(of_disk));
    }
    all.extend(backing_file(&node));
    all
}

/// The number in a file such as `/sys/block/sda/dev`.
fn device_number(path: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    Some(rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?))
}

/// The file behind a loop device: writing to one of them changes the other.
fn backing_file(node: &str) -> Option<Identity> {
    // A partition lies below its device in the tree of devices.
    let whole = [format!("{node}/loop/backing_file"), format!("{node}/../loop/backing_file")];
    let backing = whole.iter().find_map(|path| fs::read_to_string(path).ok())?;
    let metadata = fs::metadata(backing.trim_end_matches('\n')).ok()?;
    Some(Identity::Inode(metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_a_part_of_its_disk_and_not_of_another() {
        let (whole, other) = (Identity::Sectors(8, 0, u64::MAX), Identity::Sectors(9, 0, u64::MAX));
        let (first, second) = (Identity::Sectors(8, 2048, 4096), Identity::Sectors(8, 4096, 8192));
        for part in [&first, &second] {
            assert!(part.overlaps(&whole) && whole.overlaps(part) && part.overlaps(part));
            assert!(!part.overlaps(&other) && !other.overlaps(part));
        }
        assert!(!first.overlaps(&second) && !second.overlaps(&first));
    }
}
