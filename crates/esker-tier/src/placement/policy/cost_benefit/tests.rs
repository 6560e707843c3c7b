use esker_core::{Lba, Ratio, Rng, Telemetry};

use super::super::testing::{self, BLOCK, EXTENT, learn, learn_of, place, read, views};
use super::*;

fn policy(life: Option<Nanos>) -> CostBenefit {
    let mut policy = CostBenefit { life: life.and_then(LifeBudget::new), ..CostBenefit::default() };
    policy.devices_joined(2);
    policy
}

/// A policy that knows a device of 100 us and one of 1 ms. Extents 100 to 103 lie on the slow one, 104 and 105 on the
/// fast one. Balances are halved from the first extent on, so that these keep theirs for some time.
fn known(life: Option<Nanos>) -> CostBenefit {
    let mut policy = policy(life);
    (100..106).rev().for_each(|extent| place(&mut policy, extent, u16::from(extent < 104)));
    learn(&mut policy, RequestKind::Read, Nanos::from_secs(1), [100, 1_000]);
    policy
}

/// Each read of an extent on the slow device costs 900 us more than on the fast one; a move costs a read there and a
/// write here, 1,100 us before copies are known. So the second read has paid for it. Nothing on the fast device moves.
#[test]
fn an_extent_moves_when_its_requests_have_cost_as_much_as_the_move() {
    let mut policy = known(None);
    let both = views([5, 5], [0, 0]);
    assert_eq!(read(&mut policy, 101, &both), []);
    assert_eq!(read(&mut policy, 101, &both), [(101, 0)]);
    assert_eq!(read(&mut policy, 101, &both), [], "it is on its way");
    assert!((0..50).all(|_| read(&mut policy, 104, &both).is_empty()));
}

/// As many extents are on their way at a time as half of the requests under way on the device that they leave, four at
/// least and twenty at most. A move that ends makes room for one more. The queue of the device that they go to
/// does not matter.
#[test]
fn more_extents_move_at_a_time_the_longer_the_queue_is() {
    for (queues, moves) in [([0, 0], 4), ([0, 9], 4), ([0, 10], 5), ([0, 20], 10), ([0, 4_000], 20), ([20, 1_000], 20)]
    {
        let mut policy = known(None);
        let extents = || 200..240u32;
        extents().for_each(|extent| place(&mut policy, extent, 1));
        let views = views([50, 5], queues);
        let mut wished = Vec::new();
        (0..4).for_each(|_| extents().for_each(|extent| wished.extend(read(&mut policy, extent, &views))));
        assert_eq!(wished.len(), moves, "{queues:?}: {wished:?}");
        let ended = Event::Moved { extent: LogicalExtent(wished[0].0), outcome: MoveOutcome::Done };
        policy.observe(Nanos::from_secs(20), &ended, &views, &mut Wishes::default());
        let next: Vec<_> = extents().flat_map(|extent| read(&mut policy, extent, &views)).collect();
        assert_eq!(next.len(), 1, "{queues:?}: {next:?}");
    }
}

/// Ten requests under way at the fast device make the next one wait 1 ms there: it costs 1.1 ms, the slow device 1 ms,
/// which is less than the tolerance apart. With thirty, extents leave it.
#[test]
fn extents_leave_a_device_with_too_much_to_do() {
    for (queue, moves) in [(10, false), (30, true)] {
        let mut policy = known(None);
        let busy = views([5, 5], [queue, 0]);
        let any = (0..2_000).any(|_| !read(&mut policy, 104, &busy).is_empty());
        assert_eq!(any, moves, "{queue}");
    }
}

/// The fast device is full, of ten extents of which each has been read some times, and one `coldest` times. Extent 100,
/// on the slow device, is read until it may take a place there. Returns how often, and what makes room.
fn reads_for_a_place(policy: &mut CostBenefit, coldest: u32, others: u32) -> (u32, u32) {
    let full = views([0, 5], [0, 0]);
    [104, 105].into_iter().for_each(|extent| place(policy, extent, 1));
    // No two are so far apart that a look for victims finds none.
    for extent in (20..100).step_by(8) {
        place(policy, extent, 0);
        let reads = if extent == 84 { coldest } else { others };
        (0..reads).for_each(|_| assert_eq!(read(policy, extent, &full), []));
    }
    let first = (1..100).find_map(|reads| Some((reads, read(policy, 100, &full).pop()?)));
    let (reads, (victim, to)) = first.expect("a hundred reads are enough");
    assert_eq!(to, 1);
    (reads, victim)
}

/// Each read is worth 900 us, and both moves cost 2,200 us. An extent takes the place of one that has not been read
/// with the seventh read: it counts as having had one, and seven are the first that are more than six standard
/// deviations. Where all have been read four times, it needs n reads with n - 4 > 6 (4 + 1)^(1/2), so the 18th. If one
/// has been read less, that one makes room, but it does not tell what is usual.
#[test]
fn on_a_full_device_the_extent_that_loses_least_makes_room() {
    for (coldest, others, expected) in [(0, 0, 7), (1, 1, 10), (4, 4, 18), (1, 4, 18)] {
        let (reads, victim) = reads_for_a_place(&mut known(None), coldest, others);
        assert_eq!(reads, expected, "{coldest} and {others}");
        assert!(victim == 84 || coldest == others && victim < 100, "{victim}");
    }
}

/// A part of a copy takes 5 ms on each device, so that both moves take 20 ms. These have to be won beyond what the
/// extent loses that makes room: n 900 > 20,000, so the 23rd read, and (n - 4) 900 > 20,000, the 27th.
#[test]
fn what_makes_room_and_both_moves_are_paid_for() {
    for (others, expected) in [(0, 23), (4, 27)] {
        let mut policy = known(None);
        for (kind, begin) in [(RequestKind::Read, 20), (RequestKind::Write { fua: true }, 30)] {
            learn_of(&mut policy, false, kind, Nanos::from_secs(begin), [5_000, 5_000]);
        }
        assert_eq!(reads_for_a_place(&mut policy, others, others).0, expected, "{others}");
    }
}

/// A thousand extents are read at random, and two hundred of them fill the fast device. None is hotter than another, so
/// there is nothing to gain by moves. Chance makes fewer than one in a thousand reads move an extent.
#[test]
fn where_all_extents_are_equally_hot_hardly_anything_moves() {
    let mut policy = known(None);
    let (mut free, mut moves, mut rng) = (0, 0, Rng::new(1));
    (0..1_000).for_each(|extent| place(&mut policy, extent, u16::from(extent >= 200)));
    for _ in 0..200_000 {
        let views = views([free, 5], [0, 0]);
        for (extent, to) in read(&mut policy, rng.below(1_000) as u32, &views) {
            place(&mut policy, extent, to);
            let ended = Event::Moved { extent: LogicalExtent(extent), outcome: MoveOutcome::Done };
            policy.observe(Nanos::from_secs(10), &ended, &views, &mut Wishes::default());
            (free, moves) = (u32::from(to == 1), moves + 1);
        }
    }
    assert!(moves < 200, "{moves}");
}

/// A device that gets no requests is tried again after some time.
#[test]
fn a_device_without_requests_seems_to_become_faster() {
    let mut policy = known(None);
    let both = views([5, 5], [0, 0]);
    let cheapest = |policy: &CostBenefit| policy.cheapest(RequestKind::Read, BLOCK, |_| true).unwrap().0;
    assert_eq!(cheapest(&policy), 0);
    for round in 0..30u64 {
        for _ in 0..FADE_AFTER {
            read(&mut policy, 104, &both);
        }
        policy.devices[0].ended(&Completed {
            device: DeviceIndex(0),
            first: LogicalExtent(4),
            extents: 1,
            kind: RequestKind::Read,
            length: BLOCK,
            sent: Nanos::from_secs(100 + round),
            at: Nanos::from_secs(100 + round) + Nanos::from_micros(100),
            for_host: true,
            ok: true,
        });
    }
    assert_eq!(cheapest(&policy), 1);
}

/// The fast device has a day to live. It uses up a hundredth of that in ten seconds: writes become dearer with each
/// look until they go to the other device, and cheaper again when it lasts.
#[test]
fn a_life_has_a_price() {
    let mut policy = known(Some(Nanos::from_secs(86_400)));
    learn(&mut policy, RequestKind::Write { fua: false }, Nanos::from_secs(5), [100, 1_000]);
    assert_eq!(policy.telemetry_period(), Some(LIFE_PERIOD));
    let write = Request::write(Lba(0), Bytes(EXTENT));
    let goes_to = |policy: &mut CostBenefit| {
        let new = NewExtent { extent: LogicalExtent(9), start: Bytes(9 * EXTENT), write: Some(&write) };
        policy.place(&new, &views([5, 5], [0, 0])).0
    };
    assert_eq!(goes_to(&mut policy), 0);
    let look = |policy: &mut CostBenefit, seconds, used| {
        let telemetry = Telemetry { life_used: Ratio::percent(used), ..Telemetry::default() };
        let event = Event::Device { device: DeviceIndex(0), telemetry: &telemetry };
        policy.observe(Nanos::from_secs(seconds), &event, &views([5, 5], [0, 0]), &mut Wishes::default());
    };
    look(&mut policy, 0, 50);
    (1..60).for_each(|step| look(&mut policy, 10 * step, 51));
    assert_eq!(goes_to(&mut policy), 1);
    (1..60).for_each(|step| look(&mut policy, 40_000 + 10 * step, 51));
    assert_eq!(goes_to(&mut policy), 0);
}

fn built(key: &str, value: serde_json::Value) -> Result<Box<dyn Placement>, PlacementError> {
    testing::built("cost-benefit", key, value)
}

#[test]
fn a_life_too_short_is_refused() {
    let error = built("life", serde_json::json!("1ms")).unwrap_err().to_string();
    assert!(error.starts_with("life: "), "{error}");
}

/// Data from before the first request lie as the weights say, as far as there is room. A write goes where it costs
/// least, which is the first of two devices of which nothing is known.
#[test]
fn weights_are_for_data_from_before_the_first_request() {
    let write = Request::write(Lba(0), BLOCK);
    let mut policy = built("weights", serde_json::json!([1, 3])).unwrap();
    let mut placed = |write: Option<&Request>, free| {
        let new = |extent| NewExtent { extent: LogicalExtent(extent), start: Bytes(u64::from(extent) * EXTENT), write };
        (0..8).map(|extent| policy.place(&new(extent), &views(free, [0, 0])).0).collect::<Vec<_>>()
    };
    let halves = [5, 5];
    assert_eq!(placed(None, halves), [1, 0, 1, 1, 1, 0, 1, 1]);
    assert_eq!(placed(Some(&write), halves), [0; 8]);
    assert_eq!(placed(None, [5, 0]), [0; 8]);
    policy.devices_joined(3);
    let error = built("weights", serde_json::json!([1, 2, 3])).unwrap_err().to_string();
    assert!(error.starts_with("weights: "), "{error}");
}
