//! Sizes of files: truncate, fallocate, holes.

use super::FileSystem;
use super::attributes::{Attributes, clear_set_id};
use super::data::zero;
use super::nodes::{Data, Handle};
use super::permission::{Access, Caller};
use crate::error::{FsError, FsResult};
use crate::layout::{PAGE, RUN};
use crate::persist::Persist;
use crate::space::Extent;

/// What fallocate does with a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allocate {
    /// Maps pages, and makes the file larger if the range ends beyond it.
    Extend,
    /// Maps pages only.
    KeepSize,
    /// Makes the range a hole. Where the pool has no page left for the mapping table, pages of a run become zeroes.
    PunchHole,
    /// Maps pages, makes the range zeroes, and the file larger if it ends beyond it.
    ZeroRange,
    /// Maps pages, and makes those of the range zeroes that lie in the file.
    ZeroRangeKeepSize,
}

impl<P: Persist> FileSystem<P> {
    /// Sets the size of a file. Space is kept when it shrinks (Wu, IV.B.3); when it grows, the new bytes are zero.
    ///
    /// # Errors
    /// It is no file, or the pool's virtual space is too small.
    pub fn set_size(&self, caller: &Caller<'_>, handle: &Handle, size: u64) -> FsResult<Attributes> {
        handle.check_file()?;
        self.check_size(size)?;
        let mut data = handle.node.lock()?;
        self.zero_gap(handle, &mut data, size)?;
        let attributes = self.transact(|work| {
            let mut inode = work.inode(handle.number())?;
            work.reserve(&mut inode, size.div_ceil(PAGE))?;
            // Whoever truncates does without what was asked for behind the end.
            let has_more = size > data.size && data.extents.end() > size.div_ceil(PAGE);
            inode.is_preallocated = inode.is_preallocated && has_more;
            inode.size = size;
            (inode.modified, inode.changed) = (caller.now, caller.now);
            if !caller.is_root() {
                clear_set_id(&mut inode);
                handle.node.note_permissions(&inode);
            }
            work.put_inode(handle.number(), &inode)?;
            work.state.pending.written.push(handle.number());
            Ok(Attributes::of(handle.number(), &inode))
        })?;
        data.size = size;
        Ok(attributes)
    }

    /// Checks that a file can have `size` bytes.
    pub(super) fn check_size(&self, size: u64) -> FsResult<()> {
        let pages_max = self.header.geometry.virtual_pages / 2;
        if size.div_ceil(PAGE) > pages_max { Err(FsError::FileTooLarge) } else { Ok(()) }
    }

    /// Sets the size of inode `number`: truncate.
    ///
    /// # Errors
    /// The caller may not write it, or as [`FileSystem::set_size`].
    pub fn truncate(&self, caller: &Caller<'_>, number: u64, size: u64) -> FsResult<Attributes> {
        self.check(caller, number, Access::WRITE)?;
        let handle = self.open(number)?;
        let result = self.set_size(caller, &handle, size);
        self.close(handle)?;
        result
    }

    /// Maps or unmaps a range: fallocate.
    ///
    /// # Errors
    /// The pool is full, or the range is empty.
    pub fn allocate(
        &self,
        caller: &Caller<'_>,
        handle: &Handle,
        offset: u64,
        length: u64,
        what: Allocate,
    ) -> FsResult<()> {
        handle.check_file()?;
        let end = offset.checked_add(length).ok_or(FsError::FileTooLarge)?;
        if length == 0 {
            return Err(FsError::Invalid);
        }
        if what != Allocate::PunchHole {
            self.check_size(end)?;
        }
        let mut data = handle.node.lock()?;
        let extends = matches!(what, Allocate::Extend | Allocate::ZeroRange) && end > data.size;
        if extends {
            // What is mapped behind the end may be of a dead file. What is mapped from here on is zero.
            zero(&self.persist, &data, data.size, end)?;
            self.persist.fence()?;
        }
        match what {
            Allocate::PunchHole => self.punch(handle, &mut data, offset, end)?,
            Allocate::ZeroRange | Allocate::ZeroRangeKeepSize => {
                // First what may fail.
                self.map_range(handle, &mut data, offset, end)?;
                zero(&self.persist, &data, offset, end.min(data.size))?;
                self.persist.fence()?;
            }
            Allocate::Extend | Allocate::KeepSize => self.map_range(handle, &mut data, offset, end)?,
        }
        let size = if extends { end } else { data.size };
        self.transact(|work| {
            let mut inode = work.inode(handle.number())?;
            work.reserve(&mut inode, size.div_ceil(PAGE))?;
            inode.is_preallocated |= what != Allocate::PunchHole && end.div_ceil(PAGE) > size.div_ceil(PAGE);
            inode.size = size;
            (inode.modified, inode.changed) = (caller.now, caller.now);
            work.state.pending.written.push(handle.number());
            work.put_inode(handle.number(), &inode)
        })?;
        data.size = size;
        Ok(())
    }

    /// Makes bytes `from` to `to` zeroes: whole pages become holes.
    fn punch(&self, handle: &Handle, data: &mut Data, from: u64, to: u64) -> FsResult<()> {
        let to = to.min(data.size);
        if from >= to {
            return Ok(());
        }
        // The page with the end of the file goes as a whole.
        let last = if to == data.size { to.div_ceil(PAGE) } else { to / PAGE };
        let first = from.div_ceil(PAGE);
        if first >= last || data.is_shared() {
            zero(&self.persist, data, from, to)?;
            self.persist.fence()?;
            return Ok(());
        }
        zero(&self.persist, data, from, first * PAGE)?;
        zero(&self.persist, data, last * PAGE, to)?;
        match self.unmap(handle, data, first, last) {
            // There is no page for a leaf: what is still mapped is zeroed.
            Err(FsError::NoSpace) => {
                zero(&self.persist, data, from, to)?;
                Ok(self.persist.fence()?)
            }
            unmapped => unmapped,
        }
    }

    /// Maps all pages with bytes `from` to `to`. New ones are zero where they lie in the file.
    fn map_range(&self, handle: &Handle, data: &mut Data, from: u64, to: u64) -> FsResult<()> {
        let (mut page, end) = (from / PAGE, to.div_ceil(PAGE));
        while page < end {
            let step_end = ((page / RUN + 1) * RUN).min(end);
            let added = self.transact(|work| {
                let mut inode = work.inode(handle.number())?;
                work.reserve(&mut inode, end)?;
                let mut added: Vec<Extent> = Vec::new();
                if work.fill_holes(&mut inode, data, (page, step_end), (to, &[]), &mut added)? < step_end {
                    return Err(FsError::NoSpace);
                }
                work.put_inode(handle.number(), &inode)?;
                Ok(added)
            })?;
            added.into_iter().for_each(|extent| data.extents.insert(extent));
            page = step_end;
        }
        Ok(())
    }

    /// Unmaps pages `from` to `to`, in as many transactions as that takes.
    pub(super) fn unmap(&self, handle: &Handle, data: &mut Data, from: u64, to: u64) -> FsResult<()> {
        let mut end = to;
        while end > from {
            let left = self.transact(|work| {
                let mut inode = work.inode(handle.number())?;
                let mapped_end = end.min(inode.reserved);
                if mapped_end <= from {
                    return Ok(from);
                }
                let left = work.unmap(&mut inode, from, mapped_end)?;
                work.put_inode(handle.number(), &inode)?;
                Ok(left)
            })?;
            data.extents.remove(left, end);
            end = left;
        }
        Ok(())
    }

    /// The first byte from `offset` on that is in a page, or in a hole: SEEK_DATA and SEEK_HOLE.
    ///
    /// # Errors
    /// `offset` lies beyond the end, or only holes follow.
    pub fn seek(&self, handle: &Handle, offset: u64, is_hole: bool) -> FsResult<u64> {
        handle.check_file()?;
        let data = handle.node.data.read().map_err(|_| FsError::Stale)?;
        if offset >= data.size {
            return Err(FsError::BeyondEnd);
        }
        let end = data.size.div_ceil(PAGE);
        let found = data.extents.pieces(offset / PAGE, end).find(|piece| piece.2.is_none() == is_hole);
        match found {
            Some((page, _, _)) => Ok(offset.max(page * PAGE)),
            None if is_hole => Ok(data.size),
            None => Err(FsError::BeyondEnd),
        }
    }
}
