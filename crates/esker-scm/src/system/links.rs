//! Links made and taken away.

use super::FileSystem;
use super::attributes::Attributes;
use super::names::{Found, check_name};
use super::permission::{Access, Caller};
use super::work::Work;
use crate::error::{Damage, FsError, FsResult};
use crate::layout::Kind;
use crate::layout::inode::Inode;
use crate::persist::Persist;

impl<P: Persist> FileSystem<P> {
    /// Gives inode `number` one more name.
    ///
    /// # Errors
    /// It is a directory, the name exists, the caller may not, or the pool is full.
    pub fn link(&self, caller: &Caller<'_>, number: u64, parent: u64, name: &[u8]) -> FsResult<Attributes> {
        self.transact(|work| work.link(caller, number, parent, name))
    }

    /// Takes a name away from something that is no directory. Without names and handles it becomes a null file.
    ///
    /// # Errors
    /// There is no such name, it is a directory, or the caller may not.
    pub fn unlink(&self, caller: &Caller<'_>, parent: u64, name: &[u8]) -> FsResult<()> {
        self.transact(|work| {
            let (mut directory, found, victim) = work.find_victim(caller, parent, name)?;
            if victim.kind == Kind::Directory {
                return Err(FsError::IsDirectory);
            }
            work.remove_name(parent, &mut directory, &found)?;
            (directory.modified, directory.changed) = (caller.now, caller.now);
            work.put_inode(parent, &directory)?;
            work.drop_link(caller, found.inode, victim)
        })
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// It is no directory, or not empty, or the caller may not.
    pub fn remove_directory(&self, caller: &Caller<'_>, parent: u64, name: &[u8]) -> FsResult<()> {
        self.transact(|work| {
            match name {
                b"." => return Err(FsError::Invalid),
                b".." => return Err(FsError::NotEmpty),
                _ => {}
            }
            let (mut directory, found, victim) = work.find_victim(caller, parent, name)?;
            match victim.kind {
                Kind::Directory if victim.extra > 0 => return Err(FsError::NotEmpty),
                Kind::Directory => {}
                _ => return Err(FsError::NotDirectory),
            }
            work.remove_name(parent, &mut directory, &found)?;
            directory.links = directory.links.checked_sub(1).ok_or(FsError::Damaged(Damage::Inode(parent)))?;
            (directory.modified, directory.changed) = (caller.now, caller.now);
            work.put_inode(parent, &directory)?;
            work.drop_directory(caller, found.inode, victim)
        })
    }
}

impl<P: Persist> Work<'_, P> {
    /// A name that the caller may take away: the directory, the entry, and its inode.
    fn find_victim(&mut self, caller: &Caller<'_>, parent: u64, name: &[u8]) -> FsResult<(Inode, Found, Inode)> {
        let directory = self.directory_inode(parent)?;
        caller.check(&directory, Access::PASS)?;
        check_name(name)?;
        let found = self.find(parent, &directory, name)?.ok_or(FsError::NotFound)?;
        let victim = self.inode(found.inode)?;
        caller.check(&directory, Access::CHANGE)?;
        caller.check_sticky(&directory, &victim)?;
        Ok((directory, found, victim))
    }

    fn link(&mut self, caller: &Caller<'_>, number: u64, parent: u64, name: &[u8]) -> FsResult<Attributes> {
        let mut directory = self.directory_inode(parent)?;
        caller.check(&directory, Access::PASS)?;
        check_name(name)?;
        if self.find(parent, &directory, name)?.is_some() {
            return Err(FsError::Exists);
        }
        caller.check(&directory, Access::CHANGE)?;
        let mut inode = self.inode(number)?;
        if inode.kind == Kind::Directory {
            return Err(FsError::NotPermitted);
        }
        if inode.links == 0 || directory.links == 0 {
            return Err(FsError::NotFound);
        }
        inode.links = inode.links.checked_add(1).ok_or(FsError::TooManyLinks)?;
        self.add_name(parent, &mut directory, name, (number, inode.kind))?;
        (directory.modified, directory.changed) = (caller.now, caller.now);
        self.put_changed(caller, number, &mut inode)?;
        self.put_inode(parent, &directory)?;
        Ok(Attributes::of(number, &self.with_times(number, inode)))
    }

    /// Inode `number`, no directory, has lost a name.
    pub(super) fn drop_link(&mut self, caller: &Caller<'_>, number: u64, mut inode: Inode) -> FsResult<()> {
        inode.links = inode.links.checked_sub(1).ok_or(FsError::Damaged(Damage::Inode(number)))?;
        self.keep_or_make_null(caller, number, inode)
    }

    /// Directory `number` has lost its name.
    pub(super) fn drop_directory(&mut self, caller: &Caller<'_>, number: u64, mut inode: Inode) -> FsResult<()> {
        inode.links = 0;
        self.keep_or_make_null(caller, number, inode)
    }

    fn keep_or_make_null(&mut self, caller: &Caller<'_>, number: u64, mut inode: Inode) -> FsResult<()> {
        if inode.links > 0 || self.is_open(number) {
            return self.put_changed(caller, number, &mut inode);
        }
        self.make_null(number, &mut inode)
    }

    /// Makes a null file of inode `number`. It keeps its space.
    pub(super) fn make_null(&mut self, number: u64, inode: &mut Inode) -> FsResult<()> {
        if inode.attributes != 0 {
            let number = inode.attributes;
            let mut attributes = self.any_inode(number)?;
            attributes.attributes = 0;
            self.make_null(number, &mut attributes)?;
        }
        let Inode { generation, mut start, mut reserved, mapped, .. } = *inode;
        if mapped == 0 && reserved > 0 {
            // Virtual space by itself makes no new file faster.
            self.state.pending.freed_virtual.push((start, reserved));
            (start, reserved) = (0, 0);
        }
        *inode = Inode { generation, start, reserved, mapped, ..Inode::NULL };
        self.put_inode(number, inode)?;
        self.state.pending.freed_inodes.push((number, mapped));
        Ok(())
    }
}
