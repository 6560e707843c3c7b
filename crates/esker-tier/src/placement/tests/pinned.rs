//! Extents that another policy has placed move to where they are pinned.

use esker_core::Ratio;

use super::background::{Load, WHOLE, loaded};
use super::*;
use crate::engine::{BackgroundSettings, HeldReason};

const FAST_FIRST: &str = r#"{"kind":"fast-first"}"#;
const LONG: Nanos = Nanos::from_secs(100);
const DAY: Nanos = Nanos::from_secs(86_400);

/// The policy that pins each of these runs of extents to its device.
fn pinned(runs: &[(Range<u64>, u16)]) -> LiveSettings {
    let range = |(run, device): &(Range<u64>, u16)| {
        let (start, length) = (run.start * WHOLE, (run.end - run.start) * WHOLE);
        format!(r#"{{"start":"{start}B","length":"{length}B","device":{device}}}"#)
    };
    let ranges: Vec<String> = runs.iter().map(range).collect();
    let policy = format!(r#"{{"kind":"pinned","ranges":[{}],"rest":{FAST_FIRST}}}"#, ranges.join(","));
    LiveSettings { policy: serde_json::from_str(&policy).ok(), ..LiveSettings::default() }
}

/// The extents of these runs that lie elsewhere.
fn astray(load: &Load, runs: &[(Range<u64>, u16)]) -> usize {
    let is_astray = |extent: u64, device: u16| {
        let place = load.engine.map.place(LogicalExtent(extent as u32)).expect("it is mapped");
        place.device != DeviceIndex(device)
    };
    let each = runs.iter().flat_map(|(run, device)| run.clone().map(|extent| (extent, *device)));
    each.filter(|&(extent, device)| is_astray(extent, device)).count()
}

fn wait(load: &mut Load, time: Nanos) {
    load.pass(load.now + time);
    load.engine.check();
}

/// The host is idle: the new policy begins by itself. The first device is full, so that what leaves it goes first.
#[test]
fn what_lies_elsewhere_moves_to_where_it_is_pinned() {
    let mut load = Load::new(loaded([64, 96], 100, FAST_FIRST));
    let runs = [(0..40, 1), (60..100, 0)];
    assert_eq!(astray(&load, &runs), 40 + 36);
    load.set(&pinned(&runs)).unwrap();
    wait(&mut load, LONG);
    assert_eq!(astray(&load, &runs), 0);
    assert_eq!(load.background().copies, 0);
    // What lies where it belongs is left alone.
    let copies = load.copies.len();
    load.run(LONG, Nanos::from_millis(3));
    assert_eq!(load.copies.len(), copies);
}

#[test]
fn extents_that_are_not_pinned_make_room_for_those_that_are() {
    let mut load = Load::new(loaded([64, 96], 100, FAST_FIRST));
    let runs = [(70..100, 0)];
    load.set(&pinned(&runs)).unwrap();
    wait(&mut load, LONG);
    assert_eq!(astray(&load, &runs), 0);
    assert_eq!(load.engine.map.mapped(0), 64, "no more than needed have left");
}

/// More is pinned to a device than it holds: it is filled, the rest stays, and nothing moves to and fro.
#[test]
fn what_does_not_fit_stays_and_the_report_says_why() {
    let mut load = Load::new(loaded([64, 96], 100, FAST_FIRST));
    let runs = [(0..100, 0)];
    load.set(&pinned(&runs)).unwrap();
    load.run(LONG, Nanos::from_millis(3));
    assert_eq!((astray(&load, &runs), load.copies.len()), (36, 0));
    assert_eq!(load.background().held, Some(HeldReason::NoRoom(vec![DeviceIndex(0)])));
    assert_eq!(load.engine.moved_now().moves_without_room, 1);
}

#[test]
fn a_pause_and_a_budget_hold_what_is_astray() {
    let mut load = Load::new(loaded([64, 96], 100, FAST_FIRST));
    let runs = [(0..30, 1)];
    let background = |paused, extents: u64| BackgroundSettings {
        paused,
        moved_bytes_per_day: (extents > 0).then_some(Bytes(extents * WHOLE)),
    };
    load.set(&LiveSettings { background: Some(background(true, 0)), ..pinned(&runs) }).unwrap();
    wait(&mut load, LONG);
    assert_eq!(astray(&load, &runs), 30);
    load.set(&LiveSettings { background: Some(background(false, 10)), ..LiveSettings::default() }).unwrap();
    // A budget is earned over the first day, and then used each day, though the host is idle.
    for left in [20, 10] {
        wait(&mut load, DAY + LONG + LONG);
        assert_eq!(astray(&load, &runs), left);
        assert_eq!(load.background().held, Some(HeldReason::Budget));
    }
    load.set(&LiveSettings { background: Some(background(false, 0)), ..LiveSettings::default() }).unwrap();
    wait(&mut load, LONG);
    assert_eq!(astray(&load, &runs), 0);
}

/// New extents that found their device full move to it once there is room.
#[test]
fn what_was_placed_elsewhere_follows_when_the_host_gives_room() {
    let policy = pinned(&[(0..100, 0)]).policy.unwrap();
    let settings = PlacementSettings { policy, ..settings(&[64 * EXTENT, 96 * EXTENT], "[1, 1]") };
    let mut engine = PlacementEngine::new(&settings).unwrap();
    engine.fill(Ratio::percent(50));
    let mut load = Load::new(engine);
    let runs = [(0..80, 0)];
    assert_eq!(astray(&load, &runs), 16);
    let trim = Request::new(RequestKind::Trim, Lba(0), Bytes(10 * WHOLE));
    load.tell(host(0, trim));
    load.tell(host(1, FLUSH));
    wait(&mut load, LONG);
    assert_eq!(astray(&load, &[(10..80, 0)]), 6);
}
