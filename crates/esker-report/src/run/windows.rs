//! The windows of flash caches that choose their size, as tables show them.

use esker_results::{CacheAllocation, CacheWindow, CacheWindowCost, RunResults};

/// A cache and its windows.
pub(crate) struct Allocation<'a> {
    pub(crate) name: &'a str,
    pub(crate) settings: CacheAllocation,
    pub(crate) windows: &'a [CacheWindow],
}

impl Allocation<'_> {
    /// The sizes that are compared in every window.
    pub(crate) fn sizes(&self) -> &[CacheWindowCost] {
        self.windows.first().map_or(&[], |window| &window.expected)
    }

    /// Whether a lifetime was asked for.
    pub(crate) fn has_budget(&self) -> bool {
        self.settings.erases_per_day_max.is_some()
    }

    /// Whether a window was followed by a training on the flash.
    pub(crate) fn has_trained(&self) -> bool {
        self.windows.iter().any(|window| window.trains)
    }
}

/// All caches that have ended a window.
pub(crate) fn allocations(results: &RunResults) -> Vec<Allocation<'_>> {
    let caches = results.devices.iter().filter_map(|(name, device)| {
        let cache = device.flash_cache.as_ref()?;
        Some(Allocation { name, settings: cache.allocation?, windows: &cache.windows })
    });
    caches.filter(|cache| !cache.windows.is_empty()).collect()
}

/// The place of the size among `sizes` that comes next to what was chosen.
pub(crate) fn nearest(window: &CacheWindow) -> usize {
    let far = |cost: &CacheWindowCost| (cost.left_to_cleaning - window.left_to_cleaning).abs();
    let places = window.expected.iter().enumerate();
    places.min_by(|one, other| far(one.1).total_cmp(&far(other.1))).map_or(0, |(place, _)| place)
}
