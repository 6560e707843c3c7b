//! Beyond the paper: the first server to wear out should do so as late as can be.
//!
//! With writes spread in proportion to the life that servers have left, all would wear out together, after all life
//! left divided by all writes: no policy is better. This one moves the fewest slices that come near it.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use esker_core::registry::{Parameter, ParameterSource, Parameters};

use super::averages::Averages;
use super::draft::{Draft, slices_by_server};
use super::takers::{Taker, Takers};
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
    warm_up: u64,
    payback: f64,
    averages: Averages,
}

/// What a round goes on with.
struct Round<'a> {
    view: &'a ClusterView<'a>,
    draft: Draft<'a>,
    /// Pages an epoch, by server: those of the slices there.
    pages: Vec<f64>,
    /// The share of its life that a server should use in an epoch, so that all wear out together.
    even: f64,
    /// Slices of servers that live too short; the hottest last, once the server's turn has come.
    slices: Vec<Vec<SliceId>>,
    is_sorted: Vec<bool>,
    /// Servers that live too short, with the share of their life that they use. A changed server is entered again, and
    /// its old entry is passed over.
    sources: BinaryHeap<Source>,
    takers: Takers,
}

/// A server that slices leave: the one that lives shortest first, of equals the first.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Source {
    speed: f64,
    server: usize,
}

impl Eq for Source {}

impl Ord for Source {
    fn cmp(&self, other: &Self) -> Ordering {
        self.speed.total_cmp(&other.speed).then(other.server.cmp(&self.server))
    }
}

impl PartialOrd for Source {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Life {
    fn new(parameters: Parameters<'_>) -> Self {
        Self {
            tolerance: parameters.share("tolerance").as_f64(),
            gain: parameters.share("gain").as_f64(),
            warm_up: parameters.count("warm_up_epochs"),
            payback: parameters.count("payback_epochs") as f64,
            averages: Averages::over(parameters.count("memory_epochs")),
        }
    }

    /// Begins a round; `None` if no server lives too short, or nothing is to be gained.
    fn begin<'a>(&self, view: &'a ClusterView<'a>, pages: Vec<f64>) -> Option<Round<'a>> {
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
        let (draft, takers, sources) = (Draft::new(view), Takers::new(Vec::new()), BinaryHeap::new());
        let is_sorted = vec![false; pages.len()];
        let mut round = Round { view, draft, pages, even, slices: Vec::new(), is_sorted, sources, takers };
        // Nothing is better than all wearing out together.
        if !round.draft.affords(view.slice_bytes()) || 1.0 / even < round.shortest_life() * (1.0 + self.gain) {
            return None;
        }
        let least = view.slice_pages() / self.payback.max(f64::MIN_POSITIVE);
        let is_worth_it =
            |slice: SliceId, _: ServerId| view.may_move(slice) && f64::from(self.averages.of(slice)) >= least;
        round.slices = slices_by_server(view, &is_short, is_worth_it);
        (0..round.pages.len()).for_each(|at| round.note_source(at));
        round.takers = Takers::new((0..round.pages.len()).map(|at| round.taker(at)).collect());
        Some(round)
    }

    /// Moves slices off the server that lives shortest, until none is left that can be helped. Returns false if a
    /// server stays of which the life is below `goal` epochs.
    fn relieve(&self, round: &mut Round<'_>, goal: f64) -> bool {
        let limit = round.even * (1.0 + self.tolerance);
        while let Some(Source { speed, server: from }) = round.next_source(limit) {
            self.sort(round, from);
            // Where no server takes a slice and still lives long enough, one that lives a quarter longer than this one.
            let found = [limit, speed * 0.8].into_iter().find_map(|cap| self.find_move(round, from, cap));
            match found {
                Some((at, to)) => self.add_move(round, from, at, to),
                // It keeps what it has, so that in the end it lives no longer than now.
                None if 1.0 / speed < goal => return false,
                None => round.slices[from].clear(),
            }
        }
        true
    }

    /// Sorts the slices of a server when its turn comes.
    fn sort(&self, round: &mut Round<'_>, from: usize) {
        if !std::mem::replace(&mut round.is_sorted[from], true) {
            // Averages lie far apart: each is fetched once, not for each comparison.
            let mut keyed: Vec<_> = round.slices[from].iter().map(|slice| (self.averages.of(*slice), *slice)).collect();
            keyed.sort_unstable_by(|(one, slice), (two, other)| one.total_cmp(two).then(other.cmp(slice)));
            round.slices[from] = keyed.into_iter().map(|(_, slice)| slice).collect();
        }
    }

    fn add_move(&self, round: &mut Round<'_>, from: usize, at: usize, to: usize) {
        let slice = round.slices[from].remove(at);
        let (pages, copied) = (f64::from(self.averages.of(slice)), round.view.slice_bytes());
        round.pages[from] -= pages;
        round.pages[to] += pages;
        let wanted = SliceMove { slice, from: ServerId(from as u16), to: ServerId(to as u16), copied };
        round.draft.add(wanted, f64::from(round.view.slices[slice.index()].pages));
        for server in [from, to] {
            round.note_source(server);
            round.takers.set(server, round.taker(server));
        }
    }

    /// Returns the hottest slice of a server that another one can take without using its life faster than `cap`, by its
    /// place in the list, and that server: the one that has the most life to spare.
    fn find_move(&self, round: &Round<'_>, from: usize, cap: f64) -> Option<(usize, usize)> {
        if !round.draft.affords(round.view.slice_bytes()) {
            return None;
        }
        let pages = |slice: &SliceId| f64::from(self.averages.of(*slice));
        // Whoever cannot take a slice cannot take a hotter one.
        let able = round.slices[from].partition_point(|slice| round.takers.any(pages(slice), cap));
        (0..able).rev().find_map(|at| {
            let slice = round.slices[from][at];
            if round.draft.moves(slice) {
                return None;
            }
            let load = pages(&slice).max(f64::from(round.view.slices[slice.index()].pages));
            let accepts = |to: usize| {
                let server = ServerId(to as u16);
                round.draft.may_go(slice, ServerId(from as u16), server) && round.draft.carries(server, load)
            };
            round.takers.slowest(pages(&slice), cap, accepts).map(|to| (at, to))
        })
    }
}

impl Round<'_> {
    /// The share of its life that a server uses in an epoch.
    fn speed(&self, at: usize) -> f64 {
        let server = &self.view.servers[at];
        if server.serves { self.pages[at] / server.life_left_pages.max(0.0) } else { 0.0 }
    }

    fn shortest_life(&self) -> f64 {
        1.0 / (0..self.pages.len()).map(|at| self.speed(at)).fold(0.0, f64::max)
    }

    /// Copies cost life, too.
    fn taker(&self, at: usize) -> Option<Taker> {
        let life = (self.view.servers[at].life_left_pages - self.view.slice_pages()).max(0.0);
        self.draft.has_room(at).then(|| Taker { pages: self.pages[at], life, spare: self.draft.spare(at) })
    }

    fn note_source(&mut self, at: usize) {
        if !self.slices[at].is_empty() {
            self.sources.push(Source { speed: self.speed(at), server: at });
        }
    }

    /// Returns the server that lives shortest of those with slices that may leave, if it lives too short.
    fn next_source(&mut self, limit: f64) -> Option<Source> {
        while let Some(source) = self.sources.pop() {
            let is_current = source.speed == self.speed(source.server) && !self.slices[source.server].is_empty();
            if is_current && source.speed > limit {
                return Some(source);
            }
        }
        None
    }
}

impl Balancer for Life {
    fn plan(&mut self, view: &ClusterView<'_>, _: &dyn WearModel) -> Plan {
        let pages = self.averages.take(view);
        if self.averages.epochs() <= self.warm_up {
            return Plan::default();
        }
        let Some(mut round) = self.begin(view, pages) else { return Plan::default() };
        // What does not help the weakest server is not worth its writes.
        let goal = round.shortest_life() * (1.0 + self.gain);
        if self.relieve(&mut round, goal) && round.shortest_life() >= goal { round.draft.plan } else { Plan::default() }
    }
}
