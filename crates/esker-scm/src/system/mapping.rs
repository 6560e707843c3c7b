//! The mapping table, and virtual space: `nvmalloc`, `nvmalloc_expand` and `nvmalloc_shrink` of Wu, IV.B.4.
//!
//! [`Work::reserve`] is the part of `nvmalloc` and `nvmalloc_expand` that finds virtual space, [`Work::map`] the one
//! that maps physical pages, [`Work::unmap`] is `nvmalloc_shrink`. Whether stores are written through is the pool's
//! mode.

use super::State;
use super::work::Work;
use crate::error::{Damage, FsError, FsResult};
use crate::layout::entry::Entry;
use crate::layout::inode::Inode;
use crate::layout::{PAGE, RUN, number64};
use crate::log::store_bytes;
use crate::persist::Persist;
use crate::space::{Extent, Extents};

/// Log bytes that [`Work::unmap`] may need for one region: a leaf of 512 entries, its own entry, and their headers.
const UNMAP_ROOM: u64 = PAGE + 64;
/// Log bytes for what a call stores after it has moved a file: every second entry of a leaf, names and inodes.
const ROOM_AFTER_MOVE: u64 = PAGE / 2 * 3 + 1024;
/// Most empty entries in a store of entries that move: the store's own address and length take as much.
const GAP_MAX: u64 = 2;

impl<P: Persist> Work<'_, P> {
    fn read_bits(&self, at: u64) -> u64 {
        let mut bits = [0; 8];
        self.read(at, &mut bits);
        u64::from_le_bytes(bits)
    }

    /// The entry of `region` in the table's first level.
    pub(crate) fn region(&self, region: u64) -> FsResult<Entry> {
        let bits = self.read_bits(self.state.plan.region_entry(region));
        match Entry::decode(bits, region) {
            Some(entry) if !matches!(entry, Entry::Page(_)) => Ok(entry),
            _ => Err(FsError::Damaged(Damage::Entry(region * RUN))),
        }
    }

    fn put_region(&mut self, region: u64, entry: Entry) {
        let at = self.state.plan.region_entry(region);
        self.state.transaction.put(at, &entry.encode(region).to_le_bytes());
    }

    /// The physical page of entry `index` in `leaf`, which maps `page`.
    fn leaf_entry(&self, leaf: u64, index: u64, page: u64) -> FsResult<Option<u64>> {
        match Entry::decode(self.read_bits(leaf * PAGE + index * 8), index) {
            Some(Entry::Empty) => Ok(None),
            Some(Entry::Page(physical)) => Ok(Some(physical)),
            _ => Err(FsError::Damaged(Damage::Entry(page))),
        }
    }

    fn put_leaf_entry(&mut self, leaf: u64, index: u64, entry: Entry) {
        self.state.transaction.put(leaf * PAGE + index * 8, &entry.encode(index).to_le_bytes());
    }

    /// The physical page of a virtual one.
    pub(crate) fn translate(&self, page: u64) -> FsResult<Option<u64>> {
        match self.region(page / RUN)? {
            Entry::Run(first) => Ok(Some(first + page % RUN)),
            Entry::Leaf(leaf) => self.leaf_entry(leaf, page % RUN, page),
            _ => Ok(None),
        }
    }

    /// Extents of a file, as the mapping table has them.
    pub(crate) fn extents(&self, inode: &Inode) -> FsResult<Extents> {
        let mut extents = Extents::default();
        let (mut at, end) = (inode.start, inode.start + inode.reserved);
        let mut left = inode.mapped;
        while at < end && left > 0 {
            let (region, index) = (at / RUN, at % RUN);
            let here = (RUN - index).min(end - at);
            let page = at - inode.start;
            let mapped = match self.region(region)? {
                Entry::Run(physical) => {
                    extents.insert(Extent { page, physical: physical + index, pages: here });
                    here
                }
                Entry::Leaf(leaf) => self.leaf_extents(leaf, (index, here), page, &mut extents)?,
                _ => 0,
            };
            left = left.saturating_sub(mapped);
            at += here;
        }
        Ok(extents)
    }

    /// Adds what `count` entries of `leaf` map, from `index` on, which is `page` of the file; how many do.
    fn leaf_extents(&self, leaf: u64, (index, count): (u64, u64), page: u64, extents: &mut Extents) -> FsResult<u64> {
        let mut bytes = [0; PAGE as usize];
        let bytes = &mut bytes[..(count * 8) as usize];
        self.read(leaf * PAGE + index * 8, bytes);
        let mut mapped = 0;
        for (step, bits) in (0..).zip(bytes.chunks_exact(8)) {
            match Entry::decode(number64(bits, 0), index + step) {
                Some(Entry::Empty) => {}
                Some(Entry::Page(physical)) => {
                    mapped += 1;
                    extents.insert(Extent { page: page + step, physical, pages: 1 });
                }
                _ => return Err(FsError::Damaged(Damage::Page(leaf))),
            }
        }
        Ok(mapped)
    }

    /// The leaf of `region`; a new one, all empty, if there is none.
    fn leaf(&mut self, region: u64) -> FsResult<u64> {
        match self.region(region)? {
            Entry::Leaf(leaf) => Ok(leaf),
            Entry::Run(_) => Err(FsError::Damaged(Damage::Entry(region * RUN))),
            _ => {
                let leaf = self.take_pages(0)?.0;
                self.zero_ahead(leaf * PAGE, PAGE);
                self.put_region(region, Entry::Leaf(leaf));
                Ok(leaf)
            }
        }
    }

    /// Takes up to `1 << order` physical pages, as many in one piece as there are.
    pub(crate) fn take_pages(&mut self, order: u32) -> FsResult<(u64, u64)> {
        let (start, order) = self.state.physical.take_up_to(order).ok_or(FsError::NoSpace)?;
        if self.keep_if_backed(start, 1 << order)? {
            return Ok((start, 1 << order));
        }
        self.take_backed_page().map(|page| (page, 1)).ok_or(FsError::NoSpace)
    }

    /// Whether only smaller blocks than `1 << order` pages are free, but a null file has as many pages, or the last
    /// transaction freed as many: files are not made of scraps while there is such space.
    pub(super) fn could_reclaim(&self, order: u32) -> bool {
        let State { physical, nulls, resting, .. } = &*self.state;
        let pages = 1 << order;
        !physical.has(order) && (nulls.has_at_least(pages) || resting.iter().any(|&(_, freed)| freed >= pages))
    }

    /// Maps `extent` into the file of `inode`, where nothing is mapped.
    pub(crate) fn map(&mut self, inode: &mut Inode, extent: Extent) -> FsResult<()> {
        let Extent { page, mut physical, pages } = extent;
        let (mut at, end) = (inode.start + page, inode.start + page + pages);
        while at < end {
            let (region, index) = (at / RUN, at % RUN);
            let here = (RUN - index).min(end - at);
            let is_run = here == RUN && physical % RUN == 0 && self.region(region)? == Entry::Empty;
            if is_run {
                self.put_region(region, Entry::Run(physical));
            } else {
                let leaf = self.leaf(region)?;
                for step in 0..here {
                    self.put_leaf_entry(leaf, index + step, Entry::Page(physical + step));
                }
            }
            at += here;
            physical += here;
        }
        inode.mapped += pages;
        Ok(())
    }

    /// Unmaps pages `from` to `to` of the file of `inode`, from the end, as far as the transaction has room, and the
    /// pool has pages for leaves; the first page that is still to be done, or `from`.
    pub(crate) fn unmap(&mut self, inode: &mut Inode, from: u64, to: u64) -> FsResult<u64> {
        let mut end = inode.start + to;
        let first = inode.start + from;
        while end > first && self.room() >= 2 * UNMAP_ROOM {
            let region = (end - 1) / RUN;
            let start = first.max(region * RUN);
            let freed = match self.region(region)? {
                Entry::Run(physical) if end - start == RUN => {
                    self.put_region(region, Entry::Empty);
                    self.state.pending.freed.push((physical, RUN));
                    RUN
                }
                Entry::Run(physical) => match self.split(region, physical) {
                    Ok(()) => continue,
                    // What is unmapped so far goes first, and leaves a page for the leaf.
                    Err(FsError::NoSpace) if end < inode.start + to => break,
                    Err(error) => return Err(error),
                },
                Entry::Leaf(leaf) => self.unmap_in_leaf(region, leaf, start, end)?,
                _ => 0,
            };
            inode.mapped = inode.mapped.checked_sub(freed).ok_or(FsError::Damaged(Damage::Entry(start)))?;
            end = start;
        }
        Ok(end - inode.start)
    }

    fn unmap_in_leaf(&mut self, region: u64, leaf: u64, start: u64, end: u64) -> FsResult<u64> {
        let mut freed = 0;
        for page in start..end {
            if let Some(physical) = self.leaf_entry(leaf, page % RUN, page)? {
                self.put_leaf_entry(leaf, page % RUN, Entry::Empty);
                self.state.pending.freed.push((physical, 1));
                freed += 1;
            }
        }
        self.drop_empty_leaf(region, leaf);
        Ok(freed)
    }

    /// Frees the leaf of `region` if it maps nothing.
    fn drop_empty_leaf(&mut self, region: u64, leaf: u64) {
        let mut entries = [0; PAGE as usize];
        self.read(leaf * PAGE, &mut entries);
        if entries.iter().all(|&byte| byte == 0) {
            self.put_region(region, Entry::Empty);
            self.state.pending.freed.push((leaf, 1));
        }
    }

    /// Makes 512 entries of a run.
    fn split(&mut self, region: u64, physical: u64) -> FsResult<()> {
        let leaf = self.take_pages(0)?.0;
        for index in 0..RUN {
            let entry = Entry::Page(physical + index).encode(index);
            self.store_ahead(leaf * PAGE + index * 8, &entry.to_le_bytes());
        }
        self.put_region(region, Entry::Leaf(leaf));
        Ok(())
    }

    /// Unmaps the pages from `from` on of the run that has it, behind the end of the file of `inode`. False, with
    /// nothing changed, if no entry maps the run as a whole.
    ///
    /// The last page of the run becomes its leaf. As nobody reads it, it can be stored to before the transaction is
    /// durable: after a crash the file has these bytes behind its end.
    pub(super) fn shorten_run(&mut self, inode: &mut Inode, from: u64) -> FsResult<bool> {
        let (region, kept) = ((inode.start + from) / RUN, (inode.start + from) % RUN);
        let Entry::Run(first) = self.region(region)? else { return Ok(false) };
        let leaf = first + RUN - 1;
        self.zero_ahead(leaf * PAGE, PAGE);
        for index in 0..kept {
            let entry = Entry::Page(first + index).encode(index);
            self.store_ahead(leaf * PAGE + index * 8, &entry.to_le_bytes());
        }
        self.put_region(region, Entry::Leaf(leaf));
        self.state.pending.freed.push((first + kept, leaf - first - kept));
        inode.mapped = inode.mapped.checked_sub(RUN - kept).ok_or(FsError::Damaged(Damage::Entry(region * RUN)))?;
        Ok(true)
    }

    /// Maps virtual pages from `at` on, which are mapped and lie in one region, to other physical pages. Those that
    /// they
    /// had are free after the transaction. Entries side by side are one store in the log.
    pub(super) fn remap(&mut self, at: u64, physical: u64, pages: u64) -> FsResult<()> {
        let region = at / RUN;
        if let Entry::Run(first) = self.region(region)? {
            self.split(region, first)?;
        }
        let leaf = self.leaf(region)?;
        for step in 0..pages {
            let (page, index) = (at + step, (at + step) % RUN);
            let old = self.leaf_entry(leaf, index, page)?.ok_or(FsError::Damaged(Damage::Entry(page)))?;
            self.put_leaf_entry(leaf, index, Entry::Page(physical + step));
            self.state.pending.free(old);
        }
        Ok(())
    }

    /// Copies the leaf of `region` to page `to`, which the transaction has taken, and frees the old one.
    pub(super) fn move_leaf(&mut self, region: u64, to: u64) -> FsResult<()> {
        let leaf = self.leaf(region)?;
        self.copy(leaf, to, 1);
        self.put_region(region, Entry::Leaf(to));
        self.state.pending.free(leaf);
        Ok(())
    }

    /// Copies physical pages to others, which nobody reads before the transaction is durable.
    pub(super) fn copy(&mut self, from: u64, to: u64, pages: u64) {
        let mut bytes = [0; PAGE as usize];
        for step in 0..pages {
            self.persist.read((from + step) * PAGE, &mut bytes);
            self.store_ahead((to + step) * PAGE, &bytes);
            // A page is looked at when it is written again.
            let _ = self.state.wear.count(to + step);
        }
    }

    /// Gives the file of `inode` at least `pages` of virtual space. If it has fewer, it moves to a new place.
    ///
    /// # Errors
    /// There is no such place, or the log has no room for the file's entries in the table.
    pub(crate) fn reserve(&mut self, inode: &mut Inode, pages: u64) -> FsResult<()> {
        if pages <= inode.reserved {
            return Ok(());
        }
        let order = pages.next_power_of_two().ilog2();
        if pages > self.state.plan.virtual_pages / 2 {
            return Err(FsError::FileTooLarge);
        }
        let start = self.state.virtual_space.take(order).ok_or(FsError::NoVirtualSpace)?;
        self.state.pending.taken_virtual.push((start, 1 << order));
        let reserved = 1 << order;
        self.move_to(inode, start)?;
        inode.reserved = reserved;
        Ok(())
    }

    /// Moves the file of `inode` to virtual pages from `start` on, of which the transaction has taken enough.
    pub(super) fn move_to(&mut self, inode: &mut Inode, start: u64) -> FsResult<()> {
        let old = *inode;
        inode.start = start;
        if old.reserved >= RUN {
            self.move_regions(old.start / RUN, start / RUN, old.reserved / RUN)?;
        } else if old.reserved > 0 && old.mapped > 0 {
            self.move_entries(&old, start)?;
        }
        if old.reserved > 0 {
            self.state.pending.freed_virtual.push((old.start, old.reserved));
        }
        Ok(())
    }

    /// Moves `regions` entries of the table's first level from region `from` on to region `to` on. Stretches of them
    /// are one store each: a file has an entry for each 2 MiB that it could have.
    ///
    /// # Errors
    /// The log has no room for them; nothing has changed then.
    fn move_regions(&mut self, from: u64, to: u64, regions: u64) -> FsResult<()> {
        let mut stretches: Vec<(u64, Vec<u8>)> = Vec::new();
        for step in 0..regions {
            let entry = self.region(from + step)?;
            if entry == Entry::Empty {
                continue;
            }
            let moved = entry.encode(to + step).to_le_bytes();
            match stretches.last_mut() {
                Some((first, bytes)) if step - *first - bytes.len() as u64 / 8 <= GAP_MAX => {
                    bytes.resize((step - *first) as usize * 8, 0);
                    bytes.extend_from_slice(&moved);
                }
                _ => stretches.push((step, moved.to_vec())),
            }
        }
        let bytes_of_stores: u64 = stretches.iter().map(|(_, bytes)| store_bytes(bytes.len() as u64)).sum();
        if 2 * bytes_of_stores + ROOM_AFTER_MOVE > self.room() {
            return Err(FsError::FileTooLarge);
        }
        let plan = self.state.plan;
        for (step, bytes) in stretches {
            self.state.transaction.append_store(plan.region_entry(to + step), &bytes);
            self.state.transaction.append_store(plan.region_entry(from + step), &vec![0; bytes.len()]);
        }
        Ok(())
    }

    fn move_entries(&mut self, old: &Inode, start: u64) -> FsResult<()> {
        let Entry::Leaf(leaf) = self.region(old.start / RUN)? else { return Ok(()) };
        let new_leaf = self.leaf(start / RUN)?;
        // Entries side by side are one store in the log: first all new ones, then all old ones.
        for step in 0..old.reserved {
            let page = old.start + step;
            if let Some(physical) = self.leaf_entry(leaf, page % RUN, page)? {
                self.put_leaf_entry(new_leaf, (start + step) % RUN, Entry::Page(physical));
            }
        }
        for step in 0..old.reserved {
            self.put_leaf_entry(leaf, (old.start + step) % RUN, Entry::Empty);
        }
        self.drop_empty_leaf(old.start / RUN, leaf);
        Ok(())
    }
}
