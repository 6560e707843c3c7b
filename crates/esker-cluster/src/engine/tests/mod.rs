//! The engine in the world of all engines: effects in any order, errors, losses of power.

mod cases;
mod copies;
mod crash;
mod driven;
mod members;

use esker_core::registry::Choice;
use esker_core::{Bytes, Nanos, Ratio, Rng};

use super::*;
use crate::id::{FailureDomain, ServerId, SliceId, SliceReplica};
use crate::map::ReplicaPlace;
use crate::plan::{Plan, SliceMove};

/// Sectors of an object, objects of a slice, slots of a server.
const SECTORS: u64 = 4;
const OBJECTS: u64 = 3;
const SLOTS: u64 = 5;
/// Sectors of a slice.
const SLICE: u64 = SECTORS * OBJECTS;

/// A small cluster, which never asks its balancer by itself.
fn settings(servers: u32, replicas: u8) -> ClusterSettings {
    let server = |domain| ClusterServer {
        capacity: Bytes(SLOTS * OBJECTS * SECTORS * 512 + 100),
        domain: FailureDomain(domain),
    };
    ClusterSettings {
        object: Bytes(SECTORS * 512),
        objects_per_slice: OBJECTS as u32,
        partitions: 64,
        replicas,
        servers: (0..servers).map(server).collect(),
        founders: None,
        capacity: None,
        reserve: Ratio::percent(40),
        balancer: Choice::named("none"),
        wear: Choice::named("published"),
        pace: ClusterPace { epoch: Nanos(1 << 40), copies_after: Ratio::ZERO, copied_bytes_per_second: Bytes::ZERO },
        flash: ClusterFlash { page: Bytes(512), pages_per_block: 4, rated_fills: 100 },
    }
}

/// Sets a slice in motion to another server, both by chance, and lets objects be copied.
fn move_something(engine: &mut ClusterEngine, rng: &mut Rng, effects: &mut Vec<Effect>) {
    let (shape, servers) = (*engine.router.map().shape(), engine.stores.len() as u64);
    let slice = SliceId(rng.below(shape.slices.into()) as u32);
    let replica = SliceReplica { slice, replica: rng.below(shape.replicas.into()) as u8 };
    let ReplicaPlace::Complete(from) = engine.router.map().place(replica) else { return };
    let to = ServerId(rng.below(servers) as u16);
    let moves = vec![SliceMove { slice, from, to, copied: Bytes::ZERO }];
    engine.inputs.push_back(RouterInput::Plan(Plan { moves, copy_at_once: false }));
    engine.settle(effects);
}

/// Lets up to a few objects be copied.
fn grant(engine: &mut ClusterEngine, rng: &mut Rng, effects: &mut Vec<Effect>) {
    let objects = rng.below(OBJECTS + 1);
    engine.inputs.push_back(RouterInput::CopyBudget(Bytes(objects * SECTORS * 512)));
    engine.inputs.push_back(RouterInput::EpochEnds);
    engine.settle(effects);
}
