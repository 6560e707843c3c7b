//! What a flash cache did, for results.

use esker_core::Nanos;
use esker_results::{CacheAllocation, CacheRoomLeft, CacheShrink, CacheWindow, CacheWindowCost, FlashCacheReport};
use esker_tier::{CacheRoom, CacheWindows, ExpectedCost, FlashCacheCounts, WindowDecision};

/// What a cache did since `before`.
pub(super) fn report_since(
    before: &FlashCacheCounts,
    now: &FlashCacheCounts,
    windows: Option<CacheWindows<'_>>,
) -> FlashCacheReport {
    let (read_hits, read_misses) = (now.read_hits - before.read_hits, now.read_misses - before.read_misses);
    let hits = read_hits + now.write_hits - before.write_hits;
    let misses = read_misses + now.write_misses - before.write_misses;
    let ratio = |hits: u64, misses: u64| hits as f64 / (hits + misses).max(1) as f64;
    FlashCacheReport {
        hits,
        misses,
        hit_ratio: ratio(hits, misses),
        read_hits,
        read_misses,
        read_hit_ratio: ratio(read_hits, read_misses),
        evictions: now.evictions - before.evictions,
        dirty_evictions: now.dirty_evictions - before.dirty_evictions,
        revived: now.revived - before.revived,
        revived_suspects: now.revived_suspects - before.revived_suspects,
        erased_suspects: now.erased_suspects - before.erased_suspects,
        dropped_lines: now.dropped - before.dropped,
        cleaned: now.cleaned - before.cleaned,
        refused: now.refused - before.refused,
        without_slot: now.without_slot - before.without_slot,
        flash_errors: now.flash_errors - before.flash_errors,
        lost: now.lost - before.lost,
        refused_writes: now.refused_writes - before.refused_writes,
        filled_bytes: now.filled_bytes - before.filled_bytes,
        flash_written_bytes: now.flash_written_bytes - before.flash_written_bytes,
        trimmed_bytes: now.trimmed_bytes - before.trimmed_bytes,
        copied_back_bytes: now.copied_back_bytes - before.copied_back_bytes,
        suspected_lines: now.suspects,
        held_lines: now.held,
        dirty_lines: now.dirty,
        slots: now.slots,
        beyond_lines: now.beyond,
        allocation: windows.map(|windows| CacheAllocation {
            window_bytes: windows.length.0,
            open_window_bytes: windows.open.0,
            erases_per_day_max: windows.erases_per_day_max,
        }),
        room: None,
        partition: None,
        windows: windows.map_or(&[][..], |windows| windows.decided).iter().map(window).collect(),
    }
}

/// What is left of flash that the cache owns; `None` if that is all of it.
pub(super) fn room_left(room: CacheRoom<'_>) -> Option<CacheRoomLeft> {
    let shrank = |&(at, slots): &(Nanos, u32)| CacheShrink { at_s: at.as_secs_f64(), slots: u64::from(slots) };
    let shrank: Vec<CacheShrink> = room.shrank.iter().map(shrank).collect();
    (!shrank.is_empty()).then(|| CacheRoomLeft { slots_at_first: u64::from(room.at_first), shrank })
}

fn cost(expected: &ExpectedCost) -> CacheWindowCost {
    CacheWindowCost {
        left_to_cleaning: expected.over_provisioning,
        miss_ratio: expected.miss_ratio,
        valid_share: expected.valid,
        latency_us: expected.latency.0 as f64 / 1e3,
        erases_per_day: expected.erases_per_day,
    }
}

fn window(decided: &WindowDecision) -> CacheWindow {
    CacheWindow {
        ends_s: decided.at.as_secs_f64(),
        left_to_cleaning: decided.over_provisioning,
        write_share: decided.writes,
        trains: decided.trains,
        keeps_lifetime: decided.keeps_lifetime,
        chosen: cost(&decided.chosen),
        expected: decided.expected.iter().map(cost).collect(),
    }
}
