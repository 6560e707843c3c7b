//! Data read and written.

use super::FileSystem;
use super::attributes::clear_set_id;
use super::nodes::{Data, Handle};
use super::permission::Caller;
use super::work::Work;
use crate::error::{FsError, FsResult};
use crate::layout::inode::Inode;
use crate::layout::{PAGE, RUN};
use crate::log::Mode;
use crate::persist::Persist;
use crate::space::Extent;

/// From so many bytes on, stores past the cache are faster than stores through it that are written back.
const STREAMING_MIN: usize = 1024;
/// Most pages of dead bytes behind the end of a file that are zeroed before they can be read; more are unmapped, unless
/// a program asked for them.
pub(super) const ZERO_MAX: u64 = 64;
/// About how many zeroes a fence makes durable: on an ordinary file, transactions of other files wait for it.
const ZEROES_MAX: u64 = 16 << 20;

/// Pages that were written by a step: what the caller notes once they are durable.
pub(super) struct Step {
    written: usize,
    size: u64,
    added: Vec<Extent>,
}

impl<P: Persist> FileSystem<P> {
    /// Reads from `offset` on; how many bytes there were.
    ///
    /// # Errors
    /// It is no file.
    pub fn read(&self, caller: &Caller<'_>, handle: &Handle, offset: u64, into: &mut [u8]) -> FsResult<usize> {
        handle.check_file()?;
        let data = handle.node.data.read().map_err(|_| FsError::Stale)?;
        let length = data.size.saturating_sub(offset).min(into.len() as u64) as usize;
        let mut done = 0;
        while done < length {
            let at = offset + done as u64;
            let (piece, place) = locate(&data, at, length - done);
            let target = &mut into[done..done + piece];
            match place {
                Some(place) => self.persist.read(place, target),
                None => target.fill(0),
            }
            done += piece;
        }
        handle.node.note_accessed(caller.now);
        Ok(length)
    }

    /// Writes at `offset`; how many bytes were written, fewer than asked for only if the pool is full.
    ///
    /// # Errors
    /// The pool is full, or the file would be too large.
    pub fn write(&self, caller: &Caller<'_>, handle: &Handle, offset: u64, bytes: &[u8]) -> FsResult<usize> {
        let mut data = handle.node.lock()?;
        self.write_locked(caller, handle, &mut data, offset, bytes)
    }

    /// Writes at the end of the file (O_APPEND); where that was, and how many bytes were written.
    ///
    /// # Errors
    /// As [`FileSystem::write`].
    pub fn append(&self, caller: &Caller<'_>, handle: &Handle, bytes: &[u8]) -> FsResult<(u64, usize)> {
        let mut data = handle.node.lock()?;
        let offset = data.size;
        Ok((offset, self.write_locked(caller, handle, &mut data, offset, bytes)?))
    }

    fn write_locked(
        &self,
        caller: &Caller<'_>,
        handle: &Handle,
        data: &mut Data,
        offset: u64,
        bytes: &[u8],
    ) -> FsResult<usize> {
        handle.check_file()?;
        let end = offset.checked_add(bytes.len() as u64).ok_or(FsError::FileTooLarge)?;
        self.check_size(end)?;
        if bytes.is_empty() {
            return Ok(0);
        }
        let may_overwrite = end <= data.size && (!handle.node.has_set_id() || caller.is_root());
        if may_overwrite && let Some(worn) = self.overwrite(data, offset, bytes)? {
            handle.node.note_modified(caller.now);
            for page in worn {
                match self.level(handle, data, page) {
                    // The bytes are written: there is no page for a leaf, and these stay worn for now.
                    Err(FsError::NoSpace) => break,
                    leveled => leveled?,
                }
            }
            return Ok(bytes.len());
        }
        let mut done = 0;
        while done < bytes.len() {
            self.zero_gap(handle, data, offset)?;
            let (at, rest) = (offset + done as u64, &bytes[done..]);
            let write = |is_whole| self.transact(|work| work.write_step(caller, handle, data, (at, rest), is_whole));
            let step = match write(true) {
                Err(FsError::NoSpace) => write(false),
                step => step,
            };
            match step {
                Ok(step) => {
                    step.added.into_iter().for_each(|extent| data.extents.insert(extent));
                    data.size = step.size;
                    done += step.written;
                }
                // What was written is told; whoever goes on is told why it cannot be.
                Err(FsError::NoSpace | FsError::NoVirtualSpace | FsError::FileTooLarge) if done > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    /// Writes where all pages are mapped, and counts their writes; which of them wear-levelling is to look at. None,
    /// with nothing written, if some are not mapped.
    fn overwrite(&self, data: &Data, offset: u64, bytes: &[u8]) -> FsResult<Option<Vec<u64>>> {
        let (first, end) = (offset / PAGE, (offset + bytes.len() as u64).div_ceil(PAGE));
        let mut worn = Vec::new();
        let runs = || data.extents.runs(first, end);
        let one = runs().next().filter(|run| run.pages == end - first);
        if let Some(one) = one {
            self.store_piece(one, offset, bytes, &mut worn);
        } else if runs().map(|run| run.pages).sum::<u64>() < end - first {
            return Ok(None);
        } else {
            runs().for_each(|run| self.store_piece(run, offset, bytes, &mut worn));
        }
        if self.mode == Mode::Data {
            self.persist.fence()?;
        }
        Ok(Some(worn))
    }

    /// Stores those of `bytes`, at `offset`, that lie in `extent`, and counts the writes of its pages.
    #[inline]
    fn store_piece(&self, extent: Extent, offset: u64, bytes: &[u8], worn: &mut Vec<u64>) {
        let start = offset.max(extent.page * PAGE);
        let end = (offset + bytes.len() as u64).min((extent.page + extent.pages) * PAGE);
        let place = extent.physical * PAGE + (start - extent.page * PAGE);
        store(&self.persist, self.mode, place, &bytes[(start - offset) as usize..(end - offset) as usize]);
        if self.wear.is_counting() {
            let pages = start / PAGE..end.div_ceil(PAGE);
            worn.extend(pages.filter(|page| self.wear.count(extent.physical + page - extent.page)));
        }
    }

    /// Makes the bytes between the end of the file and `offset` zeroes, where pages are mapped: they may be those of a
    /// dead file.
    pub(super) fn zero_gap(&self, handle: &Handle, data: &mut Data, offset: u64) -> FsResult<()> {
        let size = data.size;
        if offset <= size {
            return Ok(());
        }
        let whole = size.div_ceil(PAGE);
        let mapped: u64 = data
            .extents
            .pieces(whole, offset.div_ceil(PAGE).max(whole))
            .filter(|piece| piece.2.is_some())
            .map(|piece| piece.1)
            .sum();
        let mut end = offset;
        let is_dead = || self.look(|work| Ok(!work.inode(handle.number())?.is_preallocated));
        if mapped > ZERO_MAX && !data.is_shared() && is_dead()? {
            match self.unmap(handle, data, whole, offset.div_ceil(PAGE)) {
                // There is no page for a leaf: what is still mapped is zeroed.
                Err(FsError::NoSpace) => {}
                unmapped => {
                    unmapped?;
                    end = end.min(whole * PAGE);
                }
            }
        }
        zero(&self.persist, data, size, end)?;
        // Durable before the size.
        Ok(self.persist.fence()?)
    }
}

/// Zeroes bytes `from` to `to` of a file where pages are mapped. They are durable after the next fence.
pub(super) fn zero<P: Persist>(persist: &P, data: &Data, from: u64, to: u64) -> FsResult<()> {
    let (mut at, mut not_fenced) = (from, 0);
    while at < to {
        let (piece, place) = locate(data, at, (to - at).min(ZEROES_MAX) as usize);
        if let Some(place) = place {
            if not_fenced >= ZEROES_MAX {
                persist.fence()?;
                not_fenced = 0;
            }
            persist.zero_streaming(place, piece as u64);
            not_fenced += piece as u64;
        }
        at += piece as u64;
    }
    Ok(())
}

/// Bytes from `offset` on, at most `length`, that lie in one piece, and where; none if they are a hole.
#[inline]
fn locate(data: &Data, offset: u64, length: usize) -> (usize, Option<u64>) {
    let (page, end) = (offset / PAGE, (offset + length as u64).div_ceil(PAGE));
    if let Some(extent) = data.extents.run_at(page, end) {
        let within = offset - extent.page * PAGE;
        let piece = (extent.pages * PAGE - within).min(length as u64);
        return (piece as usize, Some(extent.physical * PAGE + within));
    }
    let pages = data.extents.pieces(page, end).next().map_or(1, |piece| piece.1);
    (((page + pages) * PAGE - offset).min(length as u64) as usize, None)
}

/// Stores data so that a fence makes them durable.
#[inline]
fn store<P: Persist>(persist: &P, mode: Mode, at: u64, bytes: &[u8]) {
    if mode == Mode::None {
        persist.write(at, bytes);
    } else if bytes.len() >= STREAMING_MIN {
        persist.write_streaming(at, bytes);
    } else {
        persist.write(at, bytes);
        persist.write_back(at, bytes.len() as u64);
    }
}

impl<P: Persist> Work<'_, P> {
    /// Writes up to the end of a run of the file: data first, then one transaction that maps their pages and sets the
    /// size. If the pool has too few pages, nothing is written if `is_whole`, else what fits.
    pub(super) fn write_step(
        &mut self,
        caller: &Caller<'_>,
        handle: &Handle,
        data: &Data,
        (offset, bytes): (u64, &[u8]),
        is_whole: bool,
    ) -> FsResult<Step> {
        let mut inode = self.inode(handle.number())?;
        let first = offset / PAGE;
        let run_end = (first / RUN + 1) * RUN;
        let mut bytes = &bytes[..bytes.len().min((run_end * PAGE - offset) as usize)];
        let last = (offset + bytes.len() as u64).div_ceil(PAGE);
        let mut added = Vec::new();
        let kept_for_later = if is_whole { self.pages_for_later(&inode, data, last, run_end) } else { 0 };
        self.reserve(&mut inode, last + kept_for_later)?;
        // Pages for later are a wish: that there are fewer is no reason to fail.
        let filled = self.fill_holes(&mut inode, data, (first, last + kept_for_later), (offset, bytes), &mut added)?;
        if filled < last {
            if is_whole || filled == first {
                return Err(FsError::NoSpace);
            }
            bytes = &bytes[..(filled * PAGE - offset) as usize];
        }
        // Bytes that are overwritten at last: from here on the call does not fail for want of pages.
        for (page, pages, physical) in data.extents.pieces(first, last.min(filled)) {
            if let Some(physical) = physical {
                self.store_pages(Extent { page, physical, pages }, offset, bytes);
            }
        }
        let size = inode.size.max(offset + bytes.len() as u64);
        inode.is_preallocated = inode.is_preallocated && data.extents.end() > size.div_ceil(PAGE);
        inode.size = size;
        (inode.modified, inode.changed) = (caller.now, caller.now);
        if !caller.is_root() {
            clear_set_id(&mut inode);
            handle.node.note_permissions(&inode);
        }
        self.put_inode(handle.number(), &inode)?;
        self.state.pending.written.push(handle.number());
        Ok(Step { written: bytes.len(), size, added })
    }

    /// Maps new pages into the holes from page `first` to `last`, in their order, as far as there are pages; the page
    /// behind the last one that is mapped now.
    pub(super) fn fill_holes(
        &mut self,
        inode: &mut Inode,
        data: &Data,
        (first, last): (u64, u64),
        written: (u64, &[u8]),
        added: &mut Vec<Extent>,
    ) -> FsResult<u64> {
        for (page, pages, physical) in data.extents.pieces(first, last) {
            let filled = match physical {
                Some(_) => page + pages,
                None => self.fill_hole(inode, (page, pages), written, added)?,
            };
            if filled < page + pages {
                return Ok(filled);
            }
        }
        Ok(last)
    }

    /// Pages that an appended file gets beyond those that it needs now: as many as it has, as long as an eighth of the
    /// pool stays free. They stay within its virtual space and within the run.
    fn pages_for_later(&self, inode: &Inode, data: &Data, last: u64, run_end: u64) -> u64 {
        let is_append = last * PAGE > inode.size && data.extents.find(last).is_none();
        let to_spare = self.state.free_pages().saturating_sub(self.state.plan.pages / 8);
        let end = run_end.min(last.next_power_of_two());
        if is_append { inode.mapped.min(end - last).min(to_spare) } else { 0 }
    }

    /// Stores those of `bytes`, at `offset`, that lie in `extent`.
    fn store_pages(&mut self, extent: Extent, offset: u64, bytes: &[u8]) {
        let start = offset.max(extent.page * PAGE);
        let end = (offset + bytes.len() as u64).min((extent.page + extent.pages) * PAGE);
        if start < end {
            let place = extent.physical * PAGE + (start - extent.page * PAGE);
            let (first, last) = (place / PAGE, (place + (end - start)).div_ceil(PAGE));
            for page in first..last {
                // A page is looked at when it is written again.
                let _ = self.state.wear.count(page);
            }
            self.state.transaction.wait_for_stores();
            store(self.persist, self.mode, place, &bytes[(start - offset) as usize..(end - offset) as usize]);
        }
    }

    /// Maps new pages into a hole, with those of `bytes` that lie there. What of them lies before `bytes`, or behind
    /// but before the end of the file, is zero. The page behind the last one: the end of the hole, unless there are too
    /// few pages.
    pub(super) fn fill_hole(
        &mut self,
        inode: &mut Inode,
        (page, pages): (u64, u64),
        (offset, bytes): (u64, &[u8]),
        added: &mut Vec<Extent>,
    ) -> FsResult<u64> {
        let (mut at, end_page) = (page, page + pages);
        while at < end_page {
            let Some(extent) = self.map_some(inode, at, end_page - at)? else { break };
            let Extent { physical, pages: used, .. } = extent;
            let (start, end) = (at * PAGE, (at + used) * PAGE);
            let (from, to) = (offset.clamp(start, end), (offset + bytes.len() as u64).clamp(start, end));
            self.zero_ahead(physical * PAGE, from - start);
            if to < inode.size.min(end) {
                self.zero_ahead(physical * PAGE + (to - start), inode.size.min(end) - to);
            }
            self.store_pages(extent, offset, bytes);
            added.push(extent);
            at += used;
        }
        Ok(at)
    }

    /// Maps up to `want` new pages from page `at` of the file on, as many in one piece as there are. None if there is
    /// no page, or if pages can be made free that are not scraps.
    fn map_some(&mut self, inode: &mut Inode, at: u64, want: u64) -> FsResult<Option<Extent>> {
        let order = if at.is_multiple_of(RUN) { want.next_power_of_two().ilog2().min(9) } else { want.ilog2() };
        if self.could_reclaim(order) {
            return Ok(None);
        }
        let (physical, taken) = match self.take_pages(order) {
            Err(FsError::NoSpace) => return Ok(None),
            taken => taken?,
        };
        let mut used = taken.min(want);
        if used > 1 && used == taken && !self.state.physical.has(0) && used < RUN {
            // The last pages of the pool: one of them may be wanted for the leaf.
            used -= 1;
        }
        self.untake(physical + used, taken - used);
        let extent = Extent { page: at, physical, pages: used };
        match self.map(inode, extent) {
            Err(FsError::NoSpace) => {
                self.untake(physical, used);
                Ok(None)
            }
            mapped => mapped.map(|()| Some(extent)),
        }
    }

    /// Gives the end of what the transaction took last back.
    pub(super) fn untake(&mut self, start: u64, pages: u64) {
        if pages == 0 {
            return;
        }
        if let Some(last) = self.state.pending.taken.last_mut() {
            last.1 -= pages;
        }
        self.state.physical.give(start, pages);
    }
}
