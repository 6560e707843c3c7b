//! Which pages of a space are free: one allocator for physical and for virtual space.
//!
//! Free pages are kept in blocks of a power of two, aligned to their size, with a bitmap for each size (Wu, VI.B, asks
//! for bitmaps of used physical and virtual space). Neighbours become one block when both are free, so that runs of
//! 2 MiB come back.

use super::first_set::FirstSet;
use super::held::Held;

/// Free pages of a space.
#[derive(Debug)]
pub(crate) struct Buddy {
    /// Of each order, the free blocks, by their number in blocks of that order.
    orders: Vec<FirstSet>,
    pages: u64,
    free: u64,
    /// Free pages that nobody gets for now.
    pub(super) held: Held,
}

impl Buddy {
    /// A space of `pages` of which none is free.
    pub(crate) fn new(pages: u64) -> Buddy {
        let highest = pages.max(1).ilog2();
        let orders = (0..=highest).map(|order| FirstSet::new((pages >> order) + 1)).collect();
        Buddy { orders, pages, free: 0, held: Held::default() }
    }

    /// Pages of the space.
    pub(super) fn pages(&self) -> u64 {
        self.pages
    }

    /// Free blocks of `1 << order` pages.
    pub(super) fn blocks_of(&self, order: u32) -> u64 {
        self.orders.get(order as usize).map_or(0, FirstSet::len)
    }

    /// Free pages, also those that are held back.
    pub(crate) fn free_pages(&self) -> u64 {
        self.free + self.held.free_pages()
    }

    /// Free pages of the aligned block of `1 << order` pages that begins with `start`, without those held back.
    pub(crate) fn free_within(&self, start: u64, order: u32) -> u64 {
        let larger = (order as usize..self.orders.len()).any(|found| self.orders[found].contains(start >> found));
        if larger {
            return 1 << order;
        }
        let smaller = (0..order.min(self.orders.len() as u32)).map(|smaller| {
            self.orders[smaller as usize].count(start >> smaller, (start + (1 << order)) >> smaller) << smaller
        });
        smaller.sum()
    }

    /// The order of the free block that begins with `page`, if one does.
    pub(super) fn free_block(&self, page: u64) -> Option<u32> {
        (0..self.orders.len() as u32)
            .find(|&order| page.is_multiple_of(1 << order) && self.orders[order as usize].contains(page >> order))
    }

    /// Whether [`Buddy::take`] would find a block.
    pub(crate) fn has(&self, order: u32) -> bool {
        self.orders.iter().skip(order as usize).any(|blocks| blocks.len() > 0)
    }

    /// Takes a block of `1 << order` pages, aligned to its size: the first of the smallest blocks that are large
    /// enough.
    pub(crate) fn take(&mut self, order: u32) -> Option<u64> {
        let found = (order as usize..self.orders.len()).find(|&order| self.orders[order].len() > 0)?;
        self.take_from(found, order)
    }

    /// Takes the block of `1 << order` pages with the lowest address.
    pub(crate) fn take_lowest(&mut self, order: u32) -> Option<u64> {
        let first = |found: usize| self.orders[found].first().map(|block| (block << found, found));
        let (_, found) = (order as usize..self.orders.len()).filter_map(first).min()?;
        self.take_from(found, order)
    }

    /// Takes the first block of order `found`, and gives back what is too much.
    fn take_from(&mut self, found: usize, order: u32) -> Option<u64> {
        let mut block = self.orders[found].first()?;
        self.orders[found].remove(block);
        for smaller in (order as usize..found).rev() {
            block *= 2;
            self.orders[smaller].insert(block + 1);
        }
        self.free -= 1 << order;
        Some(block << order)
    }

    /// Takes this page; false if it is not free.
    pub(crate) fn take_page(&mut self, page: u64) -> bool {
        let Some(found) = (0..self.orders.len()).find(|&order| self.orders[order].contains(page >> order)) else {
            return false;
        };
        self.orders[found].remove(page >> found);
        for order in (0..found).rev() {
            // The half without the page stays free.
            self.orders[order].insert((page >> order) ^ 1);
        }
        self.free -= 1;
        true
    }

    /// Takes the largest block of at most `1 << order` pages: its first page and its order.
    pub(crate) fn take_up_to(&mut self, order: u32) -> Option<(u64, u32)> {
        (0..=order).rev().find_map(|order| Some((self.take(order)?, order)))
    }

    /// Takes up to `1 << order` pages of one block that is smaller than `1 << below` pages: of a hole, while larger
    /// blocks stay whole. Its first page and its order.
    pub(crate) fn take_of_hole(&mut self, order: u32, below: u32) -> Option<(u64, u32)> {
        let below = (below as usize).min(self.orders.len());
        if let Some(found) = (order as usize..below).find(|&found| self.orders[found].len() > 0) {
            return Some((self.take_from(found, order)?, order));
        }
        (0..order.min(below as u32))
            .rev()
            .find(|&found| self.orders[found as usize].len() > 0)
            .and_then(|found| Some((self.take_from(found as usize, found)?, found)))
    }

    /// Gives `pages` from `start` on back. They must not be free.
    pub(crate) fn give(&mut self, start: u64, pages: u64) {
        debug_assert!(start + pages <= self.pages, "{pages} pages from {start} lie in the space");
        if !self.held.is_empty() {
            return self.give_beside_held(start, pages);
        }
        self.give_range(start, pages);
    }

    /// Gives pages back of which none lies in a block that is held back.
    pub(super) fn give_range(&mut self, start: u64, pages: u64) {
        let (mut at, end) = (start, start + pages);
        while at < end {
            let aligned = if at == 0 { u32::MAX } else { at.trailing_zeros() };
            let order = aligned.min((end - at).ilog2()).min(self.orders.len() as u32 - 1);
            self.give_block(at >> order, order as usize);
            at += 1 << order;
        }
        self.free += pages;
    }

    fn give_block(&mut self, mut block: u64, mut order: usize) {
        debug_assert!(!self.orders[order].contains(block), "block {block} of order {order} is free already");
        while order + 1 < self.orders.len() && self.orders[order].contains(block ^ 1) {
            self.orders[order].remove(block ^ 1);
            block /= 2;
            order += 1;
        }
        self.orders[order].insert(block);
    }

    /// Whether all of a range is free.
    #[cfg(test)]
    fn is_free(&self, page: u64) -> bool {
        (0..self.orders.len()).any(|order| self.orders[order].contains(page >> order))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use esker_core::Rng;

    /// Random takes and gives beside one flag for each page.
    #[test]
    fn no_page_is_taken_twice_and_all_come_back_as_one_block() {
        // Miri takes its time.
        for &pages in if cfg!(miri) { &[1_u64, 63, 200][..] } else { &[1, 63, 512, 1000, 5000] } {
            let mut buddy = Buddy::new(pages);
            buddy.give(0, pages);
            let whole: Vec<u64> = buddy.orders.iter().map(FirstSet::len).collect();
            let mut used = vec![false; pages as usize];
            let mut held: Vec<(u64, u64)> = Vec::new();
            let mut rng = Rng::new(pages);
            for _ in 0..if cfg!(miri) { 30 } else { 3000 } {
                let order = rng.below(6) as u32;
                let taken = match rng.below(4) {
                    0 => buddy.take(order),
                    1 => buddy.take_lowest(order),
                    _ => None,
                };
                match taken {
                    Some(start) => {
                        assert_eq!(start % (1 << order), 0, "aligned");
                        for page in start..start + (1 << order) {
                            assert!(!std::mem::replace(&mut used[page as usize], true), "page {page} taken twice");
                        }
                        held.push((start, 1 << order));
                    }
                    None if rng.below(4) == 0 => {
                        let page = rng.below(pages);
                        assert_eq!(buddy.take_page(page), !used[page as usize], "page {page}");
                        if !std::mem::replace(&mut used[page as usize], true) {
                            held.push((page, 1));
                        }
                    }
                    None if !held.is_empty() => {
                        let (start, length) = held.swap_remove(rng.below(held.len() as u64) as usize);
                        // Given back in two parts, as when a file shrinks.
                        let first = rng.below(length + 1);
                        buddy.give(start, first);
                        buddy.give(start + first, length - first);
                        used[start as usize..(start + length) as usize].fill(false);
                    }
                    None => {}
                }
                assert_eq!(buddy.free_pages(), used.iter().filter(|&&used| !used).count() as u64);
            }
            assert!((0..pages).all(|page| buddy.is_free(page) != used[page as usize]));
            held.drain(..).for_each(|(start, length)| buddy.give(start, length));
            assert_eq!(buddy.orders.iter().map(FirstSet::len).collect::<Vec<u64>>(), whole);
        }
    }
}
