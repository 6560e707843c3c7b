//! The block with the fewest valid pages among the oldest closed blocks.

use std::collections::VecDeque;

use esker_core::registry::{Accepted, Fallback, Parameter, ParameterSource};

#[cfg(test)]
use super::tests::{Rule, only, with};
use super::{VictimAnswer, VictimEntry, VictimPolicy};
#[cfg(test)]
use crate::ParameterValue;
use crate::PoolBlock;
use crate::roomy::Roomy;

pub(crate) const ENTRY: VictimEntry = VictimEntry {
    name: "windowed",
    summary: "the block with the fewest valid pages among the `window` (32) that were filled longest ago",
    source: "Hu, Eleftheriou, Haas, Iliadis and Pletka, SYSTOR 2009",
    parameters: ParameterSource::Listed(&[Parameter {
        name: "window",
        meaning: "blocks that are compared",
        value: Accepted::Count { default: Fallback::Value(32), least: 1, most: 1_000_000 },
    }]),
    capabilities: &[],
    build: |shape, parameters, _| {
        let window = parameters.count("window");
        Ok(Box::new(Windowed {
            window: window as usize,
            closed: Roomy(VecDeque::with_capacity(shape.blocks as usize)),
            valid: vec![0; shape.blocks as usize],
        }))
    },
};

#[derive(Clone, Debug)]
struct Windowed {
    window: usize,
    /// Closed blocks, oldest first.
    closed: Roomy<VecDeque<PoolBlock>>,
    /// Valid pages per block, while it is closed.
    valid: Vec<u32>,
}

impl VictimPolicy for Windowed {
    fn closed(&mut self, block: PoolBlock, valid: u32) {
        self.valid[block.index()] = valid;
        self.closed.push_back(block);
    }
    fn superseded(&mut self, block: PoolBlock, valid: u32) {
        self.valid[block.index()] = valid;
    }
    fn revived(&mut self, block: PoolBlock, valid: u32) {
        self.valid[block.index()] = valid;
    }
    fn take_where(&mut self, judge: &mut dyn FnMut(PoolBlock) -> VictimAnswer) -> Option<PoolBlock> {
        // By index in `closed`; allocated when the first block is skipped.
        let mut spared: Vec<bool> = Vec::new();
        loop {
            // Of equally good blocks, the oldest: `min_by_key` keeps the first.
            let window = (0..self.closed.len()).filter(|index| spared.get(*index) != Some(&true)).take(self.window);
            let index = window.min_by_key(|index| self.valid[self.closed[*index].index()])?;
            match judge(self.closed[index]) {
                VictimAnswer::Take => return self.closed.remove(index),
                VictimAnswer::Skip => {
                    spared.resize(self.closed.len(), false);
                    spared[index] = true;
                }
                VictimAnswer::Stop => return None,
            }
        }
    }
    fn remove(&mut self, block: PoolBlock) {
        self.closed.retain(|other| *other != block);
    }

    fn memory_bytes(&self) -> usize {
        (self.closed.capacity() + self.valid.len()) * size_of::<u32>()
    }

    fn decides_alone(&self) -> bool {
        true
    }
}

/// The fewest valid pages among the three blocks that were filled first; of these the first.
#[cfg(test)]
pub(super) const RULE: Rule = Rule {
    choice: || with(ENTRY.name, "window", ParameterValue::Integer(3)),
    best: |_, left| only(left.iter().take(3).min_by_key(|closed| closed.valid)),
};
