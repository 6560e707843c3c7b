//! The small flash of figures 2 and 7: blocks of four pages.

use esker_cache::{Found, NO_ADMISSION};
use esker_core::{Bytes, LogicalPage, Nanos, Ratio};
use esker_flash::{CacheCleaning, Choice, HostManagedCache};

use crate::drive::Drive;
use crate::{Item, ReproduceError};

/// A cache of twelve pages on one die. The figures draw the blocks that hold data; one more is what our layer keeps
/// free for cleaning, so that the flash has five.
pub(super) fn cache(item: &Item, policy: &str, cleaning: CacheCleaning) -> Result<HostManagedCache, ReproduceError> {
    let flash = Drive::preset("xia-cache-3g").changed(|flash| {
        flash.geometry.channels = 1;
        flash.geometry.blocks_per_plane = 5;
        flash.geometry.pages_per_block = 4;
        flash.factory_over_provisioning = None;
        flash.over_provisioning = Some(Ratio::percent(40));
        flash.cleaning.threshold = Ratio::percent(20);
    });
    let [policy, admission] = [policy, NO_ADMISSION].map(Choice::named);
    HostManagedCache::new(&flash.settings, &policy, &admission, cleaning, Bytes::kib(4 * 32), 1)
        .map_err(|error| ReproduceError::of(item, error))
}

/// Reads `page`, and fills it in if it is not there.
pub(super) fn read(cache: &mut HostManagedCache, page: u32) -> Found {
    let found = cache.access(Nanos::ZERO, LogicalPage(page));
    if found == Found::Miss {
        cache.fill_untimed(LogicalPage(page));
    }
    found
}
