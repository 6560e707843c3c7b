//! How the array's pages are divided: pages for the host, blocks that are always kept free, and the rest for cleaning.

#[cfg(test)]
mod tests;

use esker_core::Ratio;
use esker_nand::{Geometry, ValueError};
use esker_results::PageCounts;

use crate::{BuildError, FtlSettings, STREAMS_MAX, Separation, WriteFrontiers};

/// The array's pages, divided into equal pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Allocation pools.
    pub pools: u32,
    /// Blocks of a pool.
    pub blocks_per_pool: u32,
    /// Blocks of a pool that take writes of one kind of data at the same time.
    pub frontiers: u32,
    /// Number of separate kinds of data.
    pub kinds: u32,
    /// A pool is cleaned if fewer blocks than this are free.
    pub reserve: u32,
    /// If fewer blocks than this are free, each write to a pool cleans a little; 0 turns this off.
    pub gradual: u32,
    /// If fewer blocks than this are free, a pool is cleaned in idle time; 0 turns this off.
    pub background: u32,
    /// Blocks of a pool that are bad from the start.
    pub bad_blocks_per_pool: u32,
    /// Pages of a block that can hold data.
    pub data_pages_per_block: u32,
    /// Pages that the host can address, over all pools.
    pub host_pages: u32,
    /// Logical pages in the map: `host_pages`, or more if an owner keeps only some of its pages here.
    pub logical_pages: u32,
    raw_pages: u32,
    /// Whether the owner of the pages drops some when blocks go out of use.
    shrinks: bool,
}

/// Returns the number of separate kinds of data.
fn kinds(settings: &FtlSettings) -> Result<u32, BuildError> {
    let (key, streams) = ("streams", settings.streams);
    match (streams, settings.cleaning.separate) {
        (0, _) => Err(ValueError::Zero { key }.into()),
        _ if streams > STREAMS_MAX => {
            Err(ValueError::TooLarge { key, found: u64::from(streams), limit: u64::from(STREAMS_MAX) }.into())
        }
        (_, Separation::None) => Ok(streams),
        (_, Separation::Copied) => Ok(streams + 1),
        (1, Separation::HotCold) => Ok(2),
        (_, Separation::HotCold) => Err(ValueError::Contradiction {
            keys: vec!["streams", "cleaning.separate"],
            first: format!("`streams` = {streams}"),
            second: "`cleaning.separate` = \"hot-cold\"".to_string(),
            reason: "a page goes either where its stream does or where its temperature says".to_string(),
            remedy: "leave one of them out, or use separate = \"copied\"".to_string(),
        }
        .into()),
    }
}

/// Checks that shares of `settings` are below 100 % where they have to be.
fn check_shares(settings: &FtlSettings) -> Result<(), ValueError> {
    let below_all = |key, found, usual| match found {
        found if found >= Ratio::ONE => Err(ValueError::NotAShare { key, found, usual }),
        _ => Ok(()),
    };
    below_all("cleaning.threshold", settings.cleaning.threshold, "5%")?;
    let Some(wear) = settings.wear else { return Ok(()) };
    // All of the mean has a meaning: each block below it takes cold data.
    if wear.retirement_age > Ratio::ONE {
        let (key, found) = ("wear.retirement_age".into(), wear.retirement_age.to_string());
        return Err(ValueError::Parameter { key, found, expected: "a share up to 100%, such as 85%".into() });
    }
    below_all("wear.factory_bad_blocks", wear.factory_bad_blocks, "2%")?;
    below_all("wear.erase_failures", wear.erase_failures, "0.001%")
}

impl Space {
    /// Divides the pages of `geometry` as `settings` ask.
    pub fn new(settings: &FtlSettings, geometry: &Geometry) -> Result<Self, BuildError> {
        check_shares(settings)?;
        let threshold = settings.cleaning.threshold;
        let pools = geometry.pools(settings.pool);
        let blocks_per_pool = geometry.blocks() / pools;
        let frontiers = match settings.write_frontiers {
            WriteFrontiers::Pool => 1,
            WriteFrontiers::Die => (geometry.dies() / pools).max(1),
            WriteFrontiers::Plane => geometry.planes() / pools,
        };
        let kinds = kinds(settings)?;
        let open = kinds.saturating_mul(frontiers);
        let blocks = |share: Ratio| {
            let blocks = u128::from(blocks_per_pool) * u128::from(share.as_parts_per_billion());
            blocks.div_ceil(1_000_000_000) as u32
        };
        let bad = settings.wear.map_or(Ratio::ZERO, |wear| wear.factory_bad_blocks);
        let reserve = blocks(threshold).max(open.saturating_add(u32::from(settings.power_fails)));
        let ahead = |key, share: Option<Ratio>| match share {
            None => Ok(0),
            Some(share) if share <= threshold || share >= Ratio::ONE => {
                Err(BuildError::NotAboveThreshold { key, found: share, threshold })
            }
            // The value must exceed the reserve, which cleaning keeps free anyway, or cleaning ahead would never begin.
            Some(share) => Ok(blocks(share).max(reserve.saturating_add(1))),
        };
        let mut space = Self {
            pools,
            blocks_per_pool,
            frontiers,
            kinds,
            reserve,
            gradual: ahead("cleaning.gradual", settings.cleaning.gradual)?,
            background: ahead("cleaning.background", settings.cleaning.background)?,
            bad_blocks_per_pool: blocks(bad),
            data_pages_per_block: geometry.data_pages_per_block(),
            host_pages: 0,
            logical_pages: 0,
            raw_pages: geometry.pages(),
            shrinks: false,
        };
        let needed = reserve.saturating_add(open);
        if needed >= blocks_per_pool {
            let good = blocks_per_pool - space.bad_blocks_per_pool;
            return Err(BuildError::PoolTooSmall { blocks: good, needed, reserve, frontiers: open });
        }
        let (key, spare, whole) = space.stated(settings)?;
        if spare >= Ratio::ONE {
            return Err(ValueError::NotAShare { key, found: spare, usual: "15%" }.into());
        }
        space.host_pages = share_left(spare, whole);
        space.logical_pages = space.host_pages;
        space.check(key, whole, threshold)?;
        Ok(space)
    }

    /// Returns the space of a layer whose owner has `pages` logical pages, with data for at most [`Self::host_pages`]
    /// of them at any time. Returns `None` if `pages` is less than that, or if there are several pools: the owner
    /// decides which pages have data, and one pool might have to hold them all.
    pub fn addressing(self, pages: u32) -> Option<Self> {
        (pages >= self.host_pages && self.pools == 1).then_some(Self { logical_pages: pages, ..self })
    }

    /// Returns the space of a layer whose owner holds at most [`Self::pages_of_owner`] pages when blocks go out of use.
    pub fn shrinking(self) -> Self {
        Self { shrinks: true, ..self }
    }

    /// Returns the largest number of pages with data after `retired` blocks of a pool have gone out of use: the same
    /// share of the flash as with all blocks, or fewer if cleaning could not gain any space otherwise.
    pub fn pages_of_owner(&self, retired: u32) -> u32 {
        let left = self.blocks_per_pool.saturating_sub(retired);
        let share = u64::from(self.host_pages_per_pool()) * u64::from(left) / u64::from(self.blocks_per_pool);
        let room = self.room_in(left, self.reserve);
        room.min(share as u32)
    }

    /// Returns the key that states the spare space, its value, and the number of pages that it is a share of.
    fn stated(&self, settings: &FtlSettings) -> Result<(&'static str, Ratio, u32), BuildError> {
        match (settings.over_provisioning, settings.spare_factor, settings.factory_over_provisioning) {
            (Some(over_provisioning), Some(spare_factor), _) => {
                Err(BuildError::TwoSpareSpaces { over_provisioning, spare_factor })
            }
            (None, Some(spare), _) => Ok(("spare_factor", spare, self.data_pages() - self.reserve_pages())),
            (Some(spare), None, _) => Ok(("over_provisioning", spare, self.raw_pages)),
            (None, None, Some(spare)) => Ok(("factory_over_provisioning", spare, self.raw_pages)),
            (None, None, None) => Err(BuildError::NoSpareSpaceStated),
        }
    }

    fn check(&self, key: &'static str, whole: u32, threshold: Ratio) -> Result<(), BuildError> {
        if self.host_pages < self.pools {
            return Err(BuildError::NoHostPages { host: u64::from(self.host_pages), pools: self.pools });
        }
        let room = self.room_per_pool(self.reserve);
        if self.host_pages_per_pool() > room {
            let stated = if key == "factory_over_provisioning" { "over_provisioning" } else { key };
            return Err(BuildError::NoSpareSpace {
                blocks: self.blocks_per_pool,
                data_pages: self.data_pages_per_block,
                host: u64::from(self.host_pages_per_pool()),
                room: u64::from(room),
                reserve: self.reserve,
                frontiers: self.open_blocks(),
                threshold,
                remedy: (stated, self.least_spare(whole)),
            });
        }
        for (key, blocks) in [("cleaning.gradual", self.gradual), ("cleaning.background", self.background)] {
            // With a goal that cannot be reached, cleaning would never end.
            let most = (self.reserve..self.blocks_per_pool)
                .take_while(|free| self.host_pages_per_pool() <= self.room_per_pool(*free))
                .last()
                .unwrap_or(self.reserve);
            if blocks > most {
                return Err(BuildError::NeverFree { key, blocks, most, of: self.blocks_per_pool });
            }
        }
        Ok(())
    }

    /// Returns the number of host pages that a pool can hold so that cleaning for `free` blocks always gains space:
    /// with all of them in closed blocks, at least one page of those blocks is superseded (Agrawal 2008, section 3.1:
    /// "enough spare blocks to allow writes and cleaning to proceed").
    fn room_per_pool(&self, free: u32) -> u32 {
        self.room_in(self.blocks_per_pool, free)
    }

    /// Does the same as [`Self::room_per_pool`] for a pool that has `blocks` blocks left.
    fn room_in(&self, blocks: u32, free: u32) -> u32 {
        let unusable = free + self.open_blocks() + self.bad_blocks_per_pool;
        ((blocks + 1).saturating_sub(unusable) * self.data_pages_per_block).saturating_sub(1)
    }

    /// Returns the number of blocks that are bad from the start, over all pools.
    pub fn bad_blocks(&self) -> u32 {
        self.pools * self.bad_blocks_per_pool
    }

    /// Returns the number of all other blocks: those that share the wear.
    pub fn good_blocks(&self) -> u32 {
        self.pools * (self.blocks_per_pool - self.bad_blocks_per_pool)
    }

    /// Returns the number of blocks of a pool that are open at the same time, for writes of the host or for copies.
    pub fn open_blocks(&self) -> u32 {
        self.kinds * self.frontiers
    }

    /// Returns how many blocks of a pool may go bad before the host's pages no longer fit. If the owner drops pages
    /// when blocks go bad, returns how many may go bad before no page fits.
    pub fn spare_blocks_per_pool(&self) -> u32 {
        if self.shrinks {
            let least = self.reserve + self.open_blocks() + self.bad_blocks_per_pool;
            return self.blocks_per_pool.saturating_sub(least);
        }
        let spare = self.room_per_pool(self.reserve).saturating_sub(self.host_pages_per_pool());
        spare / self.data_pages_per_block
    }

    /// Returns the smallest share of `whole`, in whole percent, that leaves enough room; 100 % if none does.
    fn least_spare(&self, whole: u32) -> Ratio {
        let room = self.room_per_pool(self.reserve);
        (1..100)
            .map(Ratio::percent)
            .find(|spare| {
                let left = share_left(*spare, whole);
                left >= self.pools && left.div_ceil(self.pools) <= room
            })
            .unwrap_or(Ratio::ONE)
    }

    /// Returns the smallest over-provisioning, in whole percent, that leaves the host at most `pages`; 100 % if none
    /// does.
    pub(crate) fn over_provisioning_for(&self, pages: u64) -> Ratio {
        let left = |spare: &Ratio| u64::from(share_left(*spare, self.raw_pages));
        (1..100)
            .map(Ratio::percent)
            .find(|spare| left(spare) <= pages && left(spare) >= u64::from(self.pools))
            .unwrap_or(Ratio::ONE)
    }

    /// Returns the largest number of host pages in a pool.
    pub fn host_pages_per_pool(&self) -> u32 {
        self.host_pages.div_ceil(self.pools)
    }
    /// Returns the largest number of logical pages in a pool.
    pub(crate) fn logical_pages_per_pool(&self) -> u32 {
        self.logical_pages.div_ceil(self.pools)
    }
    /// Returns the number of pages of the array that can hold data.
    pub fn data_pages(&self) -> u32 {
        self.pools * self.blocks_per_pool * self.data_pages_per_block
    }
    /// Returns the number of data pages in the blocks that are always kept free.
    pub fn reserve_pages(&self) -> u32 {
        self.pools * self.reserve * self.data_pages_per_block
    }
    /// Returns the page counts for results.
    pub fn page_counts(&self) -> PageCounts {
        PageCounts {
            raw: u64::from(self.raw_pages),
            data: u64::from(self.data_pages()),
            reserve: u64::from(self.reserve_pages()),
            host: u64::from(self.host_pages),
        }
    }
    /// Returns the spare factor S of the literature: 1 - host / (data - reserve).
    pub fn effective_spare_factor(&self) -> f64 {
        1.0 - f64::from(self.host_pages) / f64::from(self.data_pages() - self.reserve_pages())
    }
}

/// Returns `(1 - spare) x whole`, rounded down.
fn share_left(spare: Ratio, whole: u32) -> u32 {
    spare.complement().of(u64::from(whole)) as u32
}
