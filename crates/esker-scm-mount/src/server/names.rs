//! Names looked up, made, moved and removed.

use super::Server;
use crate::attributes::now;
use esker_scm::{Attributes, Caller, FsError, FsResult, Kind, NewFile, RenameFlags};
use fuser::Request;
use std::sync::PoisonError;

impl Server {
    pub(crate) fn lookup(&self, request: &Request, parent: u64, name: &[u8]) -> FsResult<Attributes> {
        if let Some(number) = self.coherence.expected(request.pid(), parent, name) {
            return self.told(|| self.system.attributes(number));
        }
        self.told(|| self.callers.call(request, |caller| self.system.lookup(caller, parent, name)))
    }

    pub(crate) fn make(&self, request: &Request, parent: u64, name: &[u8], new: &NewFile<'_>) -> FsResult<Attributes> {
        self.with_room(|| {
            self.told(|| self.callers.call(request, |caller| self.system.make(caller, parent, name, new)))
        })
    }

    /// open(2) with O_CREAT. A file that somebody else has made since the kernel looked is opened, unless O_EXCL says
    /// otherwise.
    pub(crate) fn create(
        &self,
        request: &Request,
        parent: u64,
        name: &[u8],
        (permissions, flags): (u16, i32),
    ) -> FsResult<Attributes> {
        let is_exclusive = flags & rustix::fs::OFlags::EXCL.bits() as i32 != 0;
        match self.make(request, parent, name, &NewFile::new(Kind::File, permissions)) {
            Err(FsError::Exists) if !is_exclusive => {}
            made => return made,
        }
        let found = self.lookup(request, parent, name)?;
        self.open(request, found.number, flags).inspect_err(|_| self.forget(found.number, 1))?;
        Ok(found)
    }

    pub(crate) fn link(&self, request: &Request, number: u64, parent: u64, name: &[u8]) -> FsResult<Attributes> {
        self.told(|| self.callers.call(request, |caller| self.system.link(caller, number, parent, name)))
    }

    /// Finds an inode, and tells the kernel of it before it can lose its name.
    fn told(&self, find: impl FnOnce() -> FsResult<Attributes>) -> FsResult<Attributes> {
        let _names = self.naming.read().unwrap_or_else(PoisonError::into_inner);
        let found = find()?;
        self.inodes.tell(&self.system, found.number)?;
        Ok(found)
    }

    pub(crate) fn unlink(&self, request: &Request, parent: u64, name: &[u8]) -> FsResult<()> {
        let _names = self.naming.write().unwrap_or_else(PoisonError::into_inner);
        self.note_removal();
        self.callers.call(request, |caller| self.system.unlink(caller, parent, name))
    }

    pub(crate) fn remove_directory(&self, request: &Request, parent: u64, name: &[u8]) -> FsResult<()> {
        let _names = self.naming.write().unwrap_or_else(PoisonError::into_inner);
        self.callers.call(request, |caller| self.system.remove_directory(caller, parent, name))
    }

    pub(crate) fn rename(
        &self,
        request: &Request,
        from: (u64, &[u8]),
        to: (u64, &[u8]),
        flags: RenameFlags,
    ) -> FsResult<()> {
        let _names = self.naming.write().unwrap_or_else(PoisonError::into_inner);
        self.note_removal();
        self.callers.call(request, |caller| self.system.rename(caller, from, to, flags))
    }

    pub(crate) fn read_link(&self, number: u64) -> FsResult<Vec<u8>> {
        let held = self.held(number)?;
        let target = self.system.read_link(number)?;
        self.system.note_read(&Caller::root(now()), held.handle())?;
        Ok(target)
    }
}
