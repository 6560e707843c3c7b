//! The block with the fewest valid pages; of these the one that was filled last.

use esker_core::registry::ParameterSource;

#[cfg(test)]
use super::tests::{Rule, only};
use super::{VictimAnswer, VictimEntry, VictimPolicy};
#[cfg(test)]
use crate::Choice;
use crate::PoolBlock;

pub(super) const ENTRY: VictimEntry = VictimEntry {
    name: "emptiest-newest",
    summary: "the block with the fewest valid pages, among equals the newest",
    source: "none: an example",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: |_, _, _| Ok(Box::new(EmptiestNewest { closed: Vec::new() })),
};

#[derive(Clone, Debug)]
struct EmptiestNewest {
    /// In the order of filling.
    closed: Vec<ClosedBlock>,
}

#[derive(Clone, Copy, Debug)]
struct ClosedBlock {
    block: PoolBlock,
    valid: u32,
}

impl VictimPolicy for EmptiestNewest {
    fn closed(&mut self, block: PoolBlock, valid: u32) {
        self.closed.push(ClosedBlock { block, valid });
    }

    fn superseded(&mut self, block: PoolBlock, valid: u32) {
        self.closed.iter_mut().filter(|closed| closed.block == block).for_each(|closed| closed.valid = valid);
    }

    fn revived(&mut self, block: PoolBlock, valid: u32) {
        self.superseded(block, valid);
    }

    /// Offers the best block first, then the next best. This searches the whole list each time; `greedy` is faster.
    fn take_where(&mut self, judge: &mut dyn FnMut(PoolBlock) -> VictimAnswer) -> Option<PoolBlock> {
        let mut newest_first: Vec<usize> = (0..self.closed.len()).rev().collect();
        newest_first.sort_by_key(|&index| self.closed[index].valid);
        for index in newest_first {
            match judge(self.closed[index].block) {
                VictimAnswer::Take => return Some(self.closed.remove(index).block),
                VictimAnswer::Skip => {}
                VictimAnswer::Stop => return None,
            }
        }
        None
    }

    fn remove(&mut self, block: PoolBlock) {
        self.closed.retain(|closed| closed.block != block);
    }

    fn memory_bytes(&self) -> usize {
        size_of_val(&*self.closed)
    }
}

/// The fewest valid pages; of these the block that was filled last.
#[cfg(test)]
pub(super) const RULE: Rule = Rule {
    choice: || Choice::named(ENTRY.name),
    // Of several minima, `min_by_key` keeps the first.
    best: |_, left| only(left.iter().rev().min_by_key(|closed| closed.valid)),
};
