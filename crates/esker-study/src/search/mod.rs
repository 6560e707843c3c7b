//! Searches each market for its cheapest design, from the cheapest offer on.

mod choice;
mod families;
mod fewest;
mod known;
mod market_result;
mod on_request;
pub(crate) mod saving;
mod screen;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use esker_catalogue::{Class, Market, Running};
use esker_core::{Bytes, Ratio, words};
use esker_results::study::{Candidate, Cost, RuledOut};
use esker_sim::Slowest;

use crate::StudyError;
use crate::choose::Choice;
use crate::design::Design;
use crate::endurance::{self, Demand};
use crate::judge::judge;
use crate::offers::{Arrangement, Bounds, Offer, ruled_out};
use crate::setup::experiment;
use crate::simulate::SimulationResults;
use crate::strain::{self, StressResults};
use crate::task::Task;
use choice::{cheapest_first, sorted, takes_long};
pub(crate) use market_result::MarketResult;

/// Designs simulated at the same time. The number is fixed, so that results do not depend on the number of threads.
const BATCH: usize = 2;
/// The same limit including disks and equal designs, which take little time.
const BATCH_MAX: usize = 8;
/// At most this many devices are simulated one by one from the cheapest on, unless the search is thorough. Then the
/// search finds out how many of each product are needed.
const SIMULATED_MAX: usize = 10;
/// How many times the search does so if the designs that got through miss the budgets after all.
const LOOKS: usize = 3;
/// At most this many volumes are simulated: they take much less time than devices, and there are many more orders.
const VOLUMES_SIMULATED_MAX: usize = 48;
/// At most this many designs of other classes are simulated for comparison.
const OTHERS_MAX: usize = 6;
/// The reason given for offers that were not simulated although they may keep the budgets.
const NOT_REACHED: &str = "not reached";
/// Prices within this factor count as equal: such offers are simulated as well.
const SAME_PRICE: f64 = 1.01;

/// The state of a search.
pub(crate) struct Search<'a> {
    pub(crate) task: &'a Task<'a>,
    pub(crate) bounds: Bounds,
    pub(crate) demand: Demand,
    pub(crate) running: &'a Running,
    pub(crate) active: Bytes,
    /// Results of simulations by design key.
    simulated: BTreeMap<String, SimulationResults>,
    /// By how much designs miss a budget in a look, by design key.
    looked_at: BTreeMap<String, f64>,
    /// Results of the busiest stretches alone, by design key, seed and search.
    stressed: BTreeMap<(String, u64, strain::LoadSearch), Option<StressResults>>,
}

/// A simulated offer.
pub(crate) struct SimulatedOffer {
    pub(crate) candidate: Candidate,
    pub(crate) design: Design,
    pub(crate) arrangement: Arc<dyn Arrangement>,
    /// The family of designs to which it belongs.
    pub(crate) family: &'static str,
    pub(crate) slowest: Option<Slowest>,
    /// The logarithm of how many times the writes exceed the warranty: what is known of a life that was not simulated.
    pub(crate) missed_warranty: f64,
    /// The same design with volumes that save up their limits for longer than assumed; `None` for devices.
    pub(crate) saving: Option<Design>,
}

/// The progress of a search.
#[derive(Default)]
struct SearchProgress<'o> {
    /// For a large trace, how many designs are replayed in full.
    whole: usize,
    /// Among the designs that miss a budget in the busiest stretches: by how much the nearest misses, and its offer.
    nearest: Option<(f64, &'o Offer<'o>)>,
    /// Groups of offers for which the number of devices is known that they need.
    looked_at_groups: BTreeSet<fewest::Alike<'o>>,
    /// Names of offers that got through a rough look. They need no closer one before they are replayed in full.
    got_through: BTreeSet<String>,
    looked_at: usize,
    limit: usize,
}

impl<'a> Search<'a> {
    pub(crate) fn new(task: &'a Task<'a>, bounds: Bounds, demand: Demand, running: &'a Running, active: Bytes) -> Self {
        let (simulated, looked_at, stressed) = Default::default();
        Self { task, bounds, demand, running, active, simulated, looked_at, stressed }
    }

    /// Searches the offers of a market. Without budgets (`judge` is false), one design of each class is simulated. For
    /// a large trace, only designs that get through its busiest stretches are replayed in full, at most `whole` of
    /// them.
    pub(crate) fn market<'o>(
        &mut self,
        market: Market,
        offers: &'o [Offer<'o>],
        judge: bool,
        whole: usize,
    ) -> Result<MarketResult, StudyError> {
        let (mut ruled, left) = self.within_bounds(market, offers);
        let (on_request, mut left): (Vec<_>, Vec<_>) = left.into_iter().partition(|(_, offer)| offer.is_on_request());
        if judge && !self.task.settings.thorough && left.len() > VOLUMES_SIMULATED_MAX {
            left = self.without_hopeless_orders(left, &mut ruled)?;
        }
        let mut left = cheapest_first(left);
        let mut tried: Vec<SimulatedOffer> = Vec::new();
        let limit = self.most_simulated(market, judge);
        let mut state = SearchProgress { whole, limit, ..SearchProgress::default() };
        self.cheapest_on(&mut left, &mut tried, &mut ruled, &mut state)?;
        if market == Market::OnPremises && judge && !self.task.settings.thorough {
            self.look_further(&mut left, &mut tried, &mut ruled, &mut state)?;
        }
        // After the others, so that these are found beside them and never instead of them.
        let on_request = self.on_request(on_request, &mut tried, &mut ruled)?;
        left = cheapest_first(left.into_iter().chain(on_request).collect());
        if judge && !self.any_keeps(&tried) {
            self.name_nearest(market, offers, &mut tried, &mut ruled, &state)?;
        }
        let room = self.task.others(OTHERS_MAX, self.any_keeps(&tried));
        let others = self.others(&tried, &mut left, room);
        for batch in others.chunks(BATCH) {
            tried.extend(self.try_all(batch)?);
        }
        if judge {
            self.beside(&mut left, &mut tried)?;
        }
        // A design of another class may keep every budget although the cheapest ones do not, and the best may miss one
        // with other random numbers. In both cases there may be a cheaper one.
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
        let best = choice.recommended.map(|n| tried[n].candidate.cost.total);
        let cheaper = |least: f64| judge && best.is_none_or(|best| least < best);
        let passed_over = ruled.iter().filter(|ruled| ruled.by == NOT_REACHED).filter_map(|ruled| ruled.total);
        let not_reached =
            left.iter().map(|(least, _)| *least).chain(passed_over).filter(|&least| cheaper(least)).count();
        ruled.extend(left.into_iter().map(|(least, offer)| beyond_search(offer, least, best, judge)));
        let families = if judge { self.families(market, offers, &tried, &ruled) } else { Vec::new() };
        let ruled_out = on_request::shortened(ruled, offers);
        Ok(MarketResult { market, tried, ruled_out, families, choice, keeps_if_saving, not_reached })
    }

    /// If the cheapest offers do not keep the budgets, finds out which of the others may, and goes on with those.
    fn look_further<'o>(
        &mut self,
        left: &mut VecDeque<(f64, &'o Offer<'o>)>,
        tried: &mut Vec<SimulatedOffer>,
        ruled: &mut Vec<RuledOut>,
        state: &mut SearchProgress<'o>,
    ) -> Result<(), StudyError> {
        let screens = self.screens();
        for round in 0..LOOKS {
            // Flash of unknown life does not win over flash that is known to last.
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

    /// Simulates the offers in `left` from the cheapest on, until no more expensive one could win or `round` has
    /// reached its limit.
    fn cheapest_on<'o>(
        &mut self,
        left: &mut VecDeque<(f64, &'o Offer<'o>)>,
        tried: &mut Vec<SimulatedOffer>,
        ruled: &mut Vec<RuledOut>,
        round: &mut SearchProgress<'o>,
    ) -> Result<(), StudyError> {
        let screens = self.screens();
        while round.looked_at < round.limit {
            let best = self.settled(tried);
            if screens && best.is_some() && tried.len() >= round.whole {
                break;
            }
            let within = |(least, _): &mut (f64, &Offer<'_>)| best.is_none_or(|best| *least <= best * SAME_PRICE);
            let (mut batch, mut designs) = (Vec::new(), BTreeSet::new());
            while designs.len() < BATCH && batch.len() < BATCH_MAX {
                let Some((_, offer)) = left.pop_front_if(within) else { break };
                if takes_long(offer) {
                    designs.extend(self.designs(&[offer])?.iter().map(Design::key));
                }
                batch.push(offer);
            }
            if batch.is_empty() {
                break;
            }
            round.looked_at += batch.len();
            // What depends on what it has served has to serve the whole trace before its busiest stretches say
            // anything.
            let whole = |offer: &Offer<'_>| {
                offer.arrangement.judging().depends_on_history() || round.got_through.contains(&offer.name())
            };
            let (mut through, screened): (Vec<_>, Vec<_>) =
                batch.into_iter().partition(|offer| !screens || whole(offer));
            through.extend(self.screen(&screened, ruled, &mut round.nearest)?);
            tried.extend(self.try_all(&through)?);
            if screens && self.any_keeps(tried) && self.settled(tried).is_none() {
                self.without_lives_that_cannot_be_told(left, ruled);
            }
        }
        Ok(())
    }

    /// Simulates the nearest of the offers that the busiest stretches ruled out, and the nearest of those that bounds
    /// ruled out: the answer has to name one.
    fn name_nearest<'o>(
        &mut self,
        market: Market,
        offers: &'o [Offer<'o>],
        tried: &mut Vec<SimulatedOffer>,
        ruled: &mut Vec<RuledOut>,
        round: &SearchProgress<'o>,
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

    /// Returns the least that an offer can cost: the cost of idle devices. How much they work is known after the
    /// simulation.
    fn least_cost(&self, offer: &Offer<'_>) -> f64 {
        offer.least_cost(self.running).as_f64()
    }

    /// Divides a market's offers into those that bounds rule out, and the others with their least cost.
    fn within_bounds<'o>(&self, market: Market, offers: &'o [Offer<'o>]) -> (Vec<RuledOut>, Vec<(f64, &'o Offer<'o>)>) {
        let (mut ruled, mut left) = (Vec::new(), Vec::new());
        for offer in offers.iter().filter(|offer| offer.market() == market) {
            let least = self.least_cost(offer);
            match ruled_out(offer, &self.bounds) {
                Some(reason) => ruled.push(RuledOut { total: Some(least), ..reason }),
                None => left.push((least, offer)),
            }
        }
        (ruled, left)
    }

    /// Takes the cheapest offer out of `left` for each class that was not simulated, at most `room` of them.
    fn others<'o>(
        &self,
        tried: &[SimulatedOffer],
        left: &mut VecDeque<(f64, &'o Offer<'o>)>,
        room: usize,
    ) -> Vec<&'o Offer<'o>> {
        let mut others: Vec<&'o Offer<'o>> = Vec::new();
        let known = |class: Class, others: &[&Offer<'_>]| {
            others.iter().any(|offer| offer.class() == class)
                || tried.iter().any(|tried| tried.candidate.product.class == class.name())
        };
        left.retain(|(_, offer)| {
            let taken = others.len() < room && !offer.is_on_request() && !known(offer.class(), &others);
            if taken {
                others.push(*offer);
            }
            !taken
        });
        others
    }

    /// Adds the figures of an offer to the results of its simulated design, and judges it.
    pub(super) fn candidate(&self, offer: &Offer<'_>, design: &Design, simulated: &SimulationResults) -> Candidate {
        let shares = offer.busy_shares(&simulated.candidate);
        let price = offer.cost(&shares, self.running);
        let electricity = offer.electricity(&shares, self.running);
        let mut candidate = Candidate {
            name: design.name.clone(),
            title: design.title.clone(),
            device_count: design.device_count,
            product: offer.summary(),
            composition: offer.arrangement.composition(offer),
            parts: offer.design_parts(&shares, self.running),
            capacity_on_sale_bytes: offer.only().map(|part| part.capacity.bytes.0),
            volume_on_sale_bytes: offer.volume_bytes(),
            count: offer.devices(),
            cost: Cost {
                purchase: price.purchase.as_f64(),
                power: price.power.as_f64(),
                per_month: price.per_month.as_f64(),
                total: price.total.as_f64(),
                currency: price.currency,
                as_of: price.as_of,
                assumed: price.assumed,
                electricity,
            },
            survival: offer.survival(&shares, self.running),
            runs_dry: offer.arrangement.runs_dry(offer, &self.bounds),
            ..simulated.candidate.clone()
        };
        if design.limits.is_some() {
            // The simulated volume may have had another size with the same limits.
            self.as_ordered(offer, design, &mut candidate);
        }
        candidate.endurance = match (&simulated.flash_wear, &design.flash) {
            (Some(flash_wear), Some(flash)) => Some(endurance::judge(flash_wear, flash, &self.demand)),
            _ => None,
        };
        candidate.judgement = judge(&candidate, self.task.budgets);
        candidate
    }

    /// Replaces the size and the orders in the results by those of the offer.
    fn as_ordered(&self, offer: &Offer<'_>, design: &Design, candidate: &mut Candidate) {
        let (size, all) = (offer.first().capacity.bytes.0, offer.first().bytes());
        candidate.capacity_bytes = all;
        for device in candidate.devices.values_mut() {
            device.capacity_bytes = if device.cloud_volume.is_some() { size } else { all };
        }
        let Task { workload, settings, .. } = *self.task;
        if let Ok(experiment) = experiment(workload, design, Ratio::ONE, settings) {
            candidate.config = experiment.resolved();
        }
    }
}

/// Says why an offer was not simulated that the search did not reach. `best` is the price of the best design.
fn beyond_search(offer: &Offer<'_>, least: f64, best: Option<f64>, judge: bool) -> RuledOut {
    let (by, reason) = match best {
        Some(best) if least >= best => ("price", format!("costs {} times as much", words::factor(least / best))),
        _ if judge => (NOT_REACHED, "the search ended before it; --thorough simulates it".into()),
        _ => ("class", "another of its class was simulated".into()),
    };
    offer.ruled_out(by, reason, Some(least))
}
