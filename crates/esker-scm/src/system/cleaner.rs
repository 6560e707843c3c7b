//! The cleaner (Wu, IV.B.5): in the background it frees space that nobody reads, keeps null files ready, and makes
//! scattered files contiguous. Each step is short, so that calls wait for it only a moment.

use super::evacuate::{Evacuations, Wanting};
use super::nodes::Node;
use super::work::Work;
use super::{FileSystem, State};
use crate::error::FsResult;
use crate::layout::inode::{Inode, PER_PAGE};
use crate::layout::{Kind, PAGE, RUN};
use crate::moment::Moment;
use crate::persist::Persist;
use crate::space::{Extent, Extents};
use std::sync::Arc;

/// When the cleaner does what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CleanerSettings {
    /// Space is freed while less than this share of the pool, in percent, is free.
    pub free_percent: u64,
    /// Most null files whose pages stay when space is short.
    pub null_files_max: u64,
    /// Fewest null files with space, as long as twice `free_percent` is free.
    pub null_files_min: u64,
    /// Files that were not written for so long are cold.
    pub cold_after_seconds: u64,
}

impl Default for CleanerSettings {
    fn default() -> Self {
        CleanerSettings { free_percent: 10, null_files_max: 256, null_files_min: 64, cold_after_seconds: 3600 }
    }
}

/// What a step of the cleaner did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cleaned {
    /// Freed the pages of a null file.
    NullFile,
    /// Freed what a file kept behind its end.
    BehindEnd(u64),
    /// Made null files.
    MadeNullFiles,
    /// Made a file contiguous, or a part of it.
    Contiguous(u64),
    /// Moved this many pages out of blocks that are being emptied.
    Evacuated(u64),
    /// Moved a page that is seldom written to one that is worn.
    Rested,
}

/// Null files that a step makes, and pages of each.
const MADE: u64 = 16;
const MADE_PAGES_ORDER: u32 = 2;
/// Inodes that a step looks at.
const LOOKED_AT: u64 = 256;

impl<P: Persist> FileSystem<P> {
    /// One step of the cleaner; none if there was nothing to do. Steps go through the inodes in turn, so that a quiet
    /// pool needs as many steps as it has inodes, by 256, to be known as clean.
    ///
    /// # Errors
    /// The device fails, or something is damaged.
    pub fn clean(&self, settings: &CleanerSettings, now: Moment) -> FsResult<Option<Cleaned>> {
        let mut state = self.state.lock().expect("no call panics");
        let mut work = Work::new(&self.persist, self.mode, &mut state);
        let freed = work.state.freed;
        let cleaned = work.attempt(|work| work.clean(settings, now));
        work.state.cleaner.evacuations.own_freed += work.state.freed - freed;
        cleaned
    }

    /// Whether the cleaner has looked at every inode since it last did something.
    ///
    /// # Errors
    /// None.
    pub fn is_clean(&self) -> FsResult<bool> {
        self.look(|work| Ok(work.state.cleaner.is_done(work.state.inode_pages * PER_PAGE)))
    }
}

/// Where the cleaner is in its round through the inodes.
#[derive(Debug, Default)]
pub(super) struct Round {
    next: u64,
    /// Inodes that were looked at since something was done.
    idle: u64,
    /// Inodes that were looked at since `wanting` began to count.
    looked_at: u64,
    /// Scattered parts that found no room.
    wanting: Wanting,
    pub(super) evacuations: Evacuations,
}

impl Round {
    fn is_done(&self, inodes: u64) -> bool {
        self.idle >= inodes && !self.evacuations.is_under_way()
    }

    /// Something was done: all inodes are to be looked at again.
    pub(super) fn begin_again(&mut self) {
        self.idle = 0;
        self.count_again();
    }

    fn count_again(&mut self) {
        self.looked_at = 0;
        self.wanting.clear();
    }
}

impl State {
    fn is_short(&self, percent: u64) -> bool {
        let resting: u64 = self.resting.iter().map(|&(_, pages)| pages).sum();
        (self.physical.free_pages() + resting) * 100 < self.plan.pages * percent
    }
}

impl<P: Persist> Work<'_, P> {
    fn clean(&mut self, settings: &CleanerSettings, now: Moment) -> FsResult<Option<Cleaned>> {
        if self.state.is_short(settings.free_percent) {
            if self.state.nulls.with_space() > settings.null_files_max && self.reclaim_null_file()? {
                return Ok(Some(Cleaned::NullFile));
            }
            let cold = Moment(now.0 - (settings.cold_after_seconds as i64) * 1_000_000_000);
            if let Some(number) = self.reclaim_behind_one_end(cold)? {
                return Ok(Some(Cleaned::BehindEnd(number)));
            }
        } else if !self.state.is_short(2 * settings.free_percent)
            && self.state.nulls.with_space() < settings.null_files_min
            && self.make_null_files()?
        {
            return Ok(Some(Cleaned::MadeNullFiles));
        }
        if self.state.cleaner.evacuations.is_under_way() {
            self.state.cleaner.begin_again();
            return self.evacuate().map(|pages| Some(Cleaned::Evacuated(pages)));
        }
        match self.make_one_contiguous()? {
            None if self.has_begun_evacuation(settings)? => Ok(Some(Cleaned::Evacuated(0))),
            None if self.rest_worn_page()? => Ok(Some(Cleaned::Rested)),
            cleaned => Ok(cleaned),
        }
    }

    /// Frees what one file keeps behind its end: a cold one if there is one, else any.
    fn reclaim_behind_one_end(&mut self, cold: Moment) -> FsResult<Option<u64>> {
        let mut hot = None;
        for number in 1..=self.state.inode_pages * PER_PAGE {
            let inode = self.any_inode(number)?;
            let has_none = inode.mapped <= inode.size.div_ceil(PAGE) || inode.is_preallocated;
            if !matches!(inode.kind, Kind::File | Kind::Directory) || has_none {
                continue;
            }
            if inode.modified >= cold {
                hot = hot.or(Some(number));
            } else if self.reclaim_behind_end(number)? {
                return Ok(Some(number));
            }
        }
        match hot {
            Some(number) if self.reclaim_behind_end(number)? => Ok(Some(number)),
            _ => Ok(None),
        }
    }

    /// Makes null files with space, of those without; false if there can be no more inodes.
    fn make_null_files(&mut self) -> FsResult<bool> {
        for made in 0..MADE {
            if !self.state.nulls.has_without_space() {
                if self.state.inode_pages == self.state.plan.inode_table_pages_max() {
                    return Ok(made > 0);
                }
                self.grow_inode_table()?;
            }
            let (number, mut inode) = self.take_inode(false)?;
            self.reserve(&mut inode, 1 << MADE_PAGES_ORDER)?;
            let (physical, pages) = self.take_pages(MADE_PAGES_ORDER)?;
            self.map(&mut inode, Extent { page: 0, physical, pages })?;
            self.make_null(number, &mut inode)?;
            self.commit()?;
        }
        Ok(true)
    }

    /// Makes a part of the next scattered file contiguous.
    fn make_one_contiguous(&mut self) -> FsResult<Option<Cleaned>> {
        let inodes = self.state.inode_pages * PER_PAGE;
        for _ in 0..LOOKED_AT.min(inodes - self.state.cleaner.looked_at.min(inodes)) {
            let number = self.state.cleaner.next % inodes + 1;
            let inode = self.any_inode(number)?;
            if inode.kind == Kind::File && self.make_contiguous(number, &inode)? {
                self.state.cleaner.begin_again();
                return Ok(Some(Cleaned::Contiguous(number)));
            }
            let round = &mut self.state.cleaner;
            (round.next, round.idle, round.looked_at) = (number, round.idle + 1, round.looked_at + 1);
        }
        Ok(None)
    }

    /// After a round through all inodes: begins to make room for what found none. Null files give their pages first.
    fn has_begun_evacuation(&mut self, settings: &CleanerSettings) -> FsResult<bool> {
        if self.state.cleaner.looked_at < self.state.inode_pages * PER_PAGE {
            return Ok(false);
        }
        let wanting = std::mem::take(&mut self.state.cleaner.wanting);
        let mut has_begun = false;
        if !wanting.is_empty() {
            while self.state.nulls.with_space() > settings.null_files_min && self.reclaim_null_file()? {
                has_begun = true;
            }
        }
        // With what null files gave, all files are to be looked at again.
        has_begun = has_begun || self.begin_evacuation(&wanting);
        self.state.cleaner.wanting = wanting;
        self.state.cleaner.count_again();
        if has_begun {
            self.state.cleaner.idle = 0;
        }
        Ok(has_begun)
    }

    /// Copies the first scattered part of a file for which there is room, at most a run, to one place. False if there
    /// is none, or if the file is being used at this moment.
    fn make_contiguous(&mut self, number: u64, inode: &Inode) -> FsResult<bool> {
        let node: Option<Arc<Node>> = self.open_node(number);
        let mut data = match &node {
            Some(node) => match node.data.try_write() {
                Ok(data) if !data.is_shared() => Some(data),
                _ => return Ok(false),
            },
            None => None,
        };
        let read;
        let extents = match &data {
            Some(data) => &data.extents,
            None => {
                read = self.extents(inode)?;
                &read
            }
        };
        let parts = extents.scattered_parts(inode.size.div_ceil(PAGE));
        let Some((page, pages, physical)) = self.find_room(extents, parts)? else { return Ok(false) };
        let moved = Extent { page, physical, pages };
        self.copy_pages(extents, moved);
        let mut inode = *inode;
        let left = self.unmap(&mut inode, page, page + pages)?;
        assert_eq!(left, page, "a run is unmapped in one transaction");
        self.map(&mut inode, moved)?;
        self.put_inode(number, &inode)?;
        self.commit()?;
        if let Some(data) = &mut data {
            data.extents.remove(page, page + pages);
            data.extents.insert(moved);
        }
        Ok(true)
    }

    /// Takes pages in one piece for the first of these parts for which there are: its first page, its pages, and the
    /// first physical page.
    fn find_room(
        &mut self,
        extents: &Extents,
        parts: impl Iterator<Item = (u64, u64)>,
    ) -> FsResult<Option<(u64, u64, u64)>> {
        for (page, pages) in parts {
            let order = pages.next_power_of_two().ilog2();
            let emptied = if pages < RUN { self.take_emptied(pages) } else { None };
            if let Some(physical) = emptied
                && self.keep_if_backed(physical, pages)?
            {
                return Ok(Some((page, pages, physical)));
            }
            if let Some(physical) = self.take_block(order)? {
                if pages < 1 << order {
                    self.untake(physical + pages, (1 << order) - pages);
                }
                return Ok(Some((page, pages, physical)));
            }
            let pieces = extents.pieces(page, page + pages).filter_map(|piece| Some((piece.2?, piece.1)));
            self.state.cleaner.wanting.note(self.state.plan.pages, pieces);
        }
        Ok(None)
    }

    /// Copies the pages of `to` from where `extents` say that they are.
    pub(super) fn copy_pages(&mut self, extents: &Extents, to: Extent) {
        for (page, pages, physical) in extents.pieces(to.page, to.page + to.pages) {
            if let Some(from) = physical {
                self.copy(from, to.physical + (page - to.page), pages);
            }
        }
    }
}
