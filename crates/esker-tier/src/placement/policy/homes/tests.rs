//! Tests of homes.

use esker_core::Priority;

use super::*;

fn homes(shares: &[f64]) -> Vec<u16> {
    let mut homes = Homes::new(&vec![1; shares.len()], 10.0, Nanos::from_millis(1));
    homes.shares = shares.to_vec();
    (0..100_000).map(|extent| homes.home(LogicalExtent(extent)).0).collect()
}

#[test]
fn extents_are_shared_out_by_the_shares() {
    let homes = homes(&[0.7, 0.25, 0.05]);
    let share = |device: u16| homes.iter().filter(|&&home| home == device).count() as f64 / 1e5;
    assert!((share(0) - 0.7).abs() < 0.005 && (share(2) - 0.05).abs() < 0.003, "{} {}", share(0), share(2));
}

fn idle() -> DeviceView {
    let state = esker_core::DeviceState::Online;
    DeviceView { extents: 9, free_extents: 9, state, drained: false, is_held: false, under_way: 0 }
}

/// After a change of the shares, all extents in use that belong elsewhere are moved, one in each interval.
#[test]
fn a_large_change_moves_what_is_in_use() {
    let mut homes = Homes::new(&[1, 1], 10.0, Nanos::from_millis(1));
    let before: Vec<_> = (0..10_000).map(|extent| homes.home(LogicalExtent(extent))).collect();
    (0..10_000).for_each(|use_of| homes.usage.note(LogicalExtent(2 * (use_of % 5_000))));
    homes.shares = vec![0.7, 0.3];
    homes.give_least(0.001);
    let differs = |&extent: &u32| homes.home(LogicalExtent(extent)) != before[extent as usize];
    let expected: Vec<u32> = (0..10_000).step_by(2).filter(differs).collect();
    let mut moved = Vec::new();
    for millis in 0..4_000u64 {
        let mut wishes = Wishes::default();
        homes.sweep(Nanos::from_millis(millis), DeviceIndex(0), &[idle(); 2], &mut wishes);
        for wished in wishes.moves {
            moved.push(wished.extent.0);
            homes.moved(Nanos::from_millis(millis), wished.extent, MoveOutcome::Done);
        }
    }
    assert_eq!(moved, expected);
    assert!(homes.sweep.is_none() && moved.len() > 750);
    // A small change is left to the use of extents.
    homes.shares = vec![0.701, 0.299];
    homes.give_least(0.001);
    assert!(homes.sweep.is_none());
}

/// Two devices that are always busy: each move is followed by a pause of a quarter of its duration. While most requests
/// go to unused extents, these are moved, too.
#[test]
fn busy_devices_get_one_move_at_a_time() {
    let mut homes = Homes::new(&[1, 1], 10.0, Nanos::from_millis(1));
    (0..10_000).for_each(|extent| homes.usage.note(LogicalExtent(2 * extent)));
    homes.shares = vec![0.7, 0.3];
    homes.give_least(0.001);
    let busy = DeviceView { under_way: 5, ..idle() };
    let mut moves: Vec<(u64, LogicalExtent)> = Vec::new();
    for millis in 0..1_000u64 {
        let now = Nanos::from_millis(millis);
        let mut wishes = Wishes::default();
        if let Some(&(since, extent)) = moves.last().filter(|(since, _)| millis == since + 10) {
            assert!(!homes.sweep(now, DeviceIndex(0), &[busy; 2], &mut wishes), "since {since}");
            homes.moved(now, extent, MoveOutcome::Done);
        }
        homes.sweep(now, DeviceIndex(0), &[busy; 2], &mut wishes);
        moves.extend(wishes.moves.iter().map(|wished| (millis, wished.extent)));
    }
    assert!((75..=77).contains(&moves.len()), "{}", moves.len());
    assert!(moves.windows(2).all(|pair| pair[1].0 >= pair[0].0 + 13), "{moves:?}");
    assert!(moves.iter().any(|(_, extent)| extent.0 % 2 == 1));
}

/// From a device that is ten times slower than the other, as many extents leave at a time as it has requests, one in
/// each interval. From one that is three times slower, they leave one at a time.
#[test]
fn a_slow_device_gets_as_many_moves_as_requests() {
    let moves_at_a_time = |times: f64, under_way: u32| {
        let mut homes = Homes::new(&[1, 1], 10.0, Nanos::from_millis(1));
        (0..10_000).for_each(|extent| homes.usage.note(LogicalExtent(extent)));
        homes.times = vec![1e6, times * 1e6];
        homes.shares = vec![0.9, 0.1];
        homes.give_least(0.001);
        let devices = [DeviceView { under_way: 1, ..idle() }, DeviceView { under_way, ..idle() }];
        let mut wishes = Wishes::default();
        for millis in 0..100 {
            homes.sweep(Nanos::from_millis(millis), DeviceIndex(0), &devices, &mut wishes);
            assert!(wishes.moves.len() as u64 <= millis + 1);
        }
        let expected = if times > FAR_SLOWER { Priority::USER } else { Priority::BACKGROUND };
        assert!(wishes.moves.iter().all(|wished| wished.priority == expected && wished.to == DeviceIndex(0)));
        wishes.moves.len()
    };
    assert_eq!([1, 3, 12, 100].map(|under_way| moves_at_a_time(10.0, under_way)), [1, 3, 12, RELIEVING_MAX]);
    assert_eq!(moves_at_a_time(3.0, 12), 1);
}

/// From a full device, extents that belong elsewhere leave first; if there are none, extents that are not in use.
#[test]
fn a_full_device_makes_room_for_what_belongs_there() {
    let full = DeviceView { free_extents: 0, ..idle() };
    let room_for = |in_use: std::ops::Range<u32>, devices: [DeviceView; 2]| {
        let mut homes = Homes::new(&[1, 1], 10.0, Nanos::from_millis(1));
        let (at_home, away): (Vec<u32>, Vec<u32>) =
            (0..200).partition(|&extent| homes.home(LogicalExtent(extent)) == DeviceIndex(0));
        at_home[1..].iter().for_each(|&extent| homes.placed(LogicalExtent(extent), Some(DeviceIndex(0))));
        away.iter().for_each(|&extent| homes.placed(LogicalExtent(extent), Some(DeviceIndex(1))));
        in_use.for_each(|extent| homes.usage.note(LogicalExtent(extent)));
        let done = Completed {
            device: DeviceIndex(1),
            first: LogicalExtent(at_home[0]),
            extents: 1,
            kind: esker_core::RequestKind::Read,
            length: esker_core::Bytes::kib(4),
            sent: Nanos::ZERO,
            at: Nanos::ZERO,
            for_host: true,
            ok: true,
        };
        let mut wishes = Wishes::default();
        homes.move_home(Nanos::from_millis(1), &done, &devices, &mut wishes);
        (wishes.without_room, wishes.moves.first().map(|wished| (wished.extent.0, wished.to)), at_home)
    };
    let busy = DeviceView { under_way: 1, ..idle() };
    let (without_room, left, at_home) = room_for(0..100, [full, busy]);
    let first_unused = at_home.iter().copied().find(|&extent| extent >= 100);
    assert_eq!((without_room, left), (1, first_unused.map(|extent| (extent, DeviceIndex(1)))));
    // All extents are in use and at home: nothing can be gained.
    assert_eq!(room_for(0..200, [full, busy]).1, None);
    // The other device is full, too.
    assert_eq!(room_for(0..100, [full, DeviceView { free_extents: 0, ..busy }]).1, None);
}

/// When unused extents move, too, none is asked for that lies past the end of the volume.
#[test]
fn no_extent_behind_the_last_used_one_moves() {
    let mut homes = Homes::new(&[1, 1], 10.0, Nanos::from_millis(1));
    homes.usage.note(LogicalExtent(99));
    homes.shares = vec![0.9, 0.1];
    homes.give_least(0.001);
    let mut moved = Vec::new();
    for millis in 0..1_000 {
        let (now, mut wishes) = (Nanos::from_millis(millis), Wishes::default());
        homes.sweep(now, DeviceIndex(0), &[idle(); 2], &mut wishes);
        for wished in wishes.moves {
            moved.push(wished.extent.0);
            homes.moved(now, wished.extent, MoveOutcome::Done);
        }
    }
    assert!(moved.len() > 20 && moved.iter().all(|extent| *extent < 100), "{moved:?}");
}

#[test]
fn a_device_without_weight_is_measured_all_the_same() {
    let homes = Homes::new(&[1, 0], 10.0, Nanos::from_millis(1));
    assert!((homes.shares[1] - LEAST_FIRST).abs() < 1e-5 && homes.shares.iter().all(|share| *share > 0.0));
}

/// A change of the shares moves no extent that need not move.
#[test]
fn a_share_that_grows_takes_extents_and_nothing_else_moves() {
    let (before, after) = (homes(&[0.5, 0.3, 0.2]), homes(&[0.6, 0.24, 0.16]));
    let moved: Vec<(&u16, &u16)> = before.iter().zip(&after).filter(|(one, other)| one != other).collect();
    assert!(moved.iter().all(|(_, to)| **to == 0));
    assert!((moved.len() as f64 / 1e5 - 0.1).abs() < 0.005, "{}", moved.len());
}
