//! Blocks that are being emptied: their free pages are held back until all of them are free.

use super::Buddy;
use super::held::ORDER_MAX;
use esker_core::bits;
use std::collections::BTreeMap;

/// A block that could be emptied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sparse {
    /// Pages in use.
    pub(crate) used: u64,
    /// Its first page.
    pub(crate) start: u64,
}

impl Buddy {
    /// Aligned blocks of `1 << order` pages behind `first` of which some pages are free, and not more than
    /// `used_max` are in use: those with the fewest first.
    pub(crate) fn sparse_blocks(&self, first: u64, order: u32, used_max: u64) -> Vec<Sparse> {
        let size = 1_u64 << order;
        let blocks = first.div_ceil(size)..self.pages() / size;
        let all = blocks.map(|block| {
            let start = block * size;
            Sparse { used: size - self.free_within(start, order), start }
        });
        let mut found: Vec<Sparse> = all.filter(|block| (1..=used_max.min(size - 1)).contains(&block.used)).collect();
        found.sort_unstable();
        found
    }

    /// Free pages in blocks smaller than `1 << order` pages.
    pub(crate) fn pages_of_holes(&self, order: u32) -> u64 {
        (0..order).map(|smaller| self.blocks_of(smaller) << smaller).sum()
    }

    /// Holds the blocks of `1 << order` pages that begin with `starts` back: nobody gets their free pages, nor those
    /// that become free.
    pub(crate) fn hold(&mut self, starts: impl Iterator<Item = u64>, order: u32) {
        assert!(self.held.is_empty() && order <= ORDER_MAX, "blocks of one size are held back at a time");
        let mut blocks = BTreeMap::new();
        for start in starts {
            let mut free = [0; 8];
            for page in 0..1 << order {
                if self.take_page(start + page) {
                    bits::set(&mut free, page as usize);
                    self.held.free += 1;
                }
            }
            blocks.insert(start, free);
        }
        self.held.order = order;
        self.held.blocks = blocks;
    }

    /// Whether `page` lies in a block that is held back.
    pub(crate) fn is_held(&self, page: u64) -> bool {
        self.held.block_of(page).is_some()
    }

    /// Gives all that was held back; the blocks that are free as a whole.
    pub(crate) fn release_held(&mut self) -> Vec<u64> {
        let held = std::mem::take(&mut self.held);
        let size = 1_u64 << held.order;
        let mut whole = Vec::new();
        for (start, free) in held.blocks {
            let pages: u64 = free.iter().map(|word| u64::from(word.count_ones())).sum();
            if pages == size {
                whole.push(start);
                self.give_range(start, size);
                continue;
            }
            for page in (0..size).filter(|&page| bits::is_set(&free, page as usize)) {
                self.give_range(start + page, 1);
            }
        }
        whole
    }

    /// The shortest stretch of at least `pages` free pages in the run that begins with `start`: its length and its
    /// first
    /// page.
    pub(crate) fn free_stretch(&self, start: u64, pages: u64) -> Option<(u64, u64)> {
        let size = 1 << ORDER_MAX;
        let mut best = None;
        let mut at = start;
        while at < start + size {
            let first = at;
            while at < start + size
                && let Some(order) = self.free_block(at)
            {
                at += 1 << order.min(ORDER_MAX);
            }
            let length = at - first;
            if length >= pages && best.is_none_or(|(shortest, _)| length < shortest) {
                best = Some((length, first));
            }
            at = at.max(first + 1);
        }
        best
    }

    /// Gives pages back, of which some may lie in blocks that are held back.
    pub(super) fn give_beside_held(&mut self, start: u64, pages: u64) {
        let (mut at, end) = (start, start + pages);
        while at < end {
            let until = end.min(((at >> self.held.order) + 1) << self.held.order);
            match self.held.block_of(at) {
                Some(block) => {
                    let free = self.held.blocks.get_mut(&block).expect("it is held back");
                    let range = (at - block) as usize..(until - block) as usize;
                    debug_assert!(bits::none_set(free, range.clone()), "pages from {at} on are free already");
                    bits::set_all(free, range);
                    self.held.free += until - at;
                }
                None => self.give_range(at, until - at),
            }
            at = until;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use esker_core::Rng;

    /// Random takes and gives around blocks that are held back: none of their pages is given out, and none is lost.
    #[test]
    fn pages_that_are_held_back_are_given_to_nobody() {
        let mut rng = Rng::new(8);
        // Miri takes its time.
        for &order in if cfg!(miri) { &[2, 4][..] } else { &[2, 4, 9] } {
            let (size, pages) = (1_u64 << order, if cfg!(miri) { 256 } else { 4096 });
            let mut buddy = Buddy::new(pages);
            buddy.give(0, pages);
            let mut taken: Vec<u64> = (0..3 * pages / 4).map(|_| buddy.take(0).unwrap()).collect();
            // Scattered free pages, as after many files have come and gone.
            for _ in 0..pages / 4 {
                let page = taken.swap_remove(rng.below(taken.len() as u64) as usize);
                buddy.give(page, 1);
            }
            let free = buddy.free_pages();
            let used = |block: &Sparse| taken.iter().filter(|&&page| page / size == block.start / size).count() as u64;
            let sparse = buddy.sparse_blocks(size, order, size - 1);
            assert!(sparse.is_sorted() && sparse.iter().all(|block| block.used == used(block) && block.start >= size));
            let chosen: Vec<u64> = sparse.iter().take(3).map(|block| block.start).collect();
            buddy.hold(chosen.iter().copied(), order);
            assert_eq!(buddy.free_pages(), free);
            let holes = buddy.pages_of_holes(order);
            let mut moved = 0;
            while let Some((start, taken)) = buddy.take_of_hole(rng.below(3) as u32, order) {
                assert!((start..start + (1 << taken)).all(|page| !buddy.is_held(page)));
                moved += 1 << taken;
            }
            assert_eq!(moved, holes);
            let (inside, outside): (Vec<u64>, Vec<u64>) = taken.iter().partition(|&&page| buddy.is_held(page));
            inside.iter().for_each(|&page| buddy.give(page, 1));
            assert_eq!(buddy.release_held().len(), chosen.len());
            assert_eq!(outside.len() as u64 + buddy.free_pages() + moved, pages);
            let whole: Vec<u64> = std::iter::from_fn(|| buddy.take(order)).collect();
            assert!(chosen.iter().all(|start| whole.contains(start)), "{chosen:?} became free as a whole");
        }
    }
}
