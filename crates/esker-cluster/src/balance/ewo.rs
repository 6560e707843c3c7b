//! Endurance-aware write off-loading: algorithm 1 of the thesis, and what had to be settled in it.
//!
//! As printed, lines 17-29 do not end: `k` counts down below its limit, the inner loop goes on where the source has no
//! hot slice left, and neither maximum nor minimum changes by a move. Here each move lowers the wear of its source and
//! raises that of its destination, a source without a hot slice that may go drops out, and a destination is filled
//! neither above the mean nor beyond its room and load. What of the printed form ends can be switched on.

use esker_core::Bytes;
use esker_core::registry::{Accepted, Parameter, ParameterSource, Parameters};

use super::draft::{Draft, greatest, slices_by_server};
use super::equations::{excess_erases, pages_of_offloading};
use super::{Balancer, BalancerEntry, ClusterView, WearSum, count, share};
use crate::id::{ServerId, SliceId};
use crate::plan::{Plan, SliceMove};
use crate::wear::{FlashLoad, WearModel};

pub(super) const ENTRY: BalancerEntry = BalancerEntry {
    name: "ewo",
    summary: "writes to hot slices go from servers with many erases to those with few; for servers that are alike",
    source: "Salman 2017, equations 4.6-4.11 and algorithm 1; the thesis gives no thresholds",
    parameters: ParameterSource::Listed(PARAMETERS),
    capabilities: &[],
    build: |parameters| Box::new(Ewo::new(parameters)),
};

const PARAMETERS: &[Parameter] = &[
    count("sigma_c", "a round begins above this standard deviation of the servers' erases", 100, 1 << 40),
    share("eta_c", "sources are this far above the mean of erases", 5),
    share("gamma_c", "objects above this multiple of the mean popularity are hot", 100),
    share("epsilon_c", "slices with more hot objects for each cold one are hot", 100),
    share("rho_c", "hot slices are also above this multiple of the mean popularity of slices", 100),
    count("steps", "most iterations of a round", 1000, 1 << 20),
    count("horizon_epochs", "epochs by which wear is projected ahead, and for which what moves counts", 24, 100_000),
    Parameter {
        name: "wear",
        meaning: "what is balanced: erases after the horizon, or as published erases so far",
        value: Accepted::OneOf(&["projected", "cumulative"]),
    },
    Parameter {
        name: "amount",
        meaning: "what a slice takes off the pages to move: its pages, or as published its decayed requests",
        value: Accepted::OneOf(&["pages", "requests"]),
    },
    Parameter {
        name: "destination",
        meaning: "filled up to the mean and its load, or as published any server with few erases, once",
        value: Accepted::OneOf(&["bounded", "published"]),
    },
];

/// The policy.
#[derive(Debug)]
struct Ewo {
    sigma: f64,
    eta: f64,
    gamma: f64,
    epsilon: f64,
    rho: f64,
    steps: u64,
    horizon: f64,
    is_projected: bool,
    counts_pages: bool,
    is_bounded: bool,
}

/// What a round goes on with.
struct Round<'a> {
    view: &'a ClusterView<'a>,
    draft: Draft<'a>,
    /// Erases of each server; NaN for those that do not count.
    wear: Vec<f64>,
    /// Erases for a page, by server.
    rates: Vec<f64>,
    mean: f64,
    /// Hot slices of each source, the hottest last.
    hot: Vec<Vec<SliceId>>,
    /// Servers that the published form has extracted.
    is_extracted: Vec<bool>,
}

impl Ewo {
    fn new(parameters: Parameters<'_>) -> Self {
        Self {
            sigma: parameters.count("sigma_c") as f64,
            eta: parameters.share("eta_c").as_f64(),
            gamma: parameters.share("gamma_c").as_f64(),
            epsilon: parameters.share("epsilon_c").as_f64(),
            rho: parameters.share("rho_c").as_f64(),
            steps: parameters.count("steps"),
            horizon: parameters.count("horizon_epochs") as f64,
            is_projected: parameters.name("wear") == "projected",
            counts_pages: parameters.name("amount") == "pages",
            is_bounded: parameters.name("destination") == "bounded",
        }
    }

    /// Epochs for which the writes of a slice count at its new place.
    fn effect(&self) -> f64 {
        self.horizon.max(1.0)
    }

    /// Begins a round: wear, its mean, sources, and their hot slices. `None` if `sigma <= sigma_c`.
    fn begin<'a>(&self, view: &'a ClusterView<'a>, model: &dyn WearModel) -> Option<Round<'a>> {
        let rates = erases_per_page(view, model);
        let ahead = if self.is_projected { self.horizon } else { 0.0 };
        let projected = |(server, rate): (&super::ServerView, &f64)| match server.serves {
            true => server.erases + ahead * server.flash.pages * rate,
            false => f64::NAN,
        };
        let wear: Vec<f64> = view.servers.iter().zip(&rates).map(projected).collect();
        let sum = WearSum::of(wear.iter().copied().filter(|wear| !wear.is_nan()));
        if sum.deviation() <= self.sigma {
            return None;
        }
        let mean = sum.mean();
        let is_source: Vec<bool> = wear.iter().map(|wear| excess_erases(*wear, mean, self.eta) > 0.0).collect();
        let hot = self.hot_slices(view, &is_source, &wear);
        let is_extracted = vec![false; wear.len()];
        Some(Round { view, draft: Draft::new(view), wear, rates, mean, hot, is_extracted })
    }

    /// Returns the hot slices of each source. A group's wear is that of its worst member: only from there does a
    /// replica leave.
    fn hot_slices(&self, view: &ClusterView<'_>, is_source: &[bool], wear: &[f64]) -> Vec<Vec<SliceId>> {
        // Slices without homes are lost, or parity that covers nothing any more: they would lower the mean.
        let held = || view.slices.iter().filter(|slice| slice.replicas > 0);
        let all: f64 = held().map(|slice| f64::from(slice.popularity)).sum();
        let limit = all / held().count().max(1) as f64 * self.rho;
        let is_hot = |slice: SliceId, home: ServerId| {
            let seen = &view.slices[slice.index()];
            let cold = view.objects_per_slice.saturating_sub(seen.hot);
            let others = seen.homes().iter().filter(|other| **other != home);
            f64::from(seen.hot) / f64::from(cold) > self.epsilon
                && f64::from(seen.popularity) > limit
                && view.may_move(slice)
                && others.clone().all(|other| wear[other.index()] <= wear[home.index()])
        };
        let mut hot = slices_by_server(view, is_source, is_hot);
        for slices in &mut hot {
            slices.sort_by(|one, two| {
                let of = |slice: &SliceId| view.slices[slice.index()].popularity;
                of(one).total_cmp(&of(two)).then(two.cmp(one))
            });
        }
        hot
    }

    /// One iteration of lines 17-29. Returns false if there is no source left.
    fn iterate(&self, round: &mut Round<'_>) -> bool {
        let is_left = |at: usize| !round.hot[at].is_empty() && !round.is_extracted[at];
        let worn = round.wear.iter().copied().enumerate();
        let sources = worn.filter(|(at, wear)| is_left(*at) && excess_erases(*wear, round.mean, self.eta) > 0.0);
        let Some(from) = greatest(sources) else { return false };
        let excess = excess_erases(round.wear[from], round.mean, self.eta);
        let mut destinations: Vec<usize> = (0..round.wear.len()).filter(|to| self.may_fill(round, *to)).collect();
        destinations.sort_by(|one, two| round.wear[*one].total_cmp(&round.wear[*two]));
        if !self.is_bounded {
            destinations.truncate(1);
        }
        for to in destinations {
            if self.shed(round, from, to, excess) {
                if !self.is_bounded {
                    (round.is_extracted[from], round.is_extracted[to]) = (true, true);
                }
                return true;
            }
        }
        // No hot slice of this source may go anywhere.
        round.hot[from].clear();
        true
    }

    fn may_fill(&self, round: &Round<'_>, to: usize) -> bool {
        let server = &round.view.servers[to];
        server.takes_more
            && !round.wear[to].is_nan()
            && !round.is_extracted[to]
            && (!self.is_bounded || round.wear[to] < round.mean)
    }

    /// Moves hot slices, the hottest first, until the excess is gone. Lines 21-27. Returns whether any moved.
    fn shed(&self, round: &mut Round<'_>, from: usize, to: usize, excess: f64) -> bool {
        let (source, destination) = (ServerId(from as u16), ServerId(to as u16));
        // Equation 4.6: the pages whose erases are too many.
        let mut left = excess / round.rates[from];
        let mut moved = false;
        for at in (0..round.hot[from].len()).rev() {
            if left <= 0.0 {
                break;
            }
            let slice = round.hot[from][at];
            let seen = &round.view.slices[slice.index()];
            let (pages, epochs) = (f64::from(seen.pages), self.effect());
            let (less, more) = (pages * epochs * round.rates[from], pages * epochs * round.rates[to]);
            let copied = self.copied(round.view, seen.hot);
            let fits = !self.is_bounded
                || (round.wear[to] + more <= round.mean
                    && round.wear[from] - less >= round.mean
                    && round.draft.carries(destination, pages));
            if !fits || !round.draft.may_go(slice, source, destination) || !round.draft.affords(copied) {
                continue;
            }
            round.draft.add(SliceMove { slice, from: source, to: destination, copied }, pages);
            round.hot[from].remove(at);
            if self.is_bounded {
                round.wear[from] -= less;
                round.wear[to] += more;
            }
            left -= if self.counts_pages { pages * epochs } else { f64::from(seen.popularity) };
            moved = true;
        }
        moved
    }

    /// What is copied of a slice: its cold objects, equation 4.10.
    fn copied(&self, view: &ClusterView<'_>, hot: u32) -> Bytes {
        let cold = f64::from(view.objects_per_slice.saturating_sub(hot)) / f64::from(view.objects_per_slice);
        Bytes(pages_of_offloading(1.0, f64::from(view.objects_per_slice), view.object.0 as f64, cold).ceil() as u64)
    }
}

/// Returns the erases for a page of each server: by its own count or, where there is none, by the model or, where that
/// knows too little, by even writes to a drive that is as full.
pub(super) fn erases_per_page(view: &ClusterView<'_>, model: &dyn WearModel) -> Vec<f64> {
    let even = |flash: &FlashLoad| {
        let FlashLoad { pages_per_block, utilisation, .. } = *flash;
        crate::wear::equations::erases_at_utilisation(1.0, pages_per_block, utilisation, 0.0)
    };
    let rate = |server: &super::ServerView| {
        let modelled = || model.erases_per_page(&server.flash);
        let known = server.erases_per_page.or_else(modelled).filter(|rate| rate.is_finite() && *rate > 0.0);
        known.unwrap_or_else(|| even(&server.flash))
    };
    view.servers.iter().map(rate).collect()
}

impl Balancer for Ewo {
    fn plan(&mut self, view: &ClusterView<'_>, model: &dyn WearModel) -> Plan {
        let Some(mut round) = self.begin(view, model) else { return Plan::default() };
        for _ in 0..self.steps {
            let deviation = || WearSum::of(round.wear.iter().copied().filter(|wear| !wear.is_nan())).deviation();
            if (self.is_bounded && deviation() <= self.sigma) || !self.iterate(&mut round) {
                break;
            }
        }
        round.draft.plan
    }

    fn hot_threshold(&self) -> f64 {
        self.gamma
    }
}
