//! Any order of requests, rounds, failures, and ends of work.

use std::collections::BTreeSet;

use esker_core::Bytes;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::store::PAGES;
use super::world::{Ending, WHOLE, World, spec};
use crate::id::{ObjectId, ServerId};
use crate::map::ReplicaPlace;
use crate::route::{ObjectRange, ObjectRequest, RouterInput, RouterReport};
use crate::servers::ServerState;

const SLICES: u32 = 6;
const OBJECTS: u32 = 3;

#[derive(Clone, Copy, Debug)]
enum Step {
    Request { object: u64, kind: u8, begin: u32, end: u32 },
    End { index: usize, ending: Ending },
    EndSome { count: usize },
    Late { count: usize },
    Plan { slice: u32, replica: u8, to: u16 },
    Budget { objects: u64 },
    EpochEnds,
    Fail { server: usize },
    Drain { server: usize },
    Refuse { server: usize },
    Join { domain: u32, room: u32 },
}

fn ending() -> impl Strategy<Value = Ending> {
    prop_oneof![
        10 => Just(Ending::Done),
        1 => Just(Ending::Failed),
        1 => Just(Ending::AnswerLost),
        1 => Just(Ending::Late),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let objects = u64::from(SLICES * OBJECTS);
    prop_oneof![
        // Half of the requests are to the objects of the first two slices, which most plans move.
        12 => (prop_oneof![0..objects / 3, 0..objects], 0u8..6, 0u32..PAGES as u32, 1u32..=PAGES as u32)
            .prop_map(|(object, kind, begin, end)| Step::Request { object, kind, begin, end }),
        12 => (any::<usize>(), ending()).prop_map(|(index, ending)| Step::End { index, ending }),
        3 => (1usize..12).prop_map(|count| Step::EndSome { count }),
        2 => (1usize..3).prop_map(|count| Step::Late { count }),
        6 => (prop_oneof![0..2u32, 0..SLICES], 0u8..3, 0u16..8)
            .prop_map(|(slice, replica, to)| Step::Plan { slice, replica, to }),
        3 => (1u64..4).prop_map(|objects| Step::Budget { objects }),
        1 => Just(Step::EpochEnds),
        1 => any::<usize>().prop_map(|server| Step::Fail { server }),
        1 => any::<usize>().prop_map(|server| Step::Drain { server }),
        1 => any::<usize>().prop_map(|server| Step::Refuse { server }),
        1 => (0u32..6, 2u32..10).prop_map(|(domain, room)| Step::Join { domain, room }),
    ]
}

fn request(kind: u8, begin: u32, end: u32) -> ObjectRequest {
    let range = if begin < end { ObjectRange { begin, end } } else { WHOLE };
    match kind {
        0 | 1 => ObjectRequest::Read(range),
        2 => ObjectRequest::Write(WHOLE),
        3 | 4 => ObjectRequest::Write(range),
        _ => ObjectRequest::Delete,
    }
}

impl World {
    /// Lets some epochs pass in which all is copied that can be.
    pub(super) fn copy_all(&mut self, epochs: usize) {
        for _ in 0..epochs {
            self.on(RouterInput::EpochEnds);
            self.on(RouterInput::CopyBudget(Bytes(1 << 20)));
            self.end_all();
        }
    }

    /// What is on its way between servers that take no writes stays where it is until one does. Nothing else is on its
    /// way to one.
    pub(super) fn keep_split(&mut self) {
        let (map, refuses) = (self.map(), |server| self.router.refuses(server));
        let places = map.moving_from(Self::replica(0, 0)).map(|replica| map.place(replica));
        let mut split = BTreeSet::new();
        for place in places {
            if let ReplicaPlace::Offloading { source, destination: Some(to) } = place
                && refuses(to)
            {
                assert!(source.is_some_and(refuses), "{place:?} has not turned");
                split.insert(to);
            }
        }
        split.into_iter().for_each(|server| self.on(RouterInput::Keep(server)));
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Request { object, kind, begin, end } => {
                self.request(ObjectId(object), request(kind, begin, end));
            }
            Step::End { index, ending } if !self.pending.is_empty() => self.end(index % self.pending.len(), ending),
            Step::EndSome { count } => (0..count.min(self.pending.len())).for_each(|_| self.end(0, Ending::Done)),
            Step::Late { count } => self.perform_late(count),
            Step::Plan { slice, replica, to } => {
                let (replica, to) = (replica % self.map().shape().replicas, to as usize % self.stores.len());
                self.plan(slice, replica, ServerId(to as u16));
            }
            Step::Budget { objects } => self.on(RouterInput::CopyBudget(Bytes(objects * PAGES as u64))),
            Step::EpochEnds => self.on(RouterInput::EpochEnds),
            Step::Fail { server } | Step::Drain { server } | Step::Refuse { server } => {
                let up = self.up();
                let drained = self.router.servers().iter().filter(|(_, it)| it.state == ServerState::Draining).count();
                if up.len() - drained > usize::from(self.map().shape().replicas) + 1 {
                    let server = up[server % up.len()];
                    match step {
                        Step::Fail { .. } => self.fail(server),
                        Step::Refuse { .. } => self.on(RouterInput::Refuse(server)),
                        _ => self.on(RouterInput::Drain(server)),
                    }
                }
            }
            Step::Join { domain, room } if self.stores.len() < 10 => self.join(spec(domain, room)),
            Step::End { .. } | Step::Join { .. } => {}
        }
    }
}

fn run(replicas: u8, steps: Vec<Step>) -> World {
    let servers: Vec<_> = (0..5).map(|server| spec(server % 4, 18)).collect();
    let mut world = World::new(replicas, SLICES, OBJECTS, &servers);
    steps.into_iter().for_each(|step| world.step(step));
    world.finish();
    world
}

/// The first `count` runs that the strategy makes.
fn drawn(count: usize) -> Vec<(u8, Vec<Step>)> {
    let mut runner = TestRunner::deterministic();
    let strategy = (1u8..=3, proptest::collection::vec(step(), 100..160));
    (0..count).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

/// The property says nothing about what does not happen in it.
#[test]
fn the_steps_reach_everything_that_a_router_does() {
    let (mut all, mut lost, mut replies) = (RouterReport::default(), 0, 0);
    for (replicas, steps) in drawn(150) {
        let world = run(replicas, steps);
        let RouterReport { moves_begun, moves_done, moves_refused, moved_by_requests, .. } = *world.router.report();
        let RouterReport { copies, copies_failed, merges, trims, replicas_lost, .. } = *world.router.report();
        all.moves_begun += moves_begun;
        all.moves_done += moves_done;
        all.moves_refused += moves_refused;
        all.moved_by_requests += moved_by_requests;
        all.copies += copies;
        all.copies_failed += copies_failed;
        all.merges += merges;
        all.trims += trims;
        all.replicas_lost += replicas_lost;
        (lost, replies) = (lost + world.lost, replies + world.replies);
    }
    let counts = [
        all.moves_begun,
        all.moves_done,
        all.moves_refused,
        all.moved_by_requests,
        all.copies,
        all.copies_failed,
        all.merges,
        all.trims,
        all.replicas_lost,
        lost,
        replies,
    ];
    assert!(counts.iter().all(|count| *count >= 50), "{all:?}, lost: {lost}, replies: {replies}");
}

/// The same inputs make the same effects, to the byte.
#[test]
fn the_same_inputs_make_the_same_effects() {
    for (replicas, steps) in drawn(20) {
        let (one, two) = (run(replicas, steps.clone()), run(replicas, steps));
        assert_eq!(format!("{:?}", one.router), format!("{:?}", two.router));
        assert_eq!(format!("{:?}", one.stores), format!("{:?}", two.stores));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 768, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_read_returns_the_newest_version(replicas in 1u8..=3, steps in proptest::collection::vec(step(), 1..160)) {
        run(replicas, steps);
    }
}
