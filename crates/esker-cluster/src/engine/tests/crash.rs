//! Clusters under random requests, motions, failures, and loss of power: data that were flushed or written durably
//! survive, wherever they were going.

use esker_core::{DeviceError, FaultPlan, Lba, Request, RequestKind, Rng};
use esker_tier::testing::{self, Around, Rules, Store};
use esker_tier::{Checkpoint, Record};
use proptest::prelude::*;

use super::*;

type World = testing::World<ClusterRules>;

/// A cluster of this many servers and replicas.
#[derive(Debug)]
struct ClusterRules {
    servers: u32,
    replicas: u8,
}

impl Rules for ClusterRules {
    type Engine = ClusterEngine;

    fn restore(&self, base: &Checkpoint, records: &[Record]) -> ClusterEngine {
        let settings = settings(self.servers, self.replicas);
        match self.replicas {
            1 => ClusterEngine::restore(&settings, base, records).unwrap(),
            _ => ClusterEngine::new(&settings).unwrap(),
        }
    }

    fn may_fail(around: &Around<Self>, request: &Request, _: u64, _: DeviceError) -> bool {
        let reads_failed = around.devices.iter().any(|device| device.reads_failed);
        match request.kind {
            RequestKind::Read => reads_failed || around.has_lost_data(),
            RequestKind::Flush => around.has_lost_data(),
            _ => reads_failed || around.has_lost_data() || around.has_failed_writes(),
        }
    }
}

fn world(servers: u32, replicas: u8, plan: FaultPlan, seed: u64) -> World {
    let sectors = settings(servers, replicas).servers[0].capacity.0 / 512;
    let stores = (0..servers).map(|_| Store::new(sectors));
    let mut world = World::of(ClusterRules { servers, replicas }, stores, seed);
    world.set_plans(&[plan], 0);
    world
}

/// (kind, start, sectors, effects to perform afterwards)
type Operation = (u8, u64, u64, u8);

fn run(world: &mut World, operations: &[Operation], seed: u64) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    for &(kind, start, sectors, performed) in operations {
        let capacity = world.host.history.len() as u64;
        let start = start % capacity;
        let (start, length) = (Lba(start), Bytes(sectors.min(capacity - start) * 512));
        let whole = Lba(start.0 / SECTORS * SECTORS);
        match kind % 20 {
            0..5 => world.submit(Request::write(start, length)),
            5 => world.submit(Request::new(RequestKind::Write { fua: true }, start, length)),
            6 => world.submit(Request::new(RequestKind::WriteZeroes { fua: performed % 2 == 0 }, start, length)),
            7 => world.submit(Request::new(RequestKind::Trim, start, length)),
            8 => world.submit(Request::new(RequestKind::Trim, whole, Bytes(SECTORS * 512))),
            9..12 => world.submit(Request::read(start, length)),
            12 => world.submit(Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO)),
            13 => world.step_checkpoint(1 + (start.0 % 4) as u32)?,
            14..17 => world.act(|engine, effects| move_something(engine, &mut rng, effects)),
            _ => world.act(|engine, effects| grant(engine, &mut rng, effects)),
        }
        for _ in 0..performed {
            world.perform_one();
        }
    }
    Ok(())
}

fn operations(most: usize) -> impl Strategy<Value = Vec<Operation>> {
    prop::collection::vec((0u8..20, 0u64..200, 1u64..12, 0u8..8), 1..most)
}

fn plans() -> impl Strategy<Value = FaultPlan> {
    let odds = || prop_oneof![3 => Just(0u64), 1 => 4u64..40];
    (odds(), odds(), odds()).prop_map(|(reads, writes, flushes)| FaultPlan {
        reads,
        writes,
        ..FaultPlan::flushes(flushes)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800 * esker_testkit::soak()))]

    #[test]
    fn what_was_promised_survives_failures_and_crashes(
        lives in prop::collection::vec(operations(60), 1..4),
        (servers, plan, seed) in (2u32..5, plans(), any::<u64>()),
    ) {
        let mut world = world(servers, 1, plan, seed);
        for (life, operations) in lives.iter().enumerate() {
            prop_assert_eq!(run(&mut world, operations, seed ^ life as u64), Ok(()));
            world = world.crash();
            prop_assert_eq!(world.check_survivors(), Ok(()));
        }
    }

    #[test]
    fn replicas_read_what_was_written(
        operations in operations(120),
        (servers, replicas, plan, seed) in (3u32..6, 2u8..4, plans(), any::<u64>()),
    ) {
        let mut world = world(servers, replicas, plan, seed);
        prop_assert_eq!(run(&mut world, &operations, seed), Ok(()));
        world.drain();
        world.read_everything();
    }
}

/// Returns in how many of 200 runs an engine over two servers, between which slices come and go, breaks a promise after
/// `spoil` has introduced a fault.
fn losses(spoil: fn(&mut ClusterEngine)) -> usize {
    testing::losses(200, |seed| {
        let mut world = world(2, 1, FaultPlan::default(), seed);
        let mut rng = Rng::new(seed);
        for life in 0..2 {
            spoil(world.engine_mut());
            let mut next = |below| rng.below(below);
            let operations: Vec<Operation> =
                (0..150).map(|_| (next(20) as u8, next(200), 1 + next(11), next(8) as u8)).collect();
            run(&mut world, &operations, seed ^ life)?;
            world = world.crash();
            world.check_survivors()?;
        }
        Ok(())
    })
}

/// A cluster that records what it has not written through loses promised data: the property above would find it.
#[test]
fn a_cluster_that_writes_nothing_through_is_found_out() {
    assert_eq!(losses(|_| ()), 0);
    let found = losses(|engine| engine.forgets_to_write_through = true);
    assert!(found >= 3, "{found}");
}
