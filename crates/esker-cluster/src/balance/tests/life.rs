//! `life` against the same policy written with a look at all servers for each move.

use esker_core::Rng;

use super::super::draft::{Draft, greatest, slices_by_server};
use super::super::{ClusterView, ServerView};
use super::plans::random;
use super::{balancer, number};
use crate::id::{ServerId, SliceId};
use crate::plan::{Plan, SliceMove};

/// The policy in its first epoch, with its defaults but for the warm-up.
struct Naive<'a> {
    view: &'a ClusterView<'a>,
    draft: Draft<'a>,
    pages: Vec<f64>,
    slices: Vec<Vec<SliceId>>,
}

impl Naive<'_> {
    fn of(&self, slice: SliceId) -> f64 {
        f64::from(self.view.slices[slice.index()].pages)
    }

    fn speed(&self, at: usize, more: f64) -> f64 {
        let ServerView { serves, life_left_pages, .. } = self.view.servers[at];
        let copied = if more > 0.0 { self.view.slice_pages() } else { 0.0 };
        if serves { (self.pages[at] + more) / (life_left_pages - copied).max(0.0) } else { 0.0 }
    }

    fn fastest(&self) -> f64 {
        (0..self.pages.len()).map(|at| self.speed(at, 0.0)).fold(0.0, f64::max)
    }

    fn find(&self, from: usize, cap: f64) -> Option<(usize, usize)> {
        (0..self.slices[from].len()).rev().find_map(|at| {
            let (slice, source) = (self.slices[from][at], ServerId(from as u16));
            let takes = |to: &usize| {
                let speed = self.speed(*to, self.of(slice));
                let server = ServerId(*to as u16);
                speed <= cap
                    && speed.is_finite()
                    && self.draft.may_go(slice, source, server)
                    && self.draft.carries(server, self.of(slice))
                    && self.draft.affords(self.view.slice_bytes())
            };
            let takers = (0..self.pages.len()).filter(takes);
            greatest(takers.map(|to| (to, -self.speed(to, self.of(slice))))).map(|to| (at, to))
        })
    }

    fn relieve(&mut self, limit: f64) -> bool {
        let speeds = (0..self.pages.len()).map(|at| (at, self.speed(at, 0.0)));
        let short = speeds.filter(|(at, speed)| !self.slices[*at].is_empty() && *speed > limit);
        let Some(from) = greatest(short) else { return false };
        let caps = [limit, self.speed(from, 0.0) * 0.8];
        match caps.into_iter().find_map(|cap| self.find(from, cap)) {
            Some((at, to)) => {
                let slice = self.slices[from].remove(at);
                let (pages, copied) = (self.of(slice), self.view.slice_bytes());
                self.pages[from] -= pages;
                self.pages[to] += pages;
                let wanted = SliceMove { slice, from: ServerId(from as u16), to: ServerId(to as u16), copied };
                self.draft.add(wanted, pages);
            }
            None => self.slices[from].clear(),
        }
        true
    }
}

fn naive(view: &ClusterView<'_>) -> Plan {
    let mut pages = vec![0.0; view.servers.len()];
    for slice in (0..view.slices.len() as u32).map(SliceId) {
        view.homes(slice).iter().for_each(|home| pages[home.index()] += f64::from(view.slices[slice.index()].pages));
    }
    let serving: Vec<usize> = (0..pages.len()).filter(|at| view.servers[*at].serves).collect();
    let life: f64 = serving.iter().map(|at| view.servers[*at].life_left_pages.max(0.0)).sum();
    let even = serving.iter().map(|at| pages[*at]).sum::<f64>() / life;
    let limit = even * 1.1;
    let is_short: Vec<bool> = (0..pages.len())
        .map(|at| view.servers[at].serves && pages[at] > limit * view.servers[at].life_left_pages)
        .collect();
    let is_worth_it = |slice: SliceId, _: ServerId| {
        let slice = &view.slices[slice.index()];
        !slice.in_motion && f64::from(slice.pages) >= view.slice_pages() / 28.0
    };
    let mut slices = slices_by_server(view, &is_short, is_worth_it);
    let of = |slice: &SliceId| view.slices[slice.index()].pages;
    slices.iter_mut().for_each(|all| all.sort_by(|one, two| of(one).total_cmp(&of(two)).then(two.cmp(one))));
    let mut all = Naive { view, draft: Draft::new(view), pages, slices };
    let before = 1.0 / all.fastest();
    if !even.is_finite() || 1.0 / even < before * 1.05 {
        return Plan::default();
    }
    while all.relieve(limit) {}
    if 1.0 / all.fastest() < before * 1.05 { Plan::default() } else { all.draft.plan }
}

#[test]
fn plans_are_those_of_a_look_at_all_servers() {
    let (mut rng, mut moves, mut rounds) = (Rng::new(41), 0, 0);
    for round in 0..3000 {
        let mut cluster = random(&mut rng);
        if round % 3 == 0 {
            // Equals, servers that are worn out, and those without load.
            for server in &mut cluster.servers {
                server.life_left_pages = (server.life_left_pages / 3e5).floor() * 3e5;
            }
            cluster.slices.iter_mut().for_each(|slice| slice.pages = (slice.pages / 50.0).floor() * 50.0);
        }
        let plan = cluster.plan(&mut *balancer("life", &[("warm_up_epochs", number(0))]));
        assert_eq!(plan, naive(&cluster.view()), "round {round}");
        moves += plan.moves.len();
        rounds += usize::from(!plan.moves.is_empty());
    }
    assert!(rounds > 300 && moves > 1000, "{rounds} rounds with {moves} moves");
}
