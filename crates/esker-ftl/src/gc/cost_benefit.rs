//! Cost-benefit policy: weighs the space gained, the age of the block and the pages to copy.

use esker_core::registry::ParameterSource;

#[cfg(test)]
use super::tests::{ClosedBlock, Event, Rule, SHAPE, only};
use super::{PoolShape, VictimAnswer, VictimEntry, VictimPolicy};
#[cfg(test)]
use crate::Choice;
use crate::PoolBlock;
use crate::roomy::Roomy;

pub(crate) const ENTRY: VictimEntry = VictimEntry {
    name: "cost-benefit",
    summary: "the block with the largest age x (1 - u) / 2u, where a share u of it is valid; all are compared",
    source: "Rosenblum and Ousterhout 1991 (segments of a log); Kawaguchi, Nishioka and Motoda 1995 (flash)",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: |shape, _, _| Ok(Box::new(CostBenefit::new(shape))),
};

/// The age of a block is the number of changes in the pool (blocks filled, pages superseded) since its own last change.
#[derive(Clone, Debug)]
struct CostBenefit {
    data_pages: u64,
    /// Number of changes.
    now: u64,
    /// Closed blocks, oldest first.
    closed: Roomy<Vec<PoolBlock>>,
    blocks: Vec<BlockState>,
}

#[derive(Clone, Copy, Debug, Default)]
struct BlockState {
    valid: u32,
    changed: u64,
}

impl CostBenefit {
    fn new(shape: &PoolShape) -> Self {
        Self {
            data_pages: u64::from(shape.data_pages_per_block),
            now: 0,
            closed: Roomy(Vec::with_capacity(shape.blocks as usize)),
            blocks: vec![BlockState::default(); shape.blocks as usize],
        }
    }

    fn change(&mut self, block: PoolBlock, valid: u32) {
        self.now += 1;
        self.blocks[block.index()] = BlockState { valid, changed: self.now };
    }

    /// Returns benefit and cost, whose ratio counts. The constant factor 2 is left out.
    fn merit(&self, block: PoolBlock) -> (u128, u128) {
        let BlockState { valid, changed } = self.blocks[block.index()];
        let benefit = u128::from(self.data_pages.saturating_sub(u64::from(valid))) * u128::from(self.now - changed + 1);
        (benefit, u128::from(valid))
    }

    /// Returns true if `a` is the better victim. A block without valid pages costs nothing and beats any with some.
    fn better(&self, a: PoolBlock, b: PoolBlock) -> bool {
        let ((benefit_a, cost_a), (benefit_b, cost_b)) = (self.merit(a), self.merit(b));
        match (cost_a, cost_b) {
            (0, 0) => benefit_a > benefit_b,
            _ => benefit_a * cost_b > benefit_b * cost_a,
        }
    }
}

impl VictimPolicy for CostBenefit {
    fn closed(&mut self, block: PoolBlock, valid: u32) {
        self.change(block, valid);
        self.closed.push(block);
    }

    fn superseded(&mut self, block: PoolBlock, valid: u32) {
        self.change(block, valid);
    }

    fn revived(&mut self, block: PoolBlock, valid: u32) {
        self.blocks[block.index()].valid = valid;
    }

    fn take_where(&mut self, judge: &mut dyn FnMut(PoolBlock) -> VictimAnswer) -> Option<PoolBlock> {
        // By index in `closed`; allocated when the first block is skipped.
        let mut spared: Vec<bool> = Vec::new();
        loop {
            let left = (0..self.closed.len()).filter(|index| spared.get(*index) != Some(&true));
            // Of equally good blocks, the one that was filled first.
            let best = left.reduce(|a, b| if self.better(self.closed[b], self.closed[a]) { b } else { a })?;
            match judge(self.closed[best]) {
                VictimAnswer::Take => return Some(self.closed.remove(best)),
                VictimAnswer::Skip => {
                    spared.resize(self.closed.len(), false);
                    spared[best] = true;
                }
                VictimAnswer::Stop => return None,
            }
        }
    }

    fn remove(&mut self, block: PoolBlock) {
        self.closed.retain(|other| *other != block);
    }

    fn memory_bytes(&self) -> usize {
        self.closed.capacity() * size_of::<PoolBlock>() + size_of_val(&*self.blocks)
    }

    fn decides_alone(&self) -> bool {
        true
    }
}

/// The largest ratio of benefit to cost; of these the block that was filled first.
#[cfg(test)]
pub(super) const RULE: Rule = Rule {
    choice: || Choice::named(ENTRY.name),
    best: |model, left| {
        let merit = |closed: &ClosedBlock| {
            // Counts the changes of the pool since the block last changed.
            let changed = |event: &Event| match *event {
                Event::Filled(block) | Event::Superseded(block) => block == closed.block,
            };
            let age = model.events.iter().rev().position(changed).expect("it was filled") + 1;
            let benefit = f64::from(SHAPE.data_pages_per_block - closed.valid) * age as f64;
            if closed.valid == 0 { 1e9 * benefit } else { benefit / f64::from(closed.valid) }
        };
        let best = left.iter().map(merit).fold(0.0, f64::max);
        only(left.iter().find(|closed| merit(closed) == best))
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> CostBenefit {
        CostBenefit::new(&PoolShape { blocks: 8, data_pages_per_block: 10 })
    }

    #[test]
    fn a_block_without_valid_pages_goes_first() {
        let mut policy = policy();
        policy.closed(PoolBlock(0), 1);
        policy.closed(PoolBlock(1), 1);
        policy.superseded(PoolBlock(1), 0);
        assert_eq!(policy.take(), Some(PoolBlock(1)));
    }

    #[test]
    fn among_equally_full_blocks_the_one_unchanged_for_longest_goes_first() {
        let mut policy = policy();
        policy.closed(PoolBlock(0), 6);
        policy.closed(PoolBlock(1), 5);
        policy.superseded(PoolBlock(0), 5);
        assert_eq!(policy.take(), Some(PoolBlock(1)));
    }

    #[test]
    fn age_outweighs_emptiness_as_the_formula_says() {
        let mut policy = policy();
        policy.closed(PoolBlock(0), 5);
        policy.closed(PoolBlock(1), 10);
        for valid in (2..10).rev() {
            policy.superseded(PoolBlock(1), valid);
        }
        // Block 0: age 10, (10 - 5) / 5 = 1. Block 1: age 1, (10 - 2) / 2 = 4.
        assert_eq!(policy.merit(PoolBlock(0)), (50, 5));
        assert_eq!(policy.merit(PoolBlock(1)), (8, 2));
        assert_eq!(policy.take(), Some(PoolBlock(0)));
    }
}
