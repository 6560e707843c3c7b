//! What stat(2) tells of a file, from its attributes.

use esker_scm::{Attributes, Kind, Moment, PAGE};

const SECOND: i64 = 1_000_000_000;

/// A device by its numbers, as stat(2) has it.
pub(crate) fn device((major, minor): (u32, u32)) -> u64 {
    rustix::fs::makedev(major, minor)
}

/// The type and permissions; none of what is no file and no directory, which the kernel is asked for.
fn mode(attributes: &Attributes) -> Option<u32> {
    let kind = match attributes.kind {
        Kind::File => libc::S_IFREG,
        Kind::Directory => libc::S_IFDIR,
        _ => return None,
    };
    Some(kind | u32::from(attributes.permissions))
}

/// As stat(2) has it.
pub(crate) fn stat(attributes: &Attributes, device: u64) -> Option<libc::stat> {
    // SAFETY: it has numbers alone.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    stat.st_dev = device;
    stat.st_ino = attributes.number;
    stat.st_nlink = attributes.links.into();
    stat.st_mode = mode(attributes)?;
    stat.st_uid = attributes.user;
    stat.st_gid = attributes.group;
    stat.st_size = attributes.size.cast_signed();
    stat.st_blksize = PAGE as i64;
    stat.st_blocks = (attributes.mapped / 512).cast_signed();
    let parts = |moment: Moment| (moment.0.div_euclid(SECOND), moment.0.rem_euclid(SECOND));
    (stat.st_atime, stat.st_atime_nsec) = parts(attributes.accessed);
    (stat.st_mtime, stat.st_mtime_nsec) = parts(attributes.modified);
    (stat.st_ctime, stat.st_ctime_nsec) = parts(attributes.changed);
    Some(stat)
}

/// As statx(2) has it: the basic ones.
pub(crate) fn statx(attributes: &Attributes, (major, minor): (u32, u32)) -> Option<libc::statx> {
    // SAFETY: it has numbers alone.
    let mut stat: libc::statx = unsafe { std::mem::zeroed() };
    stat.stx_mask = libc::STATX_BASIC_STATS;
    stat.stx_blksize = PAGE as u32;
    stat.stx_nlink = attributes.links;
    stat.stx_uid = attributes.user;
    stat.stx_gid = attributes.group;
    stat.stx_mode = mode(attributes)? as u16;
    stat.stx_ino = attributes.number;
    stat.stx_size = attributes.size;
    stat.stx_blocks = attributes.mapped / 512;
    (stat.stx_dev_major, stat.stx_dev_minor) = (major, minor);
    let parts = |stamp: &mut libc::statx_timestamp, moment: Moment| {
        (stamp.tv_sec, stamp.tv_nsec) = (moment.0.div_euclid(SECOND), moment.0.rem_euclid(SECOND) as u32);
    };
    parts(&mut stat.stx_atime, attributes.accessed);
    parts(&mut stat.stx_mtime, attributes.modified);
    parts(&mut stat.stx_ctime, attributes.changed);
    Some(stat)
}
