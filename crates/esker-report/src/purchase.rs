//! What is bought, in words: prices, capacities as they are sold, markets.

use esker_core::words;
use esker_core::words::page::{self, GROUP_SPACE, UNIT_SPACE};
use esker_results::study::{Candidate, DesignPart, ON_PREMISES};

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

/// An amount of money, for a page.
pub(crate) fn money(amount: &f64) -> String {
    words::money(*amount).replace(' ', &GROUP_SPACE.to_string())
}

/// An amount with its currency.
pub(crate) fn amount(amount: &f64, currency: &str) -> String {
    format!("{}{UNIT_SPACE}{currency}", money(amount))
}

/// Number and capacity of the devices as they are sold: "4 × 3.84 TB", or "2 × 960 GB + 4 × 20 TB".
pub(crate) fn size(candidate: &Candidate) -> String {
    let devices = |count: u32, each: u64| format!("{count}{UNIT_SPACE}×{UNIT_SPACE}{}", on_sale(&each));
    if candidate.parts.is_empty() {
        return devices(candidate.count, capacity_on_sale(candidate));
    }
    let part = |part: &DesignPart| devices(part.count, part.capacity_on_sale_bytes);
    candidate.parts.iter().map(part).collect::<Vec<_>>().join(" + ")
}

/// Capacity of one device as it is sold; of a design of several products, that of one copy's volume.
pub(crate) fn capacity_on_sale(candidate: &Candidate) -> u64 {
    candidate.volume_on_sale_bytes.or(candidate.capacity_on_sale_bytes).unwrap_or(candidate.capacity_bytes)
}

/// A capacity as it is sold, for a page.
pub(crate) fn on_sale(&bytes: &u64) -> String {
    words::on_sale(bytes).replace(' ', &UNIT_SPACE.to_string())
}

/// A capacity that is asked for, in the units of those on sale, to three digits.
pub(crate) fn on_sale_about(bytes: &u64) -> String {
    let (size, unit) = if *bytes >= 1_000_000_000_000 { (1e12, "TB") } else { (1e9, "GB") };
    format!("{}{UNIT_SPACE}{unit}", page::plain(*bytes as f64 / size).number)
}

#[cfg(test)]
mod tests {
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
}
