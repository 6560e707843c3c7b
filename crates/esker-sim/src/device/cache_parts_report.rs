//! What the parts of a flash cache did, for results.

use esker_results::{CachePart, CachePartKind, CachePartition, CachePartitionWindow, CacheSplitCost};
use esker_tier::{CacheParts, PartUse, PartitionDecision, SplitCost};

/// What the parts of a cache did since they were used as in `before`.
pub(super) fn partition_since(before: &[PartUse], now: &CacheParts<'_>) -> CachePartition {
    let part = |(place, used): (usize, &PartUse)| {
        let PartUse { hits, misses } = before.get(place).copied().unwrap_or_default();
        let (hits, misses) = (used.hits - hits, used.misses - misses);
        CachePart {
            share_lines: now.shares.get(place).copied().unwrap_or(0).into(),
            held_lines: now.held.get(place).copied().unwrap_or(0).into(),
            hits,
            misses,
            hit_ratio: hits as f64 / (hits + misses).max(1) as f64,
        }
    };
    CachePartition {
        by: if now.is_by_volume { CachePartKind::Volume } else { CachePartKind::Access },
        parts: now.uses.iter().enumerate().map(part).collect(),
        window_bytes: now.window.map(|window| window.0),
        open_window_bytes: now.open.0,
        windows: now.decided.iter().map(window).collect(),
    }
}

fn window(decided: &PartitionDecision) -> CachePartitionWindow {
    let cost = |split: &SplitCost| CacheSplitCost {
        written_share: split.written_share,
        backing_reads_per_access: split.backing_reads,
        backing_writes_per_access: split.backing_writes,
    };
    CachePartitionWindow {
        ends_s: decided.at.as_secs_f64(),
        shares: decided.shares.clone(),
        miss_ratios: decided.miss_ratios.clone(),
        splits: decided.splits.iter().map(cost).collect(),
    }
}
