//! What is bought, in words: prices, capacities as they are sold, markets.

use esker_core::words::page::{self, GROUP_SPACE, UNIT_SPACE};
use esker_core::words::units::grouped;
use esker_results::study::{Candidate, Cost};

/// The market of things that one buys, and runs in a machine of one's own.
const ON_PREMISES: &str = "on-premises";

/// The markets by name, each with its word on the page. The order is that of colours and marks.
const MARKETS: [(&str, &str); 4] =
    [(ON_PREMISES, "On-premises"), ("aws", "AWS"), ("azure", "Azure"), ("google", "Google Cloud")];

/// A market's word on the page.
pub(crate) fn market_word(name: &str) -> &str {
    MARKETS.iter().find(|(known, _)| *known == name).map_or(name, |(_, word)| word)
}

/// Which colour and mark a market has. Markets that are not known share one.
pub(crate) fn market_index(name: &str) -> usize {
    MARKETS.iter().position(|(known, _)| *known == name).unwrap_or(MARKETS.len())
}

/// Name of the market of a design; empty if it has no product.
pub(crate) fn market_of(candidate: &Candidate) -> &str {
    candidate.product.as_ref().map_or("", |product| &product.market)
}

/// An amount of money: whole units from a hundred on, each with its digits.
pub(crate) fn money(amount: &f64) -> String {
    let decimals = if amount.abs() < 100.0 { 2 } else { 0 };
    grouped(&format!("{amount:.decimals$}"), GROUP_SPACE)
}

/// An amount with its currency.
pub(crate) fn amount(amount: &f64, currency: &str) -> String {
    format!("{}{UNIT_SPACE}{currency}", money(amount))
}

/// Whether a design is rented: then its price is known by the month.
pub(crate) fn is_rented(candidate: &Candidate) -> bool {
    let bought = |cost: &Cost| cost.purchase > 0.0 || cost.power > 0.0;
    market_of(candidate) != ON_PREMISES && candidate.cost.as_ref().is_some_and(|cost| !bought(cost))
}

/// Number and capacity of the devices as they are sold: "4 × 3.84 TB".
pub(crate) fn size(candidate: &Candidate) -> Option<String> {
    let capacity = on_sale(&candidate.capacity_on_sale_bytes?);
    Some(format!("{}{UNIT_SPACE}×{UNIT_SPACE}{capacity}", candidate.count.unwrap_or(candidate.device_count)))
}

/// A capacity as it is sold: by thousands, or in binary units where only those give a whole number.
pub(crate) fn on_sale(&bytes: &u64) -> String {
    const GIGABYTE: u64 = 1_000_000_000;
    const GIBIBYTE: u64 = 1 << 30;
    if !bytes.is_multiple_of(GIGABYTE / 10) && bytes.is_multiple_of(GIBIBYTE) {
        return page::bytes(bytes as f64).text();
    }
    let (unit_bytes, unit) = if bytes >= 1000 * GIGABYTE { (1000 * GIGABYTE, "TB") } else { (GIGABYTE, "GB") };
    let number = format!("{:.3}", bytes as f64 / unit_bytes as f64);
    format!("{}{UNIT_SPACE}{unit}", number.trim_end_matches('0').trim_end_matches('.'))
}

/// A capacity that is asked for, in the units of those on sale, to three digits.
pub(crate) fn on_sale_about(bytes: &u64) -> String {
    let (size, unit) = if *bytes >= 1_000_000_000_000 { (1e12, "TB") } else { (1e9, "GB") };
    format!("{}{UNIT_SPACE}{unit}", page::plain(*bytes as f64 / size).number)
}

/// Title of a design with the year of its product: "Micron 7450 PRO, 960 GB (2022)".
pub(crate) fn title_and_year(candidate: &Candidate) -> String {
    match &candidate.product {
        Some(product) if product.year > 0 => format!("{} ({})", candidate.title, product.year),
        _ => candidate.title.clone(),
    }
}

#[cfg(test)]
mod tests {
    use esker_results::study::ProductSummary;

    use super::*;

    #[test]
    fn amounts_have_cents_below_a_hundred_and_all_their_digits_above() {
        let written: Vec<String> = [8.4, 99.994, 412.4, 1_234_567.0].iter().map(money).collect();
        assert_eq!(written, ["8.40", "99.99", "412", "1\u{202f}234\u{202f}567"]);
        assert_eq!(amount(&8.4, "EUR"), "8.40\u{a0}EUR");
    }

    #[test]
    fn capacities_are_decimal_where_they_are_sold_so_and_binary_where_they_are() {
        let written = [480, 3_840, 30_720].map(|gigabytes| on_sale(&(gigabytes * 1_000_000_000)));
        assert_eq!(written, ["480\u{a0}GB", "3.84\u{a0}TB", "30.72\u{a0}TB"]);
        assert_eq!([100 << 30, 4 << 40].map(|bytes| on_sale(&bytes)), ["100\u{a0}GiB", "4\u{a0}TiB"]);
        assert_eq!(on_sale_about(&8_484_488_132), "8.48\u{a0}GB");
    }

    #[test]
    fn what_costs_neither_a_purchase_nor_power_is_rented_in_the_cloud_alone() {
        let of = |market: &str, purchase: f64, power: f64| Candidate {
            product: Some(ProductSummary { market: market.into(), ..ProductSummary::default() }),
            cost: Some(Cost { purchase, power, ..Cost::default() }),
            ..Candidate::new("a", "a", "ssd", 1)
        };
        assert!(is_rented(&of("aws", 0.0, 0.0)));
        // What one has costs nothing but power, and perhaps not even that.
        assert!(!is_rented(&of("on-premises", 0.0, 10.0)) && !is_rented(&of("on-premises", 0.0, 0.0)));
        assert!(!is_rented(&of("on-premises", 90.0, 10.0)) && !is_rented(&Candidate::new("a", "a", "ssd", 1)));
    }
}
