//! Looks for the cheapest design of each market, from the cheapest on.

mod choice;
mod fewest;
mod known;
mod pairs;
pub(crate) mod saving;
mod screen;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use esker_core::{Bytes, words};
use esker_plan::{Class, Market, Running};
use esker_results::study::{Candidate, Cost, MarketAnswer, RuledOut};
use esker_sim::Slowest;

use crate::StudyError;
use crate::arrivals::Load;
use crate::choose::Choice;
use crate::endurance::{self, Demand};
use crate::judge::judge;
use crate::offers::{Bounds, Design, Offer, busy_of_parts, cache_results, hybrid_results, ruled_out};
use crate::setup::experiment;
use crate::simulate::Simulated;
use crate::strain::{self, Stressed};
use crate::task::Task;
use choice::{cheapest_first, sorted, takes_long};

/// Designs simulated at the same time: a fixed number, so that results do not depend on that of threads.
const BATCH: usize = 2;
/// Likewise, with disks and equal designs beside them.
const BATCH_MAX: usize = 8;
/// No more devices than this are simulated one by one from the cheapest on, unless the search is a thorough one: then
/// it is asked how many of each product it takes.
const SIMULATED_MAX: usize = 10;
/// How often it is asked, if what gets through does not keep the budgets after all.
const LOOKS: usize = 3;
/// No more volumes than this are simulated: it takes much less time than for devices, and there are many more orders.
const VOLUMES_SIMULATED_MAX: usize = 48;
/// Designs of other classes that are simulated beside the search, for comparison.
const OTHERS_MAX: usize = 6;
/// What rules offers out that might do for all that is known.
const NOT_REACHED: &str = "not reached";
/// Prices that differ by less than this are equal: those offers are simulated, too.
const SAME_PRICE: f64 = 1.01;

/// What the search knows.
pub(crate) struct Search<'a> {
    pub(crate) task: &'a Task<'a>,
    pub(crate) bounds: Bounds,
    pub(crate) demand: Demand,
    pub(crate) running: &'a Running,
    pub(crate) active: Bytes,
    /// Simulations by the design that they ran.
    simulated: BTreeMap<String, Simulated>,
    /// By how much designs miss a budget at a look.
    looked_at: BTreeMap<String, f64>,
    /// Likewise of the busiest stretches alone, by seed and loads, too.
    stressed: BTreeMap<(String, u64, strain::Search), Option<Stressed>>,
}

/// A simulated offer.
pub(crate) struct Tried {
    pub(crate) candidate: Candidate,
    pub(crate) design: Design,
    pub(crate) slowest: Option<Slowest>,
    /// By how much more is written than warranted, as a logarithm: what is known of a life that was not looked at.
    pub(crate) missed_warranty: f64,
    /// This design with volumes that save up their limits for longer than is assumed; `None` for devices.
    pub(crate) saving: Option<Design>,
}

/// What was found in a market.
pub(crate) struct Found {
    pub(crate) market: Market,
    /// From the cheapest on.
    pub(crate) tried: Vec<Tried>,
    pub(crate) ruled_out: Vec<RuledOut>,
    pub(crate) choice: Choice,
    /// A cheaper design, or any if none is recommended, that would keep every budget if its volumes saved up more.
    pub(crate) keeps_if_saving: Option<usize>,
    /// Offers that are cheaper than the best and that no bound rules out, but that were not simulated either.
    pub(crate) not_reached: usize,
}

/// How far a search has come.
#[derive(Default)]
struct Round<'o> {
    /// Designs of a large trace that are replayed whole.
    whole: usize,
    /// Of those that do not get through the busiest stretches, the one that misses least, and by how much.
    nearest: Option<(f64, Offer<'o>)>,
    /// Products and capacities of which it is known how many it takes.
    looked_at_kinds: BTreeSet<fewest::Kind<'o>>,
    /// Names of those that got through a rough look: they need no closer one before they are replayed whole.
    got_through: BTreeSet<String>,
    looked_at: usize,
    limit: usize,
}

impl<'a> Search<'a> {
    pub(crate) fn new(task: &'a Task<'a>, bounds: Bounds, demand: Demand, running: &'a Running, active: Bytes) -> Self {
        let (simulated, looked_at, stressed) = Default::default();
        Self { task, bounds, demand, running, active, simulated, looked_at, stressed }
    }

    /// Looks through the offers of a market. Without budgets (`judge` is false) one design of each class is simulated.
    /// Of a large trace, only designs that get through its busiest stretches are simulated whole, and at most `whole`.
    pub(crate) fn market(
        &mut self,
        market: Market,
        offers: &[Offer<'_>],
        judge: bool,
        whole: usize,
    ) -> Result<Found, StudyError> {
        let (mut ruled, left) = self.within_bounds(market, offers);
        let (pairs, mut left): (Vec<_>, Vec<_>) = left.into_iter().partition(|(_, offer)| offer.disks.is_some());
        if judge && !self.task.settings.thorough && left.len() > VOLUMES_SIMULATED_MAX {
            left = self.without_hopeless_orders(left, &mut ruled)?;
        }
        let mut left = cheapest_first(left);
        let mut tried: Vec<Tried> = Vec::new();
        let limit = self.most_simulated(market, judge);
        let mut state = Round { whole, limit, ..Round::default() };
        self.cheapest_on(&mut left, &mut tried, &mut ruled, &mut state)?;
        if market == Market::OnPremises && judge && !self.task.settings.thorough {
            self.look_further(&mut left, &mut tried, &mut ruled, &mut state)?;
        }
        // Beside what was found without them, so that they never are instead of it.
        let pairs = self.pairs(pairs, &mut tried, &mut ruled)?;
        left = cheapest_first(left.into_iter().chain(pairs).collect());
        if judge && !self.any_keeps(&tried) {
            self.name_nearest(market, offers, &mut tried, &mut ruled, &state)?;
        }
        let room = self.task.others(OTHERS_MAX, self.any_keeps(&tried));
        let others = self.others(&tried, &mut left, room);
        for batch in others.chunks(BATCH) {
            tried.extend(self.try_all(batch)?);
        }
        // One of another class may keep every budget where the cheapest ones did not, and with other random numbers the
        // best may break one: is there a cheaper one then?
        state.limit = state.limit.saturating_mul(2);
        let mut choice = Choice::default();
        let mut chosen_of = 0;
        while judge && chosen_of < tried.len() {
            choice = self.choose(&mut tried)?;
            chosen_of = tried.len();
            if self.settled(&tried).is_some() {
                self.cheapest_on(&mut left, &mut tried, &mut ruled, &mut state)?;
            }
        }
        let (tried, choice) = sorted(tried, choice);
        let keeps_if_saving = if judge { self.keeps_if_saving(&tried, &choice)? } else { None };
        let best = choice.recommended.map(|n| cost(&tried[n].candidate));
        let cheaper = |least: f64| judge && best.is_none_or(|best| least < best);
        let passed_over = ruled.iter().filter(|ruled| ruled.by == NOT_REACHED).filter_map(|ruled| ruled.total);
        let not_reached =
            left.iter().map(|(least, _)| *least).chain(passed_over).filter(|&least| cheaper(least)).count();
        ruled.extend(left.into_iter().map(|(least, offer)| beyond_search(&offer, least, best, judge)));
        Ok(Found { market, tried, ruled_out: pairs::shortened(ruled, offers), choice, keeps_if_saving, not_reached })
    }

    /// Where the cheapest do not do, asks which of the others may, and goes on with those.
    fn look_further<'o>(
        &mut self,
        left: &mut VecDeque<(f64, Offer<'o>)>,
        tried: &mut Vec<Tried>,
        ruled: &mut Vec<RuledOut>,
        state: &mut Round<'o>,
    ) -> Result<(), StudyError> {
        let screens = self.screens();
        for round in 0..LOOKS {
            // Flash whose life cannot be told does not win over flash whose life can.
            let unjudged = self.any_keeps(tried);
            if left.is_empty() || self.settled(tried).is_some() || unjudged && screens && round > 0 {
                break;
            }
            match unjudged {
                true => self.without_lives_that_cannot_be_told(left, ruled),
                false => self.without_too_few(left, ruled, state)?,
            }
            state.limit += SIMULATED_MAX;
            self.cheapest_on(left, tried, ruled, state)?;
        }
        Ok(())
    }

    /// Goes through `left` from the cheapest on, until nothing dearer could win or enough was looked at.
    fn cheapest_on<'o>(
        &mut self,
        left: &mut VecDeque<(f64, Offer<'o>)>,
        tried: &mut Vec<Tried>,
        ruled: &mut Vec<RuledOut>,
        round: &mut Round<'o>,
    ) -> Result<(), StudyError> {
        let screens = self.screens();
        while round.looked_at < round.limit {
            let best = self.settled(tried);
            if screens && best.is_some() && tried.len() >= round.whole {
                break;
            }
            let within = |(least, _): &mut (f64, Offer<'_>)| best.is_none_or(|best| *least <= best * SAME_PRICE);
            let (mut batch, mut designs) = (Vec::new(), BTreeSet::new());
            while designs.len() < BATCH && batch.len() < BATCH_MAX {
                let Some((_, offer)) = left.pop_front_if(within) else { break };
                if takes_long(&offer) {
                    designs.extend(self.designs(&[offer])?.iter().map(Design::key));
                }
                batch.push(offer);
            }
            if batch.is_empty() {
                break;
            }
            round.looked_at += batch.len();
            // A hybrid or a cache has to see the whole trace before its busiest stretches say anything.
            let (mut through, screened): (Vec<_>, Vec<_>) = batch
                .into_iter()
                .partition(|offer| !screens || offer.disks.is_some() || round.got_through.contains(&offer.name()));
            through.extend(self.screen(&screened, ruled, &mut round.nearest)?);
            tried.extend(self.try_all(&through)?);
            if screens && self.any_keeps(tried) && self.settled(tried).is_none() {
                self.without_lives_that_cannot_be_told(left, ruled);
            }
        }
        Ok(())
    }

    /// Simulates those that are nearest of what was ruled out, by the busiest stretches and by bounds: there has to be
    /// one to name.
    fn name_nearest<'o>(
        &mut self,
        market: Market,
        offers: &[Offer<'o>],
        tried: &mut Vec<Tried>,
        ruled: &mut Vec<RuledOut>,
        round: &Round<'o>,
    ) -> Result<(), StudyError> {
        let screened = round.nearest.map(|(_, offer)| offer);
        for offer in [screened, self.nearest_beyond_bounds(market, offers)].into_iter().flatten() {
            let name = offer.name();
            ruled.retain(|ruled| ruled.name != name);
            if !tried.iter().any(|tried| tried.candidate.name == name) {
                tried.extend(self.try_all(&[offer])?);
            }
        }
        Ok(())
    }

    fn most_simulated(&self, market: Market, judge: bool) -> usize {
        match (judge, self.task.settings.thorough, market) {
            (false, ..) => 0,
            (true, true, _) => usize::MAX,
            (true, false, Market::OnPremises) => SIMULATED_MAX,
            (true, false, _) => VOLUMES_SIMULATED_MAX,
        }
    }

    /// The least that an offer costs: that of devices that never work. What they have to do is found out later.
    fn least_cost(&self, offer: &Offer<'_>) -> f64 {
        offer.cost(0.0, self.running).total.as_f64()
    }

    /// Divides a market's offers into those that bounds rule out, and those that may do, with their least cost.
    fn within_bounds<'o>(&self, market: Market, offers: &[Offer<'o>]) -> (Vec<RuledOut>, Vec<(f64, Offer<'o>)>) {
        let (mut ruled, mut left) = (Vec::new(), Vec::new());
        for offer in offers.iter().filter(|offer| offer.market() == market) {
            let least = self.least_cost(offer);
            match ruled_out(offer, &self.bounds) {
                Some(reason) => ruled.push(RuledOut { total: Some(least), ..reason }),
                None => left.push((least, *offer)),
            }
        }
        (ruled, left)
    }

    /// Takes out of `left` the cheapest offer of each class of which none was tried.
    fn others<'o>(&self, tried: &[Tried], left: &mut VecDeque<(f64, Offer<'o>)>, room: usize) -> Vec<Offer<'o>> {
        let mut others: Vec<Offer<'o>> = Vec::new();
        let known = |class: Class, others: &[Offer<'_>]| {
            others.iter().any(|offer| offer.class() == class)
                || tried
                    .iter()
                    .any(|tried| tried.candidate.product.as_ref().is_some_and(|product| product.class == class.name()))
        };
        left.retain(|(_, offer)| {
            let taken = others.len() < room && offer.disks.is_none() && !known(offer.class(), &others);
            if taken {
                others.push(*offer);
            }
            !taken
        });
        others
    }

    /// Adds to a simulation what is particular to an offer, and judges it.
    pub(super) fn candidate(&self, offer: &Offer<'_>, design: &Design, simulated: &Simulated) -> Candidate {
        let busy = simulated.candidate.limits.first().map_or(0.0, |limit| limit.utilisation);
        let shares = if design.is_pair() { busy_of_parts(&simulated.candidate) } else { [busy; 2] };
        let price = offer.cost_of_parts(shares, self.running);
        let electricity = offer.electricity(shares, self.running);
        let mut candidate = Candidate {
            name: design.name.clone(),
            title: design.title.clone(),
            device_count: design.device_count,
            product: Some(offer.summary()),
            hybrid: hybrid_results(offer, &simulated.candidate, self.running),
            cache: cache_results(offer, &simulated.candidate, self.running, self.task.settings.utilisation),
            capacity_on_sale_bytes: offer.disks.is_none().then_some(offer.capacity.bytes.0),
            count: Some(offer.devices()),
            cost: Some(Cost {
                purchase: price.purchase.as_f64(),
                power: price.power.as_f64(),
                per_month: price.per_month.as_f64(),
                total: price.total.as_f64(),
                currency: price.currency,
                as_of: price.as_of,
                assumed: price.assumed,
                electricity,
            }),
            survival: Some(offer.survival(shares, self.running)),
            ..simulated.candidate.clone()
        };
        if offer.rented.is_some() {
            // Simulated was perhaps a volume of another size with the same limits.
            self.as_ordered(offer, design, &mut candidate);
        }
        candidate.endurance = match (&simulated.wearing, &design.flash) {
            (Some(wearing), Some(flash)) => Some(endurance::judge(wearing, flash, &self.demand)),
            _ => None,
        };
        candidate.judgement = judge(&candidate, self.task.budgets);
        candidate
    }

    /// Makes what results say of a volume's size and orders that of the offer.
    fn as_ordered(&self, offer: &Offer<'_>, design: &Design, candidate: &mut Candidate) {
        let (size, all) = (offer.capacity.bytes.0, offer.capacity.bytes.0 * u64::from(offer.count));
        candidate.capacity_bytes = all;
        for device in candidate.devices.values_mut() {
            device.capacity_bytes = if device.cloud_volume.is_some() { size } else { all };
        }
        let Task { workload, settings, .. } = *self.task;
        if let Ok(experiment) = experiment(workload, design, &Load::AS_TRACED, settings) {
            candidate.config = experiment.resolved();
        }
    }
}

/// Why an offer that the search did not reach was not simulated. `best` is the price of what was found.
fn beyond_search(offer: &Offer<'_>, least: f64, best: Option<f64>, judge: bool) -> RuledOut {
    let (by, reason) = match best {
        Some(best) if least >= best => ("price", format!("costs {} times as much", words::factor(least / best))),
        _ if judge => (NOT_REACHED, "the search ended before it; --thorough simulates it".into()),
        _ => ("class", "another of its class was simulated".into()),
    };
    offer.ruled_out(by, reason, Some(least))
}

fn cost(candidate: &Candidate) -> f64 {
    candidate.cost.as_ref().map_or(f64::INFINITY, |cost| cost.total)
}

impl Found {
    /// The recommended one.
    pub(crate) fn recommended(&self) -> Option<&Candidate> {
        Some(&self.tried[self.choice.recommended?].candidate)
    }

    /// The answer for results; `because` says why.
    pub(crate) fn answer(&self, because: String) -> MarketAnswer {
        let name = |n: &usize| self.tried[*n].candidate.name.clone();
        MarketAnswer {
            market: self.market.name().into(),
            recommended: self.choice.recommended.as_ref().map(name),
            equals: self.choice.equals.iter().map(name).collect(),
            close: self.choice.close.iter().map(name).collect(),
            nearest: self.choice.nearest.as_ref().map(name),
            because,
        }
    }
}
