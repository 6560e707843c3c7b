//! Names that move.

use super::names::{Found, check_name};
use super::permission::{Access, Caller};
use super::work::Work;
use super::{FileSystem, ROOT};
use crate::error::{Damage, FsError, FsResult};
use crate::layout::Kind;
use crate::layout::inode::Inode;
use crate::persist::Persist;

/// How a name moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RenameFlags {
    /// What has the new name is replaced.
    #[default]
    Replace,
    /// The new name must be free.
    KeepExisting,
    /// Both names change places.
    Exchange,
}

/// A directory and a name in it.
type Place<'a> = (u64, &'a [u8]);

impl<P: Persist> FileSystem<P> {
    /// Moves a name from one directory to another, or within one.
    ///
    /// # Errors
    /// As rename(2).
    pub fn rename(
        &self,
        caller: &Caller<'_>,
        from: (u64, &[u8]),
        to: (u64, &[u8]),
        flags: RenameFlags,
    ) -> FsResult<()> {
        self.transact(|work| work.rename(caller, from, to, flags))
    }
}

/// What a rename works on: both directories, which are one if `is_same`.
struct Directories {
    from: u64,
    to: u64,
    from_inode: Inode,
    to_inode: Inode,
}

impl Directories {
    fn is_same(&self) -> bool {
        self.from == self.to
    }

    /// The inode of the directory that the name goes to.
    fn target(&mut self) -> &mut Inode {
        if self.is_same() { &mut self.from_inode } else { &mut self.to_inode }
    }
}

impl<P: Persist> Work<'_, P> {
    fn rename(&mut self, caller: &Caller<'_>, from: Place<'_>, to: Place<'_>, flags: RenameFlags) -> FsResult<()> {
        let (from_inode, to_inode) = (self.directory_inode(from.0)?, self.directory_inode(to.0)?);
        let mut directories = Directories { from: from.0, to: to.0, from_inode, to_inode };
        caller.check(&directories.from_inode, Access::PASS)?;
        caller.check(&directories.to_inode, Access::PASS)?;
        for name in [from.1, to.1] {
            if matches!(name, b"." | b"..") {
                return Err(FsError::Busy);
            }
            check_name(name)?;
        }
        let moved = self.find(from.0, &directories.from_inode, from.1)?.ok_or(FsError::NotFound)?;
        let replaced = self.find(to.0, &directories.to_inode, to.1)?;
        let inode = self.inode(moved.inode)?;
        if directories.to_inode.links == 0 {
            return Err(FsError::NotFound);
        }
        let destination = (!directories.is_same()).then_some(to.0);
        self.check_moved(caller, &directories.from_inode, (&moved, &inode), destination)?;
        caller.check(&directories.to_inode, Access::CHANGE)?;
        match (replaced, flags) {
            (Some(_), RenameFlags::KeepExisting) => Err(FsError::Exists),
            (None, RenameFlags::Exchange) => Err(FsError::NotFound),
            (Some(other), _) if other.inode == moved.inode => Ok(()),
            (Some(other), RenameFlags::Exchange) => {
                self.exchange(caller, &mut directories, (from.1, &moved), (to.1, &other))
            }
            (replaced, _) => self.replace(caller, &mut directories, (&moved, inode), (to.1, replaced)),
        }
    }

    /// Checks that the caller may take `moved` out of `directory`, and that no directory moves into itself.
    /// `destination` is the directory that it moves to, if that is another one.
    fn check_moved(
        &self,
        caller: &Caller<'_>,
        directory: &Inode,
        (moved, inode): (&Found, &Inode),
        destination: Option<u64>,
    ) -> FsResult<()> {
        caller.check(directory, Access::CHANGE)?;
        caller.check_sticky(directory, inode)?;
        if let (Kind::Directory, Some(destination)) = (inode.kind, destination) {
            self.check_not_within(moved.inode, destination)?;
            // Its entry for the directory above changes.
            caller.check(inode, Access::WRITE)?;
        }
        Ok(())
    }

    /// Checks that directory `inner` is neither `outer` nor below it.
    fn check_not_within(&self, outer: u64, inner: u64) -> FsResult<()> {
        let mut at = inner;
        // More steps than inodes would be a circle.
        for _ in 0..=self.state.files {
            if at == outer {
                return Err(FsError::Invalid);
            }
            if at == ROOT {
                return Ok(());
            }
            at = self.directory_inode(at)?.parent;
        }
        Err(FsError::Damaged(Damage::Inode(inner)))
    }

    fn replace(
        &mut self,
        caller: &Caller<'_>,
        directories: &mut Directories,
        (moved, mut inode): (&Found, Inode),
        (name, replaced): (&[u8], Option<Found>),
    ) -> FsResult<()> {
        let is_directory = inode.kind == Kind::Directory;
        let target = (moved.inode, inode.kind);
        if let Some(other) = &replaced {
            let victim = self.inode(other.inode)?;
            caller.check_sticky(&directories.to_inode, &victim)?;
            match (is_directory, victim.kind == Kind::Directory) {
                (true, false) => return Err(FsError::NotDirectory),
                (false, true) => return Err(FsError::IsDirectory),
                (true, true) if victim.extra > 0 => return Err(FsError::NotEmpty),
                _ => {}
            }
            let to_inode = *directories.target();
            self.set_name(&to_inode, other, name, target)?;
            if is_directory {
                let target = directories.target();
                target.links = target.links.saturating_sub(1);
                self.drop_directory(caller, other.inode, victim)?;
            } else {
                self.drop_link(caller, other.inode, victim)?;
            }
        } else {
            let to = directories.to;
            self.add_name(to, directories.target(), name, target)?;
        }
        self.remove_name(directories.from, &mut directories.from_inode, moved)?;
        if is_directory && !directories.is_same() {
            directories.from_inode.links = directories.from_inode.links.saturating_sub(1);
            directories.to_inode.links += 1;
            inode.parent = directories.to;
        }
        self.put_changed(caller, moved.inode, &mut inode)?;
        self.put_directories(caller, directories)
    }

    fn exchange(
        &mut self,
        caller: &Caller<'_>,
        directories: &mut Directories,
        (from_name, moved): (&[u8], &Found),
        (to_name, other): (&[u8], &Found),
    ) -> FsResult<()> {
        let (mut inode, mut other_inode) = (self.inode(moved.inode)?, self.inode(other.inode)?);
        let destination = (!directories.is_same()).then_some(directories.from);
        self.check_moved(caller, &directories.to_inode, (other, &other_inode), destination)?;
        self.set_name(&directories.from_inode, moved, from_name, (other.inode, other_inode.kind))?;
        self.set_name(&directories.to_inode, other, to_name, (moved.inode, inode.kind))?;
        if !directories.is_same() {
            let is_directory = (inode.kind == Kind::Directory, other_inode.kind == Kind::Directory);
            match is_directory {
                (true, false) => {
                    directories.from_inode.links = directories.from_inode.links.saturating_sub(1);
                    directories.to_inode.links += 1;
                }
                (false, true) => {
                    directories.from_inode.links += 1;
                    directories.to_inode.links = directories.to_inode.links.saturating_sub(1);
                }
                _ => {}
            }
            if is_directory.0 {
                inode.parent = directories.to;
            }
            if is_directory.1 {
                other_inode.parent = directories.from;
            }
        }
        self.put_changed(caller, moved.inode, &mut inode)?;
        self.put_changed(caller, other.inode, &mut other_inode)?;
        self.put_directories(caller, directories)
    }

    fn put_directories(&mut self, caller: &Caller<'_>, directories: &mut Directories) -> FsResult<()> {
        let now = caller.now;
        (directories.from_inode.modified, directories.from_inode.changed) = (now, now);
        self.put_inode(directories.from, &directories.from_inode)?;
        if !directories.is_same() {
            (directories.to_inode.modified, directories.to_inode.changed) = (now, now);
            self.put_inode(directories.to, &directories.to_inode)?;
        }
        Ok(())
    }
}
