//! Room for the pages of a sparse pool, where the pool lies.
//!
//! A store to a page of a sparse file for which the file system below has no room ends the process (SIGBUS). So that it
//! fails with an error instead, pages get their room before anything is stored to them: 2 MiB at once, or if there are
//! no 2 MiB left, those pages alone.

use super::work::Work;
use crate::error::{FsError, FsResult};
use crate::layout::{Geometry, PAGE, RUN};
use crate::persist::{Persist, PersistError};

/// Gives the parts of a pool room that are there before any page is taken: header, log, table and counts.
pub(super) fn back_metadata<P: Persist>(persist: &P, plan: &Geometry) -> FsResult<()> {
    has_room(persist.back(0, plan.data * PAGE)).and_then(|has| if has { Ok(()) } else { Err(FsError::NoSpace) })
}

/// Whether there was room.
fn has_room(backed: Result<(), PersistError>) -> FsResult<bool> {
    match backed {
        Ok(()) => Ok(true),
        Err(error) if error.is_full() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

impl<P: Persist> Work<'_, P> {
    /// Takes a block of `1 << order` pages that has room.
    pub(super) fn take_block(&mut self, order: u32) -> FsResult<Option<u64>> {
        let Some(start) = self.state.physical.take(order) else { return Ok(None) };
        self.keep_if_backed(start, 1 << order).map(|is_kept| is_kept.then_some(start))
    }

    /// Gives pages room that the caller has taken; if there is none, they are free again, and false is returned.
    pub(super) fn keep_if_backed(&mut self, start: u64, pages: u64) -> FsResult<bool> {
        let backed = self.back(start, pages);
        if matches!(backed, Ok(true)) {
            self.state.pending.taken.push((start, pages));
        } else {
            self.state.physical.give(start, pages);
        }
        backed
    }

    /// Takes this page, if it is free and has room. Pages around it get none.
    pub(super) fn take_this_page(&mut self, page: u64) -> FsResult<bool> {
        if !self.state.physical.take_page(page) {
            return Ok(false);
        }
        let backed = match self.state.backed.has(page) {
            true => Ok(true),
            false => has_room(self.persist.back(page * PAGE, PAGE)),
        };
        if matches!(backed, Ok(true)) {
            self.state.pending.taken.push((page, 1));
        } else {
            self.state.physical.give(page, 1);
        }
        backed
    }

    /// Where there is no room for more: takes a free page of the blocks that have it.
    pub(super) fn take_backed_page(&mut self) -> Option<u64> {
        let physical = &mut self.state.physical;
        let with_free = |&start: &u64| physical.free_within(start, RUN.ilog2()) > 0;
        let start = self.state.backed.blocks().find(with_free)?;
        let (start, pages) = self.state.backed.block(start);
        let page = (start..start + pages).find(|&page| physical.take_page(page))?;
        self.state.pending.taken.push((page, 1));
        Some(page)
    }

    /// Gives pages room; false if there is none.
    fn back(&mut self, start: u64, pages: u64) -> FsResult<bool> {
        let mut page = start;
        while page < start + pages {
            let (block, length) = self.state.backed.block(page);
            if !self.state.backed.has(page) {
                if has_room(self.persist.back(block * PAGE, length * PAGE))? {
                    self.state.backed.note(page);
                } else {
                    let here = (block + length).min(start + pages) - page;
                    if !has_room(self.persist.back(page * PAGE, here * PAGE))? {
                        return Ok(false);
                    }
                }
            }
            page = block + length;
        }
        Ok(true)
    }
}
