//! The block with the fewest valid pages among a few that are drawn at random.

use esker_core::Rng;
use esker_core::registry::{Accepted, Fallback, Parameter, ParameterSource};

use super::{Compared, PoolShape, VictimAnswer, VictimCapability, VictimEntry, VictimPolicy};
use crate::PoolBlock;
use crate::roomy::Roomy;

pub(crate) const ENTRY: VictimEntry = VictimEntry {
    name: "d-choices",
    summary: "of d blocks drawn at random, the one with the fewest valid pages",
    source: "Van Houdt 2013; Li, Lee and Lui 2013",
    parameters: ParameterSource::Listed(&[Parameter {
        name: "d",
        meaning: "blocks that are drawn",
        value: Accepted::Count { default: Fallback::Value(10), least: 1, most: 1_000_000 },
    }]),
    capabilities: &[VictimCapability::KnownSteady],
    build: |shape, parameters, seed| {
        let draws = parameters.count("d");
        Ok(Box::new(RandomDraws::new(shape, draws as u32, seed)))
    },
};

const NONE: u32 = u32::MAX;

/// Draws with replacement, as in the mean-field model.
#[derive(Clone, Debug)]
pub(super) struct RandomDraws {
    draws: u32,
    rng: Rng,
    /// Closed blocks, in no order.
    closed: Roomy<Vec<PoolBlock>>,
    valid: Vec<u32>,
}

impl RandomDraws {
    pub(super) fn new(shape: &PoolShape, draws: u32, seed: u64) -> Self {
        Self {
            draws,
            rng: Rng::derive(seed, "victim"),
            closed: Roomy(Vec::with_capacity(shape.blocks as usize)),
            valid: vec![NONE; shape.blocks as usize],
        }
    }
}

impl RandomDraws {
    /// Draws among the first `count` blocks. Returns the index of the one with the fewest valid pages.
    fn draw(&mut self, count: u64) -> usize {
        let mut best = self.rng.below(count) as usize;
        for _ in 1..self.draws {
            let other = self.rng.below(count) as usize;
            if self.valid[self.closed[other].index()] < self.valid[self.closed[best].index()] {
                best = other;
            }
        }
        best
    }
}

impl VictimPolicy for RandomDraws {
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
            let best = self.draw(count as u64);
            match judge(self.closed[best]) {
                VictimAnswer::Take => return Some(self.closed.swap_remove(best)),
                VictimAnswer::Skip => self.closed.swap(best, count - 1),
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

    fn compares(&self) -> Option<Compared> {
        Some(Compared::Drawn(self.draws))
    }
}
