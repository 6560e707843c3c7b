use esker_core::{Lba, Ratio, Rng, Telemetry};

use super::super::testing::{self, BLOCK, EXTENT, learn, place, read, views};
use super::super::{MoveOutcome, RequestKind};
use super::*;

/// A fast device of 100 us and a slow one of 1 ms.
fn known() -> Collective {
    of_times([100, 1_000])
}

fn of_times(micros: [u64; 2]) -> Collective {
    let mut policy = Collective::default();
    policy.devices_joined(2);
    learn(&mut policy, RequestKind::Read, Nanos::from_secs(1), micros);
    policy
}

/// Two devices of a hundred extents.
fn roomy(free: [u32; 2], under_way: [u32; 2]) -> [DeviceView; 2] {
    views(free, under_way).map(|view| DeviceView { extents: 100, ..view })
}

/// Carries out moves at once.
struct World {
    policy: Collective,
    free: [u32; 2],
    under_way: [u32; 2],
    moves: Vec<(u32, u16)>,
}

impl World {
    fn read(&mut self, extent: u32) {
        let wished = read(&mut self.policy, extent, &roomy(self.free, self.under_way));
        wished.into_iter().for_each(|wish| self.carry_out(wish));
    }

    fn carry_out(&mut self, (extent, to): (u32, u16)) {
        self.moves.push((extent, to));
        let (to, from) = (usize::from(to), 1 - usize::from(to));
        assert!(self.free[to] > 0, "there is no room for {extent}");
        (self.free[to], self.free[from]) = (self.free[to] - 1, self.free[from] + 1);
        place(&mut self.policy, extent, to as u16);
        let ended = Event::Moved { extent: LogicalExtent(extent), outcome: MoveOutcome::Done };
        let mut wishes = Wishes::default();
        let views = roomy(self.free, self.under_way);
        self.policy.observe(Nanos::from_secs(10), &ended, &views, &mut wishes);
        wishes.moves.iter().for_each(|wished| self.carry_out((wished.extent.0, wished.to.0)));
    }

    fn on_fast(&self, extents: std::ops::Range<u32>) -> usize {
        let fast = |extent: &u32| self.policy.residents.device_of(LogicalExtent(*extent)) == Some(DeviceIndex(0));
        extents.filter(fast).count()
    }
}

fn world(policy: Collective, on_fast: std::ops::Range<u32>, on_slow: std::ops::Range<u32>, free: [u32; 2]) -> World {
    let mut world = World { policy, free, under_way: [0, 0], moves: Vec::new() };
    on_fast.for_each(|extent| place(&mut world.policy, extent, 0));
    on_slow.for_each(|extent| place(&mut world.policy, extent, 1));
    world
}

/// Twenty extents lie on the slow device. Ten are read ten times as often as the others, and the fast device has room
/// for ten and the four places that are kept free. The hot ones go there, and nothing else.
#[test]
fn the_hottest_extents_go_to_the_fast_device() {
    let mut world = world(known(), 0..0, 100..120, [14, 80]);
    for round in 0..110 {
        (100..110).for_each(|extent| world.read(extent));
        world.read(110 + round % 10);
    }
    assert_eq!((world.on_fast(100..110), world.moves.len()), (10, 10), "{:?}", world.moves);
}

/// Of ten extents that should go to the fast device, five have four times as many reads. Those go first.
#[test]
fn the_hottest_extents_go_first() {
    let mut world = world(known(), 0..0, 100..120, [14, 80]);
    while world.moves.len() < 10 {
        (100..110).for_each(|extent| (0..if extent % 2 == 0 { 4 } else { 1 }).for_each(|_| world.read(extent)));
    }
    let first: Vec<u32> = world.moves[..5].iter().map(|(extent, _)| *extent).collect();
    assert!(first.iter().all(|extent| extent % 2 == 0), "{:?}", world.moves);
}

/// The fast device is full of extents that are not read. Each of ten hot ones needs that one of them leaves first.
#[test]
fn cold_extents_make_room() {
    let mut world = world(known(), 0..96, 100..120, [4, 80]);
    for _ in 0..400 {
        (100..110).for_each(|extent| world.read(extent));
    }
    assert_eq!(world.on_fast(100..110), 10);
    let left = world.moves.iter().filter(|(extent, to)| *extent < 96 && *to == 1).count();
    assert_eq!(left, 10 - 4 + world.free[0] as usize, "{:?}", world.moves);
    assert!((10..=20).contains(&world.moves.len()), "{:?}", world.moves);
}

/// Sixty extents are equally hot, and there is room for all of them on both devices, which take 100 and 200 us. With a
/// thousand requests under way, the busiest device counts alone: the fast one keeps two thirds. With one under way, all
/// stay there.
#[test]
fn the_busiest_device_decides_where_many_wait() {
    for (under_way, stay) in [([900, 100], 38..=42), ([0, 0], 60..=60)] {
        let mut world = world(of_times([100, 200]), 0..60, 60..60, [40, 100]);
        world.under_way = under_way;
        (0..6_000).for_each(|number| world.read(number % 60));
        assert!(stay.contains(&world.on_fast(0..60)), "{under_way:?}: {}", world.on_fast(0..60));
    }
}

/// A thousand extents are read at random. None is hotter than another, so there is nothing to gain by moves.
#[test]
fn where_all_extents_are_equally_hot_hardly_anything_moves() {
    let mut world = world(known(), 0..200, 200..1_000, [0, 500]);
    let mut rng = Rng::new(1);
    (0..200_000).for_each(|_| world.read(rng.below(1_000) as u32));
    assert!(world.moves.len() < 200, "{}", world.moves.len());
}

/// Sixty extents on a device of 100 us keep it busy for a ninth longer than 27 do one of 200 us. Two would have to move
/// so that it is the same, and requests would be 3 % cheaper: that may be noise. With fifteen on the slow device, ten
/// have to move, and requests are a sixth cheaper.
#[test]
fn the_busiest_device_is_relieved_for_more_than_noise() {
    for (on_slow, moves) in [(27, 0..=0), (15, 7..=11)] {
        let mut world = world(of_times([100, 200]), 0..60, 60..60 + on_slow, [40, 100 - on_slow]);
        world.under_way = [900, 100];
        (0..40_000).for_each(|number| world.read(number % (60 + on_slow)));
        assert!(moves.contains(&world.moves.len()), "{on_slow}: {:?}", world.moves);
    }
}

/// Ninety extents are read at random, sixty of them on a device of 100 us and the others on one of 200 us, which is as
/// it should be with many requests under way. Chance makes some of them hotter for a while, which is no reason to move.
#[test]
fn what_is_balanced_stays() {
    let mut world = world(of_times([100, 200]), 0..60, 60..90, [40, 70]);
    world.under_way = [900, 100];
    let mut rng = Rng::new(2);
    (0..100_000).for_each(|_| world.read(rng.below(90) as u32));
    assert!(world.moves.len() < 50, "{}", world.moves.len());
}

/// While one device takes no extents, nothing goes there; what is on it may leave.
#[test]
fn nothing_moves_to_a_device_that_takes_nothing() {
    for held in [false, true] {
        let mut policy = known();
        (100..120).for_each(|extent| place(&mut policy, extent, 1));
        let mut views = roomy([50, 50], [0, 0]);
        views[0].is_held = held;
        let moves = (0..1_000).flat_map(|number| read(&mut policy, 100 + number % 10, &views)).count();
        assert_eq!(moves == 0, held, "{moves}");
    }
}

/// A write that replaces its extent goes elsewhere if it costs less than half there.
#[test]
fn replaced_extents_go_where_writes_cost_less() {
    let mut policy = known();
    let write = Request::write(Lba(0), BLOCK);
    let mut goes = |from: u16, under_way| {
        let rewrite = Rewrite { extent: LogicalExtent(1), from: DeviceIndex(from), write: &write, rest: Bytes::ZERO };
        policy.redirect(&rewrite, &views([5, 5], under_way)).map(|to| to.0)
    };
    assert_eq!((goes(1, [0, 0]), goes(0, [0, 0])), (Some(0), None));
    assert_eq!((goes(1, [6, 0]), goes(0, [30, 0])), (None, Some(1)));
}

/// Twenty extents are written on a fast device that should last for a day. It uses up a hundredth of that in ten
/// seconds: its writes become dearer until these extents leave it.
#[test]
fn what_is_written_leaves_flash_that_would_not_last() {
    for worn in [false, true] {
        let mut policy = Collective { life: LifeBudget::new(Nanos::from_secs(86_400)), ..Collective::default() };
        policy.devices_joined(2);
        learn(&mut policy, RequestKind::Write { fua: false }, Nanos::from_secs(1), [100, 1_000]);
        (100..120).for_each(|extent| place(&mut policy, extent, 0));
        let views = roomy([80, 80], [0, 0]);
        for step in 0..60 {
            let life_used = Ratio::percent(if worn && step > 0 { 51 } else { 50 });
            let telemetry = Telemetry { life_used, ..Telemetry::default() };
            let event = Event::Device { device: DeviceIndex(0), telemetry: &telemetry };
            policy.observe(Nanos::from_secs(10 * step), &event, &views, &mut Wishes::default());
        }
        let write = Request::write(Lba(0), BLOCK);
        let mut wishes = Wishes::default();
        for number in 0..1_000 {
            let event = Event::Request { request: &write, first: LogicalExtent(100 + number % 20), extents: 1 };
            policy.observe(Nanos::from_secs(700), &event, &views, &mut wishes);
        }
        assert_eq!(!wishes.moves.is_empty(), worn, "{:?}", wishes.moves);
    }
}

/// Devices that join are used, and a plan from before them is dropped.
#[test]
fn a_device_that_joins_is_used() {
    let mut policy = known();
    (100..120).for_each(|extent| place(&mut policy, extent, 1));
    policy.devices_joined(3);
    let [fast, slow] = roomy([0, 50], [0, 0]);
    let views = [fast, slow, DeviceView { free_extents: 50, ..fast }];
    for index in 0..200 {
        let sent = Nanos::from_secs(5) + Nanos::from_millis(10 * index);
        let done = Completed {
            device: DeviceIndex(2),
            first: LogicalExtent(0),
            extents: 1,
            kind: RequestKind::Read,
            length: BLOCK,
            sent,
            at: sent + Nanos::from_micros(50),
            for_host: true,
            ok: true,
        };
        policy.observe(done.at, &Event::Completed(done), &views, &mut Wishes::default());
    }
    let moves: Vec<_> = (0..2_000).flat_map(|number| read(&mut policy, 100 + number % 10, &views)).collect();
    assert!(!moves.is_empty() && moves.iter().all(|(_, to)| *to == 2), "{moves:?}");
}

#[test]
fn settings_are_those_of_policies_that_go_by_costs() {
    let error = testing::built("collective", "life", serde_json::json!("1ms")).unwrap_err().to_string();
    assert!(error.starts_with("life: "), "{error}");
    let mut policy = testing::built("collective", "weights", serde_json::json!([1, 3])).unwrap();
    let new =
        |extent| NewExtent { extent: LogicalExtent(extent), start: Bytes(u64::from(extent) * EXTENT), write: None };
    let placed: Vec<u16> = (0..4).map(|extent| policy.place(&new(extent), &views([5, 5], [0, 0])).0).collect();
    assert_eq!(placed, [1, 0, 1, 1]);
}
