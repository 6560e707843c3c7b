//! New files, directories, links to paths, and devices.

use super::attributes::Attributes;
use super::names::check_name;
use super::permission::{Access, Caller, SET_GROUP};
use super::work::Work;
use super::{FileSystem, mkfs};
use crate::error::{FsError, FsResult};
use crate::layout::inode::{INLINE, INODE, Inode, PER_PAGE};
use crate::layout::superblock::Superblock;
use crate::layout::{Geometry, Kind, PAGE};
use crate::persist::Persist;
use crate::space::Extent;

/// Most bytes of the target of a symbolic link.
pub(crate) const TARGET_MAX: usize = 4095;

/// What is to be made.
#[derive(Debug, Clone, Copy)]
pub struct NewFile<'a> {
    /// Its kind; not one without a name.
    pub kind: Kind,
    /// Its permissions, less those that the caller's umask takes.
    pub permissions: u16,
    /// Of a device: its number.
    pub device: u64,
    /// Of a symbolic link: where it points.
    pub target: &'a [u8],
}

impl NewFile<'_> {
    /// A file or directory with these permissions.
    pub fn new(kind: Kind, permissions: u16) -> NewFile<'static> {
        NewFile { kind, permissions, device: 0, target: &[] }
    }
}

impl<P: Persist> FileSystem<P> {
    /// Makes something new in directory `parent`.
    ///
    /// # Errors
    /// The name exists or cannot be one, the caller may not, or the pool is full.
    pub fn make(&self, caller: &Caller<'_>, parent: u64, name: &[u8], new: &NewFile<'_>) -> FsResult<Attributes> {
        self.transact(|work| work.make(caller, parent, name, new))
    }
}

impl<P: Persist> Work<'_, P> {
    fn make(&mut self, caller: &Caller<'_>, parent: u64, name: &[u8], new: &NewFile<'_>) -> FsResult<Attributes> {
        let mut directory = self.directory_inode(parent)?;
        caller.check(&directory, Access::PASS)?;
        if matches!(name, b"." | b"..") {
            return Err(FsError::Exists);
        }
        check_name(name)?;
        if self.find(parent, &directory, name)?.is_some() {
            return Err(FsError::Exists);
        }
        if directory.links == 0 {
            return Err(FsError::NotFound);
        }
        caller.check(&directory, Access::CHANGE)?;
        if !new.kind.has_name() || new.target.len() > TARGET_MAX {
            return Err(FsError::Invalid);
        }
        let (number, mut inode) = self.take_inode(matches!(new.kind, Kind::File | Kind::Directory))?;
        describe(&mut inode, caller, &directory, new);
        if new.kind == Kind::Directory {
            inode.parent = parent;
            directory.links += 1;
        }
        if new.kind == Kind::Symlink {
            self.set_target(&mut inode, new.target)?;
        }
        self.add_name(parent, &mut directory, name, (number, new.kind))?;
        (directory.modified, directory.changed) = (caller.now, caller.now);
        self.put_inode(number, &inode)?;
        self.put_inode(parent, &directory)?;
        Ok(Attributes::of(number, &inode))
    }

    /// Stores where a symbolic link points: in its inode if that has room, else in a page.
    fn set_target(&mut self, inode: &mut Inode, target: &[u8]) -> FsResult<()> {
        inode.size = target.len() as u64;
        if target.len() <= INLINE {
            inode.inline[..target.len()].copy_from_slice(target);
            return Ok(());
        }
        self.reserve(inode, 1)?;
        let physical = match self.translate(inode.start)? {
            Some(physical) => physical,
            None => {
                let physical = self.take_pages(0)?.0;
                self.map(inode, Extent { page: 0, physical, pages: 1 })?;
                physical
            }
        };
        self.store_ahead(physical * PAGE, target);
        Ok(())
    }

    /// Takes a null file, with what space it has, or makes one.
    pub(super) fn take_inode(&mut self, wants_space: bool) -> FsResult<(u64, Inode)> {
        let (number, pages) = match self.state.nulls.take(wants_space) {
            Some(null) => null,
            None => {
                self.grow_inode_table()?;
                self.state.nulls.take(wants_space).ok_or(FsError::NoSpace)?
            }
        };
        self.state.pending.taken_inodes.push((number, pages));
        let null = self.any_inode(number)?;
        let generation = null.generation.wrapping_add(1);
        let Inode { start, reserved, mapped, .. } = null;
        Ok((number, Inode { generation, start, reserved, mapped, ..Inode::NULL }))
    }

    /// Adds null files without space to the inode table. This is a transaction of its own, as new inodes stay also if
    /// the call fails.
    pub(super) fn grow_inode_table(&mut self) -> FsResult<()> {
        assert!(self.state.transaction.is_empty(), "inodes are taken before anything is stored");
        let plan = self.state.plan;
        let pages = inode_step(&plan).min(plan.inode_table_pages_max() - self.state.inode_pages);
        let first = self.state.inode_pages;
        for page in first..first + pages {
            let physical = self.take_pages(0)?.0;
            for index in 0..PER_PAGE {
                let number = page * PER_PAGE + index + 1;
                let at = physical * PAGE + index * INODE as u64;
                self.store_ahead(at, &Inode::NULL.encode(number));
            }
            let mut table = Inode { start: plan.inode_table(), ..Inode::NULL };
            self.map(&mut table, Extent { page, physical, pages: 1 })?;
        }
        let at = mkfs::superblock_address(self)?;
        let superblock = Superblock { inode_table_pages: first + pages };
        self.state.transaction.put(at, &superblock.encode());
        let pending_names = self.state.pending.names.len();
        assert_eq!(pending_names, 0, "inodes are taken before names");
        self.commit()?;
        self.state.inode_pages = first + pages;
        for number in (first * PER_PAGE + 1..=(first + pages) * PER_PAGE).rev() {
            self.state.nulls.add(number, 0);
        }
        Ok(())
    }
}

/// Pages by which the inode table grows: up to 64 KiB.
pub(super) fn inode_step(plan: &Geometry) -> u64 {
    (plan.pages / 256).clamp(1, 16)
}

/// Fills the inode of something new.
fn describe(inode: &mut Inode, caller: &Caller<'_>, directory: &Inode, new: &NewFile<'_>) {
    inode.kind = new.kind;
    inode.permissions = new.permissions & 0o7777;
    inode.links = if new.kind == Kind::Directory { 2 } else { 1 };
    (inode.user, inode.group) = (caller.user, caller.group);
    if directory.permissions & SET_GROUP != 0 {
        inode.group = directory.group;
        if new.kind == Kind::Directory {
            inode.permissions |= SET_GROUP;
        } else if inode.permissions & 0o2010 == 0o2010 && !caller.is_root() && !caller.is_in(directory.group) {
            inode.permissions &= !SET_GROUP;
        }
    }
    (inode.modified, inode.changed, inode.accessed, inode.made) = (caller.now, caller.now, caller.now, caller.now);
    inode.extra = if matches!(new.kind, Kind::CharacterDevice | Kind::BlockDevice) { new.device } else { 0 };
}
