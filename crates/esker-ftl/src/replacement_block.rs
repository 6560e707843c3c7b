//! Replacement blocks: rewritten pages go to a chain of blocks, at the same fixed offsets.

use esker_core::registry::{Accepted, Fallback, Parameter, ParameterSource};
use esker_nand::BlockIndex;
use esker_nand::state::{FlashState, OpSink};

use crate::blocks::{Associated, BlockMapped, BlockNeeds, BlockPool, ExtraBlocks, KeptBlock, LOG, PageAddress, Scheme};
use crate::roomy::Roomy;
use crate::{Cells, FtlEntry, FtlError, LayerCapability};

pub(crate) const ENTRY: FtlEntry = FtlEntry {
    name: "replacement-block",
    summary: "a map of blocks; rewritten pages go to their offsets in a chain of replacement blocks",
    source: "Kim 2009, section 2.3.2 and table 3.1, after Ban 1995",
    parameters: ParameterSource::Listed(&[
        Parameter {
            name: "replacements",
            meaning: "replacement blocks that a logical block may have (K)",
            value: Accepted::Count { default: Fallback::Value(2), least: 1, most: 1 << 16 },
        },
        Parameter {
            meaning: "replacement blocks of all logical blocks together, as a share of the logical blocks, rounded up",
            ..LOG
        },
    ]),
    capabilities: &[LayerCapability::Recover],
    build: |context, parameters| {
        let longest = parameters.count("replacements") as usize;
        let share = parameters.share(LOG.name);
        let purpose = "replacement blocks (`ftl.log`)";
        let needs = BlockNeeds { kind: "replacement-block", run: 1, share, least: 1, purpose, free: 1 };
        let scheme = |pool: &BlockPool| ReplacementBlock {
            chains: Associated::new(pool.logical()),
            longest,
            unused: pool.updates(),
        };
        Ok(Box::new(BlockMapped::new(context, &needs, scheme)?))
    },
};

/// A page goes to the first block of its chain (the data block, then its replacements) that can be programmed at the
/// page's offset. If there is none, the chain grows by a block. Before that, a chain that already has K replacements is
/// merged. If the pool has no replacement block left, the longest chain is merged; of equally long ones, the one that
/// grew longest ago.
#[derive(Clone, Debug)]
struct ReplacementBlock {
    /// For each logical block, its replacement blocks; ordered by when the chains last grew.
    chains: Associated<Roomy<Vec<BlockIndex>>>,
    longest: usize,
    unused: u32,
}

impl ReplacementBlock {
    /// Merges the chain of `block`.
    fn merge<S: OpSink>(&mut self, block: u32, pool: &mut BlockPool, cells: &mut Cells<'_, S>) -> Result<(), FtlError> {
        let chain = self.chains.remove(block).expect("it has a chain");
        let data = pool.data(block).expect("a block has a data block before it has replacements");
        self.unused += chain.len() as u32;
        // Merging into the block with the most pages takes the fewest copies.
        let all = std::iter::once(data).chain(chain.0);
        let heir = all
            .clone()
            .filter(|candidate| pool.can_complete(block, *candidate, |from| from != *candidate, cells.flash))
            .max_by_key(|candidate| cells.flash.valid_in(*candidate));
        let last = match heir {
            Some(heir) => pool.complete(block, heir, 0, |from| from != heir, cells),
            None => {
                // This erases the data block.
                let last = pool.gather(block, cells)?;
                pool.counters.gathered(1);
                last
            }
        };
        let kept = heir.unwrap_or(data);
        all.filter(|other| *other != kept).for_each(|other| pool.erase(other, last, cells));
        Ok(())
    }

    /// Returns the longest chain; of equally long ones, the one that grew longest ago.
    fn victim(&self) -> Option<u32> {
        let chains = self.chains.iter().map(|(block, chain)| (chain.len(), block));
        chains.reduce(|best, chain| if chain.0 > best.0 { chain } else { best }).map(|(_, block)| block)
    }
}

impl Scheme for ReplacementBlock {
    fn place<S: OpSink>(
        &mut self,
        at: PageAddress,
        pool: &mut BlockPool,
        cells: &mut Cells<'_, S>,
    ) -> Result<(BlockIndex, u32), FtlError> {
        if let Some(data) = pool.in_place(at, cells.flash)? {
            return Ok((data, at.offset));
        }
        let mut length = 0;
        if let Some(chain) = self.chains.get(at.block) {
            if let Some(block) = chain.iter().find(|block| at.offset >= cells.flash.written_in(**block)) {
                return Ok((*block, at.offset));
            }
            length = chain.len();
        }
        if length == self.longest {
            self.merge(at.block, pool, cells)?;
        } else if self.unused == 0 {
            let victim = self.victim().expect("replacement blocks are in use");
            self.merge(victim, pool, cells)?;
        }
        // The merge above may have been one of this very block.
        if let Some(data) = pool.in_place(at, cells.flash)? {
            return Ok((data, at.offset));
        }
        let block = pool.take_for(at.block)?;
        self.unused -= 1;
        match self.chains.get_mut(at.block) {
            Some(chain) => {
                chain.push(block);
                self.chains.touch(at.block);
            }
            None => self.chains.insert(at.block, Roomy(vec![block])),
        }
        Ok((block, at.offset))
    }

    fn adopt<S: OpSink>(
        &mut self,
        kept: &[KeptBlock],
        pool: &mut BlockPool,
        cells: &mut Cells<'_, S>,
    ) -> Result<(), FtlError> {
        let beside = pool.assign_data(kept.iter().copied());
        let (chains, odd): (Vec<ExtraBlocks>, Vec<ExtraBlocks>) =
            beside.into_iter().partition(|beside| beside.blocks.len() <= self.longest);
        odd.iter().try_for_each(|beside| pool.gather_all(beside, cells))?;
        for chain in chains {
            let length = chain.blocks.len() as u32;
            if length > self.unused {
                pool.gather_all(&chain, cells)?;
            } else {
                self.unused -= length;
                self.chains.insert(chain.logical, Roomy(chain.blocks));
            }
        }
        Ok(())
    }

    fn collect<S: OpSink>(&mut self, pool: &mut BlockPool, cells: &mut Cells<'_, S>) -> Result<bool, FtlError> {
        let Some(victim) = self.victim() else { return Ok(false) };
        self.merge(victim, pool, cells)?;
        Ok(true)
    }

    fn unused(&self) -> u32 {
        self.unused
    }

    fn map_bytes(&self, pool: &BlockPool) -> u64 {
        // A replacement block is one link of a chain: the block and the next link.
        4 * (u64::from(pool.logical()) + 2 * u64::from(pool.updates()))
    }

    fn memory_bytes(&self) -> usize {
        let chains = self.chains.iter().map(|(_, chain)| chain.capacity() * size_of::<BlockIndex>());
        self.chains.memory_bytes() + chains.sum::<usize>()
    }

    fn update_blocks(&self) -> Vec<(BlockIndex, Option<u32>)> {
        let chains = self.chains.iter();
        chains.flat_map(|(owner, chain)| chain.iter().map(move |block| (*block, Some(owner)))).collect()
    }

    fn check(&self, pool: &BlockPool, flash: &FlashState) {
        let used: usize = self.chains.iter().map(|(_, chain)| chain.len()).sum();
        assert_eq!(used as u32 + self.unused, pool.updates(), "replacement blocks are counted wrongly");
        for (owner, chain) in self.chains.iter() {
            assert!(!chain.is_empty() && chain.len() <= self.longest);
            let in_place = chain.iter().all(|block| pool.can_complete(owner, *block, |_| false, flash));
            assert!(in_place, "a page of a replacement block is out of place");
        }
    }
}
