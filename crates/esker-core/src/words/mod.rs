//! Numbers as text for people: here for terminals and verdicts, in [`page`] for pages. All units are in one table,
//! [`units`]; only the number of digits differs.

pub mod page;
pub mod units;

mod moment;

use std::borrow::Cow;

pub use moment::{clock, is_clock, moment};

use crate::Ratio;
use units::{BYTES, Digits, PERCENT, TIMES, Unit, YEARS, grouped, scaled};

/// "87 µs", "4.3 ms", "1.2 s".
pub fn time(micros: f64) -> String {
    named(micros, &TIMES[..3])
}

/// "4.3 minutes", "1 hour", "7 days".
pub fn duration(seconds: f64) -> String {
    let (number, unit) = scaled(seconds * 1e6, &TIMES[1..], Digits::Short);
    let word = if number == "1" { unit.word.trim_end_matches('s') } else { unit.word };
    format!("{number} {word}")
}

/// "7 months", "12 years".
pub fn years(years: f64) -> String {
    named(years, YEARS)
}

/// Returns a range of lifetimes in words: "6 to 18 years", "18 years or more", "more than 100 years". Values above
/// `limit` are not meaningful. Values that read alike are written once.
pub fn years_between(low: f64, high: f64, limit: f64) -> String {
    let (from, to) = (years(low), years(high));
    match (low >= limit, high >= limit) {
        (true, _) => format!("more than {}", years(limit)),
        (false, true) if from == years(limit) => from,
        (false, true) => format!("{from} or more"),
        (false, false) if from == to => from,
        (false, false) => format!("{from} to {to}"),
    }
}

/// A limit, given in microseconds, as the one who set it wrote it: "17.5 ms", and not "18 ms".
pub fn time_limit(micros: f64) -> String {
    as_given(micros, &TIMES[..3])
}

/// A limit in years as the one who set it wrote it: "5.25 years".
pub fn years_limit(years: f64) -> String {
    as_given(years, YEARS)
}

/// A limit that is a share as the one who set it wrote it: "72.5 %".
pub fn percent_limit(share: f64) -> String {
    format!("{} {PERCENT}", number_limit(share * 100.0))
}

/// A limit that is a number as the one who set it wrote it: "1.25".
pub fn number_limit(value: f64) -> String {
    Digits::AsGiven.write(value)
}

fn as_given(value: f64, units: &[Unit]) -> String {
    let (number, unit) = scaled(value, units, Digits::AsGiven);
    format!("{number} {}", unit.name)
}

/// "4.8 GiB".
pub fn bytes(bytes: f64) -> String {
    named(bytes, BYTES)
}

/// "45 %".
pub fn percent(share: f64) -> String {
    format!("{} {PERCENT}", digits(share * 100.0))
}

fn named(value: f64, units: &[Unit]) -> String {
    let (number, unit) = scaled(value, units, Digits::Short);
    format!("{number} {}", unit.name)
}

/// What to write instead of a share `value` of `key` that is more than all. 70 was meant as 70 %, and 7000% was not.
pub fn share_hint(key: &str, value: Ratio) -> String {
    let meant = Some(value.as_f64()).filter(|value| *value <= 100.0);
    let meant = meant.map_or(String::new(), |value| format!("; for {value} percent write {key} = \"{value}%\""));
    format!("a share is a number from 0 to 1, or a percentage up to \"100%\"{meant}")
}

/// A factor: "3.1", "14".
pub fn factor(value: f64) -> String {
    digits(value)
}

/// Write amplification: "1.07", or "-" if nothing was written.
pub fn amplification(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), |value| format!("{value:.2}"))
}

/// Four significant digits for values with a fraction: enough to compare a published value to its last digit.
pub fn published(value: f64) -> String {
    Digits::Significant { digits: 4, decimals_max: 6 }.write(value)
}

/// A count with its thousands apart: "123 456".
pub fn count(value: u64) -> String {
    grouped(&value.to_string(), ' ')
}

/// An amount of money: "8.40", and from a hundred on whole units, "1 234".
pub fn money(amount: f64) -> String {
    let decimals = if amount.abs() < 100.0 { 2 } else { 0 };
    grouped(&format!("{amount:.decimals$}"), ' ')
}

/// A capacity as it is sold: by thousands, "3.84 TB", or in binary units where only those give a whole number, "8 GiB".
pub fn on_sale(capacity: u64) -> String {
    const GIGABYTE: u64 = 1_000_000_000;
    const GIBIBYTE: u64 = 1 << 30;
    if !capacity.is_multiple_of(GIGABYTE / 10) && capacity.is_multiple_of(GIBIBYTE) {
        return bytes(capacity as f64);
    }
    let (scale, unit) = if capacity >= 1000 * GIGABYTE { (1000 * GIGABYTE, "TB") } else { (GIGABYTE, "GB") };
    let number = format!("{:.3}", capacity as f64 / scale as f64);
    format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
}

/// Text for a cell of comma-separated values. Spreadsheets take a cell that begins with `=`, `+`, `-`, `@`, a tab or a
/// carriage return for a formula; an apostrophe in front makes it text.
pub fn spreadsheet_text(text: &str) -> Cow<'_, str> {
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => Cow::Owned(format!("'{text}")),
        false => Cow::Borrowed(text),
    }
}

/// The name of a kind of resource, for readers.
pub fn resource(name: &str) -> &'static str {
    match name {
        "bus" => "flash bus",
        "die" => "flash dies",
        "arm" => "disk arm",
        "link" => "link to the host",
        "server" => "server",
        "operations" => "limit on operations",
        "throughput" => "limit on throughput",
        _ => "busiest part",
    }
}

/// Two or three significant digits, which are enough for people.
pub fn digits(value: f64) -> String {
    Digits::Short.write(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_years_never_repeat_themselves() {
        let between = |low: f64, high: f64| years_between(low, high, 100.0);
        assert_eq!(between(6.0, 18.0), "6 years to 18 years");
        assert_eq!(between(0.5, 6.0), "6 months to 6 years");
        assert_eq!(between(18.0, 100.0), "18 years or more");
        assert_eq!(between(100.0, 100.0), "more than 100 years");
        assert_eq!(
            [between(99.9, 100.0), between(99.6, 99.9), between(6.0, 6.01)],
            ["100 years", "100 years", "6 years"]
        );
    }

    /// What was set is printed as it was; what was measured has no such digits.
    #[test]
    fn limits_are_written_as_given() {
        assert_eq!([17_500.0, 1_000.0, 850.25, 2.5e6].map(time_limit), ["17.5 ms", "1 ms", "850.25 µs", "2.5 s"]);
        assert_eq!(time_limit(6_234.567_891), "6.23 ms");
        assert_eq!([5.0, 5.25, 1.5, 0.7].map(years_limit), ["5 years", "5.25 years", "18 months", "8.4 months"]);
        assert_eq!([0.7, 0.725, 0.995].map(percent_limit), ["70 %", "72.5 %", "99.5 %"]);
        assert_eq!([1.3, 1.25, 0.1 + 0.2].map(number_limit), ["1.3", "1.25", "0.3"]);
    }

    #[test]
    fn prices_and_capacities_are_written_as_on_a_price_list() {
        assert_eq!([8.4, 99.994, 412.4, 1_234_567.0].map(money), ["8.40", "99.99", "412", "1 234 567"]);
        let decimal = [480, 960, 1_920, 3_840, 20_000, 36_700].map(|gigabytes| on_sale(gigabytes * 1_000_000_000));
        assert_eq!(decimal, ["480 GB", "960 GB", "1.92 TB", "3.84 TB", "20 TB", "36.7 TB"]);
        assert_eq!([100 << 30, 4 << 40].map(on_sale), ["100 GiB", "4 TiB"]);
    }

    #[test]
    fn numbers_keep_the_digits_that_papers_print() {
        assert_eq!(published(43.824), "43.82");
        assert_eq!(published(6.39428), "6.394");
        assert_eq!(published(61_255.4), "61255");
        assert_eq!(published(130.6), "130.6");
        assert_eq!(published(223.0), "223");
        assert_eq!(published(0.0), "0");
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(time(87.4), "87 µs");
        assert_eq!(time(999.7), "1 ms");
        assert_eq!(time(4_310.0), "4.3 ms");
        assert_eq!(duration(259.6), "4.3 minutes");
        assert_eq!(duration(0.9999), "1 second");
        assert_eq!(years(1.5), "18 months");
        assert_eq!(bytes(5.1e9), "4.7 GiB");
        assert_eq!(count(1_234_567), "1 234 567");
        assert_eq!(count(67), "67");
        assert_eq!(percent(0.452), "45 %");
    }
}
