//! How the array's pages are shared out: what the host can address, what is always kept free, what is left to work with.

use esker_core::{PageCounts, Ratio};

use crate::{Geometry, SsdError, SsdSettings, WriteFrontiers};

/// The array's pages shared out over pools that are all alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Allocation pools.
    pub pools: u32,
    /// Blocks of a pool.
    pub blocks_per_pool: u32,
    /// Blocks of a pool that take writes at the same time.
    pub frontiers: u32,
    /// Free blocks below which a pool cleans.
    pub reserve: u32,
    /// Pages of a block that can hold data.
    pub data_pages_per_block: u32,
    /// Pages that the host can address, in all pools together.
    pub host_pages: u32,
    raw_pages: u32,
}

impl Space {
    /// Shares out the pages of `geometry` as `settings` ask.
    pub fn new(settings: &SsdSettings, geometry: &Geometry) -> Result<Self, SsdError> {
        let threshold = settings.cleaning.threshold;
        if threshold >= Ratio::ONE {
            return Err(SsdError::NotAShare { key: "cleaning.threshold", found: threshold });
        }
        let pools = geometry.pools(settings.pool);
        let blocks_per_pool = geometry.blocks() / pools;
        let frontiers = match settings.write_frontiers {
            WriteFrontiers::Pool => 1,
            WriteFrontiers::Die => (geometry.dies() / pools).max(1),
        };
        let share = u128::from(blocks_per_pool) * u128::from(threshold.as_parts_per_billion());
        let reserve = (share.div_ceil(1_000_000_000) as u32).max(frontiers);
        let mut space = Self {
            pools,
            blocks_per_pool,
            frontiers,
            reserve,
            data_pages_per_block: geometry.data_pages_per_block(),
            host_pages: 0,
            raw_pages: geometry.pages(),
        };
        if reserve + frontiers >= blocks_per_pool {
            return Err(SsdError::PoolTooSmall {
                blocks: blocks_per_pool,
                needed: reserve + frontiers,
                reserve,
                frontiers,
            });
        }
        let (key, spare, whole) = space.stated(settings)?;
        if spare >= Ratio::ONE {
            return Err(SsdError::NotAShare { key, found: spare });
        }
        space.host_pages = share_left(spare, whole);
        space.check(key, whole, threshold)?;
        Ok(space)
    }

    /// Which key states the spare space, its value, and the pages of which it is a share.
    fn stated(&self, settings: &SsdSettings) -> Result<(&'static str, Ratio, u32), SsdError> {
        match (settings.over_provisioning, settings.spare_factor, settings.factory_over_provisioning) {
            (Some(over_provisioning), Some(spare_factor), _) => {
                Err(SsdError::TwoSpareSpaces { over_provisioning, spare_factor })
            }
            (None, Some(spare), _) => Ok(("spare_factor", spare, self.data_pages() - self.reserve_pages())),
            (Some(spare), None, _) => Ok(("over_provisioning", spare, self.raw_pages)),
            (None, None, Some(spare)) => Ok(("factory_over_provisioning", spare, self.raw_pages)),
            (None, None, None) => Err(SsdError::NoSpareSpaceStated),
        }
    }

    fn check(&self, key: &'static str, whole: u32, threshold: Ratio) -> Result<(), SsdError> {
        if self.host_pages < self.pools {
            return Err(SsdError::NoHostPages { host: u64::from(self.host_pages), pools: self.pools });
        }
        let room = self.room_per_pool();
        if self.host_pages_per_pool() > room {
            let stated = if key == "factory_over_provisioning" { "over_provisioning" } else { key };
            return Err(SsdError::NoSpareSpace {
                blocks: self.blocks_per_pool,
                data_pages: self.data_pages_per_block,
                host: u64::from(self.host_pages_per_pool()),
                room: u64::from(room),
                reserve: self.reserve,
                frontiers: self.frontiers,
                threshold,
                remedy: (stated, self.least_spare(whole)),
            });
        }
        Ok(())
    }

    /// Host pages that a pool can hold so that cleaning always gains: with all of them in closed blocks, at least one page
    /// of those is superseded (Agrawal 2008, section 3.1: "enough spare blocks to allow writes and cleaning to proceed").
    fn room_per_pool(&self) -> u32 {
        (self.blocks_per_pool - self.reserve + 1 - self.frontiers) * self.data_pages_per_block - 1
    }

    /// The least share of `whole`, in whole percent, that leaves enough room.
    fn least_spare(&self, whole: u32) -> Ratio {
        (1..100)
            .map(Ratio::percent)
            .find(|spare| share_left(*spare, whole).div_ceil(self.pools) <= self.room_per_pool())
            .unwrap_or(Ratio::percent(99))
    }

    /// The most host pages that a pool holds.
    pub fn host_pages_per_pool(&self) -> u32 {
        self.host_pages.div_ceil(self.pools)
    }
    /// Pages that can hold data.
    pub fn data_pages(&self) -> u32 {
        self.pools * self.blocks_per_pool * self.data_pages_per_block
    }
    /// Data pages of the blocks that are always kept free.
    pub fn reserve_pages(&self) -> u32 {
        self.pools * self.reserve * self.data_pages_per_block
    }
    /// As it stands in results.
    pub fn page_counts(&self) -> PageCounts {
        PageCounts {
            raw: u64::from(self.raw_pages),
            data: u64::from(self.data_pages()),
            reserve: u64::from(self.reserve_pages()),
            host: u64::from(self.host_pages),
        }
    }
    /// Spare factor S of the literature: 1 - host / (data - reserve).
    pub fn effective_spare_factor(&self) -> f64 {
        1.0 - f64::from(self.host_pages) / f64::from(self.data_pages() - self.reserve_pages())
    }
}

/// `(1 - spare) x whole`, rounded down.
fn share_left(spare: Ratio, whole: u32) -> u32 {
    spare.complement().of(u64::from(whole)) as u32
}
