//! Limits of each device, over virtual time, beside a model that follows the host's requests alone.

use std::collections::BTreeMap;

use esker_core::Rng;
use esker_testkit::soak;
use proptest::prelude::*;

use super::redirects::SecondDevicePolicy;
use super::restless::RestlessPolicy;
use super::*;
use crate::engine::HeldReason;

const MINUTE: Nanos = Nanos::from_secs(60);

/// No devices.
const NONE: [u16; 0] = [];

/// Sleeps after a minute.
const SLEEPER: MoveLimits = MoveLimits { leave_above: Ratio::ZERO, asleep_after: Some(MINUTE) };

/// Two devices of which the host is offered as much as the first one holds.
fn limited(limits: [MoveLimits; 2], fill: Ratio) -> PlacementEngine {
    let mut engine = PlacementEngine::new(&settings(&[32 * EXTENT, 64 * EXTENT], "[1, 1]")).unwrap();
    engine.offer(Bytes(32 * 512 * EXTENT)).unwrap();
    engine.fill(fill);
    MoveLimits::check(&limits, 2).unwrap();
    engine.with_limits(limits.to_vec())
}

/// The requests that `input` sends to devices: a write of the host or not, device, kind.
fn sent(engine: &mut PlacementEngine, now: Nanos, input: Input) -> Vec<(IoId, bool, DeviceIndex, Request)> {
    let mut effects = Vec::new();
    engine.on(now, input, &mut effects);
    let mut through = None;
    let mut sent = Vec::new();
    for effect in effects {
        match effect {
            Effect::Io { io, host, device, request, .. } => sent.push((io, host.is_some(), device, request)),
            Effect::Harden { through: issued } => through = Some(issued),
            _ => {}
        }
    }
    if let Some(through) = through {
        sent.extend(self::sent(engine, now, Input::Durable { through }));
    }
    sent
}

/// Ends all requests at `now`, and those that follow from them. Returns the devices that they went to.
fn end_all(engine: &mut PlacementEngine, now: Nanos, mut ios: Vec<(IoId, bool, DeviceIndex, Request)>) -> Vec<u16> {
    let mut devices = Vec::new();
    while let Some((io, _, device, _)) = ios.pop() {
        devices.push(device.0);
        ios.extend(sent(engine, now, Input::Done { io, at: now, result: Ok(()) }));
    }
    devices
}

fn write_of(extent: u64) -> Request {
    Request::write(Lba(extent * EXTENT), Bytes(512 * EXTENT))
}

/// Performs `request` at `now`, and returns the devices that get requests.
fn perform(engine: &mut PlacementEngine, now: Nanos, request: Request) -> Vec<u16> {
    let ios = sent(engine, now, host(0, request));
    end_all(engine, now, ios)
}

/// The extents with data on `device`.
fn extents_on(engine: &PlacementEngine, device: u16) -> impl Iterator<Item = LogicalExtent> {
    let on = move |extent: &LogicalExtent| engine.map.place(*extent).is_some_and(|place| place.device.0 == device);
    (0..engine.map.len()).map(LogicalExtent).filter(on)
}

/// The first of them.
fn extent_on(engine: &PlacementEngine, device: u16) -> LogicalExtent {
    extents_on(engine, device).next().unwrap()
}

/// Wishes a move, and returns the devices that get requests.
fn wish(engine: &mut PlacementEngine, now: Nanos, extent: LogicalExtent, to: u16) -> Vec<u16> {
    engine.wishes.moves.push(WishedMove::in_background(extent, DeviceIndex(to)));
    let ios = sent(engine, now, Input::Timer);
    end_all(engine, now, ios)
}

#[test]
fn a_device_that_sleeps_is_left_alone_until_the_host_wants_something_of_it() {
    let mut engine = limited([MoveLimits::default(), SLEEPER], Ratio::percent(50));
    engine.on(Nanos::ZERO, Input::Timer, &mut Vec::new());
    let (first, second) = (extent_on(&engine, 0), extent_on(&engine, 1));
    // In use at first: an extent moves there.
    let before = Nanos(MINUTE.0 - 1);
    assert_ne!(wish(&mut engine, before, first, 1), NONE);
    let first = extent_on(&engine, 0);
    for (extent, to) in [(first, 1), (second, 0)] {
        assert_eq!(wish(&mut engine, MINUTE, extent, to), NONE);
        assert_eq!(engine.background(MINUTE).unwrap().held, Some(HeldReason::Asleep(DeviceIndex(1))));
    }
    // New extents and those that a write replaces go to the other device, and nobody tells the sleeper.
    let new = (0..engine.map.len()).map(LogicalExtent).filter(|extent| engine.map.place(*extent).is_none());
    for extent in new.take(4).collect::<Vec<_>>() {
        assert_eq!(perform(&mut engine, MINUTE, write_of(extent.0.into())), [0]);
    }
    assert_eq!(perform(&mut engine, MINUTE, write_of(second.0.into())), [0]);
    assert_eq!(perform(&mut engine, MINUTE, Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO)), [0]);
    assert_eq!(engine.map.place(second).unwrap().device, DeviceIndex(0));
    engine.check();
    // A part of an extent can only be written where the extent is.
    let second = extent_on(&engine, 1);
    let part = Request::write(Lba(u64::from(second.0) * EXTENT), Bytes(512));
    assert_eq!(perform(&mut engine, MINUTE, part), [1]);
    assert_ne!(wish(&mut engine, MINUTE, first, 1), NONE);
    engine.check();
}

#[test]
fn no_policy_redirects_a_write_to_a_sleeper() {
    let engine = limited([MoveLimits::default(), SLEEPER], Ratio::percent(50));
    let mut engine = engine.with_policy(Box::new(SecondDevicePolicy::default()));
    engine.on(Nanos::ZERO, Input::Timer, &mut Vec::new());
    let first = extent_on(&engine, 0);
    assert_eq!(perform(&mut engine, MINUTE, write_of(first.0.into())), [0]);
    let second = extent_on(&engine, 1);
    assert_eq!(perform(&mut engine, MINUTE, Request { kind: RequestKind::Read, ..write_of(second.0.into()) }), [1]);
    assert_eq!(perform(&mut engine, MINUTE, write_of(first.0.into())), [1]);
    engine.check();
}

#[test]
fn a_sleeper_wakes_for_new_data_that_have_no_other_room() {
    let engine = PlacementEngine::new(&settings(&[32 * EXTENT, 64 * EXTENT], "[1, 1]")).unwrap();
    let mut engine = engine.with_limits(vec![MoveLimits::default(), SLEEPER]);
    engine.on(Nanos::ZERO, Input::Timer, &mut Vec::new());
    let devices: Vec<u16> = (0..40).flat_map(|extent| perform(&mut engine, MINUTE, write_of(extent))).collect();
    assert_eq!(devices.iter().position(|device| *device == 1), Some(32));
    // Awake since then, by its weight in the policy.
    assert!(devices[33..].iter().all(|device| *device == 1), "{devices:?}");
    engine.check();
}

#[test]
fn extents_leave_a_device_only_while_it_is_full_enough() {
    let fills = MoveLimits { leave_above: Ratio::percent(25), asleep_after: None };
    let mut engine = limited([fills, MoveLimits::default()], Ratio::percent(50));
    engine.on(Nanos::ZERO, Input::Timer, &mut Vec::new());
    assert_eq!((engine.map.mapped(0), engine.map.mapped(1)), (8, 8));
    let first = extent_on(&engine, 0);
    assert_eq!(wish(&mut engine, MINUTE, first, 1), NONE);
    assert_eq!(engine.background(MINUTE).unwrap().held, Some(HeldReason::FillsFirst(DeviceIndex(0))));
    // A second copy leaves nothing, and the other device has no such limit.
    engine.wishes.mirrors.push(WishedMove::in_background(first, DeviceIndex(1)));
    let ios = sent(&mut engine, MINUTE, Input::Timer);
    assert_eq!(end_all(&mut engine, MINUTE, ios), [0, 1]);
    let second = extent_on(&engine, 1);
    assert_ne!(wish(&mut engine, MINUTE, second, 0), NONE);
    assert_eq!(engine.map.mapped(0), 9);
    let first = extent_on(&engine, 0);
    assert_ne!(wish(&mut engine, MINUTE, LogicalExtent(first.0 + 2), 1), NONE);
    assert_eq!(engine.map.mapped(0), 8);
    assert_eq!(wish(&mut engine, MINUTE, LogicalExtent(first.0 + 4), 1), NONE);
    engine.check();
}

/// A device whose limits are set later is in use for as long from then on.
#[test]
fn limits_are_set_while_an_engine_serves() {
    let mut engine = limited([MoveLimits::default(); 2], Ratio::percent(50)).with_limits(Vec::new());
    engine.on(Nanos::ZERO, Input::Timer, &mut Vec::new());
    let hour = Nanos(60 * MINUTE.0);
    let limits = Some(vec![MoveLimits::default(), SLEEPER]);
    engine.set(hour, &LiveSettings { limits, ..LiveSettings::default() }, &mut Vec::new()).unwrap();
    let extents: Vec<LogicalExtent> = extents_on(&engine, 0).take(3).collect();
    assert_ne!(wish(&mut engine, Nanos(hour.0 + MINUTE.0 - 1), extents[0], 1), NONE);
    assert_eq!(wish(&mut engine, hour + MINUTE, extents[1], 1), NONE);
    let limits = Some(Vec::new());
    engine.set(hour + MINUTE, &LiveSettings { limits, ..LiveSettings::default() }, &mut Vec::new()).unwrap();
    assert_ne!(wish(&mut engine, hour + MINUTE, extents[2], 1), NONE);
    let wrong = Some(vec![MoveLimits { leave_above: Ratio::ONE, ..SLEEPER }]);
    assert!(engine.set(hour, &LiveSettings { limits: wrong, ..LiveSettings::default() }, &mut Vec::new()).is_err());
}

#[test]
fn drains_are_not_held_up() {
    let limits = MoveLimits { leave_above: Ratio::percent(90), ..SLEEPER };
    let mut engine = limited([limits, limits], Ratio::percent(50));
    engine.on(Nanos::ZERO, Input::Timer, &mut Vec::new());
    let mut effects = Vec::new();
    let hour = Nanos(60 * MINUTE.0);
    engine.on(hour, Input::Timer, &mut effects);
    engine.reshape(hour, Reshape::Drain { device: DeviceIndex(1) }, &mut effects).unwrap();
    let ios = effects.into_iter().filter_map(|effect| match effect {
        Effect::Io { io, device, request, .. } => Some((io, false, device, request)),
        _ => None,
    });
    let ios = ios.collect();
    end_all(&mut engine, hour, ios);
    assert_eq!((engine.map.mapped(0), engine.map.mapped(1)), (16, 0));
}

#[test]
fn impossible_limits_are_named() {
    let error = |limits: &[MoveLimits]| MoveLimits::check(limits, 1).unwrap_err().to_string();
    let none = MoveLimits::default();
    assert_eq!(error(&[none, none]), "`limits` has entries for 2 devices; there are 1");
    let all = MoveLimits { leave_above: Ratio::ONE, ..none };
    assert_eq!(error(&[all]), "`limits[0].leave_above` is not less than 100%, so nothing could leave the device");
    let never = MoveLimits { asleep_after: Some(Nanos::ZERO), ..none };
    assert_eq!(error(&[never]), "`limits[0].asleep_after` is 0, so the device would never be in use");
}

/// Follows the host's requests to the second device, which sleeps.
#[derive(Debug, Default)]
struct SleepModel {
    under_way: u32,
    used_at: Nanos,
}

impl SleepModel {
    fn is_in_use(&self, now: Nanos) -> bool {
        // A copy that has begun in time ends.
        self.under_way > 0 || now.saturating_sub(self.used_at) < MINUTE + Nanos::from_secs(1)
    }
}

/// A policy that asks for anything, and a host that sometimes leaves the devices alone for longer than it takes one to
/// sleep. Returns the first request that nobody should have sent, and how many came while the sleeper was in use.
fn watch(seed: u64, spoil: fn(&mut PlacementEngine)) -> (Option<String>, u32) {
    let engine = limited([MoveLimits::default(), SLEEPER], Ratio::percent(50));
    let mut engine = engine.with_policy(Box::new(RestlessPolicy::new(seed)));
    spoil(&mut engine);
    let (mut rng, mut model, mut own) = (Rng::new(seed), SleepModel::default(), 0);
    let mut under_way: BTreeMap<(Nanos, u64), (IoId, bool, DeviceIndex)> = BTreeMap::new();
    let (mut now, mut number, mut requests, mut next) = (Nanos::ZERO, 0, 0, Nanos::ZERO);
    while now < Nanos(120 * MINUTE.0) {
        let input = match under_way.first_key_value() {
            Some((&(at, number), &(io, for_host, device))) if at <= next => {
                under_way.remove(&(at, number));
                now = at;
                if for_host && device.0 == 1 {
                    model.under_way -= 1;
                    model.used_at = now;
                }
                Input::Done { io, at, result: Ok(()) }
            }
            _ => {
                now = next;
                let gap = if rng.chance(1, 20) { 3 * MINUTE.0 } else { MINUTE.0 / 20 };
                next = now + Nanos(rng.below(gap) + 1);
                // Mostly the first device: the second one is left alone now and then.
                let first = extents_on(&engine, 0).next().filter(|_| rng.chance(9, 10));
                let extent = first.map_or_else(|| rng.below(32), |first| first.0.into());
                let kind = if rng.chance(1, 2) { RequestKind::Read } else { RequestKind::Write { fua: true } };
                requests += 1;
                host(requests % 1000, Request { kind, ..write_of(extent) })
            }
        };
        for (io, for_host, device, request) in sent(&mut engine, now, input) {
            if device.0 == 1 && !for_host {
                if !model.is_in_use(now) {
                    return (Some(format!("{now:?}: {request:?}")), own);
                }
                own += 1;
            }
            model.under_way += u32::from(for_host && device.0 == 1);
            number += 1;
            under_way.insert((now + Nanos::from_millis(5), number), (io, for_host, device));
        }
    }
    engine.check();
    (None, own)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200 * soak()))]

    #[test]
    fn only_the_host_wakes_a_sleeper(seed: u64) {
        prop_assert_eq!(watch(seed, |_| {}).0, None);
    }
}

/// Not always: the policy may have sent all data to the other device, and then the host wakes the sleeper no more.
#[test]
fn extents_move_while_a_sleeper_is_in_use() {
    let found = (0..20).filter(|seed| watch(*seed, |_| {}).1 > 0).count();
    assert!(found > 15, "{found}");
}

#[test]
fn an_engine_that_wakes_devices_is_found_out() {
    let found = (0..20).filter(|seed| watch(*seed, |engine| engine.limits = Limits::default()).0.is_some()).count();
    assert!(found > 15, "{found}");
}
