//! Blocks of physical space made free as a whole, so that scattered files find room in one piece.
//!
//! When the cleaner has looked at all files and some parts of them found no free block of their size, it chooses
//! blocks that are cheap to empty, and moves what they have to holes elsewhere. Until all of it has moved, their free
//! pages are held back, so that new files do not fill them again. Only memory knows which blocks these are: after a
//! crash, pages that had moved have moved, and the others have not.
//!
//! Pages of scattered parts would have to move anyway, so blocks that have many of those and few others are cheap. Data
//! that were in one piece may be scattered in the holes. So an evacuation pays only if it leaves fewer pages in
//! scattered parts, by at least a quarter of what it copied. After four that did not, blocks of that size are left
//! alone until calls have freed a part of the pool. All evacuations of a quiet pool together copy at most four times
//! the pages of its scattered parts, and four times for each size a sixteenth of the pool or one block.

use super::nodes::Node;
use super::work::Work;
use crate::error::FsResult;
use crate::layout::entry::Entry;
use crate::layout::{Kind, PAGE, RUN, number64};
use crate::persist::Persist;
use crate::space::{Extent, Sparse};
use std::sync::Arc;

/// Sizes of blocks: from a page to a run, in powers of two.
pub(super) const ORDERS: usize = RUN.ilog2() as usize + 1;
/// The part of the pool that is held back at a time, at most, unless a single block is larger.
const HELD_PART: u64 = 16;
/// Evacuations that do not pay before blocks of a size are left alone.
const ATTEMPTS: u64 = 4;
/// Pages that are counted together, as a power of two: smaller blocks are chosen by their free pages alone.
const GRAIN: u32 = 6;
/// Leaves of the mapping table that a step looks at, and entries of its first level.
const LEAVES: u64 = 32;
const REGIONS: u64 = 8192;

/// Blocks that are being emptied.
#[derive(Debug)]
pub(super) struct Evacuation {
    order: usize,
    /// The next region of virtual space to be looked at.
    next: u64,
    copied: u64,
    /// Pages of scattered parts when it began.
    scattered: u64,
}

/// Parts of files that are scattered and found no room.
#[derive(Debug, Default)]
pub(super) struct Wanting {
    /// Their pages, by the order of the block that a part needs.
    pages: [u64; ORDERS],
    /// How many of each 64 physical pages are theirs.
    grains: Vec<u8>,
}

impl Wanting {
    /// Notes a part of a file with these physical extents, in a pool of `pool_pages`.
    pub(super) fn note(&mut self, pool_pages: u64, pieces: impl Iterator<Item = (u64, u64)>) {
        self.grains.resize((pool_pages >> GRAIN) as usize + 1, 0);
        let mut pages = 0;
        for (physical, length) in pieces {
            pages += length;
            (physical..physical + length).for_each(|page| self.grains[(page >> GRAIN) as usize] += 1);
        }
        self.pages[pages.next_power_of_two().ilog2() as usize] += pages;
    }

    /// Pages of all parts.
    fn total(&self) -> u64 {
        self.pages.iter().sum()
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.total() == 0
    }

    /// Forgets all parts.
    pub(super) fn clear(&mut self) {
        self.pages = [0; ORDERS];
        self.grains.fill(0);
    }

    /// What it costs to empty a block of `1 << order` pages, if it pays: the pages to be copied, and twice those that
    /// are in one piece now.
    fn cost(&self, block: Sparse, order: u32) -> Option<u64> {
        let size = 1 << order;
        if order < GRAIN {
            return (block.used <= size / 4 * 3).then_some(block.used);
        }
        let grains = (block.start >> GRAIN) as usize..((block.start + size) >> GRAIN) as usize;
        let scattered: u64 = self.grains[grains].iter().map(|&pages| u64::from(pages)).sum();
        let whole = block.used.saturating_sub(scattered);
        (whole <= size / 4 * 3).then_some(block.used + 2 * whole)
    }
}

/// What the cleaner knows of blocks that could be emptied.
#[derive(Debug, Default)]
pub(super) struct Evacuations {
    now: Option<Evacuation>,
    /// The last one, whose success is not known yet.
    last: Option<Evacuation>,
    /// Of each size that did not pay: pages that calls had freed then.
    given_up: [Option<u64>; ORDERS],
    /// Evacuations of each size that did not pay.
    failed: [u64; ORDERS],
    /// The runs that were emptied last.
    emptied: Vec<u64>,
    /// Pages that the cleaner freed itself.
    pub(super) own_freed: u64,
}

/// An open file in virtual space.
struct Opened {
    start: u64,
    end: u64,
    node: Arc<Node>,
}

/// Pages that follow each other in virtual and in physical space, of one file at most.
#[derive(Debug, Clone, Copy)]
struct Piece {
    at: u64,
    physical: u64,
    pages: u64,
    /// Which of the open files has them.
    opened: Option<usize>,
}

impl Evacuations {
    /// Whether blocks are being emptied.
    pub(super) fn is_under_way(&self) -> bool {
        self.now.is_some()
    }
}

impl<P: Persist> Work<'_, P> {
    /// Chooses blocks and holds their free pages back, if that pays for the parts that found no room.
    pub(super) fn begin_evacuation(&mut self, wanting: &Wanting) -> bool {
        let scattered = wanting.total();
        let freed = self.state.freed - self.state.cleaner.evacuations.own_freed;
        if let Some(last) = self.state.cleaner.evacuations.last.take()
            && scattered + last.copied / 4 >= last.scattered
        {
            let evacuations = &mut self.state.cleaner.evacuations;
            evacuations.failed[last.order] += 1;
            if evacuations.failed[last.order].is_multiple_of(ATTEMPTS) {
                evacuations.given_up[last.order] = Some(freed);
            }
        }
        // Large blocks first: they have room for small parts, too.
        for order in (1..ORDERS).rev().filter(|&order| wanting.pages[..=order].iter().any(|&pages| pages > 0)) {
            let given_up = self.state.cleaner.evacuations.given_up[order];
            if given_up.is_some_and(|then| freed - then <= self.state.plan.pages / 64) {
                continue;
            }
            let chosen = self.choose_blocks(order as u32, wanting);
            if chosen.is_empty() {
                self.state.cleaner.evacuations.given_up[order] = Some(freed);
                continue;
            }
            self.state.physical.hold(chosen.into_iter(), order as u32);
            self.state.cleaner.evacuations.now = Some(Evacuation { order, next: 0, copied: 0, scattered });
            return true;
        }
        false
    }

    /// The blocks that cost least, as many as all parts need and as the holes elsewhere have room for.
    fn choose_blocks(&self, order: u32, wanting: &Wanting) -> Vec<u64> {
        let (size, physical) = (1_u64 << order, &self.state.physical);
        let sparse = physical.sparse_blocks(self.state.plan.data, order, size - 1);
        let mut blocks: Vec<(u64, u64)> =
            sparse.into_iter().filter_map(|block| Some((wanting.cost(block, order)?, block.start))).collect();
        blocks.sort_unstable();
        // The free pages of a chosen block are among the holes, and are held back.
        let room = physical.pages_of_holes(order).saturating_sub(self.state.plan.pages / 128);
        let wanted: u64 = wanting.pages[..=order as usize].iter().sum();
        let most = wanted.div_ceil(size).min(room / size).min((self.state.plan.pages / HELD_PART / size).max(1));
        blocks.into_iter().take(most as usize).map(|(_, start)| start).collect()
    }

    /// Takes `pages` pages in one piece, less than a run, of those runs that were emptied last.
    pub(super) fn take_emptied(&mut self, pages: u64) -> Option<u64> {
        let physical = &mut self.state.physical;
        let emptied = &mut self.state.cleaner.evacuations.emptied;
        emptied.retain(|&run| physical.free_within(run, RUN.ilog2()) > 0);
        let stretches = emptied.iter().filter_map(|&run| physical.free_stretch(run, pages));
        let (_, start) = stretches.min()?;
        (start..start + pages).for_each(|page| assert!(physical.take_page(page), "page {page} is free"));
        Some(start)
    }

    /// Empties a part of the blocks: what one leaf of the mapping table has there. When all leaves were looked at, the
    /// blocks are free for everybody.
    pub(super) fn evacuate(&mut self) -> FsResult<u64> {
        let Some(next) = self.state.cleaner.evacuations.now.as_ref().map(|now| now.next) else {
            return Ok(0);
        };
        let opened = self.opened_files()?;
        let (mut leaves, mut copied) = (0, 0);
        let end = self.state.plan.regions().min(next + REGIONS);
        let mut region = next;
        while region < end && leaves < LEAVES && copied == 0 {
            if let Entry::Leaf(leaf) = self.region(region)? {
                leaves += 1;
                copied += self.evacuate_region(region, leaf, &opened)?;
            }
            region += 1;
        }
        match &mut self.state.cleaner.evacuations.now {
            Some(now) if region < self.state.plan.regions() => {
                now.next = region;
                now.copied += copied;
            }
            Some(now) => {
                now.copied += copied;
                self.release_resting()?;
                self.give_evacuation_up();
            }
            // It has ended for want of holes.
            None => {
                if let Some(last) = &mut self.state.cleaner.evacuations.last {
                    last.copied += copied;
                }
            }
        }
        Ok(copied)
    }

    /// Ends an evacuation: what is free is free for everybody. False if there is none.
    pub(super) fn give_evacuation_up(&mut self) -> bool {
        let evacuations = &mut self.state.cleaner.evacuations;
        let Some(ended) = evacuations.now.take() else { return false };
        let whole = self.state.physical.release_held();
        evacuations.emptied = if ended.order + 1 == ORDERS { whole } else { Vec::new() };
        evacuations.last = Some(ended);
        true
    }

    /// Open files by their place in virtual space.
    fn opened_files(&self) -> FsResult<Vec<Opened>> {
        let mut all = Vec::with_capacity(self.state.open.len());
        for (&number, node) in &self.state.open {
            let inode = self.any_inode(number)?;
            if inode.kind == Kind::File && inode.reserved > 0 {
                all.push(Opened { start: inode.start, end: inode.start + inode.reserved, node: node.clone() });
            }
        }
        all.sort_unstable_by_key(|opened| opened.start);
        Ok(all)
    }

    /// Moves what `region` has in the blocks that are held back; how many pages that were.
    fn evacuate_region(&mut self, region: u64, leaf: u64, opened: &[Opened]) -> FsResult<u64> {
        let mut copied = 0;
        if self.state.physical.is_held(leaf) {
            let Some((to, _)) = self.take_of_hole(1)? else { return Ok(0) };
            self.move_leaf(region, to)?;
            self.commit()?;
            copied += 1;
        }
        for piece in self.held_pieces(region, opened)? {
            copied += self.evacuate_piece(piece, opened)?;
            if !self.state.cleaner.evacuations.is_under_way() {
                break;
            }
        }
        Ok(copied)
    }

    /// What `region` has in blocks that are held back.
    fn held_pieces(&self, region: u64, opened: &[Opened]) -> FsResult<Vec<Piece>> {
        let Entry::Leaf(leaf) = self.region(region)? else { return Ok(Vec::new()) };
        let mut bytes = [0; PAGE as usize];
        self.read(leaf * PAGE, &mut bytes);
        let mut pieces: Vec<Piece> = Vec::new();
        for (index, bits) in (0..).zip(bytes.chunks_exact(8)) {
            let at = region * RUN + index;
            let Some(Entry::Page(physical)) = Entry::decode(number64(bits, 0), index) else { continue };
            if !self.state.physical.is_held(physical) {
                continue;
            }
            let before = opened.partition_point(|opened| opened.start <= at).checked_sub(1);
            let opened = before.filter(|&before| at < opened[before].end);
            match pieces.last_mut() {
                Some(last)
                    if (last.at + last.pages, last.physical + last.pages, last.opened) == (at, physical, opened) =>
                {
                    last.pages += 1;
                }
                _ => pieces.push(Piece { at, physical, pages: 1, opened }),
            }
        }
        Ok(pieces)
    }

    /// Moves a piece to holes, in one piece if there is one of its size; how many pages were moved. None are if the
    /// file is being used at this moment, or if clients have its pages mapped; the evacuation ends if there are no
    /// holes.
    fn evacuate_piece(&mut self, piece: Piece, opened: &[Opened]) -> FsResult<u64> {
        let opened = piece.opened.map(|index| &opened[index]);
        let mut data = match opened.map(|opened| opened.node.data.try_write()) {
            Some(Ok(data)) if !data.is_shared() => Some(data),
            Some(_) => return Ok(0),
            None => None,
        };
        let mut moved = 0;
        while moved < piece.pages {
            let Some((to, pages)) = self.take_of_hole(piece.pages - moved)? else { break };
            let at = piece.at + moved;
            self.copy(piece.physical + moved, to, pages);
            self.remap(at, to, pages)?;
            self.commit()?;
            if let (Some(data), Some(opened)) = (&mut data, opened) {
                let page = at - opened.start;
                data.extents.remove(page, page + pages);
                data.extents.insert(Extent { page, physical: to, pages });
            }
            moved += pages;
        }
        Ok(moved)
    }

    /// Takes up to `pages` pages of a hole: the first and how many. Blocks as large as those that are being emptied
    /// stay whole; without holes, the evacuation ends.
    fn take_of_hole(&mut self, pages: u64) -> FsResult<Option<(u64, u64)>> {
        let Some(now) = &self.state.cleaner.evacuations.now else { return Ok(None) };
        let order = now.order as u32;
        let wanted = pages.next_power_of_two().ilog2();
        let Some((start, taken)) = self.state.physical.take_of_hole(wanted, order) else {
            self.give_evacuation_up();
            return Ok(None);
        };
        let taken = 1 << taken;
        if !self.keep_if_backed(start, taken)? {
            self.give_evacuation_up();
            return Ok(None);
        }
        if taken > pages {
            self.untake(start + pages, taken - pages);
        }
        Ok(Some((start, taken.min(pages))))
    }
}

#[cfg(test)]
mod tests;
