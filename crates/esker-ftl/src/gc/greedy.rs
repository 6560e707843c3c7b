//! The block with the fewest valid pages.

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
    build: |shape, _, _| Ok(Box::new(Greedy::new(shape.blocks))),
};

/// Marks a block that is not closed: more valid pages than any block has.
const NOT_CLOSED: u16 = u16::MAX;
/// Children of a node: as many as fit in a cache line.
const WIDTH: usize = 32;

/// A tree of minimum counts of valid pages. A superseded page lowers the count of its block and, if that is now the
/// minimum of its group, the count of the group: mostly one store. Linked lists for each count would find a victim
/// without a search, but touch five cache lines all over memory for each superseded page, and were measured to be
/// slower. Of equally good blocks, the lowest goes first.
#[derive(Clone, Debug)]
struct Greedy {
    /// Levels from the blocks up to the root, which is a single count.
    levels: Vec<Vec<u16>>,
}

impl Greedy {
    fn new(blocks: u32) -> Self {
        let mut levels = vec![vec![NOT_CLOSED; blocks as usize]];
        while levels[levels.len() - 1].len() > 1 {
            let groups = levels[levels.len() - 1].len().div_ceil(WIDTH);
            levels.push(vec![NOT_CLOSED; groups]);
        }
        Self { levels }
    }

    #[inline]
    fn lower(&mut self, block: PoolBlock, valid: u32) {
        let mut index = block.index();
        let valid = valid as u16;
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
        if least == NOT_CLOSED {
            return None;
        }
        let mut index = 0;
        for level in self.levels.iter().rev().skip(1) {
            let group = Self::group(level, index);
            let first = group.iter().position(|valid| *valid == least).expect("a group has the least of its members");
            index = index * WIDTH + first;
        }
        Some((PoolBlock(index as u32), u32::from(least)))
    }

    fn group(level: &[u16], index: usize) -> &[u16] {
        &level[index * WIDTH..level.len().min((index + 1) * WIDTH)]
    }
}

impl VictimPolicy for Greedy {
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
        self.levels[0][index] = NOT_CLOSED;
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
