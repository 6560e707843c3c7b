//! Phrases of the verdict about a design: its price, life and survival.

use esker_catalogue::Market;
use esker_core::words;
use esker_results::study::{Candidate, Cost};

/// Says what a candidate costs.
pub(super) fn price_of(candidate: &Candidate, years: f64) -> String {
    let Cost { currency, per_month, total, .. } = &candidate.cost;
    match candidate.is_rented() {
        true => format!("{} {currency} a month", words::money(*per_month)),
        false => format!("{} {currency} over {}", words::money(*total), words::years_limit(years)),
    }
}

/// Returns the beginning of a sentence about a market.
pub(super) const fn in_market(market: Market) -> &'static str {
    match market {
        Market::OnPremises => "On premises",
        Market::Aws => "At Amazon Web Services",
        Market::Azure => "At Microsoft Azure",
        Market::Google => "At Google Cloud",
    }
}

/// Says how long the flash lasts, as the end of a sentence about it.
pub(super) fn life_of(candidate: &Candidate) -> Option<String> {
    let endurance = candidate.endurance.as_ref()?;
    let more = if endurance.lifetime_is_lower_bound { "more than " } else { "" };
    match (endurance.lifetime_years, endurance.lifetime_range_years) {
        (Some(years), _) => Some(format!("{more}{}", words::years(years))),
        (None, Some([low, high])) => Some(words::years_between(low, high, crate::LIFETIME_LIMIT_YEARS)),
        (None, None) => None,
    }
}

/// Says in one sentence what survives the failure of a device, how likely a loss is, and what two copies cost.
pub(super) fn survival_of(candidate: &Candidate, years: f64) -> String {
    let (survival, cost) = (&candidate.survival, &candidate.cost);
    match survival.failures_survived {
        0 => {}
        1 => return "The data survive the failure of any one device.".to_string(),
        n => return format!("The data survive the failure of any {n} devices."),
    }
    let mut text = match (survival.devices_of_one_copy, candidate.is_rented()) {
        (1, _) if candidate.device_count > 1 => "If its disk fails, the data are lost".to_string(),
        (1, true) => "If the volume fails, the data are lost".to_string(),
        (1, false) => "If it fails, the data are lost".to_string(),
        (n, true) => format!("If one of its {n} volumes fails, the data are lost"),
        (n, false) => format!("If one of its {n} devices fails, the data are lost"),
    };
    if let Some(loss) = survival.loss_over_years {
        let assumed = if survival.rates_are_assumed { ", at an assumed rate" } else { "" };
        text += &format!(" ({} of such designs in {}{assumed})", words::percent(loss), words::years_limit(years));
    }
    if let Some(total) = survival.two_copies_total {
        let currency = &cost.currency;
        let price = match candidate.is_rented() {
            true => format!("{} {currency} a month", words::money(2.0 * cost.per_month)),
            false => format!("{} {currency}", words::money(total)),
        };
        text += &format!("; two copies cost {price} (--copies 2)");
    }
    text + "."
}
