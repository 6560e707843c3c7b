//! How the verdict speaks of a design: its name, price and life.

use esker_core::words;
use esker_plan::Market;
use esker_results::study::Candidate;

/// An amount of money as people write it: "412 USD", "8.40 USD".
pub(super) fn money(amount: f64, currency: &str) -> String {
    match amount {
        amount if amount.abs() < 100.0 => format!("{amount:.2} {currency}"),
        amount => format!("{} {currency}", words::count(amount.round() as u64)),
    }
}

/// What a candidate costs, in words.
pub(super) fn price_of(candidate: &Candidate, years: f64) -> Option<String> {
    let cost = candidate.cost.as_ref()?;
    let (total, month) = (money(cost.total, &cost.currency), money(cost.per_month, &cost.currency));
    Some(if cost.purchase > 0.0 { format!("{total} over {}", words::years(years)) } else { format!("{month} a month") })
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

/// "Micron 7450 PRO, 960 GB (2022)".
pub(super) fn with_year(candidate: &Candidate) -> String {
    match &candidate.product {
        Some(product) if product.year > 0 => format!("{} ({})", candidate.title, product.year),
        _ => candidate.title.clone(),
    }
}

/// How long the flash lasts, in words, as the end of a sentence about it.
pub(super) fn life_of(candidate: &Candidate) -> Option<String> {
    let endurance = candidate.endurance.as_ref()?;
    let more = if endurance.lifetime_is_lower_bound { "more than " } else { "" };
    match (endurance.lifetime_years, endurance.lifetime_range_years) {
        (Some(years), _) => Some(format!("{more}{}", words::years(years))),
        (None, Some([low, high])) => {
            let limit = crate::LIFETIME_LIMIT_YEARS;
            Some(match (low >= limit, high >= limit) {
                (true, _) => format!("more than {}", words::years(limit)),
                (false, true) => format!("{} or more", words::years(low)),
                (false, false) => format!("{} to {}", words::years(low), words::years(high)),
            })
        }
        (None, None) => None,
    }
}
