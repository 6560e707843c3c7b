//! How the verdict speaks of a design: its name, price and life.

use esker_core::words;
use esker_plan::Market;
use esker_results::study::Candidate;

/// What a candidate costs, in words.
pub(super) fn price_of(candidate: &Candidate, years: f64) -> Option<String> {
    let cost = candidate.cost.as_ref()?;
    let currency = &cost.currency;
    Some(if candidate.is_rented() {
        format!("{} {currency} a month", words::money(cost.per_month))
    } else {
        format!("{} {currency} over {}", words::money(cost.total), words::years(years))
    })
}

/// How a sentence about a market begins.
pub(super) const fn in_market(market: Market) -> &'static str {
    match market {
        Market::OnPremises => "On premises",
        Market::Aws => "At Amazon Web Services",
        Market::Azure => "At Microsoft Azure",
        Market::Google => "At Google Cloud",
    }
}

/// How long the flash lasts, in words, as the end of a sentence about it.
pub(super) fn life_of(candidate: &Candidate) -> Option<String> {
    let endurance = candidate.endurance.as_ref()?;
    let more = if endurance.lifetime_is_lower_bound { "more than " } else { "" };
    match (endurance.lifetime_years, endurance.lifetime_range_years) {
        (Some(years), _) => Some(format!("{more}{}", words::years(years))),
        (None, Some([low, high])) => Some(words::years_between(low, high, crate::LIFETIME_LIMIT_YEARS)),
        (None, None) => None,
    }
}
