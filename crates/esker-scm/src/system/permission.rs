//! Who may do what.

use crate::error::{FsError, FsResult};
use crate::layout::Kind;
use crate::layout::inode::Inode;
use crate::moment::Moment;

/// Who makes a call, and when.
#[derive(Debug, Clone, Copy)]
pub struct Caller<'a> {
    /// The effective user.
    pub user: u32,
    /// The effective group.
    pub group: u32,
    /// Supplementary groups.
    pub groups: &'a [u32],
    /// When.
    pub now: Moment,
}

/// What a call wants to do with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Access {
    /// Read it, or list a directory.
    pub read: bool,
    /// Write it, or change the entries of a directory.
    pub write: bool,
    /// Execute it, or go through a directory.
    pub execute: bool,
}

impl Access {
    /// Changing the entries of a directory.
    pub(crate) const CHANGE: Access = Access { read: false, write: true, execute: true };
    /// Going through a directory.
    pub(crate) const PASS: Access = Access { read: false, write: false, execute: true };
    /// Writing.
    pub(crate) const WRITE: Access = Access { read: false, write: true, execute: false };

    fn bits(self) -> u16 {
        u16::from(self.read) << 2 | u16::from(self.write) << 1 | u16::from(self.execute)
    }
}

/// The permission bit for set-group-id.
pub(crate) const SET_GROUP: u16 = 0o2000;
/// The permission bit for directories out of which only owners take names.
pub(crate) const STICKY: u16 = 0o1000;

impl Caller<'_> {
    /// The system's administrator, or esker itself.
    pub fn root(now: Moment) -> Caller<'static> {
        Caller { user: 0, group: 0, groups: &[], now }
    }

    /// Whether it is the administrator.
    pub(crate) fn is_root(&self) -> bool {
        self.user == 0
    }

    /// Whether it is in `group`.
    pub(crate) fn is_in(&self, group: u32) -> bool {
        self.group == group || self.groups.contains(&group)
    }

    /// Checks that it may access `inode`.
    pub(crate) fn check(&self, inode: &Inode, access: Access) -> FsResult<()> {
        let is_allowed = if self.is_root() {
            !access.execute || inode.kind == Kind::Directory || inode.permissions & 0o111 != 0
        } else {
            let shift = if self.user == inode.user {
                6
            } else if self.is_in(inode.group) {
                3
            } else {
                0
            };
            access.bits() & !(inode.permissions >> shift) & 7 == 0
        };
        if is_allowed { Ok(()) } else { Err(FsError::Access) }
    }

    /// Checks that it owns `inode`.
    pub(crate) fn check_owner(&self, inode: &Inode) -> FsResult<()> {
        if self.is_root() || self.user == inode.user { Ok(()) } else { Err(FsError::NotPermitted) }
    }

    /// Checks that it may take `victim` out of `directory`, or rename it: in a sticky directory only an owner may.
    pub(crate) fn check_sticky(&self, directory: &Inode, victim: &Inode) -> FsResult<()> {
        let is_free = directory.permissions & STICKY == 0
            || self.is_root()
            || self.user == directory.user
            || self.user == victim.user;
        if is_free { Ok(()) } else { Err(FsError::NotPermitted) }
    }
}
