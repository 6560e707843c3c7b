//! The block that was filled last (a bad idea, but a short one).

use esker_core::registry::ParameterSource;

use super::{Judgement, VictimEntry, VictimPolicy};
use crate::PoolBlock;

pub(super) const ENTRY: VictimEntry = VictimEntry {
    name: "newest",
    summary: "the block that was filled last",
    source: "none: an example",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: |shape, _, _| Ok(Box::new(Newest { closed: Vec::new(), pages_per_block: shape.data_pages_per_block })),
};

#[derive(Debug)]
struct Newest {
    /// In the order of filling.
    closed: Vec<Closed>,
    pages_per_block: u32,
}

#[derive(Clone, Copy, Debug)]
struct Closed {
    block: PoolBlock,
    /// Whether cleaning it gives space.
    gains: bool,
}

impl VictimPolicy for Newest {
    fn closed(&mut self, block: PoolBlock, valid: u32) {
        self.closed.push(Closed { block, gains: valid < self.pages_per_block });
    }

    fn superseded(&mut self, block: PoolBlock, _valid: u32) {
        self.closed.iter_mut().filter(|closed| closed.block == block).for_each(|closed| closed.gains = true);
    }

    /// Blocks that give no space come last: a pool that is offered one of those first takes none.
    fn take_where(&mut self, judge: &mut dyn FnMut(PoolBlock) -> Judgement) -> Option<PoolBlock> {
        for gains in [true, false] {
            for index in (0..self.closed.len()).rev().filter(|&index| self.closed[index].gains == gains) {
                match judge(self.closed[index].block) {
                    Judgement::Take => return Some(self.closed.remove(index).block),
                    Judgement::Spare => {}
                    Judgement::Stop => return None,
                }
            }
        }
        None
    }

    fn remove(&mut self, block: PoolBlock) {
        self.closed.retain(|closed| closed.block != block);
    }

    fn memory_bytes(&self) -> usize {
        self.closed.capacity() * size_of::<Closed>()
    }
}
