//! The time series of a hybrid: shares against targets, what moved, and where the extents are.

use esker_results::{PlacementReport, RunResults};
use esker_sim::{Experiment, RunOptions};

/// Results of a hybrid of two constant devices in extents of 64 KiB, with this policy and these lines of `[run]`.
fn results(policy: &str, run: &str) -> RunResults {
    results_of(r#"["fast", "slow"]"#, policy, run)
}

/// Results of a hybrid of these children, constant devices of 32 MiB, in extents of 64 KiB.
fn results_of(children: &str, policy: &str, run: &str) -> RunResults {
    let experiment = format!(
        r#"
[workload]
queue_depth = 4
synthetic = {{ requests = 20000, read_fraction = "50%", size = "4KiB", footprint = "24MiB" }}

[device.fast]
kind = "constant"
service_time = "100us"
capacity = "32MiB"

[device.slow]
kind = "constant"
service_time = "300us"
capacity = "32MiB"

[device.volume]
kind = "hybrid"
children = {children}
extent = "64KiB"
capacity = "32MiB"
policy = {policy}

[run]
target = "volume"
{run}
"#
    );
    let experiment = Experiment::from_str(&experiment, "x.toml").unwrap();
    esker_sim::run(&experiment, &RunOptions::default()).unwrap()
}

const SPLIT: &str = r#"{ kind = "static-split", weights = [3, 1] }"#;
const WARDROP: &str = r#"{ kind = "wardrop" }"#;

#[test]
fn counts_add_up_to_the_requests_and_the_extents() {
    for policy in [SPLIT, WARDROP] {
        let results = results(policy, "warm_up_requests = 1000\nseries = \"10ms\"");
        let map = results.placement_map.as_ref().unwrap();
        assert_eq!(map.children, ["fast", "slow"]);
        assert_eq!((map.extent_bytes, map.range_bytes, map.range_extents.len()), (65_536, 131_072, 256));
        for frame in &map.frames {
            for (range, &extents) in map.range_extents.iter().enumerate() {
                assert_eq!(frame.extents.iter().map(|counts| counts[range]).sum::<u32>(), extents, "all have a place");
            }
        }
        let requests: u64 = map.frames.iter().flat_map(|frame| &frame.requests).sum();
        assert_eq!(requests, results.requests.all.count);
        assert!(map.frames.len() > 50 && map.frames.len() <= 201, "{}", map.frames.len());
        // The footprint is the first 24 MiB.
        assert!(map.frames.iter().all(|frame| frame.requests[192..].iter().all(|&requests| requests == 0)));
        // The last frame and the last point of the series show the same.
        let (last, point) = (map.frames.last().unwrap(), results.series.last().unwrap());
        for (child, name) in map.children.iter().enumerate() {
            let held = last.extents[child].iter().map(|&extents| u64::from(extents)).sum();
            assert_eq!(
                (point.children[name].held_extents, point.children[name].held_bytes),
                (Some(held), Some(held * map.extent_bytes))
            );
        }
    }
}

#[test]
fn a_fixed_split_keeps_its_shares_and_moves_nothing() {
    let results = results(SPLIT, "series = \"100ms\"");
    for point in &results.series {
        assert_eq!(point.placement, Some(PlacementReport::default()));
        let of = |name: &str| (point.children[name].target_share, point.children[name].held_extents);
        assert_eq!((of("fast"), of("slow")), ((Some(0.75), Some(384)), (Some(0.25), Some(128))));
    }
    let frames = &results.placement_map.as_ref().unwrap().frames;
    assert!(frames.iter().all(|frame| frame.extents == frames[0].extents));
}

#[test]
fn moves_are_counted_where_they_happen_and_seen_in_the_next_frame() {
    let results = results(WARDROP, "series = \"10ms\"");
    let total = results.devices["volume"].placement.unwrap();
    let sum = |count: fn(&PlacementReport) -> u64| -> u64 {
        results.series.iter().map(|point| count(&point.placement.unwrap())).sum()
    };
    assert!(total.moved_extents > 10);
    assert_eq!(sum(|moved| moved.moved_extents), total.moved_extents);
    assert_eq!(sum(|moved| moved.copied_bytes), total.copied_bytes);
    assert_eq!(sum(|moved| moved.redirected_writes), total.redirected_writes);
    // As long as frames are intervals, the map changes exactly where something moved.
    let map = results.placement_map.as_ref().unwrap();
    assert_eq!(map.frames.len(), results.series.len() + 1);
    for (index, point) in results.series.iter().enumerate() {
        let (before, now) = (&map.frames[index], &map.frames[index + 1]);
        let differ = before.extents[0].iter().zip(&now.extents[0]).map(|(one, other)| u64::from(one.abs_diff(*other)));
        let moved = point.placement.unwrap().moved_extents;
        assert!(differ.sum::<u64>() <= moved, "more has changed than moved");
        assert_eq!(now.start_s, point.start_s);
    }
    let first_move = results.series.iter().position(|point| point.placement.unwrap().moved_extents > 0).unwrap();
    assert_ne!(map.frames[first_move].extents, map.frames[first_move + 1].extents);
    assert!(map.frames[..=first_move].iter().all(|frame| frame.extents == map.frames[0].extents));
    // Shares follow the targets, which add up to one.
    let last = results.series.last().unwrap();
    let target = |name: &str| last.children[name].target_share.unwrap();
    assert!((target("fast") + target("slow") - 1.0).abs() < 1e-9 && target("fast") > 0.6, "{}", target("fast"));
}

#[test]
fn without_a_series_nothing_is_recorded_and_the_same_run_gives_the_same_bytes() {
    assert_eq!(results(WARDROP, "").placement_map, None);
    let json = || serde_json::to_string(&results(WARDROP, "series = \"2ms\"")).unwrap();
    assert_eq!(json(), json());
}

/// A device that has not joined holds nothing and has no target; one that was drained holds nothing any more.
#[test]
fn devices_that_join_and_leave_are_seen_in_the_map() {
    let run = r#"
series = "50ms"

[[run.events]]
at = "300ms"
device = "late"
join = true

[[run.events]]
at = "600ms"
device = "slow"
drain = true

[device.late]
kind = "constant"
service_time = "100us"
capacity = "32MiB"
"#;
    let results = results_of(r#"["fast", "slow", "late"]"#, WARDROP, run);
    let late = |point: usize| results.series[point].children["late"];
    assert_eq!((late(0).held_extents, late(0).target_share), (Some(0), None));
    let last = results.series.len() - 1;
    assert!(late(last).held_extents > Some(0) && late(last).target_share > Some(0.0));
    let frames = &results.placement_map.as_ref().unwrap().frames;
    let held = |frame: usize, child: usize| frames[frame].extents[child].iter().sum::<u32>();
    assert!(held(1, 1) > 0 && held(1, 2) == 0 && held(frames.len() - 1, 2) > 0);
    let drained_at_s = results.devices["volume"].children["slow"].drained_at_s.expect("it was drained");
    let empty = frames.iter().position(|frame| frame.end_s > drained_at_s).unwrap();
    assert!((empty..frames.len()).all(|frame| held(frame, 1) == 0) && held(empty - 2, 1) > 0);
    assert!(frames.iter().all(|frame| frame.extents.iter().flatten().sum::<u32>() == 512));
}

/// The settings of a hybrid and events of a run limit moves; nothing else of the results names them.
#[test]
fn moves_are_paused_and_limited() {
    let limited = |limits: &str, run: &str| results(WARDROP, &format!("{run}\n[device.volume.background]\n{limits}"));
    let moved = |results: &RunResults| results.devices["volume"].placement.unwrap();
    let paused = limited("paused = true", "");
    let config = &paused.config["device"]["volume"]["background"];
    assert_eq!((config, moved(&paused).copied_bytes), (&serde_json::json!({ "paused": true }), 0));
    let budget = limited("moved_bytes_per_day = \"200GiB\"", "");
    let seconds = budget.requests.all.count as f64 / budget.throughput.requests_per_s;
    let (copied, allowed) = (moved(&budget).copied_bytes as f64, (200u64 << 30) as f64 * seconds / 86_400.0);
    // A copy that is under way when the last request ends goes on after that.
    assert!(copied > 0.5 * allowed && copied <= allowed + 65_536.0, "{copied} of {allowed}");
    let event = |at: &str, change: &str| format!("{{ at = \"{at}\", device = \"volume\", {change} }}");
    let events = [event("300ms", "pause = true"), event("800ms", "pause = false")].join(", ");
    let results = results(WARDROP, &format!("series = \"100ms\"\nevents = [{events}]"));
    let moves: Vec<u64> = results.series.iter().map(|point| point.placement.unwrap().moved_extents).collect();
    assert!(moves[..3].iter().any(|&moves| moves > 0) && moves[8..].iter().any(|&moves| moves > 0), "{moves:?}");
    // Within three milliseconds, what devices had been asked for has ended.
    assert!(moves[3] <= 24 && moves[4..8].iter().all(|&moves| moves == 0), "{moves:?}");
}

#[test]
fn limits_that_make_no_sense_are_one_line_with_their_place() {
    let said = |run: &str| {
        let experiment = format!(
            "[workload]\nsynthetic = {{ requests = 1 }}\n[device.c]\nkind = \"constant\"\nservice_time = \"1ms\"\n\
             capacity = \"32MiB\"\n[device.volume]\nkind = \"hybrid\"\nchildren = [\"c\"]\nextent = \"64KiB\"\n\
             policy = {{ kind = \"static-split\" }}\n[run]\ntarget = \"volume\"\n{run}"
        );
        let experiment = Experiment::from_str(&experiment, "x.toml").map_err(|error| error.to_string());
        let error = experiment.and_then(|experiment| {
            esker_sim::run(&experiment, &RunOptions::default()).map_err(|error| error.to_string())
        });
        error.err().unwrap_or_default()
    };
    assert_eq!(
        said("[device.volume.background]\nmoved_bytes_per_day = \"4KiB\"\n"),
        "x.toml:15:1: device.volume.background.moved_bytes_per_day: 4KiB a day are less than one extent of 64KiB, so \
         nothing could move"
    );
    let event = "[[run.events]]\nat = \"1ms\"\ndevice = \"c\"\npause = true\n";
    assert!(said(event).ends_with("`c` moves no data in the background; hybrids and clusters do"), "{}", said(event));
    let event = event.replace("\"c\"", "\"volume\"").replace("pause = true", "moved_bytes_per_day = \"1KiB\"");
    assert!(said(&event).contains("less than one extent of 64KiB"), "{}", said(&event));
}
