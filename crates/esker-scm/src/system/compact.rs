//! Virtual space made usable again: what the paper leaves to future work (VI.B), "the extreme case of fragmentation".
//!
//! Null files give back their space, and files the virtual pages that they do not need; then files move to lower
//! addresses, so that free blocks become one. Only entries of the mapping table move.

use super::work::Work;
use crate::error::{FsError, FsResult};
use crate::layout::PAGE;
use crate::layout::inode::{Inode, PER_PAGE};
use crate::persist::Persist;

impl<P: Persist> Work<'_, P> {
    /// Makes larger blocks of virtual space free; false if nothing could be done.
    pub(super) fn compact_virtual_space(&mut self) -> FsResult<bool> {
        let mut has_changed = false;
        while self.reclaim_null_file()? {
            has_changed = true;
        }
        for number in 1..=self.state.inode_pages * PER_PAGE {
            has_changed |= self.trim_virtual(number)?;
        }
        for number in 1..=self.state.inode_pages * PER_PAGE {
            // A file that cannot move, for want of a page or of room in the log, stays where it is.
            has_changed |= match self.attempt(|work| work.move_down(number)) {
                Err(FsError::NoSpace | FsError::FileTooLarge) => false,
                moved => moved?,
            };
        }
        Ok(has_changed)
    }

    /// Gives back the virtual pages of an inode behind those that it may need: those of its size, and of what is
    /// mapped.
    fn trim_virtual(&mut self, number: u64) -> FsResult<bool> {
        let mut inode = self.any_inode(number)?;
        let needed = self.needed(&inode)?;
        if needed >= inode.reserved {
            return Ok(false);
        }
        self.state.pending.freed_virtual.push((inode.start + needed, inode.reserved - needed));
        inode.reserved = needed;
        if needed == 0 {
            inode.start = 0;
        }
        self.put_inode(number, &inode)?;
        self.commit()?;
        Ok(true)
    }

    /// Virtual pages that an inode needs: a power of two, or none.
    fn needed(&self, inode: &Inode) -> FsResult<u64> {
        if inode.reserved == 0 {
            return Ok(0);
        }
        let mapped = self.extents(inode)?.end();
        let used = inode.size.div_ceil(PAGE).max(mapped);
        Ok(if used == 0 { 0 } else { used.next_power_of_two().min(inode.reserved) })
    }

    /// Moves an inode's pages to lower addresses, if there is a free block of its size.
    fn move_down(&mut self, number: u64) -> FsResult<bool> {
        let mut inode = self.any_inode(number)?;
        if inode.reserved == 0 {
            return Ok(false);
        }
        let Some(start) = self.state.virtual_space.take_lowest(inode.reserved.ilog2()) else { return Ok(false) };
        if start >= inode.start {
            self.state.virtual_space.give(start, inode.reserved);
            return Ok(false);
        }
        self.state.pending.taken_virtual.push((start, inode.reserved));
        self.move_to(&mut inode, start)?;
        self.put_inode(number, &inode)?;
        self.commit()?;
        Ok(true)
    }
}
