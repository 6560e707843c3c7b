//! Properties under random requests, moves, failures and crashes.

use esker_core::{FaultPlan, Rng};
use proptest::prelude::*;

use super::world::{PlacementRules, World};
use super::*;
use crate::placement::cache;
use crate::testing;

/// A world on two devices, whose policy redirects writes.
fn redirecting(seed: u64) -> World {
    PlacementRules::new(settings(&[64, 96], "[1, 1]")).redirecting(seed).world(seed)
}

/// The same with extents of eight blocks, which can have several runs of written blocks.
fn redirecting_long(seed: u64) -> World {
    PlacementRules::new(settings_of(8 * SECTORS as u64, &[256, 384], "[1, 1]")).redirecting(seed).world(seed)
}

/// A world with extents of `sectors` sectors, at most a block: writes can go elsewhere in runs of many.
fn redirecting_short(sectors: u64, seed: u64) -> World {
    let rules = PlacementRules::new(settings_of(sectors, &[20 * sectors, 28 * sectors], "[1, 1]"));
    rules.redirecting(seed).world(seed)
}

/// A world with extents of four blocks, whose policy also redirects writes to parts of extents.
fn merging(seed: u64) -> World {
    PlacementRules::new(settings_of(4 * SECTORS as u64, &[160, 224], "[1, 1]")).merging(seed).world(seed)
}

/// The same with a cache of three extents.
fn merging_cached(seed: u64) -> World {
    let rules = PlacementRules::new(settings_of(4 * SECTORS as u64, &[160, 224], "[1, 1]"));
    rules.merging(seed).cached(3).world(seed)
}

/// A world on two devices, whose policy may ask for anything.
fn restless(seed: u64) -> World {
    PlacementRules::new(settings(&[64, 96], "[1, 1]")).restless(seed).world(seed)
}

/// The same with devices that are left asleep after a few steps, and one that has to fill first.
fn sleepy(seed: u64) -> World {
    let limits = [(0, 6), (30, 3)]
        .map(|(percent, steps)| MoveLimits { leave_above: Ratio::percent(percent), asleep_after: Some(Nanos(steps)) });
    PlacementRules::new(settings(&[64, 96], "[1, 1]")).restless(seed).limited(limits.to_vec()).world(seed)
}

/// A world on two devices, whose policy redirects writes, with a cache of `extents` extents.
fn cached(extents: u32, seed: u64) -> World {
    PlacementRules::new(settings(&[64, 96], "[1, 1]")).redirecting(seed).cached(extents).world(seed)
}

/// `world` with devices that fail as `plan` says; one in `plan.flushes` attempts to make records durable fails, too.
fn failing(mut world: World, plan: FaultPlan) -> World {
    world.set_plans(&[plan], plan.flushes);
    world
}

/// (kind, start, sectors, fua, effects to perform afterwards)
type Operation = (u8, u64, u64, bool, u8);

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let start = prop_oneof![0u64..256, (0u64..32).prop_map(|block| block * SECTORS as u64)];
    let sectors = prop_oneof![1u64..48, (1u64..6).prop_map(|blocks| blocks * SECTORS as u64)];
    prop::collection::vec((0u8..16, start, sectors, any::<bool>(), 0u8..6), 1..60)
}

/// A request of the host, a move, a change of the devices, or a step of a checkpoint.
fn submit(world: &mut World, operation: Operation) {
    let (kind, start, sectors, often, effects) = operation;
    match kind {
        0..10 => world.submit(request(operation, world.host.history.len() as u64)),
        10..14 => world.wish(start, sectors),
        14 if often => world.reshape_by(start, sectors),
        _ => world.step_checkpoint((sectors % 4) as u32).unwrap(),
    }
    for _ in 0..effects {
        world.perform_one();
    }
}

fn request((kind, start, sectors, fua, _): Operation, capacity: u64) -> Request {
    let start = start % capacity;
    let length = Bytes(sectors.min(capacity - start) * 512);
    let kind = match kind {
        0..4 => RequestKind::Write { fua },
        4..6 => RequestKind::Read,
        6 => RequestKind::Trim,
        7 => RequestKind::WriteZeroes { fua },
        _ => return Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO),
    };
    Request::new(kind, Lba(start), length)
}

/// How often something fails: never, or one in 2 to 30.
fn odds() -> impl Strategy<Value = u64> {
    prop_oneof![2 => Just(0u64), 1 => 2u64..30]
}

/// Failures of every kind of request. A device that has no room refuses all writes from then on.
fn plans() -> impl Strategy<Value = FaultPlan> {
    let plan = |(reads, writes, trims, flushes, refusals)| FaultPlan { reads, writes, trims, flushes, refusals };
    (odds(), odds(), odds(), odds(), odds()).prop_map(plan)
}

/// One of the worlds on two devices.
fn worlds() -> impl Strategy<Value = World> {
    let cases: [fn(u64) -> World; 10] = [
        |seed| World::new(settings(&[64, 64], "[1, 1]"), seed),
        redirecting,
        redirecting_long,
        |seed| redirecting_short(SECTORS as u64, seed),
        |seed| redirecting_short(2, seed),
        merging,
        merging_cached,
        restless,
        sleepy,
        |seed| cached(3, seed),
    ];
    (0..cases.len(), any::<u64>()).prop_map(move |(case, seed)| cases[case](seed))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000 * esker_testkit::soak()))]

    #[test]
    fn reads_return_the_last_write_in_whatever_order_effects_are_performed(operations in operations(), seed: u64) {
        let mut world = World::new(settings(&[80, 132, 32], "[2, 1, 1]"), seed);
        operations.iter().for_each(|&operation| submit(&mut world, operation));
        world.read_everything();
    }

    #[test]
    fn a_cache_returns_the_last_write_and_what_was_promised_survives(
        extents in 0u32..6,
        lives in [operations(), operations(), operations()],
        seed: u64,
        plan in plans(),
    ) {
        live_and_crash(failing(cached(extents, seed), plan), &lives).unwrap();
    }

    /// Power is lost at any moment: every sector holds the value that was last flushed or written with FUA, or a later
    /// one.
    #[test]
    fn what_was_promised_survives_crashes(world in worlds(), lives in [operations(), operations()]) {
        prop_assert_eq!(live_and_crash(world, &lives), Ok(()));
    }

    /// Promises hold even if any operation of the devices and of the journal may fail, and drop unflushed data.
    #[test]
    fn what_was_promised_survives_failures_of_every_operation_and_crashes(
        world in worlds(),
        lives in [operations(), operations(), operations()],
        plan in plans(),
    ) {
        live_and_crash(failing(world, plan), &lives).unwrap();
    }

    #[test]
    fn what_was_promised_survives_crashes_under_every_policy(
        policy in 0..policies().len(),
        lives in [operations(), operations()],
        seed: u64,
        flushes in odds(),
    ) {
        let policy = policies().swap_remove(policy);
        let settings = PlacementSettings { policy, ..settings(&[64, 96], "[1, 1]") };
        live_and_crash(failing(World::new(settings, seed), FaultPlan::flushes(flushes)), &lives).unwrap();
    }

    #[test]
    fn every_request_is_answered_in_spite_of_failures(world in worlds(), operations in operations(), plan in plans()) {
        let mut world = failing(world, plan);
        operations.iter().for_each(|&operation| submit(&mut world, operation));
        world.drain();
    }
}

/// Performs operations and loses power, several times: each engine goes on from what the one before it has left.
fn live_and_crash(mut world: World, lives: &[Vec<Operation>]) -> Result<(), String> {
    for operations in lives {
        operations.iter().for_each(|&operation| submit(&mut world, operation));
        world = world.crash();
        world.check_survivors()?;
    }
    Ok(())
}

/// Every policy. Those that can make room also run with settings for which a device is always too full.
fn policies() -> Vec<PolicySettings> {
    let plain = PLACEMENTS.iter().map(|entry| format!(r#"{{"kind":"{}"}}"#, entry.name));
    let room = r#""make_room":{"below":"90%","until":"95%","idle":"0s"}"#;
    let makes_room = ["fast-first", "migration"].map(|kind| format!(r#"{{"kind":"{kind}",{room}}}"#));
    plain.chain(makes_room).map(|table| serde_json::from_str(&table).unwrap()).collect()
}

/// Returns in how many of `runs` runs an engine breaks a promise after `spoil` has introduced a fault.
fn losses(runs: u64, flushes: u64, spoil: fn(&mut PlacementEngine)) -> usize {
    losses_of(runs, |seed| {
        let mut world = failing(redirecting(seed), FaultPlan::flushes(flushes));
        spoil(world.engine_mut());
        world
    })
}

/// Returns in how many of `runs` runs the engine that `make` makes breaks a promise.
fn losses_of(runs: u64, make: impl Fn(u64) -> World) -> usize {
    testing::losses(runs, |seed| live_and_crash(make(seed), &[drawn_operations(seed)]))
}

/// Returns in how many of 1,000 runs an engine with this fault that merges breaks a promise.
fn merging_losses(fault: Option<Fault>) -> usize {
    losses_with(fault, merging)
}

/// The same of one whose policy asks for anything, for second copies, too.
fn restless_losses(fault: Option<Fault>) -> usize {
    losses_with(fault, restless)
}

fn losses_with(fault: Option<Fault>, make: fn(u64) -> World) -> usize {
    losses_of(1000, |seed| {
        let mut world = make(seed);
        world.engine_mut().fault = fault;
        world
    })
}

fn drawn_operations(seed: u64) -> Vec<Operation> {
    let mut rng = Rng::new(seed);
    let mut next = |below| rng.below(below);
    let operation = |_| {
        let aligned = next(2) * 7 + 1;
        let (start, sectors) = (next(256 / aligned) * aligned, (1 + next(40 / aligned)) * aligned);
        (next(16) as u8, start, sectors, next(2) == 0, next(6) as u8)
    };
    (0..80).map(operation).collect()
}

/// Returns in how many of `runs` runs a host that overlaps its writes reads one value from the cache and then another
/// one from the device.
fn changing_reads(runs: u64, fault: Option<cache::CacheFault>) -> usize {
    testing::losses(runs, |seed| {
        let mut world = cached(4, seed);
        world.host.overlaps = true;
        world.engine_mut().cache().fault = fault;
        drawn_operations(seed).into_iter().for_each(|operation| submit(&mut world, operation));
        let first = world.read_everything();
        if first == world.read_everything() { Ok(()) } else { Err("it reads another value".to_string()) }
    })
}

/// Faulty engines lose promised data, or return data that are not the host's: one that retries a failed flush and
/// believes the second result, one that overlooks writes of the host while an extent is copied, one that reuses a place
/// before its record is durable, and those of [`Fault`]. The properties above would find each of them.
#[test]
fn wrong_engines_are_found_out() {
    assert_eq!((losses(3000, 0, |_| ()), losses(300, 3, |_| ()), losses_of(1000, redirecting_long)), (0, 0, 0));
    assert_eq!((merging_losses(None), restless_losses(None)), (0, 0));
    for sectors in [2, SECTORS as u64] {
        assert_eq!(losses_of(1000, |seed| redirecting_short(sectors, seed)), 0);
    }
    let found = [
        losses(300, 3, |engine| engine.health.forgives = true),
        losses(300, 0, |engine| engine.copies.overlooks_writes = true),
        losses(300, 0, |engine| engine.leaving.hurries = true),
        losses(300, 0, |engine| engine.fault = Some(Fault::DoesNotPad)),
        losses(3000, 0, |engine| engine.fault = Some(Fault::OverlooksFirstWrites)),
        losses(300, 0, |engine| engine.fault = Some(Fault::TrustsDurableWrites)),
        losses(300, 0, |engine| engine.fault = Some(Fault::RecordsRedirectsEarly)),
        losses(3000, 0, |engine| engine.fault = Some(Fault::DrainsEarly)),
        losses(300, 0, |engine| engine.fault = Some(Fault::LeavesUnwritten)),
        losses(300, 3, |engine| engine.fault = Some(Fault::TrustsFailedDevices)),
        losses_of(3000, |seed| {
            let mut world = redirecting_long(seed);
            world.engine_mut().fault = Some(Fault::ForgetsLastRun);
            world
        }),
        restless_losses(Some(Fault::OverlooksStaleMirrors)),
        restless_losses(Some(Fault::KeepsOldMirrors)),
        restless_losses(Some(Fault::ForgetsMirrorReads)),
        restless_losses(Some(Fault::ReusesChangedPlaces)),
        merging_losses(Some(Fault::OverlooksRestBehind)),
        merging_losses(Some(Fault::OverlooksFirstWrites)),
        merging_losses(Some(Fault::DoesNotPad)),
    ];
    assert!(found.iter().all(|&found| found >= 5), "{found:?}");
}

/// Faulty caches return old data: one that keeps data fetched during a write, one that overlooks trims, one whose
/// writes do not change the cached data, one that keeps the data of failed writes, and one that takes the later of two
/// overlapping writes for the one that the device performs last.
#[test]
fn wrong_caches_are_found_out() {
    let spoiled = |fault: Option<cache::CacheFault>| {
        losses_of(2000, |seed| {
            let mut world = cached(4, seed);
            world.engine_mut().cache().fault = fault;
            world
        })
    };
    assert_eq!(spoiled(None), 0);
    assert_eq!(changing_reads(2000, None), 0);
    let faults =
        [cache::CacheFault::OverlooksWrites, cache::CacheFault::OverlooksTrims, cache::CacheFault::WritesAround];
    let mut found = faults.map(|fault| spoiled(Some(fault))).to_vec();
    found.push(losses_of(2000, |seed| {
        let mut world = failing(cached(4, seed), FaultPlan { writes: 4, ..FaultPlan::default() });
        world.engine_mut().cache().fault = Some(cache::CacheFault::KeepsFailedWrites);
        world
    }));
    found.push(changing_reads(2000, Some(cache::CacheFault::OverlooksOverlaps)));
    assert!(found.iter().all(|&found| found >= 5), "{found:?}");
}
