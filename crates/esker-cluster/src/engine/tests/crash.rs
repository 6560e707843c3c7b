//! Clusters under random requests, motions, failures, and loss of power: data that were flushed or written durably
//! survive, wherever they were going.

use esker_core::{DeviceError, FaultPlan, Lba, Request, RequestKind, Rng};
use esker_tier::testing::{self, Around, Device, Rules, Store};
use esker_tier::{Checkpoint, Record};
use proptest::prelude::*;

use super::*;

type World = testing::World<ClusterRules>;

/// A cluster of this many servers and replicas.
#[derive(Debug)]
struct ClusterRules {
    servers: u32,
    replicas: u8,
    /// Servers that have joined since.
    joined: u32,
    /// Servers that were removed, and those that are drained.
    removed: Vec<DeviceIndex>,
    drained: Vec<DeviceIndex>,
}

impl ClusterRules {
    /// The settings, with all servers that ever were there.
    fn settings(&self) -> ClusterSettings {
        let all = settings(self.servers + self.joined, self.replicas);
        // The capacity stays what it was at first.
        let first = ClusterEngine::new(&settings(self.servers, self.replicas)).unwrap();
        ClusterSettings { founders: Some(self.servers as usize), capacity: Some(first.capacity()), ..all }
    }
}

impl Rules for ClusterRules {
    type Engine = ClusterEngine;

    fn restore(&self, base: &Checkpoint, records: &[Record]) -> ClusterEngine {
        ClusterEngine::restore(&self.settings(), base, records).unwrap().with_changing_members()
    }

    fn prepare(&self, engine: ClusterEngine) -> ClusterEngine {
        self.removed.iter().fold(engine, |engine, device| engine.with_removed(*device).unwrap())
    }

    fn perform(around: &mut Around<Self>, effect: &Effect, _: &ClusterEngine) {
        match effect {
            Effect::Drained(device) => assert!(around.rules.drained.contains(device), "nobody drains {device:?}"),
            Effect::DrainStuck { .. } => {}
            effect => panic!("unexpected: {effect:?}"),
        }
    }

    /// What is being drained is told again to an engine that was restored.
    fn restarted(world: &mut World) {
        for device in world.rules.drained.clone() {
            reshape(world, Reshape::Drain { device }).unwrap();
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

fn reshape(world: &mut World, reshape: Reshape) -> Result<(), ReshapeError> {
    let now = world.now();
    world.act(|engine, effects| engine.reshape(now, reshape, effects))
}

fn world(servers: u32, replicas: u8, plan: FaultPlan, seed: u64) -> World {
    let sectors = settings(servers, replicas).servers[0].capacity.0 / 512;
    let stores = (0..servers).map(|_| Store::new(sectors));
    let rules = ClusterRules { servers, replicas, joined: 0, removed: Vec::new(), drained: Vec::new() };
    let mut world = World::of(rules, stores, seed);
    world.set_plans(&[plan], 0);
    world
}

/// Has a server join, drains one, uses it again, or removes it if it is empty. Whoever restores the engine knows of the
/// change before the engine does.
fn change_members(world: &mut World, which: u64) {
    let count = world.devices.len() as u64;
    let device = DeviceIndex((which / 4 % count) as u16);
    let is_refused = |world: &World, reshape| world.engine().check_reshape(reshape).is_err();
    match which % 4 {
        0 if count < 6 => {
            let capacity = settings(1, 1).servers[0].capacity;
            world.rules.joined += 1;
            let device = Device::new(Store::new(capacity.0 / 512), which);
            world.devices.push(device);
            reshape(world, Reshape::Join { capacity }).unwrap();
        }
        1 if !is_refused(world, Reshape::Keep { device }) => {
            world.rules.drained.retain(|drained| *drained != device);
            reshape(world, Reshape::Keep { device }).unwrap();
        }
        2 if !is_refused(world, Reshape::Remove { device }) => {
            world.rules.removed.push(device);
            world.rules.drained.retain(|drained| *drained != device);
            reshape(world, Reshape::Remove { device }).unwrap();
            // Nobody finds there again what was there.
            let sectors = world.devices[usize::from(device.0)].store.live.len() as u64;
            world.devices[usize::from(device.0)].store = Store::new(sectors);
        }
        _ if !is_refused(world, Reshape::Drain { device }) => {
            world.rules.drained.retain(|drained| *drained != device);
            world.rules.drained.push(device);
            reshape(world, Reshape::Drain { device }).unwrap();
        }
        _ => {}
    }
}

/// Has everything copied that is to be copied. Returns false if something is left for which there is no room.
fn resync(world: &mut World) -> bool {
    world.set_plans(&[FaultPlan::default()], 0);
    let mut rng = Rng::new(1);
    for _ in 0..1000 {
        if world.engine().router.map().moving_count() == 0 {
            return true;
        }
        world.act(|engine, effects| grant(engine, &mut rng, effects));
        world.drain();
    }
    false
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
        match kind {
            0..5 => world.submit(Request::write(start, length)),
            5 => world.submit(Request::new(RequestKind::Write { fua: true }, start, length)),
            6 => world.submit(Request::new(RequestKind::WriteZeroes { fua: performed % 2 == 0 }, start, length)),
            7 => world.submit(Request::new(RequestKind::Trim, start, length)),
            8 => world.submit(Request::new(RequestKind::Trim, whole, Bytes(SECTORS * 512))),
            9..12 => world.submit(Request::read(start, length)),
            12 => world.submit(Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO)),
            13 => world.step_checkpoint(1 + (start.0 % 4) as u32)?,
            20 => change_members(world, start.0 * 7 + performed as u64),
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
    (odds(), odds(), odds(), odds()).prop_map(|(reads, writes, flushes, refusals)| FaultPlan {
        reads,
        writes,
        refusals,
        ..FaultPlan::flushes(flushes)
    })
}

/// Operations, among them changes of the servers.
fn changes(most: usize) -> impl Strategy<Value = Vec<Operation>> {
    prop::collection::vec((0u8..21, 0u64..200, 1u64..12, 0u8..8), 1..most)
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
    fn what_was_promised_survives_while_servers_join_and_leave(
        lives in prop::collection::vec(changes(80), 1..4),
        (servers, plan, seed) in (2u32..4, plans(), any::<u64>()),
    ) {
        let mut world = world(servers, 1, plan, seed);
        for (life, operations) in lives.iter().enumerate() {
            prop_assert_eq!(run(&mut world, operations, seed ^ life as u64), Ok(()));
            world = world.crash();
            prop_assert_eq!(world.check_survivors(), Ok(()));
        }
    }

    /// One device fails; its replicas are rebuilt from others. It does not fail between a loss of power and the end of
    /// the resync that follows: then an older version may be all that is left.
    #[test]
    fn replicas_survive_a_failed_device_and_crashes(
        lives in prop::collection::vec(operations(80), 1..5),
        (servers, replicas, plan, seed) in (3u32..6, 2u8..4, plans(), any::<u64>()),
    ) {
        let mut world = world(servers, replicas, plan, seed);
        world.set_plans(&[plan, FaultPlan::default()], 0);
        for (life, operations) in lives.iter().enumerate() {
            prop_assert_eq!(run(&mut world, operations, seed ^ life as u64), Ok(()));
            world = world.crash();
            prop_assert_eq!(world.check_survivors(), Ok(()));
            let is_resynced = (seed >> life).is_multiple_of(2) && resync(&mut world);
            let plan = if is_resynced { plan } else { FaultPlan::default() };
            world.set_plans(&[plan, FaultPlan::default()], 0);
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
