//! Properties under random requests, failures and crashes.

use esker_core::{FaultPlan, Rng, StreamId};
use proptest::prelude::*;

use super::world::World;
use super::*;
use crate::testing;

/// With this many numbers, [`drawn`] returns every pair of a policy and an admission policy, each equally often; one in
/// four is for logs.
const POLICIES: usize = 4 * (esker_cache::REPLACEMENTS.len() - 1) * esker_cache::ADMISSIONS.len();

/// (kind, start, sectors, fua, effects to perform afterwards)
type Operation = (u8, u64, u64, bool, u8);

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let start = prop_oneof![0u64..64, (0u64..16).prop_map(|line| line * LINE)];
    let sectors = prop_oneof![1u64..12, (1u64..4).prop_map(|lines| lines * LINE)];
    prop::collection::vec((0u8..16, start, sectors, any::<bool>(), 0u8..8), 1..80)
}

/// Submits a request of the host, or now and then shrinks the flash or goes on with a checkpoint.
fn submit(world: &mut World, operation: Operation) {
    let (kind, start, sectors, often, effects) = operation;
    match kind {
        15 if often && start < 8 => world.shrink(3 + start),
        14 if often => world.step_checkpoint(sectors as u32).unwrap(),
        _ => world.submit(request(operation, world.host.history.len() as u64)),
    }
    for _ in 0..effects {
        world.perform_one();
    }
}

fn request((kind, start, sectors, fua, _): Operation, capacity: u64) -> Request {
    let start = start % capacity;
    let length = Bytes(sectors.min(capacity - start) * 512);
    let kind = match kind {
        0..6 => RequestKind::Write { fua: fua && kind == 0 },
        6..11 => RequestKind::Read,
        11 => RequestKind::Trim,
        12 => RequestKind::WriteZeroes { fua },
        _ => return FLUSH,
    };
    // Several streams, for caches with a part for each.
    Request { stream: StreamId((start / 8) as u16 % 3), ..Request::new(kind, Lba(start), length) }
}

fn odds() -> impl Strategy<Value = u64> {
    prop_oneof![2 => Just(0u64), 1 => 2u64..30]
}

/// Failures of the flash, the backing device and the journal. The flash reads everything: what it cannot read is lost.
fn plans() -> impl Strategy<Value = ([FaultPlan; 2], u64)> {
    let plan = |reads: u64| {
        let plan = move |(writes, trims, flushes)| FaultPlan { reads, writes, trims, flushes, refusals: 0 };
        (odds(), odds(), odds()).prop_map(plan)
    };
    (plan(0), odds().prop_flat_map(plan), odds()).prop_map(|(flash, backing, journal)| ([flash, backing], journal))
}

/// A world in which devices and journal fail as `plans` say. Owned flash performs all trims: they are why it has the
/// room that it promises.
fn failing(settings: FlashCacheSettings, seed: u64, ([mut flash, backing], journal): ([FaultPlan; 2], u64)) -> World {
    let mut world = World::new(settings, seed);
    if world.rules.owned.is_some() {
        flash.trims = 0;
    }
    world.set_plans(&[flash, backing], journal);
    world
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500 * esker_testkit::soak()))]

    #[test]
    fn reads_return_the_last_write_in_whatever_order_effects_are_performed(
        (slots, mode, policy) in (2u64..10, 0usize..6, 0usize..POLICIES),
        operations in operations(),
        seed: u64,
    ) {
        let mut world = World::new(drawn(slots, mode, policy), seed);
        operations.iter().for_each(|&operation| submit(&mut world, operation));
        world.read_everything();
        world.empty_out();
        prop_assert_eq!(world.host.failed_requests, 0);
    }

    /// Power is lost at any moment: each sector holds the value that was last flushed or written with FUA, or a later
    /// one, and keeps it when the cache is emptied.
    #[test]
    fn what_was_promised_survives_crashes(
        (slots, mode, policy) in (2u64..10, 0usize..6, 0usize..POLICIES),
        (first, second) in (operations(), operations()),
        seed: u64,
    ) {
        live_and_crash(World::new(drawn(slots, mode, policy), seed), [&first, &second]).unwrap();
    }

    #[test]
    fn what_was_promised_survives_failures_and_crashes(
        (slots, mode, policy) in (2u64..10, 0usize..6, 0usize..POLICIES),
        (first, second) in (operations(), operations()),
        seed: u64,
        plans in plans(),
    ) {
        live_and_crash(failing(drawn(slots, mode, policy), seed, plans), [&first, &second]).unwrap();
    }

    /// The flash begins to fail, and later does not answer any more. Every request is answered, reads return right
    /// data, and if nothing is dirty, no request fails at all.
    #[test]
    fn a_lost_flash_loses_only_what_was_dirty(
        (slots, mode, policy) in (2u64..10, 0usize..6, 0usize..POLICIES),
        (first, second) in (operations(), operations()),
        seed: u64,
        (flushes, reads) in (odds(), odds()),
    ) {
        let flash = FaultPlan { reads, ..FaultPlan::flushes(flushes) };
        let mut world = failing(drawn(slots, mode, policy), seed, ([flash, FaultPlan::default()], 0));
        first.iter().for_each(|&operation| submit(&mut world, operation));
        let trims = u64::from(world.rules.owned.is_none());
        world.devices[0].set_plan(FaultPlan { reads: 1, writes: 1, trims, ..FaultPlan::flushes(1) });
        second.iter().for_each(|&operation| submit(&mut world, operation));
        world.read_everything();
        if world.rules.settings.write != WriteHandling::WriteBack {
            prop_assert_eq!(world.host.failed_requests, 0);
        }
    }
}

/// Performs requests, loses power, and checks what the host sees then: twice, because the cache goes on from what it
/// was restored to. The error names a sector that is wrong.
fn live_and_crash(mut world: World, lives: [&[Operation]; 2]) -> Result<(), String> {
    for operations in lives {
        operations.iter().for_each(|&operation| submit(&mut world, operation));
        world = world.crash();
        world.check_survivors()?;
    }
    world.set_plans(&[FaultPlan::default()], 0);
    world.empty_out();
    world = world.crash();
    world.check_survivors()
}

/// Returns in how many of `runs` runs a cache with this fault breaks a promise.
fn losses(runs: u64, fault: Option<Fault>) -> usize {
    testing::losses(runs, |seed| {
        let mut rng = Rng::new(seed);
        let mut next = |below| rng.below(below);
        let mut world = World::new(drawn(3 + next(6), next(6) as usize, next(POLICIES as u64) as usize), seed);
        world.engine_mut().fault = fault;
        let mut operation = |_| {
            let aligned = next(2) * 3 + 1;
            let (start, sectors) = (next(64 / aligned) * aligned, (1 + next(12 / aligned)) * aligned);
            (next(15) as u8, start, sectors, next(2) == 0, next(8) as u8)
        };
        let lives: [Vec<Operation>; 2] = std::array::from_fn(|_| (0..80).map(&mut operation).collect());
        live_and_crash(world, [&lives[0], &lives[1]])
    })
}

/// Faulty caches lose promised data or return old data. The properties above would find each of them.
#[test]
fn wrong_caches_are_found_out() {
    assert_eq!(losses(1500, None), 0);
    let faults = [
        (300, Fault::HurriesSlots),
        (900, Fault::AnswersEarly),
        (100, Fault::KeepsStale),
        (300, Fault::ForgetsDirty),
        (1500, Fault::ChangesUnannounced),
        (100, Fault::TrustsBacking),
        (200, Fault::OverlooksChanges),
        (100, Fault::RefusesHeld),
        (300, Fault::HurriesTrims),
        (1500, Fault::HurriesOutdated),
        (1500, Fault::DropsInUse),
        (300, Fault::KeepsDropped),
        (5000, Fault::ForgetsFormer),
    ];
    let found = faults.map(|(runs, fault)| (fault, losses(runs, Some(fault))));
    assert!(found.iter().all(|(_, found)| *found >= 5), "{found:?}");
}

/// The flash fails now and then while dirty lines are copied back. Returns in how many of `runs` runs promised data are
/// lost, or those of another line are returned.
fn losses_of_failing_flash(runs: u64, fault: Option<Fault>) -> usize {
    testing::losses(runs, |seed| {
        let mut rng = Rng::new(seed);
        let settings = settings(3 + rng.below(4), 16, CacheRole::Unified, WriteHandling::WriteBack);
        let mut world = failing(settings, seed, ([FaultPlan::flushes(4), FaultPlan::default()], 0));
        world.engine_mut().fault = fault;
        let mut operation = |_| {
            let kind = [1, 1, 1, 6, 13][rng.below(5) as usize];
            (kind, rng.below(16) * LINE, LINE, false, rng.below(6) as u8)
        };
        let operations: Vec<Operation> = (0..80).map(&mut operation).collect();
        live_and_crash(world, [&operations, &[]])
    })
}

/// What a failed flash returns may be what another line has left there.
#[test]
fn caches_that_trust_failed_flash_are_found_out() {
    assert_eq!(losses_of_failing_flash(2_000, None), 0);
    let found = losses_of_failing_flash(300, Some(Fault::TrustsFailedFlash));
    assert!(found >= 20, "{found}");
}

/// Two lines of an append-only log are changed again and again while the host waits for flushes, and then power is
/// lost. Returns in how many of `runs` runs promised data are lost.
fn losses_under_flushes(runs: u64, fault: Option<Fault>) -> usize {
    testing::losses(runs, |seed| {
        let mut rng = Rng::new(seed);
        let mut world = World::new(super::log::append_only(8, 16), seed);
        world.engine_mut().fault = fault;
        let mut operation = |_| {
            let (kind, start) = (if rng.chance(1, 4) { 13 } else { 1 }, rng.below(2 * LINE));
            (kind, start, 1 + rng.below(2), false, rng.below(4) as u8)
        };
        let operations: Vec<Operation> = (0..40).map(&mut operation).collect();
        live_and_crash(world, [&operations, &[]])
    })
}

/// Data that a flush was to make durable survive, even if their line moves to another slot before the flush has ended.
#[test]
fn a_flush_keeps_what_moves_meanwhile() {
    assert_eq!(losses_under_flushes(2_000, None), 0);
    let found = losses_under_flushes(2_000, Some(Fault::ForgetsPromises));
    assert!(found >= 20, "{found}");
}

/// A cache that owns its flash has little room, most lines are used now and then, and power is lost. Returns in how
/// many of `runs` runs something is wrong.
fn losses_of_owned_flash(runs: u64, fault: Option<Fault>) -> usize {
    testing::losses(runs, |seed| {
        let mut rng = Rng::new(seed);
        let (role, write) = MODES[rng.below(MODES.len() as u64) as usize];
        let line = Bytes(LINE * 512);
        let room = OwnedFlash { user: Bytes(2 * line.0), suspects: Bytes(3 * line.0), hot: Bytes::ZERO };
        let settings = FlashCacheSettings { owned: Some(room), ..super::owned_flash::owned(role, write) };
        let mut world = World::new(settings, seed);
        world.engine_mut().fault = fault;
        let mut operation = |_| {
            let kind = [0, 1, 6, 6, 6, 13][rng.below(6) as usize];
            (kind, rng.below(10) * LINE, LINE, false, rng.below(6) as u8)
        };
        let lives: [Vec<Operation>; 2] = std::array::from_fn(|_| (0..80).map(&mut operation).collect());
        live_and_crash(world, [&lives[0], &lives[1]])
    })
}

/// Owned flash wears out while half of the requests are writes. Returns in how many of `runs` runs something is wrong.
fn losses_of_worn_flash(runs: u64, fault: Option<Fault>) -> usize {
    testing::losses(runs, |seed| {
        let mut rng = Rng::new(seed);
        let (role, write) = MODES[rng.below(2) as usize];
        let mut world = World::new(super::owned_flash::owned(role, write), seed);
        world.engine_mut().fault = fault;
        let mut operation = |number: u64| {
            let wears = number % 20 == 19;
            let (kind, start) = if wears { (15, 7 - number / 20) } else { (rng.below(12) as u8, rng.below(10) * LINE) };
            (kind, start, LINE, wears, rng.below(6) as u8)
        };
        let lives: [Vec<Operation>; 3] = std::array::from_fn(|_| (0..160).map(&mut operation).collect());
        lives[0].iter().for_each(|&operation| submit(&mut world, operation));
        world.drain();
        live_and_crash(world, [&lives[1], &lives[2]])
    })
}

/// The flash shrinks until no room is left, and takes no write for which it has no room.
#[test]
fn caches_that_are_wrong_about_worn_flash_are_found_out() {
    assert_eq!(losses_of_worn_flash(2_000, None), 0);
    let faults = [Fault::KeepsTaking, Fault::ShrinksCarelessly, Fault::TrustsRefused];
    let found = faults.map(|fault| (fault, losses_of_worn_flash(200, Some(fault))));
    assert!(found.iter().all(|(_, found)| *found >= 20), "{found:?}");
}

/// Data that the journal still names as dirty are not dropped.
#[test]
fn owned_flash_gives_up_nothing_that_the_journal_needs() {
    assert_eq!(losses_of_owned_flash(3_000, None), 0);
    let found = losses_of_owned_flash(3_000, Some(Fault::DropsRecordedDirty));
    assert!(found >= 5, "{found}");
}
