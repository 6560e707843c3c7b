//! Number types for blocks and parts of a pool. Blocks of the device have a type of their own, [`BlockIndex`].

use esker_nand::BlockIndex;

/// Index of a block within its pool. [`BlockIndex`] is its index on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolBlock(pub u32);

impl PoolBlock {
    /// Returns its index for a table of all blocks of the pool.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A part of a pool: a die, or a plane if each plane has write frontiers of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PoolPart(pub(crate) u32);

impl PoolPart {
    /// Returns its index for a table of all parts of the pool.
    #[inline(always)]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The range of device blocks that make up a pool, divided into parts of equal size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolBlocks {
    first: u32,
    parts: u32,
    per_part: u32,
}

impl PoolBlocks {
    /// A pool of `blocks` blocks from device block `first` on, divided into `parts` parts.
    pub(crate) fn new(first: u32, blocks: u32, parts: u32) -> Self {
        Self { first, parts, per_part: blocks / parts }
    }

    /// Returns the number of blocks.
    #[inline(always)]
    pub(crate) fn count(&self) -> u32 {
        self.parts * self.per_part
    }

    /// Iterates over all blocks.
    pub(crate) fn all(&self) -> impl Iterator<Item = PoolBlock> + Clone + use<> {
        (0..self.count()).map(PoolBlock)
    }

    /// Iterates over the blocks of `part`.
    pub(crate) fn of_part(&self, part: PoolPart) -> impl Iterator<Item = PoolBlock> + use<> {
        let first = self.first_of(part).0;
        (first..first + self.per_part).map(PoolBlock)
    }

    /// Returns the first block of `part`.
    #[inline(always)]
    pub(crate) fn first_of(&self, part: PoolPart) -> PoolBlock {
        PoolBlock(part.0 * self.per_part)
    }

    /// Returns the part that follows `part` in turn.
    #[inline(always)]
    pub(crate) fn part_after(&self, part: PoolPart) -> PoolPart {
        PoolPart(if part.0 + 1 == self.parts { 0 } else { part.0 + 1 })
    }

    /// Iterates over all parts.
    pub(crate) fn parts(&self) -> impl Iterator<Item = PoolPart> + use<> {
        (0..self.parts).map(PoolPart)
    }

    /// Returns the part of `block`.
    #[inline(always)]
    pub(crate) fn part(&self, block: PoolBlock) -> PoolPart {
        PoolPart(block.0 / self.per_part)
    }

    /// Returns the index of `block` on the device.
    #[inline(always)]
    pub(crate) fn on_device(&self, block: PoolBlock) -> BlockIndex {
        debug_assert!(block.0 < self.count(), "the pool has no such block");
        BlockIndex(self.first + block.0)
    }

    /// Returns the index within the pool of `block`, which belongs to it.
    #[inline(always)]
    pub(crate) fn in_pool(&self, block: BlockIndex) -> PoolBlock {
        debug_assert!((self.first..self.first + self.count()).contains(&block.0), "{block:?} is another pool's");
        PoolBlock(block.0 - self.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_tells_its_blocks_from_those_of_others() {
        let blocks = PoolBlocks::new(24, 12, 3);
        assert_eq!((blocks.count(), blocks.all().count()), (12, 12));
        for part in blocks.parts() {
            assert!(blocks.of_part(part).all(|block| blocks.part(block) == part));
            assert_eq!(blocks.of_part(part).next(), Some(blocks.first_of(part)));
        }
        assert!(blocks.all().all(|block| blocks.in_pool(blocks.on_device(block)) == block));
        assert_eq!(blocks.on_device(PoolBlock(5)), BlockIndex(29));
        assert_eq!([0, 1, 2].map(|part| blocks.part_after(PoolPart(part)).0), [1, 2, 0]);
    }

    #[test]
    #[should_panic(expected = "is another pool's")]
    fn a_block_of_another_pool_has_no_number_in_this_one() {
        PoolBlocks::new(24, 12, 3).in_pool(BlockIndex(36));
    }
}
