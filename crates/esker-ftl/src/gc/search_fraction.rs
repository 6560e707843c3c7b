//! The block with the fewest valid pages in a part of the list of closed blocks.

use esker_core::registry::{Accepted, Parameter, ParameterSource};
use esker_core::{Ratio, Rng};

#[cfg(test)]
use super::tests::{Rule, with};
use super::{PoolShape, VictimAnswer, VictimEntry, VictimPolicy};
#[cfg(test)]
use crate::ParameterValue;
use crate::PoolBlock;
use crate::roomy::Roomy;

pub(crate) const ENTRY: VictimEntry = VictimEntry {
    name: "search-fraction",
    summary: "the block with the fewest valid pages in a share `fraction` (50%) of the list, from a random place on; 0% is random",
    source: "Kim 2009, section 3.5.6 and figure 3.18",
    parameters: ParameterSource::Listed(&[Parameter {
        name: "fraction",
        meaning: "share of the list that is searched",
        value: Accepted::Share { default: Ratio::percent(50), least: Ratio::ZERO, most: Ratio::ONE },
    }]),
    capabilities: &[],
    build: |shape, parameters, seed| {
        let fraction = parameters.share("fraction");
        Ok(Box::new(SearchFraction::new(shape, fraction, seed)))
    },
};

/// The paper varies the number of search operations between none (a random victim) and a complete linear search. It
/// does not say which blocks a partial search visits. Here, it visits consecutive blocks of the list, so that none is
/// visited twice.
#[derive(Clone, Debug)]
struct SearchFraction {
    fraction: Ratio,
    rng: Rng,
    /// Closed blocks, in no order.
    closed: Roomy<Vec<PoolBlock>>,
    valid: Vec<u32>,
}

impl SearchFraction {
    fn new(shape: &PoolShape, fraction: Ratio, seed: u64) -> Self {
        Self {
            fraction,
            rng: Rng::derive(seed, "victim"),
            closed: Roomy(Vec::with_capacity(shape.blocks as usize)),
            valid: vec![0; shape.blocks as usize],
        }
    }
}

impl VictimPolicy for SearchFraction {
    fn closed(&mut self, block: PoolBlock, valid: u32) {
        self.closed.push(block);
        self.valid[block.index()] = valid;
    }

    #[inline]
    fn superseded(&mut self, block: PoolBlock, valid: u32) {
        self.valid[block.index()] = valid;
    }

    fn revived(&mut self, block: PoolBlock, valid: u32) {
        self.valid[block.index()] = valid;
    }

    fn take_where(&mut self, judge: &mut dyn FnMut(PoolBlock) -> VictimAnswer) -> Option<PoolBlock> {
        // Skipped blocks are moved behind the first `count`.
        for count in (1..=self.closed.len()).rev() {
            let start = self.rng.below(count as u64) as usize;
            let length = (self.fraction.of(count as u64) as usize).clamp(1, count);
            let run = (start..start + length).map(|index| index % count);
            // Of equally good blocks, the first one in the run: `min_by_key` keeps it.
            let index = run.min_by_key(|&index| self.valid[self.closed[index].index()])?;
            match judge(self.closed[index]) {
                VictimAnswer::Take => return Some(self.closed.swap_remove(index)),
                VictimAnswer::Skip => self.closed.swap(index, count - 1),
                VictimAnswer::Stop => return None,
            }
        }
        None
    }

    fn remove(&mut self, block: PoolBlock) {
        self.closed.retain(|other| *other != block);
    }

    fn memory_bytes(&self) -> usize {
        self.closed.capacity() * size_of::<PoolBlock>() + size_of_val(&*self.valid)
    }

    fn decides_alone(&self) -> bool {
        true
    }
}

/// The fewest valid pages; any of these blocks.
#[cfg(test)]
pub(super) const RULE: Rule = Rule {
    choice: || with(ENTRY.name, "fraction", ParameterValue::Text("100%".into())),
    best: |_, left| {
        let fewest = left.iter().map(|closed| closed.valid).min();
        left.iter().filter(|closed| Some(closed.valid) == fewest).map(|closed| closed.block).collect()
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_list_is_greedy_and_none_of_it_is_random() {
        let shape = PoolShape { blocks: 100, data_pages_per_block: 200 };
        let taken = |percent| {
            let mut policy = SearchFraction::new(&shape, Ratio::percent(percent), 5);
            (0..100).for_each(|block| policy.closed(PoolBlock(block), 199 - block));
            policy.take().unwrap().0
        };
        assert_eq!(taken(100), 99);
        assert_ne!(taken(0), 99);
    }

    #[test]
    fn the_more_is_searched_the_emptier_the_victim() {
        let shape = PoolShape { blocks: 100, data_pages_per_block: 200 };
        let mean = |percent| {
            let mut policy = SearchFraction::new(&shape, Ratio::percent(percent), 5);
            let mut rng = Rng::new(1);
            let mut sum = 0;
            for round in 0..50 {
                let valid: Vec<u32> = (0..100).map(|_| rng.below(200) as u32).collect();
                (0..100).for_each(|block| policy.closed(PoolBlock(block), valid[block as usize]));
                sum += valid[policy.take().unwrap().index()];
                while policy.take().is_some() {}
                assert!(policy.closed.is_empty(), "round {round}");
            }
            sum
        };
        let means = [0, 5, 20, 100].map(mean);
        assert!(means.is_sorted_by(|more, less| more > less), "{means:?}");
    }
}
