//! The block that was filled last: the opposite of `fifo`, which no drive would choose. It stands for policies that
//! pick a block without superseded pages again and again, because what cleaning has copied is always the newest.

use esker_core::registry::ParameterSource;

#[cfg(test)]
use super::tests::{Rule, only};
use super::{VictimAnswer, VictimEntry, VictimPolicy};
#[cfg(test)]
use crate::Choice;
use crate::PoolBlock;

pub(super) const ENTRY: VictimEntry = VictimEntry {
    name: "mru",
    summary: "the block that was filled last",
    source: "none: for the tests",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: |_, _, _| Ok(Box::new(Mru::default())),
};

#[derive(Clone, Debug, Default)]
pub(super) struct Mru {
    /// In the order of filling.
    closed: Vec<PoolBlock>,
    decides_alone: bool,
}

impl Mru {
    /// A policy that decides alone although it picks full blocks for ever.
    pub(super) fn declared_wrongly() -> Self {
        Self { decides_alone: true, ..Self::default() }
    }
}

impl VictimPolicy for Mru {
    fn closed(&mut self, block: PoolBlock, _: u32) {
        self.closed.push(block);
    }
    fn superseded(&mut self, _: PoolBlock, _: u32) {}
    fn revived(&mut self, _: PoolBlock, _: u32) {}
    fn take_where(&mut self, judge: &mut dyn FnMut(PoolBlock) -> VictimAnswer) -> Option<PoolBlock> {
        for index in (0..self.closed.len()).rev() {
            match judge(self.closed[index]) {
                VictimAnswer::Take => return Some(self.closed.remove(index)),
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
        size_of_val(&*self.closed)
    }
    fn decides_alone(&self) -> bool {
        self.decides_alone
    }
}

/// The block that was filled last.
#[cfg(test)]
pub(super) const RULE: Rule = Rule { choice: || Choice::named(ENTRY.name), best: |_, left| only(left.last()) };
