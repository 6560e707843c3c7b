//! The cleaner (Wu, IV.B.5): in the background it frees space that nobody reads, keeps null files ready, and makes
//! scattered files contiguous. Each step is short, so that calls wait for it only a moment.

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
        let cleaned = work.clean(settings, now);
        if cleaned.is_err() {
            work.abort();
        }
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
}

impl Round {
    fn is_done(&self, inodes: u64) -> bool {
        self.idle >= inodes
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
        {
            self.make_null_files()?;
            return Ok(Some(Cleaned::MadeNullFiles));
        }
        match self.make_one_contiguous()? {
            None if self.rest_worn_page()? => Ok(Some(Cleaned::Rested)),
            cleaned => Ok(cleaned),
        }
    }

    /// Frees what one file keeps behind its end: a cold one if there is one, else any.
    fn reclaim_behind_one_end(&mut self, cold: Moment) -> FsResult<Option<u64>> {
        let mut hot = None;
        for number in 1..=self.state.inode_pages * PER_PAGE {
            let inode = self.any_inode(number)?;
            if !matches!(inode.kind, Kind::File | Kind::Directory) || inode.mapped <= inode.size.div_ceil(PAGE) {
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

    /// Makes null files with space, of those without.
    fn make_null_files(&mut self) -> FsResult<()> {
        for _ in 0..MADE {
            let (number, mut inode) = self.take_inode(false)?;
            if inode.mapped == 0 {
                self.reserve(&mut inode, 1 << MADE_PAGES_ORDER)?;
                let (physical, pages) = self.take_pages(MADE_PAGES_ORDER)?;
                self.map(&mut inode, Extent { page: 0, physical, pages })?;
            }
            self.make_null(number, &mut inode)?;
            self.commit()?;
        }
        Ok(())
    }

    /// Makes a part of the next scattered file contiguous.
    fn make_one_contiguous(&mut self) -> FsResult<Option<Cleaned>> {
        let inodes = self.state.inode_pages * PER_PAGE;
        for _ in 0..LOOKED_AT.min(inodes) {
            let number = self.state.cleaner.next % inodes + 1;
            let inode = self.any_inode(number)?;
            if inode.kind == Kind::File && self.make_contiguous(number, &inode)? {
                self.state.cleaner.idle = 0;
                return Ok(Some(Cleaned::Contiguous(number)));
            }
            self.state.cleaner.next = number;
            self.state.cleaner.idle += 1;
        }
        Ok(None)
    }

    /// Copies the first scattered part of a file, at most a run, to one place. False if there is none, if no such place
    /// is free, or if the file is being used at this moment.
    fn make_contiguous(&mut self, number: u64, inode: &Inode) -> FsResult<bool> {
        let node: Option<Arc<Node>> = self.open_node(number);
        let mut data = match &node {
            Some(node) => match node.data.try_write() {
                Ok(data) if !data.is_shared() => Some(data),
                _ => return Ok(false),
            },
            None => None,
        };
        let extents = match &data {
            Some(data) => data.extents.clone(),
            None => self.extents(inode)?,
        };
        let Some((page, pages)) = scattered_part(&extents, inode.size.div_ceil(PAGE)) else { return Ok(false) };
        let order = pages.next_power_of_two().ilog2();
        let Some(physical) = self.state.physical.take(order) else { return Ok(false) };
        self.state.pending.taken.push((physical, 1 << order));
        if pages < 1 << order {
            self.untake(physical + pages, (1 << order) - pages);
        }
        self.copy_pages(&extents, Extent { page, physical, pages });
        let mut inode = *inode;
        let left = self.unmap(&mut inode, page, page + pages)?;
        assert_eq!(left, page, "a run is unmapped in one transaction");
        self.map(&mut inode, Extent { page, physical, pages })?;
        self.put_inode(number, &inode)?;
        self.commit()?;
        if let Some(data) = &mut data {
            data.extents.remove(page, page + pages);
            data.extents.insert(Extent { page, physical, pages });
        }
        Ok(true)
    }

    /// Copies the pages of `to` from where `extents` say that they are.
    pub(super) fn copy_pages(&mut self, extents: &Extents, to: Extent) {
        let mut bytes = [0; PAGE as usize];
        for page in to.page..to.page + to.pages {
            if let Some(from) = extents.find(page) {
                self.persist.read((from.physical + page - from.page) * PAGE, &mut bytes);
                self.store_ahead((to.physical + page - to.page) * PAGE, &bytes);
            }
        }
    }
}

/// The first part of a file, within one run of it and without holes, that lies in more than one piece: first page and
/// pages.
fn scattered_part(extents: &Extents, pages: u64) -> Option<(u64, u64)> {
    (0..pages.div_ceil(RUN)).find_map(|run| {
        let (from, to) = (run * RUN, ((run + 1) * RUN).min(pages));
        let mut pieces = extents.pieces(from, to);
        let (first, mut length, Some(physical)) = pieces.next()? else { return None };
        let mut is_scattered = length == RUN && physical % RUN != 0;
        for (_, more, physical) in pieces {
            if physical.is_none() {
                break;
            }
            is_scattered = true;
            length += more;
        }
        is_scattered.then_some((first, length))
    })
}
