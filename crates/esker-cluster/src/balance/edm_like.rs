//! Data migration for even erases, as far as it is known: the paper (Ou et al. 2014) is not public.

use esker_core::registry::{Accepted, Parameter, ParameterSource, Parameters};

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
];

#[derive(Debug)]
struct EdmLike {
    lambda: f64,
    horizon: f64,
    is_hottest_first: bool,
    moves: usize,
}

impl EdmLike {
    fn new(parameters: Parameters<'_>) -> Self {
        Self {
            lambda: parameters.share("lambda").as_f64(),
            horizon: parameters.count("horizon_epochs") as f64,
            is_hottest_first: parameters.name("order") == "hottest",
            moves: parameters.count("moves") as usize,
        }
    }

    /// Returns the slices of each source in the order in which they leave, the first one last.
    fn leaving(&self, view: &ClusterView<'_>, is_source: &[bool]) -> Vec<Vec<SliceId>> {
        let mut leaving = slices_by_server(view, is_source, |slice, _| !view.slices[slice.index()].in_motion);
        for slices in &mut leaving {
            slices.sort_by(|one, two| {
                let of = |slice: &SliceId| view.slices[slice.index()].pages;
                let order = of(one).total_cmp(&of(two));
                if self.is_hottest_first { order } else { order.reverse() }.then(two.cmp(one))
            });
        }
        leaving
    }
}

impl Balancer for EdmLike {
    fn plan(&mut self, view: &ClusterView<'_>, model: &dyn WearModel) -> Plan {
        let rates = erases_per_page(view, model);
        let servers = view.servers.iter().zip(&rates);
        let ahead = servers.map(|(server, rate)| server.erases + self.horizon * server.flash.pages * rate);
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
        let epochs = self.horizon.max(1.0);
        while draft.plan.moves.len() < self.moves {
            let sources = wear.iter().copied().enumerate();
            let Some(from) = greatest(sources.filter(|(at, wear)| !leaving[*at].is_empty() && *wear > limit)) else {
                break;
            };
            let Some(slice) = leaving[from].pop() else { break };
            let (pages, source) = (f64::from(view.slices[slice.index()].pages), ServerId(from as u16));
            let fits = |to: &usize| {
                let server = ServerId(*to as u16);
                wear[*to] + pages * epochs * rates[*to] <= mean
                    && draft.may_go(slice, source, server)
                    && draft.carries(server, pages)
            };
            let destination = greatest((0..wear.len()).filter(fits).map(|to| (to, -wear[to])));
            let (Some(to), true) = (destination, draft.affords(view.slice_bytes())) else { continue };
            wear[from] -= pages * epochs * rates[from];
            wear[to] += pages * epochs * rates[to];
            let wanted = SliceMove { slice, from: source, to: ServerId(to as u16), copied: view.slice_bytes() };
            draft.add(wanted, pages);
        }
        Plan { copy_at_once: true, ..draft.plan }
    }
}
