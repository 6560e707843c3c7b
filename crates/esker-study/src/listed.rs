//! Chooses which simulated designs the results list. Some studies simulate a hundred, most of them orders for the same
//! volumes; listed in full, they would take many megabytes that nobody reads.

use std::collections::BTreeSet;

use esker_results::study::{Candidate, CandidateOutcome, RuledOut};

use crate::choose::Choice;
use crate::search::{MarketResult, SimulatedOffer};

/// At most this many designs of a market are listed with their results, unless the answer names more.
const LISTED_MAX: usize = 12;
/// At most this many designs keep their time series and their distribution of response times: first those that the
/// answers name, beginning with the user's market, then the cheapest others.
const DRAWN_MAX: usize = 6;

/// Returns the designs that results list, from the cheapest of each market on, and those that results leave out, with
/// the reason. `thorough` lists all.
pub(crate) fn divide(markets: Vec<MarketResult>, thorough: bool) -> (Vec<Candidate>, Vec<RuledOut>) {
    let (mut listed, mut named, mut ruled_out) = (Vec::new(), BTreeSet::new(), Vec::new());
    for found in markets {
        let places = if thorough { (0..found.tried.len()).collect() } else { places(&found) };
        let MarketResult { market, tried, ruled_out: ruled, choice, .. } = found;
        let first = listed.len();
        for (place, SimulatedOffer { candidate, .. }) in tried.into_iter().enumerate() {
            if !places.contains(&place) {
                ruled_out.push(left_out(&candidate, market.name()));
                continue;
            }
            if is_named(&choice, place) {
                named.insert(listed.len());
            }
            listed.push(candidate);
        }
        debug_assert!(listed.len() - first == places.len(), "every place is one of a design");
        ruled_out.extend(ruled);
    }
    let others = (0..listed.len()).filter(|place| !named.contains(place));
    let drawn: BTreeSet<usize> = named.iter().copied().chain(others).take(DRAWN_MAX).collect();
    for (place, candidate) in listed.iter_mut().enumerate() {
        if !drawn.contains(&place) && !thorough {
            forget_drawings(candidate);
        }
    }
    (listed, ruled_out)
}

fn is_named(choice: &Choice, place: usize) -> bool {
    choice.recommended == Some(place) || choice.nearest == Some(place) || choice.equals.contains(&place)
}

/// Returns the places of the designs to list: those that the answer names and the best of each family, the cheapest of
/// each product, those that keep every budget, and the cheapest others.
fn places(found: &MarketResult) -> BTreeSet<usize> {
    let mut products = BTreeSet::new();
    let mut ranked: Vec<(u8, usize)> = Vec::new();
    for (place, SimulatedOffer { candidate, .. }) in found.tried.iter().enumerate() {
        let first_of_product = products.insert(candidate.product.name.as_str());
        let name = Some(&candidate.name);
        let is_best_of_family = found.families.iter().any(|family| family.best.as_ref() == name);
        let rank = if is_named(&found.choice, place) || is_best_of_family {
            0
        } else if first_of_product {
            1
        } else if candidate.judgement.keeps_budgets {
            2
        } else {
            3
        };
        ranked.push((rank, place));
    }
    ranked.sort_unstable();
    let wanted = ranked.iter().filter(|(rank, _)| *rank == 0).count().max(LISTED_MAX);
    ranked.into_iter().take(wanted).map(|(_, place)| place).collect()
}

/// Describes a design that was simulated and is not listed.
fn left_out(candidate: &Candidate, market: &str) -> RuledOut {
    let reasons = &candidate.judgement.reasons;
    let reason = match reasons.is_empty() {
        true => {
            "simulated: it keeps the budgets that can be judged, and is neither the cheapest nor equal to it".into()
        }
        false => format!("simulated: {}", reasons.join("; ")),
    };
    let failed = matches!(candidate.outcome, CandidateOutcome::Failed { .. });
    RuledOut {
        name: candidate.name.clone(),
        title: candidate.title.clone(),
        market: market.into(),
        total: Some(candidate.cost.total),
        by: if failed { "failed" } else { "simulation" }.into(),
        reason,
    }
}

fn forget_drawings(candidate: &mut Candidate) {
    candidate.series.clear();
    candidate.response_curve.clear();
}
