//! Random settings of volumes.

use std::sync::Arc;

use esker_core::{Bytes, Rng};
use esker_volume::{PinnedRange, VolumeSettings};
use serde_json::json;

/// Picks one of several.
fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.below(from.len() as u64) as usize]
}

/// Random settings of an engine over this many disks.
pub(crate) fn settings(disks: usize, rng: &mut Rng) -> VolumeSettings {
    let policies = ["fast-first", "static-split", "migration", "wardrop"];
    match rng.below(8) {
        0..3 if disks == 2 => {
            let lines = ["512B", "4KiB", "16KiB"];
            let ways = [("unified", "write-back"), ("unified", "write-through"), ("read", "write-around")];
            let (role, write) = pick(rng, &ways);
            let slots = if write == "write-back" { pick(rng, &["any", "log", "append-only"]) } else { "any" };
            let policy = if slots == "any" { "lru" } else { "fifo" };
            let line = pick(rng, &lines);
            let options = json!({ "line": line, "policy": policy, "slots": slots, "role": role, "write": write });
            VolumeSettings::new("cache", options)
        }
        3 => VolumeSettings::new("array", json!({ "stripe": pick(rng, &["512B", "4KiB", "64KiB"]) })),
        kind => {
            let policy = pick(rng, &policies);
            let cached_extents = if kind == 4 { 3 } else { 0 };
            let extent = Bytes(4096 << rng.below(5));
            let options = json!({
                "extent": extent, "policy": { "kind": policy }, "reserve": "10%", "cached_extents": cached_extents,
            });
            VolumeSettings::new("hybrid", options)
        }
    }
}

/// Random settings of a cluster: small slices, short epochs, and balancers that move something whenever they can.
pub(crate) fn cluster(copies: u8, rng: &mut Rng) -> VolumeSettings {
    let balancers = [
        json!({ "kind": "ewo", "sigma_c": 0, "eta_c": "0%", "horizon_epochs": 1 }),
        json!({ "kind": "edm-like", "lambda": "0%", "horizon_epochs": 1, "round": "any" }),
        json!({ "kind": "life", "tolerance": "0%", "gain": "0%", "warm_up_epochs": 0, "memory_epochs": 1 }),
    ];
    let balancer = balancers[rng.below(balancers.len() as u64) as usize].clone();
    let (epoch, copies_after) = (pick(rng, &["400us", "4ms"]), pick(rng, &["0%", "50%"]));
    let options = json!({
        "object": Bytes(4096 << rng.below(5)), "objects_per_slice": 1 + rng.below(6), "partitions": 64,
        "replicas": copies.max(1), "reserve": "30%", "balancer": balancer, "epoch": epoch, "copies_after": copies_after,
        "copied_bytes_per_second": pick(rng, &["1GiB", "8GiB"]), "rated_fills": 10,
    });
    VolumeSettings::new("cluster", options)
}

/// Has every third hybrid follow a map of random ranges, which may overlap, and returns these. A generator of their own
/// draws them, so that all else about a seed is what it is without a map.
pub(crate) fn map(settings: &mut VolumeSettings, disks: &[Bytes], seed: u64) -> Option<Arc<[PinnedRange]>> {
    let mut rng = Rng::derive(seed, "map of ranges");
    if settings.kind != "hybrid" || !rng.chance(1, 3) {
        return None;
    }
    settings.pin("ranges", None);
    let all: u64 = disks.iter().map(|disk| disk.0).sum();
    let ranges = (0..1 + rng.below(4)).map(|_| PinnedRange {
        start: Bytes(4096 * rng.below(all / 4096)),
        length: Bytes(4096 * (1 + rng.below(all / 4096 / 2))),
        device: rng.below(disks.len() as u64) as u16,
    });
    Some(ranges.collect())
}
