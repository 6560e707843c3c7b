//! A run to draw.

use esker_results::{PlacementReport, RunResults, TokenReport};
use serde_json::{Value, json};

/// Intervals of a tenth of a second, and ranges of the map.
const INTERVALS: u32 = 40;
const RANGES: u32 = 16;

/// A possible run of four seconds: a hybrid whose extents move from its disk to its flash, one range in each interval
/// of the first half. Requests walk along the address space. The disk becomes slower after two seconds.
pub(crate) fn run() -> RunResults {
    serde_json::from_value(run_json()).unwrap()
}

/// A run of a single disk, without a series.
#[allow(dead_code, reason = "only some of the tests draw it")]
pub(crate) fn plain_run() -> RunResults {
    let mut run = run();
    run.devices.retain(|name, _| name == "disk");
    run.series.clear();
    run.placement_map = None;
    run.config = json!({ "device": { "disk": { "kind": "hdd" } }, "run": { "target": "disk" } });
    run
}

pub(crate) fn run_json() -> Value {
    let times = json!({
        "mean_us": 2e3, "stddev_us": 1e3, "p50_us": 1.5e3, "p95_us": 6e3, "p99_us": 9e3, "p999_us": 1.2e4,
        "max_us": 2e4,
    });
    let class =
        |count: u32| json!({ "count": count, "response_time": times, "device_time": times, "queue_time": times });
    let child = |share: f64| json!({ "share": share, "requests": 210, "response_time": times });
    let moved = PlacementReport {
        moved_extents: 20,
        moved_bytes: 20 << 20,
        copied_bytes: 18 << 20,
        redirected_writes: 7,
        tokens: Some(TokenReport { granted: 40, new_extents: 5, moves: 20, redirects: 7, lapsed: 8 }),
        ..PlacementReport::default()
    };
    let device = |kind: &str, requests: u32, capacity_mib: u32, utilisation: Value| {
        json!({
            "kind": kind, "capacity_bytes": u64::from(capacity_mib) << 20, "requests": requests,
            "utilisation": utilisation, "utilisation_busiest": utilisation,
        })
    };
    let mut volume = device("hybrid", 400, 160, json!({}));
    volume["placement"] = json!(moved);
    volume["children"] = json!({ "flash": child(0.7), "disk": child(0.3) });
    json!({
        "schema": 1, "version": "0.1.0", "seed": 1,
        "config": {
            "workload": {}, "run": { "target": "volume", "events": [{ "at": "2s", "device": "disk", "slow": 5 }] },
            "device": { "volume": { "kind": "hybrid", "policy": { "kind": "wardrop" } } },
        },
        "workload": {
            "requests": 400, "read_requests": 300, "write_requests": 100, "read_bytes": 300 << 12,
            "write_bytes": 100 << 12, "duration_s": 4.0,
        },
        "requests": { "all": class(400), "read": class(300), "write": class(100), "errors": 0 },
        "throughput": { "requests_per_s": 100.0, "bytes_per_s": 409_600.0 },
        "devices": {
            "volume": volume,
            "flash": device("ssd", 210, 200, json!({ "die": 0.2, "bus": 0.1 })),
            "disk": device("hdd", 210, 200, json!({ "arm": 0.9 })),
        },
        "series": (0..INTERVALS).map(point).collect::<Vec<_>>(),
        "placement_map": {
            "children": ["flash", "disk"], "extent_bytes": 1 << 20, "range_bytes": 10 << 20,
            "range_extents": vec![10; RANGES as usize], "frames": (0..=INTERVALS).map(frame).collect::<Vec<_>>(),
        },
    })
}

/// Ranges on flash at the end of this interval.
fn on_flash(intervals: u32) -> u32 {
    (4 + intervals / 2).min(12)
}

fn point(interval: u32) -> Value {
    let held = on_flash(interval + 1) * 10;
    let child = |share: f64, target: f64, extents: u32, mean_us: f64| {
        json!({
            "requests": (10.0 * share) as u64, "share": share, "mean_us": mean_us,
            "target_share": target, "held_extents": extents, "held_bytes": u64::from(extents) << 20,
        })
    };
    let moves = u64::from(on_flash(interval + 1) - on_flash(interval));
    let moved = PlacementReport {
        moved_extents: moves * 10,
        moved_bytes: moves * (10 << 20),
        copied_bytes: moves * (9 << 20),
        redirected_writes: moves,
        ..PlacementReport::default()
    };
    let slow = if interval < 20 { 1.0 } else { 5.0 };
    json!({
        "start_s": f64::from(interval) / 10.0, "requests": 10, "bytes": 40_960, "mean_us": 2e3 + 1e3 * slow,
        "p99_us": 6e3 * slow, "backlog_requests": 0, "utilisation": { "arm": 0.9, "die": 0.2 },
        "children": { "flash": child(0.7, 0.75, held, 1e3), "disk": child(0.3, 0.25, RANGES * 10 - held, 4e3 * slow) },
        "placement": moved,
    })
}

fn frame(number: u32) -> Value {
    let begin = number.saturating_sub(1);
    let hot = |range: u32| if number > 0 && range == begin * RANGES / INTERVALS { 10 } else { 0 };
    let flash = |range: u32| if range < on_flash(number) { 10 } else { 0 };
    json!({
        "start_s": f64::from(begin) / 10.0, "end_s": f64::from(number) / 10.0,
        "requests": (0..RANGES).map(hot).collect::<Vec<_>>(),
        "extents": [
            (0..RANGES).map(flash).collect::<Vec<_>>(), (0..RANGES).map(|range| 10 - flash(range)).collect::<Vec<_>>(),
        ],
    })
}
