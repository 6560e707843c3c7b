//! Looks for the cheapest design of each market, from the cheapest on.

use std::collections::{BTreeMap, VecDeque};

use esker_core::{Bytes, jobs, words};
use esker_plan::{Class, Market, Running};
use esker_results::study::{Budgets, Candidate, Cost, MarketAnswer, RuledOut};
use esker_sim::Slowest;

use crate::StudyError;
use crate::choose::{Choice, Contender, Life, choose};
use crate::endurance::{self, Demand};
use crate::judge::{contender, judge};
use crate::offers::{Bounds, Design, Offer, ruled_out};
use crate::simulate::{Simulated, Task, p99_of_other_seed, simulate};

/// Designs simulated at the same time: a fixed number, so that results do not depend on that of threads.
const BATCH: usize = 2;
/// No more designs of a market than this are simulated in the search, unless it is a thorough one.
const SIMULATED_MAX: usize = 16;
/// Designs of other classes that are simulated beside the search, for comparison.
const OTHERS_MAX: usize = 6;
/// Prices that differ by less than this are equal: those offers are simulated, too.
const SAME_PRICE: f64 = 1.01;

/// What the search knows.
pub(crate) struct Search<'a> {
    pub(crate) task: &'a Task<'a>,
    pub(crate) budgets: &'a Budgets,
    pub(crate) bounds: Bounds,
    pub(crate) demand: Demand,
    pub(crate) running: &'a Running,
    pub(crate) active: Bytes,
    /// Simulations by the experiment that they ran.
    simulated: BTreeMap<String, Simulated>,
    done: u64,
}

/// A simulated offer.
pub(crate) struct Tried {
    pub(crate) candidate: Candidate,
    pub(crate) design: Design,
    pub(crate) slowest: Option<Slowest>,
}

/// What was found in a market.
pub(crate) struct Found {
    pub(crate) market: Market,
    /// From the cheapest on.
    pub(crate) tried: Vec<Tried>,
    pub(crate) ruled_out: Vec<RuledOut>,
    pub(crate) choice: Choice,
}

impl<'a> Search<'a> {
    pub(crate) fn new(
        task: &'a Task<'a>,
        budgets: &'a Budgets,
        bounds: Bounds,
        demand: Demand,
        running: &'a Running,
        active: Bytes,
    ) -> Self {
        Self { task, budgets, bounds, demand, running, active, simulated: BTreeMap::new(), done: 0 }
    }

    /// Looks through the offers of a market. Without budgets (`judge` is false) one design of each class is simulated.
    pub(crate) fn market(&mut self, market: Market, offers: &[Offer<'_>], judge: bool) -> Result<Found, StudyError> {
        let mut ruled = Vec::new();
        let mut left: Vec<(f64, Offer<'_>)> = Vec::new();
        for offer in offers.iter().filter(|offer| offer.market() == market) {
            // Its price if it never works: what it costs is found out with what it has to do.
            let least = offer.cost(0.0, self.running).total.as_f64();
            match ruled_out(offer, &self.bounds) {
                Some(reason) => ruled.push(RuledOut { total: Some(least), ..reason }),
                None => left.push((least, *offer)),
            }
        }
        let mut left = cheapest_first(left);
        let mut tried: Vec<Tried> = Vec::new();
        let limit = match (judge, self.task.settings.thorough) {
            (false, _) => 0,
            (true, false) => SIMULATED_MAX,
            (true, true) => usize::MAX,
        };
        while tried.len() < limit {
            let best = self.settled(&tried);
            let batch: Vec<Offer<'_>> = (0..BATCH)
                .filter_map(|_| {
                    let within =
                        |(least, _): &mut (f64, Offer<'_>)| best.is_none_or(|best| *least <= best * SAME_PRICE);
                    left.pop_front_if(within).map(|(_, offer)| offer)
                })
                .collect();
            if batch.is_empty() {
                break;
            }
            tried.extend(self.try_all(&batch)?);
        }
        let others = self.others(&tried, &mut left);
        for batch in others.chunks(BATCH) {
            tried.extend(self.try_all(batch)?);
        }
        let best = self.settled(&tried);
        for (least, offer) in left {
            ruled.push(match best {
                Some(best) => {
                    let dearer = words::factor(least / best);
                    offer.ruled_out("price", format!("costs {dearer} times as much"), Some(least))
                }
                None if judge => offer.ruled_out(
                    "price",
                    "dearer than all that was simulated; --thorough simulates it".into(),
                    Some(least),
                ),
                None => offer.ruled_out("class", "another of its class was simulated".into(), Some(least)),
            });
        }
        tried.sort_by(|one, other| cost(&one.candidate).total_cmp(&cost(&other.candidate)));
        let choice = if judge { self.choose(&mut tried)? } else { Choice::default() };
        Ok(Found { market, tried, ruled_out: ruled, choice })
    }

    /// The price of the best so far, if nothing dearer could be better.
    fn settled(&self, tried: &[Tried]) -> Option<f64> {
        let contenders = self.contenders(tried);
        let best = &contenders[choose(&contenders).recommended?];
        (best.life != Life::Unjudged).then_some(best.cost)
    }

    fn contenders(&self, tried: &[Tried]) -> Vec<Contender> {
        tried.iter().map(|tried| contender(&tried.candidate, self.budgets)).collect()
    }

    /// Takes out of `left` the cheapest offer of each class of which none was tried.
    fn others<'o>(&self, tried: &[Tried], left: &mut VecDeque<(f64, Offer<'o>)>) -> Vec<Offer<'o>> {
        let mut others: Vec<Offer<'o>> = Vec::new();
        let known = |class: Class, others: &[Offer<'_>]| {
            others.iter().any(|offer| offer.class() == class)
                || tried
                    .iter()
                    .any(|tried| tried.candidate.product.as_ref().is_some_and(|product| product.class == class.name()))
        };
        left.retain(|(_, offer)| {
            let taken = others.len() < OTHERS_MAX && !known(offer.class(), &others);
            if taken {
                others.push(*offer);
            }
            !taken
        });
        others
    }

    /// Simulates offers, or takes what is known of the same simulated design.
    fn try_all(&mut self, offers: &[Offer<'_>]) -> Result<Vec<Tried>, StudyError> {
        let settings = self.task.settings;
        let mut designs = Vec::new();
        for offer in offers {
            let design = offer.design(self.active, settings.utilisation)?;
            let key = format!("{:?}", design.system);
            designs.push((design, key));
        }
        let mut new: Vec<usize> = (0..designs.len()).filter(|&n| !self.simulated.contains_key(&designs[n].1)).collect();
        new.dedup_by(|one, other| designs[*one].1 == designs[*other].1);
        let (hooks, done) = (self.task.hooks, self.done);
        let found = jobs::collect(settings.threads, new.len(), |index| {
            let design = &designs[new[index]].0;
            hooks.tell(&format!("simulating {}", design.name), done, None);
            simulate(self.task, design)
        });
        for (index, simulated) in new.iter().zip(found) {
            self.simulated.insert(designs[*index].1.clone(), simulated?);
            self.done += 1;
        }
        let tried = offers.iter().zip(designs).map(|(offer, (design, key))| {
            let simulated = self.simulated.get(&key).expect("it was simulated before or just now");
            Tried { candidate: self.candidate(offer, &design, simulated), design, slowest: simulated.slowest }
        });
        Ok(tried.collect())
    }

    /// Adds to a simulation what is particular to an offer, and judges it.
    fn candidate(&self, offer: &Offer<'_>, design: &Design, simulated: &Simulated) -> Candidate {
        let busy = simulated.candidate.limits.first().map_or(0.0, |limit| limit.utilisation);
        let price = offer.cost(busy, self.running);
        let mut candidate = Candidate {
            name: design.name.clone(),
            title: design.title.clone(),
            device_count: design.device_count,
            product: Some(offer.summary()),
            capacity_on_sale_bytes: Some(offer.capacity.bytes.0),
            count: Some(offer.devices()),
            cost: Some(Cost {
                purchase: price.purchase.as_f64(),
                power: price.power.as_f64(),
                per_month: price.per_month.as_f64(),
                total: price.total.as_f64(),
                currency: price.currency,
                as_of: price.as_of,
                assumed: price.assumed,
            }),
            ..simulated.candidate.clone()
        };
        candidate.endurance = match (&simulated.wearing, &design.flash) {
            (Some(wearing), Some(flash)) => Some(endurance::judge(wearing, flash, &self.demand)),
            _ => None,
        };
        candidate.judgement = judge(&candidate, self.budgets);
        candidate
    }

    /// Chooses, and looks at those that matter with other random numbers until the choice stays.
    fn choose(&mut self, tried: &mut [Tried]) -> Result<Choice, StudyError> {
        loop {
            let choice = choose(&self.contenders(tried));
            let matter = choice.recommended.iter().chain(&choice.equals).chain(&choice.nearest);
            let open: Vec<usize> = matter
                .copied()
                .filter(|&n| tried[n].candidate.busy.as_ref().is_some_and(|busy| busy.p99_us_of_other_seed.is_none()))
                .take(OTHERS_MAX)
                .collect();
            if open.is_empty() || self.task.busy.is_none() {
                return Ok(choice);
            }
            let found = jobs::collect(self.task.settings.threads, open.len(), |index| {
                p99_of_other_seed(self.task, &tried[open[index]].design)
            });
            for (&n, p99) in open.iter().zip(found) {
                let candidate = &mut tried[n].candidate;
                if let Some(busy) = &mut candidate.busy {
                    // One that cannot keep up with other random numbers keeps no budget.
                    busy.p99_us_of_other_seed = Some(p99?.unwrap_or(f64::MAX));
                }
                candidate.judgement = judge(candidate, self.budgets);
            }
        }
    }
}

/// Orders offers by price, then the larger, then fewer parts, then by name.
fn cheapest_first(mut offers: Vec<(f64, Offer<'_>)>) -> VecDeque<(f64, Offer<'_>)> {
    offers.sort_by(|(one_price, one), (other_price, other)| {
        (one_price.total_cmp(other_price))
            .then_with(|| other.capacity.bytes.cmp(&one.capacity.bytes))
            .then_with(|| one.count.cmp(&other.count))
            .then_with(|| one.product.name.cmp(&other.product.name))
    });
    offers.into()
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
            nearest: self.choice.nearest.as_ref().map(name),
            because,
        }
    }
}
