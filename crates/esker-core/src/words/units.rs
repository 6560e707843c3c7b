//! The units that numbers are written in, and how a value finds its unit. Terminals, verdicts, reports and the scripts
//! of reports all read these tables; they differ only in the number of digits.

use serde::Serialize;

/// One unit of a table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Unit {
    /// The name behind a number: "ms".
    pub name: &'static str,
    /// The name in a sentence: "milliseconds".
    #[serde(skip)]
    pub word: &'static str,
    /// The size of one unit, in what the table's values are given in.
    pub size: f64,
    /// The smallest value that is written in this unit. Not used for the first unit of a table.
    pub from: f64,
}

const fn unit(name: &'static str, word: &'static str, size: f64) -> Unit {
    Unit { name, word, size, from: size }
}

const fn unit_from(from: f64, name: &'static str, word: &'static str, size: f64) -> Unit {
    Unit { name, word, size, from }
}

/// Times, given in microseconds. Seconds are used up to two minutes: "119 s" is more precise than "2 minutes".
pub const TIMES: &[Unit] = &[
    unit("µs", "microseconds", 1.0),
    unit("ms", "milliseconds", 1e3),
    unit("s", "seconds", 1e6),
    unit_from(120e6, "min", "minutes", 60e6),
    unit_from(7_200e6, "h", "hours", 3_600e6),
    unit_from(172_800e6, "days", "days", 86_400e6),
];

/// Sizes, given in bytes.
pub const BYTES: &[Unit] = &[
    unit("B", "bytes", 1.0),
    unit("KiB", "KiB", 1024.0),
    unit("MiB", "MiB", 1_048_576.0),
    unit("GiB", "GiB", 1_073_741_824.0),
    unit("TiB", "TiB", 1_099_511_627_776.0),
    unit("PiB", "PiB", 1_125_899_906_842_624.0),
];

/// Counts.
pub const COUNTS: &[Unit] = &[
    unit("", "", 1.0),
    unit("k", "thousand", 1e3),
    unit("M", "million", 1e6),
    unit("G", "billion", 1e9),
    unit("T", "trillion", 1e12),
];

/// Lifetimes, given in years.
pub const YEARS: &[Unit] =
    &[unit("days", "days", 1.0 / 365.0), unit("months", "months", 1.0 / 12.0), unit_from(2.0, "years", "years", 1.0)];

/// The unit of shares.
pub const PERCENT: &str = "%";

/// How many digits a number has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digits {
    /// None from ten on, one decimal from one on, two below one: enough for a sentence.
    Short,
    /// This many significant digits, never fewer than those before the point, without zeroes at the end of a fraction.
    Significant {
        /// How many.
        digits: u8,
        /// The most digits after the point.
        decimals_max: u8,
    },
    /// All that somebody wrote who set a limit, up to five digits. A value that has more was measured: three.
    AsGiven,
}

impl Digits {
    /// Three significant digits: tables and charts show these.
    pub const THREE: Self = Self::Significant { digits: 3, decimals_max: 9 };

    /// Writes `value` with these digits.
    pub fn write(self, value: f64) -> String {
        match self {
            Self::Short => match value.abs() {
                size if size >= 9.95 => format!("{value:.0}"),
                size if size >= 0.995 || size == 0.0 => format!("{value:.1}").trim_end_matches(".0").to_string(),
                _ => format!("{value:.2}"),
            },
            Self::Significant { digits, decimals_max } => significant(value, digits.into(), decimals_max.into()),
            Self::AsGiven => {
                let text = significant(value, 5, 12);
                let is_all = text.parse().is_ok_and(|read: f64| (read - value).abs() <= value.abs() * 1e-9);
                if is_all { text } else { Self::THREE.write(value) }
            }
        }
    }

    /// The value that a reader sees after rounding.
    fn as_read(self, value: f64) -> f64 {
        self.write(value).parse().unwrap_or(value)
    }
}

fn significant(value: f64, digits: i32, decimals_max: i32) -> String {
    if value == 0.0 {
        return "0".to_string();
    }
    // The exponent after rounding: 9.996 is written as 10.0.
    let precision = (digits - 1).max(0) as usize;
    let exponent = format!("{value:.precision$e}").rsplit('e').next().and_then(|digits| digits.parse::<i32>().ok());
    let decimals = (digits - 1 - exponent.unwrap_or(0)).clamp(0, decimals_max) as usize;
    without_zeroes(format!("{value:.decimals$}"))
}

/// `number` without zeroes at the end of its fraction.
pub(super) fn without_zeroes(number: String) -> String {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.').to_string() } else { number }
}

/// `value` in the largest unit that fits after rounding, and the unit: 1023.9 KiB would read as 1024 KiB, so it becomes
/// 1 MiB.
pub fn scaled(value: f64, units: &[Unit], digits: Digits) -> (String, Unit) {
    let mut at = units.iter().rposition(|unit| value.abs() >= unit.from).unwrap_or(0);
    if let Some(next) = units.get(at + 1)
        && next.from == next.size
        && digits.as_read(value.abs() / units[at].size) * units[at].size >= next.from
    {
        at += 1;
    }
    (digits.write(value / units[at].size), units[at])
}

/// Puts `separator` between thousands.
pub fn grouped(number: &str, separator: char) -> String {
    let (whole, fraction) = number.split_once('.').map_or((number, None), |(whole, rest)| (whole, Some(rest)));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut text = sign.to_string();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(separator);
        }
        text.push(digit);
    }
    if let Some(fraction) = fraction {
        text.push('.');
        text.push_str(fraction);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_rises_from_unit_to_unit() {
        for table in [TIMES, BYTES, COUNTS, YEARS] {
            assert!(table.windows(2).all(|pair| pair[0].size < pair[1].size && pair[0].from < pair[1].from));
            assert!(table.iter().all(|unit| unit.size <= unit.from));
        }
    }

    #[test]
    fn no_value_reads_as_one_of_the_next_unit() {
        let text = |value, units, digits| {
            let (number, unit) = scaled(value, units, digits);
            format!("{number} {}", unit.name)
        };
        assert_eq!(text(1_048_575.0, BYTES, Digits::THREE), "1 MiB");
        assert_eq!(text(-999.6, TIMES, Digits::THREE), "-1 ms");
        assert_eq!(text(999.5, TIMES, Digits::Short), "1 ms");
        assert_eq!(text(999.4, TIMES, Digits::Short), "999 µs");
        assert_eq!(text(119.9e6, TIMES, Digits::Short), "120 s");
        assert_eq!(text(7_199e6, TIMES, Digits::THREE), "120 min");
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(grouped("-1234567.8912", ' '), "-1 234 567.8912");
        assert_eq!((grouped("123", ' '), grouped("1234", '\u{202f}')), ("123".into(), "1\u{202f}234".into()));
    }
}
