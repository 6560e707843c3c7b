//! The policies of [`PUBLISHED_PLACEMENTS`] under random requests, failures and loss of power: what was flushed or
//! written durably survives, whatever they move.

use std::collections::BTreeMap;

use esker_core::{Bytes, DeviceError, FaultPlan, Lba, Request, RequestKind};
use esker_results::DeviceReport;
use esker_tier::testing::{self, Around, Rules, Store};
use esker_tier::{Checkpoint, Engine, PlacementEngine, PlacementSettings, PolicySettings, Record};
use proptest::prelude::*;

use super::PUBLISHED_PLACEMENTS;

/// Sectors of an extent: two blocks.
const EXTENT: u64 = 16;

/// Sectors of the two devices.
const DEVICES: [u64; 2] = [64, 96];

type World = testing::World<PublishedRules>;

/// A placement engine with one of the policies.
#[derive(Debug)]
struct PublishedRules(PlacementSettings);

impl Rules for PublishedRules {
    type Engine = PlacementEngine;

    fn restore(&self, base: &Checkpoint, records: &[Record]) -> PlacementEngine {
        let journal = &mut records.iter().copied();
        PlacementEngine::restore(&self.0, base.through, &mut base.records.iter().copied(), journal).unwrap()
    }

    fn may_fail(around: &Around<Self>, request: &Request, _: u64, error: DeviceError) -> bool {
        let any_failed = around.devices.iter().any(|device| device.store.failed);
        match request.kind {
            RequestKind::Read => error == DeviceError::Failed && any_failed,
            _ => around.has_lost_data(),
        }
    }
}

/// Settings that move as much as they can: periods and quanta end all the time, and training ends at once.
fn tables() -> Vec<PolicySettings> {
    let plain = PUBLISHED_PLACEMENTS.iter().map(|entry| format!(r#"{{"kind":"{}"}}"#, entry.name));
    let eager = [
        r#"{"kind":"wardrop-published","period":"1ns"}"#,
        r#"{"kind":"colloid","quantum":"1ns","delta":"0%"}"#,
        r#"{"kind":"most","interval":"1ns","step":"50%","tolerance":"0%","mirrored":"50%"}"#,
        r#"{"kind":"mixdyn","training":2,"flash_model":"marginal","disk_model":"marginal","divert":"50%"}"#,
        r#"{"kind":"mixdyn","training":2,"flash_model":"marginal","divert":"90%","merges":true}"#,
        r#"{"kind":"mixdyn","training":0,"busting":{"share":"100%","idle":"1ns"}}"#,
    ];
    plain.chain(eager.map(String::from)).map(|table| serde_json::from_str(&table).unwrap()).collect()
}

fn world(policy: PolicySettings, seed: u64) -> World {
    let devices = DEVICES.map(|sectors| Bytes(sectors * 512)).to_vec();
    let policies = PUBLISHED_PLACEMENTS;
    let settings = PlacementSettings { extent: Bytes(EXTENT * 512), devices, policy, policies, free_on_trim: true };
    World::of(PublishedRules(settings), DEVICES.map(Store::new), seed)
}

/// (kind, start, sectors, effects to perform afterwards)
type Operation = (u8, u64, u64, u8);

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    prop::collection::vec((0u8..12, 0u64..160, 1u64..48, 0u8..8), 1..80)
}

fn submit(world: &mut World, (kind, start, sectors, performed): Operation) -> Result<(), String> {
    let capacity = world.host.history.len() as u64;
    // Every other write covers whole extents, which may be redirected.
    let start = if kind % 2 == 0 { start / EXTENT * EXTENT } else { start } % capacity;
    let sectors = if kind % 2 == 0 { sectors.div_ceil(EXTENT) * EXTENT } else { sectors };
    let length = Bytes(sectors.min(capacity - start) * 512);
    match kind {
        0..3 => world.submit(Request::write(Lba(start), length)),
        3 => world.submit(Request::new(RequestKind::Write { fua: true }, Lba(start), length)),
        4 => world.submit(Request::new(RequestKind::Trim, Lba(start), length)),
        5 => world.submit(Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO)),
        6 => world.step_checkpoint(1 + (sectors % 4) as u32)?,
        _ => world.submit(Request::read(Lba(start), length)),
    }
    for _ in 0..performed {
        world.perform_one();
    }
    Ok(())
}

fn live_and_crash(mut world: World, lives: &[Vec<Operation>]) -> Result<(), String> {
    for operations in lives {
        operations.iter().try_for_each(|&operation| submit(&mut world, operation))?;
        world = world.crash();
        world.check_survivors()?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400 * esker_testkit::soak()))]

    #[test]
    fn what_was_promised_survives_crashes_under_every_published_policy(
        policy in 0..tables().len(),
        lives in [operations(), operations()],
        seed: u64,
        flushes in prop_oneof![2 => Just(0u64), 1 => 2u64..30],
    ) {
        let mut world = world(tables().swap_remove(policy), seed);
        world.set_plans(&[FaultPlan::flushes(flushes)], flushes);
        live_and_crash(world, &lives).unwrap();
    }
}

/// Each policy, with some of its settings, moves or redirects something within these worlds, so that the property above
/// is about that.
#[test]
fn every_published_policy_moves_something() {
    let mut moved: BTreeMap<String, u64> = BTreeMap::new();
    for policy in tables() {
        let moves = |seed: u64| {
            let mut world = world(policy.clone(), seed);
            let capacity = world.host.history.len() as u64;
            let mut next = |below| world.rng.below(below);
            let operations: Vec<Operation> =
                (0..400).map(|_| (next(12) as u8, next(capacity), 1 + next(40), next(12) as u8)).collect();
            operations.into_iter().for_each(|operation| submit(&mut world, operation).unwrap());
            world.drain();
            let mut report = DeviceReport::default();
            world.engine().report(&mut report);
            let placement = report.placement.unwrap();
            placement.moved_extents + placement.redirected_writes
        };
        *moved.entry(policy.kind.clone()).or_default() += (0..20).map(moves).sum::<u64>();
    }
    assert!(moved.len() == PUBLISHED_PLACEMENTS.len() && moved.values().all(|&moved| moved > 20), "{moved:?}");
}
