//! Wear-levelling: pages that are written often change places with pages that are not.
//!
//! After every 64 writes of a page it is looked at. If it was written more often than the mean by a quarter, and by
//! 512, its data move to a page that was written seldom: a free one, or that of data that are seldom written, which
//! move to a worn free page first. What is worn is noticed up to 64 writes later.

use super::FileSystem;
use super::nodes::{Data, Handle};
use super::work::Work;
use crate::error::FsResult;
use crate::layout::inode::PER_PAGE;
use crate::layout::{Kind, PAGE, RUN};
use crate::persist::Persist;
use crate::space::Extent;

/// Fewest writes beyond the mean after which a page is worn.
const MARGIN_MIN: u64 = 512;
/// Pages that are looked at when a seldom written one is wanted.
const SAMPLES: u64 = 16;

/// Writes beyond the mean after which a page is worn: the larger the mean, the more, so that levelling costs less and
/// less. With half of the mean, the most-written of 16,384 pages had 2.06 times the mean.
fn margin(mean: u64) -> u64 {
    MARGIN_MIN.max(mean / 4)
}

/// Some pages of the run that begins with `first`, which stand for all.
fn samples(first: u64) -> impl Iterator<Item = u64> {
    (first..first + RUN).step_by(RUN as usize / 16)
}

/// A page of a file that moves.
struct Move {
    number: u64,
    page: u64,
    from: u64,
    to: u64,
}

impl<P: Persist> FileSystem<P> {
    /// Switches wear-levelling of overwritten pages on, as it is after a mount, or off: for memory that does not wear,
    /// and to measure what levelling costs. Overwrites are not counted while it is off.
    pub fn set_wear_levelling(&self, is_on: bool) {
        self.wear.set_counting(is_on);
    }

    /// Moves the data of `page` of the file to a page that is less worn, if there is one.
    pub(super) fn level(&self, handle: &Handle, data: &mut Data, page: u64) -> FsResult<()> {
        let Some(extent) = data.extents.find(page).filter(|_| !data.is_shared()) else { return Ok(()) };
        let hot = extent.physical + page - extent.page;
        // Without the lock of the state: all pages of a file that is written evenly are looked at in the same moment.
        let writes = self.wear.writes(&self.persist, &self.header.geometry, hot);
        if writes <= self.wear.mean() + margin(self.wear.mean()) {
            return Ok(());
        }
        if self.level_run(handle, data, (page, hot))? {
            return Ok(());
        }
        let number = handle.number();
        let found = self.transact(|work| {
            if let Some(free) = work.take_seldom_written(hot)? {
                work.move_page(&Move { number, page, from: hot, to: free })?;
                return Ok(Some((page, hot, free)));
            }
            let Some((cold_page, cold)) = work.seldom_written_of(number, data, hot)? else { return Ok(None) };
            let Some(worn) = work.take_block(0)? else { return Ok(None) };
            work.move_page(&Move { number, page: cold_page, from: cold, to: worn })?;
            Ok(Some((cold_page, cold, worn)))
        })?;
        let Some((moved, from, to)) = found else { return Ok(()) };
        data.extents.remove(moved, moved + 1);
        data.extents.insert(Extent { page: moved, physical: to, pages: 1 });
        if from != hot {
            self.move_to_freed(number, data, (page, hot), from)?;
        }
        Ok(())
    }

    /// Moves the whole run with `page`, whose pages are all worn, to a free run of which none is. A file that is
    /// written evenly stays in runs, and each of them moves at once. False if that cannot be.
    fn level_run(&self, handle: &Handle, data: &mut Data, (page, hot): (u64, u64)) -> FsResult<bool> {
        let Some(start) = page.checked_sub(hot % RUN) else { return Ok(false) };
        let from = hot - hot % RUN;
        let is_run = data.extents.find(start).is_some_and(|extent| {
            extent.physical + (start - extent.page) == from && start + RUN <= extent.page + extent.pages
        });
        // Pages that are written in turn are worn at nearly the same time.
        let worn = self.wear.mean() + margin(self.wear.mean()) / 2;
        let writes = |page: u64| self.wear.writes(&self.persist, &self.header.geometry, page);
        if !is_run || samples(from).any(|page| writes(page) <= worn) {
            return Ok(false);
        }
        let moved = self.transact(|work| work.move_run(handle.number(), data, start, hot))?;
        let Some(to) = moved else { return Ok(false) };
        data.extents.remove(start, start + RUN);
        data.extents.insert(Extent { page: start, physical: to, pages: RUN });
        Ok(true)
    }

    /// Moves the data at `hot` to `freed`, a page that the last transaction freed.
    fn move_to_freed(&self, number: u64, data: &mut Data, (page, hot): (u64, u64), freed: u64) -> FsResult<()> {
        let is_done = self.transact(|work| {
            work.release_resting()?;
            if !work.take_this_page(freed)? {
                return Ok(false);
            }
            work.move_page(&Move { number, page, from: hot, to: freed })?;
            Ok(true)
        })?;
        if is_done {
            data.extents.remove(page, page + 1);
            data.extents.insert(Extent { page, physical: freed, pages: 1 });
        }
        Ok(())
    }
}

impl<P: Persist> Work<'_, P> {
    /// Writes of a physical page.
    pub(super) fn writes(&self, page: u64) -> u64 {
        self.state.wear.writes(self.persist, &self.state.plan, page)
    }

    /// Whether `page` was written much less often than `hot`.
    fn is_seldom_written(&self, page: u64, hot: u64) -> bool {
        let mean = self.state.wear.mean();
        self.writes(page) <= mean && self.writes(page) + margin(mean) < self.writes(hot)
    }

    /// Moves the run of a file that begins with page `start`; where to, if there is a free run that was seldom written.
    fn move_run(&mut self, number: u64, data: &Data, start: u64, hot: u64) -> FsResult<Option<u64>> {
        let mut inode = self.inode(number)?;
        if !(inode.start + start).is_multiple_of(RUN) {
            return Ok(None);
        }
        let Some(to) = self.take_seldom_written_run(hot) else { return Ok(None) };
        if !self.keep_if_backed(to, RUN)? {
            return Ok(None);
        }
        let moved = Extent { page: start, physical: to, pages: RUN };
        self.copy_pages(&data.extents, moved);
        self.unmap(&mut inode, start, start + RUN)?;
        self.map(&mut inode, moved)?;
        self.put_inode(number, &inode)?;
        Ok(Some(to))
    }

    /// Takes a free run that was seldom written, of some that are looked at.
    fn take_seldom_written_run(&mut self, hot: u64) -> Option<u64> {
        let mut worn = Vec::new();
        let found = loop {
            match self.state.physical.take(RUN.ilog2()) {
                Some(run) if samples(run).all(|page| self.is_seldom_written(page, hot)) => break Some(run),
                Some(run) => worn.push(run),
                None => break None,
            }
            if worn.len() as u64 == SAMPLES {
                break None;
            }
        };
        worn.into_iter().for_each(|run| self.state.physical.give(run, RUN));
        found
    }

    /// Takes a free page that was seldom written, of some that are looked at.
    fn take_seldom_written(&mut self, hot: u64) -> FsResult<Option<u64>> {
        let plan = self.state.plan;
        for _ in 0..SAMPLES {
            let page = plan.data + self.state.random.below(plan.pages - plan.data);
            if self.is_seldom_written(page, hot) && self.take_this_page(page)? {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    /// The page that was written most seldom, of some pages of the file: page in the file, physical page.
    fn seldom_written_of(&mut self, number: u64, data: &Data, hot: u64) -> FsResult<Option<(u64, u64)>> {
        let pages = self.inode(number)?.size.div_ceil(PAGE);
        let mut best: Option<(u64, u64, u64)> = None;
        for _ in 0..SAMPLES {
            let page = self.state.random.below(pages.max(1));
            if let Some(extent) = data.extents.find(page) {
                let physical = extent.physical + page - extent.page;
                let writes = self.writes(physical);
                if self.is_seldom_written(physical, hot) && best.is_none_or(|best| writes < best.0) {
                    best = Some((writes, page, physical));
                }
            }
        }
        Ok(best.map(|(_, page, physical)| (page, physical)))
    }

    /// Copies a page of a file to another physical page, and maps that one instead.
    fn move_page(&mut self, moved: &Move) -> FsResult<()> {
        self.copy(moved.from, moved.to, 1);
        let inode = self.inode(moved.number)?;
        self.remap(inode.start + moved.page, moved.to, 1)
    }

    /// Files that are not open and were seldom written make room for worn pages, too: one page of one of them moves to
    /// a worn free page. False if none was found.
    pub(super) fn rest_worn_page(&mut self) -> FsResult<bool> {
        let inodes = self.state.inode_pages * PER_PAGE;
        let number = 1 + self.state.random.below(inodes);
        let inode = self.any_inode(number)?;
        if inode.kind != Kind::File || inode.mapped == 0 || self.is_open(number) {
            return Ok(false);
        }
        let page = self.state.random.below(inode.size.div_ceil(PAGE).max(1));
        let Some(from) = self.translate(inode.start + page)? else { return Ok(false) };
        let Some(worn) = self.take_block(0)? else { return Ok(false) };
        let gains = self.writes(worn) > self.state.wear.mean() && self.is_seldom_written(from, worn);
        if gains {
            self.move_page(&Move { number, page, from, to: worn })?;
            self.commit()?;
        } else {
            self.abort();
        }
        Ok(gains)
    }
}
