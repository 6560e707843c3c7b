//! The fleet counts objects where the router has a bit for each. Both put replicas on the same servers.

use std::collections::BTreeSet;

use esker_cluster::{
    ClusterShape, Effect, FailureDomain, Plan, ReplicaPlace, Router, RouterInput, ServerId, ServerSpec, SliceId,
    SliceMove, SliceReplica,
};
use esker_core::{ByteRate, Bytes, Nanos, Rng};

use super::super::copies::{Cause, CopiedBytes, CopyGrant};
use super::super::place::{Motion, Placement};
use super::super::settings::CopySettings;

const SHAPE: ClusterShape =
    ClusterShape { slices: 240, objects_per_slice: 4, object: Bytes::kib(256), partitions: 96, replicas: 2 };

struct Both {
    router: Router,
    place: Placement,
    effects: Vec<Effect>,
}

impl Both {
    fn new(rng: &mut Rng) -> Self {
        let specs: Vec<ServerSpec> = (0..12).map(|at| spec(at / 2, rng)).collect();
        let place = Placement::new(SHAPE, &specs, vec![1.0; 240], 1.0).unwrap();
        Self { router: Router::new(SHAPE, &specs).unwrap(), place, effects: Vec::new() }
    }

    fn input(&mut self, input: RouterInput) {
        self.router.on(input, &mut self.effects);
        while let Some(effect) = self.effects.pop() {
            if let Effect::Work { id, .. } = effect {
                self.router.on(RouterInput::Done { effect: id, ok: true }, &mut self.effects);
            }
        }
    }

    /// Copies all that can be.
    fn copy(&mut self) {
        for _ in 0..3 {
            self.input(RouterInput::CopyBudget(Bytes::gib(1)));
            self.input(RouterInput::EpochEnds);
            let settings = CopySettings { rate: Some(ByteRate(1 << 30)), ..Default::default() };
            let mut grant = CopyGrant::new(&settings, Nanos::from_secs(1), SHAPE.object);
            grant.begin_epoch();
            let mut copied = CopiedBytes::default();
            copied.clear(self.place.servers().len());
            self.place.copy(&mut grant, &mut copied, |motion| motion.cause == Cause::Rebuild);
            self.place.copy(&mut grant, &mut copied, |_: &Motion| true);
            self.place.retry_placing();
        }
    }

    /// One to nine moves that a balancer might want, some of which cannot be.
    fn plan(&mut self, rng: &mut Rng) {
        let mut plan = Plan::default();
        for _ in 0..1 + rng.below(9) {
            let slice = SliceId(rng.below(240) as u32);
            let from = self.place.slices()[slice.index()].homes[rng.below(2) as usize];
            let to = ServerId(rng.below(self.place.servers().len() as u64) as u16);
            if plan.moves.iter().all(|other| other.slice != slice) {
                plan.moves.push(SliceMove { slice, from, to, copied: Bytes(1) });
            }
        }
        let refused = self.router.report().moves_refused;
        self.input(RouterInput::Plan(plan.clone()));
        assert_eq!(self.place.begin_plan(&plan).1, self.router.report().moves_refused - refused);
    }

    fn compare(&self) -> usize {
        let mut moving = 0;
        for replica in (0..240).flat_map(|slice| [0, 1].map(|replica| SliceReplica { slice: SliceId(slice), replica }))
        {
            let routed = match self.router.map().place(replica) {
                ReplicaPlace::Complete(home) => [Some(home), None],
                ReplicaPlace::Offloading { source, destination } => {
                    moving += 1;
                    [source, destination]
                }
            };
            assert_eq!(self.place.places(replica), routed, "{replica:?}");
        }
        for (at, server) in self.place.servers().iter().enumerate() {
            assert_eq!(server.used, self.router.servers().get(ServerId(at as u16)).used, "server {at}");
        }
        moving
    }
}

fn spec(domain: u64, rng: &mut Rng) -> ServerSpec {
    ServerSpec { domain: FailureDomain(domain as u32), room: 200, virtual_nodes: 16 + rng.below(48) as u32 }
}

#[test]
fn replicas_are_where_the_router_has_them() {
    let (mut moving, mut done) = (0, BTreeSet::new());
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let mut both = Both::new(&mut rng);
        both.compare();
        for _ in 0..25 {
            let up = both.place.up();
            let server = up[rng.below(up.len() as u64) as usize];
            let what = rng.below(5);
            match what {
                0 => {
                    let joins = spec(20 + rng.below(6), &mut rng);
                    both.input(RouterInput::Join(joins));
                    both.place.join(joins);
                }
                1 if up.len() > 8 => {
                    both.input(RouterInput::Drain(server));
                    both.place.drain(server);
                }
                // One at a time: what no server has is never complete for the router.
                2 if up.len() > 8 && both.place.moving(Cause::Rebuild) == 0 => {
                    both.input(RouterInput::Fail(server));
                    both.place.fail(server);
                }
                3 => both.plan(&mut rng),
                _ => both.copy(),
            }
            done.insert(what);
            moving += both.compare();
            both.place.check();
        }
        both.copy();
        assert_eq!(both.compare(), 0, "all is complete in the end");
        assert_eq!(both.place.lost.slices, 0);
    }
    assert!(done.len() == 5 && moving > 5000, "{moving}");
}
