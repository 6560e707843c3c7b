//! What chooses for an engine in simulations only; a volume links none of it.
//!
//! - Controllers of flash caches study the accesses to a cache, and choose its size or the shares of its parts anew in
//!   each window.
//! - Placement policies that only reproduce papers ([`PUBLISHED_PLACEMENTS`]).

mod allocation;
mod error;
mod partition;
mod published;
#[cfg(test)]
mod tests;

pub use allocation::{AllocationCurve, AllocationSettings, AllocationTraining, CopyingBack, Lifetime};
pub use partition::{PartitionBy, PartitionSettings};
pub use published::PUBLISHED_PLACEMENTS;

use allocation::Allocator;
use esker_tier::{BuildController, CacheController, CacheSizes, ControllerFault, FlashCacheSettings};
use partition::Partition;

/// The settings of the controller of a cache. Only one of the two can be built.
#[derive(Clone, Debug, PartialEq)]
pub struct ControllerSettings {
    /// How the cache chooses how much of the flash its lines take; `None` if that is fixed.
    pub allocation: Option<AllocationSettings>,
    /// How the cache is divided into parts; `None` if it is not.
    pub partition: Option<PartitionSettings>,
}

impl BuildController for ControllerSettings {
    fn check(&self, cache: &FlashCacheSettings) -> Result<(), ControllerFault> {
        if let Some(allocation) = &self.allocation {
            allocation.check_with(cache)?;
        }
        if let Some(partition) = &self.partition {
            partition.check_with(cache, self.allocation.is_some())?;
        }
        Ok(())
    }

    fn build(&self, sizes: &CacheSizes) -> Option<Box<dyn CacheController>> {
        if let Some(allocation) = &self.allocation {
            return Some(Box::new(Allocator::new(allocation, sizes)));
        }
        let partition = self.partition.as_ref()?;
        Some(Box::new(Partition::new(partition, sizes)))
    }
}
