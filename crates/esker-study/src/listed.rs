//! What results hold of the simulated designs. Some studies simulate a hundred, most of them orders of the same
//! volumes: in full they would be many megabytes that nobody reads.

use std::collections::BTreeSet;

use esker_results::study::{Candidate, CandidateOutcome, RuledOut};

use crate::choose::Choice;
use crate::search::{Found, Tried};

/// No more designs of a market than this are listed with their results, unless the answer names them.
const LISTED_MAX: usize = 12;
/// Of no more designs than this results have what is drawn over time, and the distribution of response times: of those
/// that the answers name, that of the market that was asked for first, and of the cheapest others.
const DRAWN_MAX: usize = 6;

/// The designs that results list, of each market from the cheapest on, and those that they leave out with the reason.
/// `thorough` lists all.
pub(crate) fn listed(markets: Vec<Found>, thorough: bool) -> (Vec<Candidate>, Vec<RuledOut>) {
    let (mut listed, mut named, mut ruled_out) = (Vec::new(), BTreeSet::new(), Vec::new());
    for found in markets {
        let places = if thorough { (0..found.tried.len()).collect() } else { places(&found) };
        let Found { market, tried, ruled_out: ruled, choice, .. } = found;
        let first = listed.len();
        for (place, Tried { candidate, .. }) in tried.into_iter().enumerate() {
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

/// The places of the designs to list: those that the answer names, the cheapest of each product, and then those that
/// keep every budget and the cheapest.
fn places(found: &Found) -> BTreeSet<usize> {
    let mut products = BTreeSet::new();
    let mut ranked: Vec<(u8, usize)> = Vec::new();
    for (place, Tried { candidate, .. }) in found.tried.iter().enumerate() {
        let product = candidate.product.as_ref().map(|product| product.name.clone());
        let first_of_product = products.insert(product);
        let rank = if is_named(&found.choice, place) {
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

/// A design that was simulated and is not listed.
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
        total: candidate.cost.as_ref().map(|cost| cost.total),
        by: if failed { "failed" } else { "simulation" }.into(),
        reason,
    }
}

fn forget_drawings(candidate: &mut Candidate) {
    candidate.series.clear();
    candidate.response_curve.clear();
}
