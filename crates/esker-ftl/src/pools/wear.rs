//! Wear-levelling, and blocks that wear out (Agrawal 2008, section 5).

mod erase_spread;

use std::cmp::Reverse;

use esker_core::{Ratio, Rng, Unsupported};
use esker_nand::state::FlashState;

use crate::numbers::{PoolBlock, PoolBlocks};
use crate::{EndOfLife, WearLevelling, WearSettings};
use erase_spread::EraseSpread;

/// What a drive lacks that moves no data to level wear.
pub(super) const NO_MOVES: &str = "pausing wear-levelling: it moves no data for that";
/// Number of candidates that are tried before a worn block is cleaned anyway.
const DRAWS_MAX: usize = 64;

/// The wear of one pool's blocks.
#[derive(Clone, Debug)]
pub(super) struct Wear {
    settings: WearSettings,
    rng: Rng,
    numbers: PoolBlocks,
    /// Rated erases per block.
    endurance: u64,
    /// Erases in the pool since it was new: the clock of `erased_at`.
    erases: u64,
    in_use: InUse,
    /// For each block, the pool's count of erases when it was last erased.
    erased_at: Vec<u64>,
    /// Bit set of blocks that are out of use.
    bad: Vec<u64>,
    /// Blocks that may still go bad before the host's data no longer fit.
    spare: u32,
    /// With static levelling, the erase counts of the blocks in use.
    spread: Option<EraseSpread>,
    /// Whether nothing may be moved to level wear.
    is_paused: bool,
    counts: WearCounts,
}

/// The blocks that are not bad. A bad one wears no more, so that its remaining life would raise the mean for ever.
#[derive(Clone, Copy, Debug, Default)]
struct InUse {
    blocks: u32,
    /// Erases of all of them.
    erases: u64,
}

/// Counts of wear-levelling and of worn-out blocks since the device was new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WearCounts {
    /// Blocks that were bad from the start.
    pub factory_bad: u64,
    /// Blocks that were taken out of use.
    pub retired: u64,
    /// Blocks whose cold data were moved to a worn block, and that were erased for it.
    pub migrated: u64,
    /// Victims that the rate limit spared.
    pub spared: u64,
}

impl WearCounts {
    pub(super) fn add(&mut self, other: &Self) {
        self.factory_bad += other.factory_bad;
        self.retired += other.retired;
        self.add_events(other);
    }

    /// Adds the events that `other` counted, but not its blocks: a layer that was recovered after a power failure finds
    /// bad blocks again, but not what happened before.
    pub fn add_events(&mut self, other: &Self) {
        self.migrated += other.migrated;
        self.spared += other.spared;
    }
}

impl Wear {
    /// Makes the wear of a new pool: `bad` blocks are bad from the start, and `spare` more may go bad.
    pub(super) fn new(
        settings: &WearSettings,
        numbers: PoolBlocks,
        bad: u32,
        spare: u32,
        endurance: u64,
        seed: u64,
    ) -> Self {
        let blocks = numbers.count();
        let mut rng = Rng::derive(seed, "wear");
        let mut bits = vec![0u64; blocks.div_ceil(64) as usize];
        let mut left = bad;
        while left > 0 {
            let block = rng.below(u64::from(blocks)) as usize;
            let (word, bit) = (block / 64, 1 << (block % 64));
            left -= u32::from(bits[word] & bit == 0);
            bits[word] |= bit;
        }
        Self {
            settings: *settings,
            rng,
            numbers,
            endurance,
            erases: u64::from(blocks) * u64::from(settings.initial_erases),
            in_use: InUse {
                blocks: blocks - bad,
                erases: u64::from(blocks - bad) * u64::from(settings.initial_erases),
            },
            erased_at: vec![0; blocks as usize],
            bad: bits,
            spare,
            spread: (settings.levelling == WearLevelling::Static)
                .then(|| EraseSpread::new(settings.initial_erases, blocks - bad)),
            is_paused: false,
            counts: WearCounts { factory_bad: u64::from(bad), ..WearCounts::default() },
        }
    }

    /// After a power failure, takes over the bad-block marks on flash. The times of the last erases are lost.
    pub(super) fn recover(&mut self, flash: &FlashState) {
        (self.erases, self.in_use) = (0, InUse::default());
        for block in self.numbers.all() {
            let index = self.numbers.on_device(block);
            self.erases += u64::from(flash.erases_of(index));
            if flash.is_marked_bad(index) {
                self.bad[block.index() / 64] |= 1 << (block.0 % 64);
                self.counts.retired += 1;
            }
            if !self.is_bad(block) {
                self.in_use.blocks += 1;
                self.in_use.erases += u64::from(flash.erases_of(index));
            }
        }
        if self.spread.is_some() {
            let in_use = self.numbers.all().filter(|block| !self.is_bad(*block));
            self.spread = Some(EraseSpread::of(in_use.map(|block| flash.erases_of(self.numbers.on_device(block)))));
        }
    }

    /// Stops or resumes the moves that only level wear. The rate limit moves nothing, and goes on.
    pub(super) fn pause(&mut self, is_paused: bool) -> Result<(), Unsupported> {
        if !self.settings.levelling.moves_data() {
            return Err(Unsupported(NO_MOVES));
        }
        self.is_paused = is_paused;
        Ok(())
    }

    pub(super) fn counts(&self) -> &WearCounts {
        &self.counts
    }
    pub(super) fn is_bad(&self, block: PoolBlock) -> bool {
        self.bad[block.index() / 64] >> (block.0 % 64) & 1 == 1
    }
    pub(super) fn bad_blocks(&self) -> u32 {
        (self.counts.factory_bad + self.counts.retired) as u32
    }
    /// Returns true if more blocks went bad than the host's data can spare.
    pub(super) fn is_worn_out(&self) -> bool {
        self.counts.retired > u64::from(self.spare)
    }
    pub(super) fn has_retired_blocks(&self) -> bool {
        self.counts.retired > 0
    }
    pub(super) fn memory_bytes(&self) -> usize {
        let spread = self.spread.as_ref().map_or(0, EraseSpread::memory_bytes);
        size_of_val(&*self.erased_at) + size_of_val(&*self.bad) + spread
    }

    fn remaining(&self, block: PoolBlock, flash: &FlashState) -> u64 {
        let erases = flash.erases_of(self.numbers.on_device(block));
        self.endurance.saturating_sub(u64::from(erases))
    }

    /// Returns `share` of the mean remaining life of the blocks in use, multiplied by their number to avoid rounding.
    fn share_of_mean(&self, share: Ratio) -> u128 {
        let InUse { blocks, erases } = self.in_use;
        let left = (u128::from(self.endurance) * u128::from(blocks)).saturating_sub(u128::from(erases));
        left * u128::from(share.as_parts_per_billion()) / 1_000_000_000
    }

    /// Returns the remaining life of a block, multiplied likewise.
    fn against_mean(&self, remaining: u64) -> u128 {
        u128::from(remaining) * u128::from(self.in_use.blocks)
    }

    /// Returns true if `block` may be cleaned now. If its remaining life is below (1 - age variance) of the mean, the
    /// probability falls with the remaining life from 1 to 0.
    pub(super) fn allows(&mut self, block: PoolBlock, flash: &FlashState) -> bool {
        if !self.settings.levelling.limits_rate() {
            return true;
        }
        let own = self.against_mean(self.remaining(block, flash));
        let limit = self.share_of_mean(self.settings.age_variance.complement());
        // With no life left on average, there is nothing to level.
        if own >= limit || limit == 0 {
            return true;
        }
        let allowed = (self.rng.below(1 << 32) as u128) * limit < own << 32;
        self.counts.spared += u64::from(!allowed);
        allowed
    }

    /// Returns the largest number of calls of [`Self::allows`] for one victim.
    pub(super) fn draws_max() -> usize {
        DRAWS_MAX
    }

    /// Records an erase of `block`. Returns what to do with the block.
    pub(super) fn erased(&mut self, block: PoolBlock, flash: &FlashState) -> BlockFate {
        self.erases += 1;
        self.in_use.erases += 1;
        self.erased_at[block.index()] = self.erases;
        let failed = self.settings.erase_failures > Ratio::ZERO
            && self.rng.below(1_000_000_000) < self.settings.erase_failures.as_parts_per_billion();
        let worn = self.settings.end_of_life == EndOfLife::Retire && self.remaining(block, flash) == 0;
        if failed || worn {
            self.bad[block.index() / 64] |= 1 << (block.0 % 64);
            self.counts.retired += 1;
            self.in_use.blocks -= 1;
            self.in_use.erases -= u64::from(flash.erases_of(self.numbers.on_device(block)));
            self.spread.iter_mut().for_each(|spread| spread.retired(flash.erases_of(self.numbers.on_device(block))));
            return BlockFate::Retired;
        }
        let erases = flash.erases_of(self.numbers.on_device(block));
        let lowest = self.spread.as_mut().map_or(erases, |spread| spread.erased(erases));
        let is_worn = match self.settings.levelling {
            WearLevelling::None | WearLevelling::RateLimit => false,
            WearLevelling::Migration => {
                self.against_mean(self.remaining(block, flash)) < self.share_of_mean(self.settings.retirement_age)
            }
            WearLevelling::Static => erases - lowest > self.settings.spread,
        };
        if is_worn && !self.is_paused { BlockFate::TakesColdData } else { BlockFate::Free }
    }

    /// Returns the coldest of the closed blocks `candidates`. Against a share of the mean it is the one with the most
    /// remaining life, if that is more than the mean; of equally good ones, the one that was erased longest ago. By the
    /// spread it is the one that was erased longest ago of those that `worn` is so far from: the one with the most
    /// remaining life may have been a cold one until just now, and hold hot data. `copied` pages of `worn` were valid
    /// when it was chosen as a victim.
    pub(super) fn coldest(
        &self,
        (worn, copied): (PoolBlock, u32),
        candidates: impl Iterator<Item = PoolBlock>,
        flash: &FlashState,
    ) -> Option<PoolBlock> {
        let blocks = candidates.map(|block| (self.remaining(block, flash), self.erased_at[block.index()], block));
        let coldest = match self.settings.levelling {
            WearLevelling::Static => {
                let least = self.remaining(worn, flash) + u64::from(self.settings.spread);
                let far = blocks.filter(|(remaining, ..)| *remaining > least);
                let pages = flash.geometry().data_pages_per_block();
                let is_full = |block| is_fuller(flash.valid_in(self.numbers.on_device(block)), copied, pages);
                let far = far.filter(|&(.., block)| is_full(block));
                far.min_by_key(|&(remaining, erased_at, block)| (erased_at, Reverse(remaining), block))
            }
            _ => {
                let mean = self.share_of_mean(Ratio::ONE);
                let better = blocks.filter(|(remaining, ..)| self.against_mean(*remaining) > mean);
                better.min_by_key(|&(remaining, erased_at, block)| (Reverse(remaining), erased_at, block))
            }
        };
        coldest.map(|(.., block)| block)
    }

    pub(super) fn migrated(&mut self) {
        self.counts.migrated += 1;
    }
}

/// Returns true if a block of `pages` pages, of which `valid` are valid, is more than a quarter of the way from the
/// last victim, which had `copied`, to a full one. A worn block that took fewer pages would be a victim soon again, and
/// the block that has them is cleaned soon itself.
fn is_fuller(valid: u32, copied: u32, pages: u32) -> bool {
    4 * valid.saturating_sub(copied) > pages.saturating_sub(copied)
}

/// What to do with an erased block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockFate {
    /// Use it for writes again.
    Free,
    /// It is worn: move cold data to it.
    TakesColdData,
    /// Take it out of use.
    Retired,
}
