//! Space that nobody reads is made free (Wu, IV.B.5): first that of null files, then what files keep behind their ends,
//! those that were not written for longest first.

use super::work::Work;
use crate::error::FsResult;
use crate::layout::inode::{Inode, PER_PAGE};
use crate::layout::{Kind, PAGE, RUN};
use crate::persist::Persist;

impl<P: Persist> Work<'_, P> {
    /// Makes some pages free; false if there are none that could be.
    pub(super) fn reclaim(&mut self) -> FsResult<bool> {
        if !self.state.resting.is_empty() {
            self.release_resting()?;
            return Ok(true);
        }
        if self.give_evacuation_up() {
            return Ok(true);
        }
        Ok(self.reclaim_null_file()? || self.reclaim_behind_ends()?)
    }

    /// Frees the pages of the null file with most of them.
    pub(super) fn reclaim_null_file(&mut self) -> FsResult<bool> {
        let Some((number, pages)) = self.state.nulls.take_largest() else { return Ok(false) };
        if pages == 0 {
            self.state.nulls.add(number, pages);
            return Ok(false);
        }
        let mut inode = self.any_inode(number)?;
        let mut end = inode.reserved;
        while end > 0 {
            end = self.unmap(&mut inode, 0, end)?;
            if end == 0 {
                self.state.pending.freed_virtual.push((inode.start, inode.reserved));
                (inode.start, inode.reserved) = (0, 0);
            }
            self.put_inode(number, &inode)?;
            self.commit()?;
        }
        self.state.nulls.add(number, inode.mapped);
        Ok(true)
    }

    /// Frees pages that files have behind their ends, of the coldest files first, until a sixty-fourth of the pool is
    /// free. Files that are being written at this moment are passed over.
    fn reclaim_behind_ends(&mut self) -> FsResult<bool> {
        let mut candidates = Vec::new();
        for number in 1..=self.state.inode_pages * PER_PAGE {
            let inode = self.any_inode(number)?;
            let used = inode.size.div_ceil(PAGE);
            let may_have_some = inode.mapped > 0 && inode.reserved > used && !inode.is_preallocated;
            if matches!(inode.kind, Kind::File | Kind::Directory) && may_have_some {
                candidates.push((inode.modified, number));
            }
        }
        candidates.sort_unstable();
        let mut has_freed = false;
        for (_, number) in candidates {
            has_freed |= self.reclaim_behind_end(number)?;
            if has_freed && self.state.physical.free_pages() > self.state.plan.pages / 64 {
                break;
            }
        }
        if has_freed {
            self.release_resting()?;
        }
        Ok(has_freed)
    }

    /// Frees pages that a file has behind its end, unless a program asked for them.
    pub(super) fn reclaim_behind_end(&mut self, number: u64) -> FsResult<bool> {
        let node = self.open_node(number);
        let mut data = match &node {
            Some(node) => match node.data.try_write() {
                Ok(data) if !data.is_shared() => Some(data),
                _ => return Ok(false),
            },
            None => None,
        };
        let mut inode = self.any_inode(number)?;
        if inode.is_preallocated {
            return Ok(false);
        }
        let (before, used) = (inode.mapped, inode.size.div_ceil(PAGE));
        let mut end = inode.reserved;
        while end > used {
            let left = self.unmap_behind_end(&mut inode, used, end)?;
            self.put_inode(number, &inode)?;
            self.commit()?;
            if let Some(data) = &mut data {
                data.extents.remove(left, end);
            }
            end = left;
        }
        Ok(inode.mapped < before)
    }

    /// Unmaps pages `from` to `to`, which lie behind the end of the file, as [`Work::unmap`] does. The run that keeps
    /// its first pages needs no page for its leaf: a full pool has none.
    fn unmap_behind_end(&mut self, inode: &mut Inode, from: u64, to: u64) -> FsResult<u64> {
        let kept = from % RUN;
        let whole = from - kept + if kept > 0 { RUN } else { 0 };
        if to > whole {
            return self.unmap(inode, whole, to);
        }
        if to == whole && self.shorten_run(inode, from)? { Ok(from) } else { self.unmap(inode, from, to) }
    }
}
