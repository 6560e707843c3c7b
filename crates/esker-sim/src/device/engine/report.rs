//! What an engine and its children did, for results.

use esker_core::{ChildExtents, Device, DeviceState, LatencyHistogram, Nanos, PlacementTelemetry};
use esker_results::{
    ChildReport, ChildState, DeviceReport, FlashCacheReport, LatencySummary, MemoryCacheReport, Report, Reporting,
};
use esker_tier::{CacheCounts, DeviceIndex, Engine};

use super::EngineDevice;
use crate::device::cache_parts_report::partition_since;
use crate::device::flash_cache_report::{report_since, room_left};
use crate::measured::moved;

impl<E: Engine> Reporting for EngineDevice<E> {
    fn report(&self, into: &mut Report) {
        self.children.iter().for_each(|(device, _)| device.report(into));
        let total = self.responses.iter().map(LatencyHistogram::count).sum::<u64>().max(1) as f64;
        let children = (0..self.names.len()).zip(self.children.iter()).map(|(index, (_, requests))| {
            let responses = &self.responses[index];
            let (share, response_time) = (responses.count() as f64 / total, LatencySummary::of(responses));
            let drained_at_s = self.drained_at.get(index).copied().flatten().map(Nanos::as_secs_f64);
            // Those that have not joined are not known to the engine.
            let has_joined = index + self.joining.len() < self.names.len();
            let state = has_joined.then(|| self.engine.device_state(DeviceIndex(index as u16))).and_then(child_state);
            (self.names[index].clone(), ChildReport { share, requests, response_time, state, drained_at_s })
        });
        into.add(
            &self.name,
            DeviceReport {
                kind: self.kind.to_string(),
                capacity_bytes: self.capacity().0,
                requests: self.requests,
                placement: self.placement().map(|now| moved(&self.moved_before, &now)),
                memory_cache: self.engine.cache_counts().map(|now| cached_since(&self.cached_before, &now)),
                flash_cache: self.engine.flash_cache_counts().map(|now| FlashCacheReport {
                    partition: self.engine.cache_parts().map(|now| partition_since(&self.parts_before, &now)),
                    room: self.engine.cache_room().and_then(room_left),
                    ..report_since(&self.flash_cached_before, &now, self.engine.cache_windows())
                }),
                children: children.collect(),
                ..DeviceReport::default()
            },
        );
    }
}

/// What an engine has placed and moved so far; `None` of one that computes places.
pub(super) fn placement_of(engine: &impl Engine) -> Option<PlacementTelemetry> {
    let (layout, moved) = (engine.layout()?, engine.movements()?);
    let target = |child: usize| layout.targets.as_ref().and_then(|targets| targets.get(child)).copied();
    let children = layout.held.iter().enumerate();
    let children = children.map(|(child, &extents)| ChildExtents { extents, target_share: target(child) });
    Some(PlacementTelemetry {
        extent: layout.extent,
        children: children.collect(),
        moved_extents: moved.moved,
        moved_bytes: moved.moved_bytes,
        copied_bytes: moved.copied_bytes,
        redirected_writes: moved.redirected,
        abandoned_moves: moved.abandoned,
        freed_extents: moved.freed,
        displaced_extents: moved.displaced,
        moves_without_room: moved.without_room,
        tokens: moved.tokens,
    })
}

const fn child_state(state: DeviceState) -> Option<ChildState> {
    match state {
        DeviceState::Online => None,
        DeviceState::ReadOnly => Some(ChildState::ReadOnly),
        DeviceState::Failed => Some(ChildState::Failed),
    }
}

fn cached_since(before: &CacheCounts, now: &CacheCounts) -> MemoryCacheReport {
    let (hits, misses) = (now.hits - before.hits, now.misses - before.misses);
    MemoryCacheReport {
        hits,
        misses,
        hit_ratio: hits as f64 / (hits + misses).max(1) as f64,
        fetched_bytes: now.fetched_bytes - before.fetched_bytes,
        widened_writes: now.widened - before.widened,
    }
}
