//! Attributes and times, as the kernel has them.

use esker_scm::{Attributes, Kind, Moment, PAGE};
use fuser::{FileAttr, FileType, INodeNo};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long the kernel may use names and attributes without asking again.
pub(crate) const VALID: Duration = Duration::from_secs(1);

/// What the kernel is told of an inode.
pub(crate) fn file_attributes(attributes: &Attributes) -> FileAttr {
    FileAttr {
        ino: INodeNo(attributes.number),
        size: attributes.size,
        blocks: attributes.mapped / 512,
        atime: time_of(attributes.accessed),
        mtime: time_of(attributes.modified),
        ctime: time_of(attributes.changed),
        crtime: time_of(attributes.made),
        kind: file_type(attributes.kind),
        perm: attributes.permissions,
        nlink: attributes.links,
        uid: attributes.user,
        gid: attributes.group,
        rdev: attributes.device as u32,
        blksize: PAGE as u32,
        flags: 0,
    }
}

/// The type of a kind that has a name.
pub(crate) fn file_type(kind: Kind) -> FileType {
    match kind {
        Kind::Directory => FileType::Directory,
        Kind::Symlink => FileType::Symlink,
        Kind::Fifo => FileType::NamedPipe,
        Kind::Socket => FileType::Socket,
        Kind::CharacterDevice => FileType::CharDevice,
        Kind::BlockDevice => FileType::BlockDevice,
        Kind::File | Kind::Null | Kind::Attributes => FileType::RegularFile,
    }
}

/// The kind that the type in `mode` means; none if it means none.
pub(crate) fn kind_of(mode: u32) -> Option<Kind> {
    use rustix::fs::FileType;
    match FileType::from_raw_mode(mode) {
        FileType::RegularFile => Some(Kind::File),
        FileType::Directory => Some(Kind::Directory),
        FileType::Symlink => Some(Kind::Symlink),
        FileType::Fifo => Some(Kind::Fifo),
        FileType::Socket => Some(Kind::Socket),
        FileType::CharacterDevice => Some(Kind::CharacterDevice),
        FileType::BlockDevice => Some(Kind::BlockDevice),
        // mknod(2): no type means a file.
        FileType::Unknown => (mode & 0o170_000 == 0).then_some(Kind::File),
    }
}

fn time_of(moment: Moment) -> SystemTime {
    let distance = Duration::from_nanos(moment.0.unsigned_abs());
    if moment.0 < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
}

/// The moment nearest to `time`.
pub(crate) fn moment_of(time: SystemTime) -> Moment {
    let nanoseconds = |distance: Duration| i64::try_from(distance.as_nanos()).unwrap_or(i64::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => Moment(nanoseconds(after)),
        Err(before) => Moment(-nanoseconds(before.duration())),
    }
}

/// The moment that the kernel asked for. The crate fuser subtracts the fraction of a second from times before 1970,
/// where it has to be added; no other time gives what it returns.
pub(crate) fn moment_asked(time: SystemTime) -> Moment {
    let Err(before) = time.duration_since(UNIX_EPOCH) else { return moment_of(time) };
    let (seconds, fraction) = (before.duration().as_secs(), before.duration().subsec_nanos());
    let whole = i64::try_from(seconds).ok().and_then(|seconds| seconds.checked_mul(1_000_000_000));
    Moment(whole.map_or(-i64::MAX, |whole| i64::from(fraction) - whole))
}

/// What the clock says.
#[expect(clippy::disallowed_methods, reason = "files have the times of the real world")]
pub(crate) fn now() -> Moment {
    moment_of(SystemTime::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back() {
        for nanoseconds in [0, 1, -1, 1_700_000_000_123_456_789, -2_000_000_000_000_000_001, i64::MAX, -i64::MAX] {
            assert_eq!(moment_of(time_of(Moment(nanoseconds))), Moment(nanoseconds));
        }
        assert_eq!(moment_of(UNIX_EPOCH + Duration::from_secs(u64::MAX / 4)), Moment(i64::MAX));
    }

    #[test]
    fn times_before_1970_have_fractions() {
        // As the crate fuser does it.
        let given = |seconds: i64, fraction| UNIX_EPOCH - Duration::new(seconds.unsigned_abs(), fraction);
        for (seconds, fraction) in [(-1, 0), (-1, 999_999_999), (-5, 500_000_000), (-9_000_000_000, 1)] {
            let expected = Moment(seconds * 1_000_000_000 + i64::from(fraction));
            assert_eq!(moment_asked(given(seconds, fraction)), expected);
        }
        assert_eq!(moment_asked(given(i64::MIN, 0)), Moment(-i64::MAX));
        assert_eq!(moment_asked(UNIX_EPOCH + Duration::new(7, 5)), Moment(7_000_000_005));
    }

    #[test]
    fn kinds_have_the_types_of_modes() {
        for (mode, kind) in [(0o100_644, Kind::File), (0o644, Kind::File), (0o010_600, Kind::Fifo)] {
            assert_eq!(kind_of(mode), Some(kind));
        }
        assert_eq!(kind_of(0o160_000), None);
    }
}
