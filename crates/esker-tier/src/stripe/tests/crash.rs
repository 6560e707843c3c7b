//! Stripes under random requests, failures, and loss of power: data that were flushed or written durably survive.

use esker_core::{FaultPlan, Rng};
use proptest::prelude::*;

use super::*;
use crate::engine::{Checkpoint, Record};
use crate::testing::{self, Around, Rules, Store};

/// Number of sectors of a device: eight units.
const SECTORS: u64 = 8 * UNIT / 512;

type World = testing::World<StripeRules>;

/// A stripe over this many devices.
#[derive(Debug)]
struct StripeRules(usize);

impl Rules for StripeRules {
    type Engine = StripeEngine;

    fn restore(&self, _: &Checkpoint, records: &[Record]) -> StripeEngine {
        assert!(records.is_empty(), "stripes keep no map");
        engine(&vec![SECTORS * 512; self.0])
    }

    fn may_fail(around: &Around<Self>, request: &Request, _: u64, _: DeviceError) -> bool {
        match request.kind {
            RequestKind::Read => around.devices.iter().any(|device| device.reads_failed),
            RequestKind::Flush => around.has_lost_data(),
            _ => around.has_lost_data() || around.has_failed_writes(),
        }
    }

    /// Writes of a wrong engine go to failed devices, too.
    fn check_io(around: &Around<Self>, engine: &StripeEngine, device: DeviceIndex, request: &Request) {
        let failed = around.device(device).told_failed && !engine.health.forgives;
        assert!(!failed || request.kind == RequestKind::Read, "sent to a failed device: {device:?}, {request:?}");
    }
}

/// A world of `devices` devices, whose requests fail as `plan` says.
fn world(devices: usize, plan: FaultPlan, seed: u64) -> World {
    let zeroes = || {
        let mut store = Store::new(SECTORS);
        (0..SECTORS).for_each(|sector| store.write(sector as usize, 0, true));
        store
    };
    let mut world = World::of(StripeRules(devices), (0..devices).map(|_| zeroes()), seed);
    world.set_plans(&[plan], 0);
    world
}

/// (kind, start, sectors, fua, requests to devices to perform afterwards)
type Operation = (u8, u64, u64, bool, u8);

fn run(world: &mut World, operations: &[Operation]) {
    for &(kind, start, sectors, fua, performed) in operations {
        let capacity = world.host.history.len() as u64;
        let start = start % capacity;
        let length = Bytes(sectors.min(capacity - start) * 512);
        world.submit(match kind % 8 {
            0..4 => Request::new(RequestKind::Write { fua }, Lba(start), length),
            4..6 => Request::read(Lba(start), length),
            _ => Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO),
        });
        for _ in 0..performed {
            world.perform_one();
        }
    }
}

/// Generates a world of one to four devices whose requests may fail, and operations on it.
fn worlds() -> impl Strategy<Value = (World, Vec<Operation>)> {
    let operations = prop::collection::vec((0u8..8, 0u64..64, 1u64..30, any::<bool>(), 0u8..8), 1..60);
    let odds = || prop_oneof![Just(0u64), 2u64..20];
    let plan = |(reads, writes, flushes)| FaultPlan { reads, writes, ..FaultPlan::flushes(flushes) };
    let plans = (odds(), odds(), odds()).prop_map(plan);
    let world = (1usize..5, plans, any::<u64>()).prop_map(|(devices, plan, seed)| world(devices, plan, seed));
    (world, operations)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000 * esker_testkit::soak()))]

    #[test]
    fn what_was_promised_survives_failures_and_a_crash((mut world, operations) in worlds()) {
        run(&mut world, &operations);
        prop_assert_eq!(world.crash().check_survivors(), Ok(()));
    }

    #[test]
    fn every_request_is_answered((mut world, operations) in worlds()) {
        run(&mut world, &operations);
        world.drain();
    }
}

/// Returns in how many of 300 runs an engine breaks a promise after `spoil` has introduced a fault.
fn losses(failures: u64, spoil: fn(&mut StripeEngine)) -> usize {
    testing::losses(300, |seed| {
        let mut world = world(3, FaultPlan::flushes(failures), seed);
        spoil(world.engine_mut());
        let mut rng = Rng::new(seed);
        let mut next = |below| rng.below(below);
        let operations: Vec<Operation> =
            (0..60).map(|_| (next(8) as u8, next(64), 1 + next(29), next(4) == 0, next(8) as u8)).collect();
        run(&mut world, &operations);
        world.crash().check_survivors()
    })
}

/// A stripe whose flush leaves out the last of three devices, and one that believes a second flush after a failed one,
/// lose promised data. The property above would find each of them.
#[test]
fn wrong_stripes_are_found_out() {
    assert_eq!((losses(0, |_| ()), losses(3, |_| ())), (0, 0));
    let found = [losses(0, |engine| engine.skips_last = true), losses(3, |engine| engine.health.forgives = true)];
    assert!(found.iter().all(|&found| found >= 5), "{found:?}");
}
