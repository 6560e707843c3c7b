//! Numbers as pages show them: three significant digits, with the number apart from its unit so that tables can align
//! both.

use super::units::{BYTES, COUNTS, Digits, PERCENT, TIMES, Unit, grouped, scaled, without_zeroes};

/// Separates thousands: a thin space that does not break.
pub const GROUP_SPACE: char = '\u{202f}';
/// Separates a number from its unit: a space that does not break.
pub const UNIT_SPACE: char = '\u{a0}';

/// A number and its unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// The number with all its digits.
    pub number: String,
    /// The unit; empty if there is none.
    pub unit: String,
}

impl Quantity {
    fn of(value: f64, units: &[Unit]) -> Self {
        let (number, unit) = scaled(value, units, Digits::THREE);
        Self { number: grouped(&number, GROUP_SPACE), unit: unit.name.to_string() }
    }

    fn per_second(mut self) -> Self {
        self.unit.push_str("/s");
        self
    }

    /// Number and unit in one text, with a space between that does not break.
    pub fn text(&self) -> String {
        if self.unit.is_empty() { self.number.clone() } else { format!("{}{UNIT_SPACE}{}", self.number, self.unit) }
    }
}

/// A time or a duration, given in microseconds.
pub fn micros(value: f64) -> Quantity {
    Quantity::of(value, TIMES)
}

/// A size.
pub fn bytes(value: f64) -> Quantity {
    Quantity::of(value, BYTES)
}

/// Bytes per second.
pub fn bytes_per_second(value: f64) -> Quantity {
    bytes(value).per_second()
}

/// Events per second.
pub fn per_second(value: f64) -> Quantity {
    Quantity::of(value, COUNTS).per_second()
}

/// A count: exact below a million.
pub fn count(value: f64) -> Quantity {
    if value.abs() < 1e6 && value.fract() == 0.0 {
        return Quantity { number: grouped(&format!("{value:.0}"), GROUP_SPACE), unit: String::new() };
    }
    let without_thousands = [&COUNTS[..1], &COUNTS[2..]].concat();
    Quantity::of(value, &without_thousands)
}

/// A plain number without a unit.
pub fn plain(value: f64) -> Quantity {
    Quantity { number: grouped(&Digits::THREE.write(value), GROUP_SPACE), unit: String::new() }
}

/// A factor such as write amplification, with two decimals.
pub fn factor(value: f64) -> Quantity {
    Quantity { number: format!("{value:.2}"), unit: String::new() }
}

/// A number of years.
pub fn years(value: f64) -> Quantity {
    let number = plain(value).number;
    Quantity { unit: if number == "1" { "year" } else { "years" }.to_string(), number }
}

/// A relative change, in per cent, with its sign.
pub fn change(value: f64) -> Quantity {
    let quantity = share(value.abs());
    let sign = if quantity.number == "0" {
        ""
    } else if value < 0.0 {
        "\u{2212}"
    } else {
        "+"
    };
    Quantity { number: format!("{sign}{}", quantity.number), ..quantity }
}

/// A share of one, in per cent. Less than everything never reads as 100 %, and more than nothing never as 0 %.
pub fn share(value: f64) -> Quantity {
    let percent = value * 100.0;
    let mut digits = if percent.abs() < 10.0 { 2 } else { 1 };
    let mut number = format!("{percent:.digits$}");
    while digits < 6 && percent < 100.0 && percent > 0.0 && reads_as_limit(&number) {
        digits += 1;
        number = format!("{percent:.digits$}");
    }
    Quantity { number: without_zeroes(number), unit: PERCENT.to_string() }
}

fn reads_as_limit(number: &str) -> bool {
    number.parse::<f64>().is_ok_and(|read| read == 0.0 || read == 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_take_the_unit_that_keeps_them_short() {
        let written = |value: f64| micros(value).text().replace(UNIT_SPACE, " ");
        let values = [0.0, 0.5, 12.34, 999.4, 999.7, 1000.0, 12_340.0, 999_700.0, 119e6, 120e6, 7200e6, 1e12];
        let texts = "0 µs, 0.5 µs, 12.3 µs, 999 µs, 1 ms, 1 ms, 12.3 ms, 1 s, 119 s, 2 min, 2 h, 11.6 days";
        assert_eq!(values.map(written).join(", "), texts);
    }

    #[test]
    fn sizes_and_rates_do_not_read_as_a_thousand_of_the_smaller_unit() {
        assert_eq!(bytes(4096.0).text(), "4\u{a0}KiB");
        assert_eq!(bytes(1023.0).text(), "1\u{202f}023\u{a0}B");
        assert_eq!(bytes(1_048_575.0).text(), "1\u{a0}MiB");
        assert_eq!(per_second(12_345.0).text(), "12.3\u{a0}k/s");
        assert_eq!(per_second(999_990.0).text(), "1\u{a0}M/s");
        assert_eq!(count(113_872.0).text(), "113\u{202f}872");
        assert_eq!(count(1_234_567.0).text(), "1.23\u{a0}M");
        assert_eq!(count(1_234.5).text(), "1\u{202f}234");
    }

    #[test]
    fn a_share_that_is_not_the_whole_never_reads_as_the_whole() {
        let texts = [0.0, 1.0, 0.458, 0.0234, 0.99996, 0.000_001, 1.2].map(|value| share(value).number);
        assert_eq!(texts, ["0", "100", "45.8", "2.34", "99.996", "0.0001", "120"]);
        assert_eq!((change(-0.5).number, change(0.02).number), ("\u{2212}50".into(), "+2".into()));
    }
}
