//! What an engine and its children did, for results.

use esker_core::DeviceState;
use esker_results::{ChildState, MemoryCacheReport};
use esker_tier::CacheCounts;

pub(super) const fn child_state(state: DeviceState) -> Option<ChildState> {
    match state {
        DeviceState::Online => None,
        DeviceState::ReadOnly => Some(ChildState::ReadOnly),
        DeviceState::Failed => Some(ChildState::Failed),
    }
}

pub(super) fn cached_since(before: &CacheCounts, now: &CacheCounts) -> MemoryCacheReport {
    let (hits, misses) = (now.hits - before.hits, now.misses - before.misses);
    MemoryCacheReport {
        hits,
        misses,
        hit_ratio: hits as f64 / (hits + misses).max(1) as f64,
        fetched_bytes: now.fetched_bytes - before.fetched_bytes,
        widened_writes: now.widened - before.widened,
    }
}
