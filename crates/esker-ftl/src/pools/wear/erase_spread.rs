//! How far the erase counts of a pool's blocks are apart, for static wear-levelling: data are exchanged between blocks
//! of high and low counts (Kim 2009, section 5.3.4.2, after Lofgren et al., US patent 6,850,443).

use crate::roomy::Roomy;
use std::collections::VecDeque;

/// The number of blocks in use by their erase counts. Knows the lowest count without looking at all blocks.
#[derive(Clone, Debug)]
pub(super) struct EraseSpread {
    /// The lowest count.
    lowest: u32,
    /// Number of blocks with the lowest count, with one erase more, and so on. The first is not zero, unless no block
    /// is left.
    blocks: Roomy<VecDeque<u32>>,
}

impl EraseSpread {
    /// `blocks` blocks, which have been erased `erases` times each.
    pub(super) fn new(erases: u32, blocks: u32) -> Self {
        Self { lowest: erases, blocks: Roomy(VecDeque::from([blocks])) }
    }

    /// Blocks with these counts.
    pub(super) fn of(counts: impl Iterator<Item = u32> + Clone) -> Self {
        let lowest = counts.clone().min().unwrap_or(0);
        let mut spread = Self { lowest, blocks: Roomy::default() };
        counts.for_each(|erases| spread.add(erases));
        spread
    }

    /// A block has been erased, and its count is `erases` now. Returns the lowest count of any block.
    pub(super) fn erased(&mut self, erases: u32) -> u32 {
        self.add(erases);
        self.remove(erases - 1);
        self.lowest
    }

    /// A block has been erased and taken out of use, with which its count came to `erases`.
    pub(super) fn retired(&mut self, erases: u32) {
        self.remove(erases - 1);
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.blocks.capacity() * size_of::<u32>()
    }

    fn add(&mut self, erases: u32) {
        let above = (erases - self.lowest) as usize;
        if above >= self.blocks.len() {
            self.blocks.resize(above + 1, 0);
        }
        self.blocks[above] += 1;
    }

    fn remove(&mut self, erases: u32) {
        self.blocks[(erases - self.lowest) as usize] -= 1;
        while self.blocks.len() > 1 && self.blocks[0] == 0 {
            self.blocks.pop_front();
            self.lowest += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_lowest_count_is_that_of_the_least_erased_block(
            before in 0..5_u32,
            erased in proptest::collection::vec((0..8_usize, 0..20_u8), 1..300),
        ) {
            let mut counts = [before; 8];
            let mut in_use = [true; 8];
            let mut spread = EraseSpread::new(before, 8);
            for (block, chance) in erased {
                let left = in_use.iter().filter(|in_use| **in_use).count();
                if !in_use[block] {
                    continue;
                }
                counts[block] += 1;
                if chance == 0 && left > 1 {
                    in_use[block] = false;
                    spread.retired(counts[block]);
                } else {
                    let used = || counts.iter().zip(in_use).filter(|(_, in_use)| *in_use).map(|(count, _)| *count);
                    let lowest = used().min().unwrap();
                    prop_assert_eq!(spread.erased(counts[block]), lowest);
                    let of_counts = EraseSpread::of(used());
                    prop_assert_eq!(of_counts.lowest, spread.lowest);
                    // Blocks that were retired with a high count leave zeroes at the end.
                    let known = spread.blocks.iter().chain(std::iter::repeat(&0)).take(of_counts.blocks.len());
                    prop_assert_eq!(known.collect::<Vec<_>>(), of_counts.blocks.iter().collect::<Vec<_>>());
                }
            }
        }
    }
}
