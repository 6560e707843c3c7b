//! The block with the fewest valid pages.

use std::fmt;

use esker_core::registry::ParameterSource;

#[cfg(test)]
use super::tests::{Rule, only};
use super::{Compared, VictimAnswer, VictimCapability, VictimEntry, VictimPolicy};
#[cfg(test)]
use crate::Choice;
use crate::PoolBlock;

pub(crate) const ENTRY: VictimEntry = VictimEntry {
    name: "greedy",
    summary: "the block with the fewest valid pages",
    source: "Agrawal et al. 2008, section 3.1",
    parameters: ParameterSource::NONE,
    capabilities: &[VictimCapability::KnownSteady],
    build: |shape, _, _| match shape.data_pages_per_block < u32::from(u16::NOT_CLOSED) {
        true => Ok(Box::new(Greedy::<u16>::new(shape.blocks))),
        // A zone of many dies.
        false => Ok(Box::new(Greedy::<u32>::new(shape.blocks))),
    },
};

/// A count of valid pages. That of blocks has two bytes, so that more of them fit in a cache line.
trait Count: Copy + Ord + fmt::Debug + Send + Into<u32> + TryFrom<u32, Error: fmt::Debug> + 'static {
    /// Marks a block that is not closed: more valid pages than any block has.
    const NOT_CLOSED: Self;
}

impl Count for u16 {
    const NOT_CLOSED: Self = Self::MAX;
}

impl Count for u32 {
    const NOT_CLOSED: Self = Self::MAX;
}

/// Children of a node: as many as fit in a cache line.
const WIDTH: usize = 32;

/// A tree of minimum counts of valid pages. A superseded page lowers the count of its block and, if that is now the
/// minimum of its group, the count of the group: mostly one store. Linked lists for each count would find a victim
/// without a search, but touch five cache lines all over memory for each superseded page, and were measured to be
/// slower. Of equally good blocks, the lowest goes first.
#[derive(Clone, Debug)]
struct Greedy<C> {
    /// Levels from the blocks up to the root, which is a single count.
    levels: Vec<Vec<C>>,
}

impl<C: Count> Greedy<C> {
    fn new(blocks: u32) -> Self {
        let mut levels = vec![vec![C::NOT_CLOSED; blocks as usize]];
        while levels[levels.len() - 1].len() > 1 {
            let groups = levels[levels.len() - 1].len().div_ceil(WIDTH);
            levels.push(vec![C::NOT_CLOSED; groups]);
        }
        Self { levels }
    }

    #[inline]
    fn lower(&mut self, block: PoolBlock, valid: u32) {
        let mut index = block.index();
        let valid = C::try_from(valid).expect("a block has no more pages than its shape says");
        self.levels[0][index] = valid;
        for level in &mut self.levels[1..] {
            index /= WIDTH;
            if level[index] <= valid {
                return;
            }
            level[index] = valid;
        }
    }

    /// Returns the block with the fewest valid pages, and their number.
    fn first(&self) -> Option<(PoolBlock, u32)> {
        let least = self.levels[self.levels.len() - 1][0];
        if least == C::NOT_CLOSED {
            return None;
        }
        let mut index = 0;
        for level in self.levels.iter().rev().skip(1) {
            let group = Self::group(level, index);
            let first = group.iter().position(|valid| *valid == least).expect("a group has the least of its members");
            index = index * WIDTH + first;
        }
        Some((PoolBlock(index as u32), least.into()))
    }

    fn group(level: &[C], index: usize) -> &[C] {
        &level[index * WIDTH..level.len().min((index + 1) * WIDTH)]
    }
}

impl<C: Count> VictimPolicy for Greedy<C> {
    fn closed(&mut self, block: PoolBlock, valid: u32) {
        self.lower(block, valid);
    }

    #[inline]
    fn superseded(&mut self, block: PoolBlock, valid: u32) {
        self.lower(block, valid);
    }

    fn revived(&mut self, block: PoolBlock, valid: u32) {
        self.remove(block);
        self.lower(block, valid);
    }

    fn take(&mut self) -> Option<PoolBlock> {
        let (block, _) = self.first()?;
        self.remove(block);
        Some(block)
    }

    fn take_where(&mut self, judge: &mut dyn FnMut(PoolBlock) -> VictimAnswer) -> Option<PoolBlock> {
        // Skipped blocks leave the tree in the meantime. It holds only counts, so putting them back restores it.
        let mut spared = Vec::new();
        let mut taken = None;
        while let Some((block, valid)) = self.first() {
            let judgement = judge(block);
            if judgement == VictimAnswer::Stop {
                break;
            }
            self.remove(block);
            if judgement == VictimAnswer::Take {
                taken = Some(block);
                break;
            }
            spared.push((block, valid));
        }
        for (block, valid) in spared {
            self.lower(block, valid);
        }
        taken
    }

    fn remove(&mut self, block: PoolBlock) {
        let mut index = block.index();
        self.levels[0][index] = C::NOT_CLOSED;
        for level in 1..self.levels.len() {
            index /= WIDTH;
            let (below, above) = self.levels.split_at_mut(level);
            above[0][index] = *Self::group(&below[level - 1], index).iter().min().expect("no group is empty");
        }
    }

    fn memory_bytes(&self) -> usize {
        self.levels.iter().map(|level| size_of_val(&**level)).sum()
    }

    fn decides_alone(&self) -> bool {
        true
    }

    fn compares(&self) -> Option<Compared> {
        Some(Compared::All)
    }
}

/// The fewest valid pages; of these the lowest block.
#[cfg(test)]
pub(super) const RULE: Rule = Rule {
    choice: || Choice::named(ENTRY.name),
    best: |_, left| only(left.iter().min_by_key(|closed| (closed.valid, closed.block))),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::{PoolShape, build};

    /// 131,072 pages are as many as none in 16 bits, and 65,535 are a block that is not closed.
    #[test]
    fn zones_may_have_more_pages_than_sixteen_bits_count() {
        let shape = PoolShape { blocks: 4, data_pages_per_block: 131_072 };
        let mut policy = build(&Choice::named("greedy"), &shape, 1).unwrap();
        for (zone, valid) in [(0, 131_072), (1, 70_000), (2, 65_535), (3, 65_534)] {
            policy.closed(PoolBlock(zone), valid);
        }
        let order: Vec<_> = std::iter::from_fn(|| policy.take()).map(|zone| zone.0).collect();
        assert_eq!(order, [3, 2, 1, 0]);
    }
}
