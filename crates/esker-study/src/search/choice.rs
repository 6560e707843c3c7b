//! Chooses among the simulated designs, and orders them.

use std::collections::VecDeque;

use super::{OTHERS_MAX, Search, SimulatedOffer};
use crate::StudyError;
use crate::choose::{Choice, Contender, Life, choose};
use crate::design::Design;
use crate::judge::{contender, judge};
use crate::offers::Offer;
use crate::strain::{self, StressResults};

impl Search<'_> {
    pub(super) fn any_keeps(&self, tried: &[SimulatedOffer]) -> bool {
        choose(&self.contenders(tried)).recommended.is_some()
    }

    /// Returns the price of the best design, if no more expensive one could be better.
    pub(super) fn settled(&self, tried: &[SimulatedOffer]) -> Option<f64> {
        let contenders = self.contenders(tried);
        let best = &contenders[choose(&contenders).recommended?];
        (best.life != Life::Unjudged).then_some(best.cost)
    }

    pub(super) fn contenders(&self, tried: &[SimulatedOffer]) -> Vec<Contender> {
        let contender = |tried: &SimulatedOffer| {
            let contender = contender(&tried.candidate, self.task.budgets);
            let unknown = tried.candidate.endurance.is_none();
            Contender { missed: contender.missed + if unknown { tried.missed_warranty } else { 0.0 }, ..contender }
        };
        tried.iter().map(contender).collect()
    }

    /// Chooses, and simulates the designs that matter with other random numbers until the choice stays the same.
    pub(super) fn choose(&mut self, tried: &mut [SimulatedOffer]) -> Result<Choice, StudyError> {
        loop {
            let choice = choose(&self.contenders(tried));
            let matter = choice.recommended.iter().chain(&choice.equals).chain(&choice.close).chain(&choice.nearest);
            let open: Vec<usize> = matter
                .copied()
                .filter(|&n| tried[n].candidate.busy.as_ref().is_some_and(|busy| !busy.was_tried_again()))
                .take(OTHERS_MAX)
                .collect();
            if open.is_empty() || self.task.busy.is_none() {
                return Ok(choice);
            }
            let seed = self.task.settings.seed.wrapping_add(1);
            // Only for the design to buy is it interesting how much more load it carries.
            let (best, others): (Vec<usize>, Vec<usize>) =
                open.into_iter().partition(|&n| Some(n) == choice.recommended);
            let searches = [(&best, strain::LoadSearch::Further), (&others, strain::LoadSearch::Asked)];
            let asked: Vec<(Design, strain::LoadSearch)> = searches
                .into_iter()
                .flat_map(|(some, search)| some.iter().map(move |&n| (n, search)))
                .map(|(n, search)| (tried[n].design.clone(), search))
                .collect();
            let found = self.stress_all(&asked, seed)?;
            for (&n, stressed) in best.iter().chain(&others).zip(found) {
                let Some(StressResults { first, headroom }) = stressed else { continue };
                let candidate = &mut tried[n].candidate;
                if let Some(busy) = &mut candidate.busy {
                    busy.p99_us_of_other_seed = first.busy.as_ref().map(|again| again.response_time.p99_us);
                    busy.saturates_with_other_seed = first.busy.is_none();
                }
                if let (Some(busy), Some(again)) = (&mut candidate.busy_by_bytes, first.busy_by_bytes) {
                    busy.p99_us_of_other_seed = Some(again.response_time.p99_us);
                }
                // If it breaks under less load, the simulation of the whole trace knows that better.
                if candidate.headroom.as_ref().is_some_and(|known| known.is_lower_bound) {
                    candidate.headroom = Some(headroom);
                }
                candidate.judgement = judge(candidate, self.task.budgets);
            }
        }
    }
}

/// Orders designs by price, and adapts the indices of the choice.
pub(super) fn sorted(tried: Vec<SimulatedOffer>, choice: Choice) -> (Vec<SimulatedOffer>, Choice) {
    let mut order: Vec<(usize, SimulatedOffer)> = tried.into_iter().enumerate().collect();
    order.sort_by(|(_, one), (_, other)| one.candidate.cost.total.total_cmp(&other.candidate.cost.total));
    let place = |n: usize| order.iter().position(|(before, _)| *before == n).expect("every design has a place");
    let places = |all: &[usize]| {
        let mut places: Vec<usize> = all.iter().map(|&n| place(n)).collect();
        places.sort_unstable();
        places
    };
    let (equals, close) = (places(&choice.equals), places(&choice.close));
    let choice =
        Choice { recommended: choice.recommended.map(place), nearest: choice.nearest.map(place), equals, close };
    (order.into_iter().map(|(_, tried)| tried).collect(), choice)
}

/// Orders offers by price, then the larger first, then the one with fewer devices, then by name.
pub(super) fn cheapest_first<'o>(mut offers: Vec<(f64, &'o Offer<'o>)>) -> VecDeque<(f64, &'o Offer<'o>)> {
    offers.sort_by(|(one_price, one), (other_price, other)| {
        let (one, other) = (one.first(), other.first());
        (one_price.total_cmp(other_price))
            .then_with(|| other.capacity.bytes.cmp(&one.capacity.bytes))
            .then_with(|| one.count.cmp(&other.count))
            .then_with(|| one.product.name.cmp(&other.product.name))
    });
    offers.into()
}

/// Returns true if an offer takes long to simulate: disks alone take much less time than flash.
pub(super) fn takes_long(offer: &Offer<'_>) -> bool {
    offer.parts.iter().any(|part| part.product.kind != "hdd")
}
