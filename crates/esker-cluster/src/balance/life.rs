//! Beyond the paper: the first server to wear out should do so as late as can be.
//!
//! With writes spread in proportion to the life that servers have left, all would wear out together, after all life
//! left divided by all writes: no policy is better. This one moves the fewest slices that come near it.

use esker_core::registry::{Parameter, ParameterSource, Parameters};

use super::draft::{Draft, greatest, slices_by_server};
use super::{Balancer, BalancerEntry, ClusterView, count, share};
use crate::id::{ServerId, SliceId};
use crate::plan::{Plan, SliceMove};
use crate::wear::WearModel;

pub(super) const ENTRY: BalancerEntry = BalancerEntry {
    name: "life",
    summary: "the first server to wear out does so as late as can be, also where servers are unlike",
    source: "this project",
    parameters: ParameterSource::Listed(PARAMETERS),
    capabilities: &[],
    build: |parameters| Box::new(Life::new(parameters)),
};

const PARAMETERS: &[Parameter] = &[
    share("tolerance", "servers that use their life faster than they should by at most this share are left alone", 10),
    share("gain", "a round is worth it if the first server to wear out lives longer by this share", 5),
    count("memory_epochs", "epochs over which writes are averaged", 28, 100_000),
    count("warm_up_epochs", "epochs that are watched before anything moves", 7, 100_000),
    count("payback_epochs", "slices move that are written as a whole within these epochs", 28, 1_000_000),
];

#[derive(Debug)]
struct Life {
    tolerance: f64,
    gain: f64,
    memory: f64,
    warm_up: u64,
    payback: f64,
    epochs: u64,
    /// The average of pages that are written to each slice in an epoch.
    slices: Vec<f32>,
}

/// What a round goes on with.
struct Round<'a> {
    view: &'a ClusterView<'a>,
    draft: Draft<'a>,
    /// Pages an epoch, by server: those of the slices there.
    pages: Vec<f64>,
    /// The share of its life that a server should use in an epoch, so that all wear out together.
    even: f64,
    /// Slices of servers that live too short, the hottest last.
    slices: Vec<Vec<SliceId>>,
}

impl Life {
    fn new(parameters: Parameters<'_>) -> Self {
        Self {
            tolerance: parameters.share("tolerance").as_f64(),
            gain: parameters.share("gain").as_f64(),
            memory: parameters.count("memory_epochs").max(1) as f64,
            warm_up: parameters.count("warm_up_epochs"),
            payback: parameters.count("payback_epochs") as f64,
            epochs: 0,
            slices: Vec::new(),
        }
    }

    /// Takes the epoch into the averages. The first epochs are averaged evenly.
    fn remember(&mut self, view: &ClusterView<'_>) {
        self.epochs += 1;
        self.slices.resize(view.slices.len(), 0.0);
        let weight = (1.0 / (self.epochs as f64).min(self.memory)) as f32;
        for (average, slice) in self.slices.iter_mut().zip(view.slices) {
            *average += (slice.pages - *average) * weight;
        }
    }

    /// Begins a round; `None` if no server lives too short.
    fn begin<'a>(&self, view: &'a ClusterView<'a>) -> Option<Round<'a>> {
        let mut pages = vec![0.0; view.servers.len()];
        for (index, average) in self.slices.iter().enumerate() {
            let homes = view.homes(SliceId(index as u32));
            homes.iter().for_each(|home| pages[home.index()] += f64::from(*average));
        }
        let serving = || (0..pages.len()).filter(|at| view.servers[*at].serves);
        let life: f64 = serving().map(|at| view.servers[at].life_left_pages.max(0.0)).sum();
        let even = serving().map(|at| pages[at]).sum::<f64>() / life;
        let limit = even * (1.0 + self.tolerance);
        let is_short: Vec<bool> = (0..pages.len())
            .map(|at| view.servers[at].serves && pages[at] > limit * view.servers[at].life_left_pages)
            .collect();
        if !even.is_finite() || !is_short.contains(&true) {
            return None;
        }
        let least = view.slice_pages() / self.payback.max(f64::MIN_POSITIVE);
        let is_worth_it = |slice: SliceId, _: ServerId| {
            !view.slices[slice.index()].in_motion && f64::from(self.slices[slice.index()]) >= least
        };
        let mut slices = slices_by_server(view, &is_short, is_worth_it);
        for of_server in &mut slices {
            let of = |slice: &SliceId| self.slices[slice.index()];
            of_server.sort_by(|one, two| of(one).total_cmp(&of(two)).then(two.cmp(one)));
        }
        Some(Round { view, draft: Draft::new(view), pages, even, slices })
    }

    /// Moves one slice off the server that lives shortest. Returns false if there is none to move.
    fn relieve(&self, round: &mut Round<'_>) -> bool {
        let limit = round.even * (1.0 + self.tolerance);
        let shortest = (0..round.pages.len()).map(|at| (at, round.speed(at, 0.0)));
        let Some(from) = greatest(shortest.filter(|(at, speed)| !round.slices[*at].is_empty() && *speed > limit))
        else {
            return false;
        };
        // Where no server takes a slice and still lives long enough, one that lives a quarter longer than this one.
        let caps = [limit, round.speed(from, 0.0) * 0.8];
        let found = caps.into_iter().find_map(|cap| self.find_move(round, from, cap));
        let Some((at, to)) = found else {
            round.slices[from].clear();
            return true;
        };
        let slice = round.slices[from].remove(at);
        let (pages, copied) = (f64::from(self.slices[slice.index()]), round.view.slice_bytes());
        round.pages[from] -= pages;
        round.pages[to] += pages;
        let wanted = SliceMove { slice, from: ServerId(from as u16), to: ServerId(to as u16), copied };
        round.draft.add(wanted, f64::from(round.view.slices[slice.index()].pages));
        true
    }

    /// Returns the hottest slice of a server that another one can take without using its life faster than `cap`, by its
    /// place in the list, and that server: the one that has the most life to spare.
    fn find_move(&self, round: &Round<'_>, from: usize, cap: f64) -> Option<(usize, usize)> {
        // Whoever cannot take the coldest one can take none.
        let least = f64::from(self.slices[round.slices[from].first()?.index()]);
        let able: Vec<usize> = (0..round.pages.len()).filter(|to| round.speed(*to, least) <= cap).collect();
        (0..round.slices[from].len()).rev().find_map(|at| {
            let slice = round.slices[from][at];
            let pages = f64::from(self.slices[slice.index()]);
            let now = f64::from(round.view.slices[slice.index()].pages);
            let takes = |to: &&usize| {
                let (to, server) = (**to, ServerId(**to as u16));
                round.speed(to, pages) <= cap
                    && round.draft.may_go(slice, ServerId(from as u16), server)
                    && round.draft.carries(server, pages.max(now))
                    && round.draft.affords(round.view.slice_bytes())
            };
            let takers = able.iter().filter(takes);
            greatest(takers.map(|to| (*to, -round.speed(*to, pages)))).map(|to| (at, to))
        })
    }
}

impl Round<'_> {
    /// The share of its life that a server uses in an epoch, with `more` pages. Copies cost life, too.
    fn speed(&self, at: usize, more: f64) -> f64 {
        let server = &self.view.servers[at];
        let copied = if more > 0.0 { self.view.slice_pages() } else { 0.0 };
        if server.serves { (self.pages[at] + more) / (server.life_left_pages - copied).max(0.0) } else { 0.0 }
    }

    fn shortest_life(&self) -> f64 {
        1.0 / (0..self.pages.len()).map(|at| self.speed(at, 0.0)).fold(0.0, f64::max)
    }
}

impl Balancer for Life {
    fn plan(&mut self, view: &ClusterView<'_>, _: &dyn WearModel) -> Plan {
        self.remember(view);
        if self.epochs <= self.warm_up {
            return Plan::default();
        }
        let Some(mut round) = self.begin(view) else { return Plan::default() };
        let before = round.shortest_life();
        // Nothing is better than all wearing out together.
        if 1.0 / round.even < before * (1.0 + self.gain) {
            return Plan::default();
        }
        while self.relieve(&mut round) {}
        // What does not help the weakest server is not worth its writes.
        if round.shortest_life() < before * (1.0 + self.gain) { Plan::default() } else { round.draft.plan }
    }
}
