//! Data migration for even erases, as far as it is known: the paper (Ou et al. 2014) is not public.
//!
//! What is known does not say how much a round moves. If it moves all that fits (`round = "any"`), it goes by what one
//! epoch happened to write, which is chance for most slices, and projects this over the whole horizon: servers are
//! filled too far, and their slices leave again. So by default a round goes by averages over the horizon, counts the
//! copy as a write, takes only slices that are written more than their size within the horizon, and takes none that
//! would leave its server below the mean.

use esker_core::registry::{Accepted, Parameter, ParameterSource, Parameters};

use super::averages::Averages;
use super::draft::{Draft, greatest, slices_by_server};
use super::ewo::erases_per_page;
use super::{Balancer, BalancerEntry, ClusterView, WearSum, count, share};
use crate::id::{ServerId, SliceId};
use crate::plan::{Plan, SliceMove};
use crate::wear::WearModel;

pub(super) const ENTRY: BalancerEntry = BalancerEntry {
    name: "edm-like",
    summary: "slices are copied from servers with many erases to those with few, at once",
    source: "after Ou et al. 2014 as told by Salman 2017, sections 3.3 and 4.1; their text is not public",
    parameters: ParameterSource::Listed(PARAMETERS),
    capabilities: &[],
    build: |parameters| Box::new(EdmLike::new(parameters)),
};

const PARAMETERS: &[Parameter] = &[
    share(
        "lambda",
        "a round begins above this relative deviation of erases, and so far above the mean are sources",
        10,
    ),
    count("horizon_epochs", "epochs by which wear is projected ahead, and for which what moves counts", 24, 100_000),
    Parameter {
        name: "order",
        meaning: "slices that leave first: those written most, or those written least, which lowers utilisation",
        value: Accepted::OneOf(&["hottest", "coldest"]),
    },
    count("moves", "most slices that a round moves", 10_000, 1 << 30),
    Parameter {
        name: "round",
        meaning: "what moves: slices whose copy pays, by averages over the horizon, or any, by the last epoch alone",
        value: Accepted::OneOf(&["paying", "any"]),
    },
];

#[derive(Debug)]
struct EdmLike {
    lambda: f64,
    horizon: f64,
    is_hottest_first: bool,
    moves: usize,
    /// Whether only slices move whose copy pays. Otherwise any does, by what the last epoch wrote.
    has_to_pay: bool,
    /// What slices are expected to be written.
    averages: Averages,
}

impl EdmLike {
    fn new(parameters: Parameters<'_>) -> Self {
        let has_to_pay = parameters.name("round") == "paying";
        Self {
            lambda: parameters.share("lambda").as_f64(),
            horizon: parameters.count("horizon_epochs") as f64,
            is_hottest_first: parameters.name("order") == "hottest",
            moves: parameters.count("moves") as usize,
            has_to_pay,
            averages: Averages::over(if has_to_pay { parameters.count("horizon_epochs") } else { 1 }),
        }
    }

    /// Takes the epoch into what is expected. Returns the pages that each server is expected to be written in an epoch:
    /// those of its slices, as copies of the last epoch do not come again.
    fn expect(&mut self, view: &ClusterView<'_>) -> Vec<f64> {
        let pages = self.averages.take(view);
        if self.has_to_pay { pages } else { view.servers.iter().map(|server| server.flash.pages).collect() }
    }

    /// Returns the slices of each source in the order in which they leave, the first one last.
    fn leaving(&self, view: &ClusterView<'_>, is_source: &[bool]) -> Vec<Vec<SliceId>> {
        let mut leaving = slices_by_server(view, is_source, |slice, _| view.may_move(slice));
        for slices in &mut leaving {
            slices.sort_by(|one, two| {
                let of = |slice: &SliceId| self.averages.of(*slice);
                let order = of(one).total_cmp(&of(two));
                if self.is_hottest_first { order } else { order.reverse() }.then(two.cmp(one))
            });
        }
        leaving
    }
}

impl Balancer for EdmLike {
    fn plan(&mut self, view: &ClusterView<'_>, model: &dyn WearModel) -> Plan {
        let (rates, expected) = (erases_per_page(view, model), self.expect(view));
        let servers = view.servers.iter().zip(expected.iter().zip(&rates));
        let ahead = servers.map(|(server, (pages, rate))| server.erases + self.horizon * pages * rate);
        let mut wear: Vec<f64> = ahead.collect();
        let serving = |at: &usize| view.servers[*at].serves;
        let sum = WearSum::of((0..wear.len()).filter(serving).map(|at| wear[at]));
        let (mean, limit) = (sum.mean(), sum.mean() * (1.0 + self.lambda));
        if sum.deviation() <= mean * self.lambda {
            return Plan::default();
        }
        let is_source: Vec<bool> = (0..wear.len()).map(|at| serving(&at) && wear[at] > limit).collect();
        let mut leaving = self.leaving(view, &is_source);
        let mut draft = Draft::new(view);
        let copy = if self.has_to_pay { view.slice_pages() } else { 0.0 };
        while draft.plan.moves.len() < self.moves {
            let sources = wear.iter().copied().enumerate();
            let Some(from) = greatest(sources.filter(|(at, wear)| !leaving[*at].is_empty() && *wear > limit)) else {
                break;
            };
            let Some(slice) = leaving[from].pop() else { break };
            let (pages, source) = (f64::from(self.averages.of(slice)), ServerId(from as u16));
            let ahead = pages * self.horizon.max(1.0);
            if self.has_to_pay && (ahead <= copy || wear[from] - ahead * rates[from] < mean) {
                continue;
            }
            let now = f64::from(view.slices[slice.index()].pages);
            let fits = |to: &usize| {
                let server = ServerId(*to as u16);
                wear[*to] + (ahead + copy) * rates[*to] <= mean
                    && draft.may_go(slice, source, server)
                    && draft.carries(server, pages.max(now))
            };
            let destination = greatest((0..wear.len()).filter(fits).map(|to| (to, -wear[to])));
            let (Some(to), true) = (destination, draft.affords(view.slice_bytes())) else { continue };
            wear[from] -= ahead * rates[from];
            wear[to] += (ahead + copy) * rates[to];
            let wanted = SliceMove { slice, from: source, to: ServerId(to as u16), copied: view.slice_bytes() };
            draft.add(wanted, now);
        }
        Plan { copy_at_once: true, ..draft.plan }
    }
}
