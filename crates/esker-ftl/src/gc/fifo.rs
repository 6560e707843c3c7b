//! The block that was filled longest ago.

use std::collections::VecDeque;

use esker_core::registry::ParameterSource;

#[cfg(test)]
use super::tests::{Rule, only};
use super::{VictimAnswer, VictimEntry, VictimPolicy};
#[cfg(test)]
use crate::Choice;
use crate::PoolBlock;
use crate::roomy::Roomy;

pub(crate) const ENTRY: VictimEntry = VictimEntry {
    name: "fifo",
    summary: "the block that was filled longest ago",
    source: "Robinson 1996; Menon 1995; Desnoyers 2012 (there called LRU)",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: |shape, _, _| Ok(Box::new(Fifo { closed: Roomy(VecDeque::with_capacity(shape.blocks as usize)) })),
};

#[derive(Clone, Debug)]
struct Fifo {
    closed: Roomy<VecDeque<PoolBlock>>,
}

impl VictimPolicy for Fifo {
    fn closed(&mut self, block: PoolBlock, _valid: u32) {
        self.closed.push_back(block);
    }
    fn superseded(&mut self, _block: PoolBlock, _valid: u32) {}
    fn revived(&mut self, _block: PoolBlock, _valid: u32) {}
    fn take_where(&mut self, judge: &mut dyn FnMut(PoolBlock) -> VictimAnswer) -> Option<PoolBlock> {
        for index in 0..self.closed.len() {
            match judge(self.closed[index]) {
                VictimAnswer::Take => return self.closed.remove(index),
                VictimAnswer::Skip => {}
                VictimAnswer::Stop => return None,
            }
        }
        None
    }
    fn remove(&mut self, block: PoolBlock) {
        self.closed.retain(|other| *other != block);
    }

    fn memory_bytes(&self) -> usize {
        self.closed.capacity() * size_of::<PoolBlock>()
    }

    fn decides_alone(&self) -> bool {
        true
    }
}

/// The block that was filled first.
#[cfg(test)]
pub(super) const RULE: Rule = Rule { choice: || Choice::named(ENTRY.name), best: |_, left| only(left.first()) };
