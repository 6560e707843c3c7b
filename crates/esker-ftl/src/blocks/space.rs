//! How many blocks a block-mapped layer needs, and whether a pool has enough.

use esker_core::Ratio;
use esker_core::registry::{Accepted, Parameter};

use crate::{BuildError, FtlContext, Space};

/// The parameter for the number of log blocks. Kim 2009, section 2.3.2: "for example, 3% of total flash size".
pub(crate) const LOG: Parameter = Parameter {
    name: "log",
    meaning: "log blocks as a share of the logical blocks, taken out of the spare space, rounded up",
    value: Accepted::Share { default: Ratio::percent(3), least: Ratio::ZERO, most: Ratio::percent(1000) },
};

/// The blocks that a layer needs in each pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockNeeds {
    /// Name of the layer.
    pub(crate) kind: &'static str,
    /// Number of consecutive logical blocks that stay in one pool.
    pub(crate) run: u32,
    /// Blocks for updates, as a share of the logical blocks ...
    pub(crate) share: Ratio,
    /// ... and at least this many.
    pub(crate) least: u32,
    /// What the update blocks are called, and which parameter sets their number.
    pub(crate) purpose: &'static str,
    /// Blocks that stay free for merging, plus one if power may fail.
    pub(crate) free: u32,
}

/// How the blocks of a pool are divided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// Logical blocks.
    pub(crate) logical: u32,
    /// Blocks for updates.
    pub(crate) updates: u32,
}

impl BlockNeeds {
    /// Divides the blocks of a pool; an error if they are too few.
    pub(crate) fn check(&self, context: &FtlContext<'_>) -> Result<Layout, BuildError> {
        let space = context.space;
        let needs = Self { free: self.free + u32::from(context.settings.power_fails), ..*self };
        needs.share_out(context, space)
    }

    fn share_out(&self, context: &FtlContext<'_>, space: &Space) -> Result<Layout, BuildError> {
        let run_pages = u64::from(self.run) * u64::from(space.data_pages_per_block);
        let runs = u64::from(space.host_pages).div_ceil(run_pages).div_ceil(u64::from(space.pools));
        let logical = runs * u64::from(self.run);
        if self.total(logical) > u64::from(space.blocks_per_pool) {
            return Err(BuildError::NoUpdateBlocks {
                kind: self.kind,
                blocks: space.blocks_per_pool,
                logical: logical as u32,
                data_pages: space.data_pages_per_block,
                update: self.updates(logical) as u32,
                purpose: self.purpose,
                free: self.free,
                remedy: self.least_over_provisioning(context, space),
            });
        }
        Ok(Layout { logical: logical as u32, updates: self.updates(logical) as u32 })
    }

    fn updates(&self, logical: u64) -> u64 {
        let share = u128::from(logical) * u128::from(self.share.as_parts_per_billion());
        (share.div_ceil(1_000_000_000) as u64).max(u64::from(self.least))
    }

    fn total(&self, logical: u64) -> u64 {
        logical + self.updates(logical) + u64::from(self.free)
    }

    /// Returns the least over-provisioning that works, in whole percent; 100 % if none does.
    fn least_over_provisioning(&self, context: &FtlContext<'_>, space: &Space) -> Ratio {
        let most = (1..=u64::from(space.blocks_per_pool / self.run))
            .rev()
            .map(|runs| runs * u64::from(self.run))
            .find(|logical| self.total(*logical) <= u64::from(space.blocks_per_pool));
        let host = most.unwrap_or(0) * u64::from(space.pools) * u64::from(space.data_pages_per_block);
        let fits =
            |percent: &u64| Ratio::percent(*percent).complement().of(u64::from(context.geometry.pages())) <= host;
        (1..100).find(fits).map_or(Ratio::ONE, Ratio::percent)
    }
}
