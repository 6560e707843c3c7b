//! Values with their units, as people write them: `"32KiB"`, `"25us"`, `"5y"`, `"15%"`.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{self, Deserializer, Visitor};
use thiserror::Error;

use crate::{ByteRate, Bytes, Energy, Nanos, Power, Ratio};

/// Why a value with a unit could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum QuantityError {
    /// No unit was given.
    #[error("`{found}` needs a unit: {units}")]
    NoUnit {
        /// The text as given.
        found: String,
        /// The units that are accepted.
        units: &'static str,
    },
    /// The unit is not known.
    #[error("`{found}` has the unknown unit `{unit}`: use {units}")]
    UnknownUnit {
        /// The text as given.
        found: String,
        /// The unit in it.
        unit: String,
        /// The units that are accepted.
        units: &'static str,
    },
    /// The unit is known in other letters: `20tb`, `20T`.
    #[error("`{found}` has the unknown unit `{unit}`; did you mean `{meant}`?")]
    UnitInOtherLetters {
        /// The text as given.
        found: String,
        /// The unit in it.
        unit: String,
        /// The text with the unit that was probably meant.
        meant: String,
    },
    /// The text before the unit is not a number.
    #[error("`{found}` does not begin with a number that is zero or more")]
    NotANumber {
        /// The text as given.
        found: String,
    },
    /// The value is larger than the type can hold.
    #[error("`{found}` is too large: it can be {limit}")]
    TooLarge {
        /// The text as given.
        found: String,
        /// The limit of the type, in words.
        limit: &'static str,
    },
    /// The number has more digits than the type can hold exactly.
    #[error("`{found}` cannot be held exactly: {limit}")]
    OutOfRange {
        /// The text as given.
        found: String,
        /// The limit of the type, in words.
        limit: &'static str,
    },
}

const TIME_UNITS: &[(&str, u64)] = &[
    ("y", 365 * 86_400 * 1_000_000_000),
    ("d", 86_400 * 1_000_000_000),
    ("h", 3_600 * 1_000_000_000),
    ("min", 60 * 1_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];
const TIME_NAMES: &str = "ns, µs (or us), ms, s, min, h, d or y (365 days)";

const BYTE_UNITS: &[(&str, u64)] = &[
    ("PiB", 1 << 50),
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("PB", 1_000_000_000_000_000),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];
const BYTE_NAMES: &str = "B, kB, MB, GB, TB, PB (powers of 1000) or KiB, MiB, GiB, TiB, PiB (powers of 1024)";

const RATE_UNITS: &[(&str, u64)] = &[
    ("GiB/s", 1 << 30),
    ("MiB/s", 1 << 20),
    ("KiB/s", 1 << 10),
    ("GB/s", 1_000_000_000),
    ("MB/s", 1_000_000),
    ("kB/s", 1_000),
    ("B/s", 1),
];
const RATE_NAMES: &str = "B/s, kB/s, MB/s, GB/s (powers of 1000) or KiB/s, MiB/s, GiB/s (powers of 1024)";

const ENERGY_UNITS: &[(&str, u64)] =
    &[("J", 1_000_000_000_000), ("mJ", 1_000_000_000), ("uJ", 1_000_000), ("nJ", 1_000), ("pJ", 1)];
const ENERGY_NAMES: &str = "pJ, nJ, µJ (or uJ), mJ or J";

const POWER_UNITS: &[(&str, u64)] = &[("W", 1_000_000), ("mW", 1_000), ("uW", 1)];
const POWER_NAMES: &str = "µW (or uW), mW or W";

/// Reads `number unit` exactly, in integers. The result is `number * scale(unit)`, which has to be a whole number.
pub fn parse_quantity(
    text: &str,
    units: &[(&str, u64)],
    names: &'static str,
    limit: &'static str,
) -> Result<u64, QuantityError> {
    let found = || text.to_string();
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(trimmed.len());
    // The micro sign and the Greek letter mu look alike: both are read as `u`.
    let (number, unit) = (trimmed[..split].replace('_', ""), trimmed[split..].trim().replace(['µ', 'μ'], "u"));
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return Err(QuantityError::NotANumber { found: found() });
    }
    let scale = match units.iter().find(|(name, _)| *name == unit) {
        Some((_, scale)) => u128::from(*scale),
        None if unit.is_empty() => return Err(QuantityError::NoUnit { found: found(), units: names }),
        None => {
            let unit_as_given = trimmed[split..].trim().to_string();
            return Err(match alike(&unit, units) {
                Some(name) => {
                    let meant = format!("{}{name}", trimmed[..split].trim());
                    QuantityError::UnitInOtherLetters { found: found(), unit: unit_as_given, meant }
                }
                None => QuantityError::UnknownUnit { found: found(), unit: unit_as_given, units: names },
            });
        }
    };
    let too_large = || QuantityError::TooLarge { found: found(), limit };
    let out_of_range = || QuantityError::OutOfRange { found: found(), limit };
    let fraction = fraction.trim_end_matches('0');
    if whole.trim_start_matches('0').len() > 20 {
        return Err(too_large());
    }
    if whole.len() > 30 || fraction.len() > 15 {
        return Err(out_of_range());
    }
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| out_of_range())? };
    let denominator = 10u128.pow(fraction.len() as u32);
    let numerator: u128 = if fraction.is_empty() { 0 } else { fraction.parse().map_err(|_| out_of_range())? };
    let scaled = numerator * scale;
    if !scaled.is_multiple_of(denominator) {
        return Err(out_of_range());
    }
    u64::try_from(whole * scale + scaled / denominator).map_err(|_| too_large())
}

/// The one unit that differs from `unit` in capital letters alone, or in the letters that people leave out: `20T`.
/// Of `4K` these are two: requests, blocks and extents are powers of two.
fn alike<'a>(unit: &str, units: &[(&'a str, u64)]) -> Option<&'a str> {
    let same = |wanted: &str| {
        let mut found = units.iter().map(|(name, _)| *name).filter(|name| name.eq_ignore_ascii_case(wanted));
        found.next().filter(|_| found.next().is_none())
    };
    let left_out = if unit.eq_ignore_ascii_case("k") { "iB" } else { "B" };
    same(unit).or_else(|| same(&format!("{unit}{left_out}")))
}

/// Writes `value` with the unit that divides it and leaves the fewest digits, of several the first of `units`. Reading
/// it back is exact.
pub fn write_quantity(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)], smallest: &str) -> fmt::Result {
    let dividing = units.iter().filter(|(_, scale)| value != 0 && value.is_multiple_of(*scale));
    match dividing.min_by_key(|(_, scale)| (value / scale).ilog10()) {
        Some((name, scale)) => f.pad(&format!("{}{name}", value / scale)),
        None => f.pad(&format!("{value}{smallest}")),
    }
}

impl FromStr for Nanos {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse_quantity(text, TIME_UNITS, TIME_NAMES, "whole nanoseconds up to 584 years").map(Nanos)
    }
}
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Nanos::NEVER => f.pad("never"),
            Nanos(value) => write_quantity(f, value, TIME_UNITS, "ns"),
        }
    }
}
impl FromStr for Bytes {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse_quantity(text, BYTE_UNITS, BYTE_NAMES, "whole bytes up to 16 EiB").map(Bytes)
    }
}
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quantity(f, self.0, BYTE_UNITS, "B")
    }
}
impl FromStr for ByteRate {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse_quantity(text, RATE_UNITS, RATE_NAMES, "whole bytes per second").map(ByteRate)
    }
}
impl fmt::Display for ByteRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quantity(f, self.0, RATE_UNITS, "B/s")
    }
}
impl FromStr for Energy {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse_quantity(text, ENERGY_UNITS, ENERGY_NAMES, "whole picojoules up to 18 MJ").map(Energy)
    }
}
impl fmt::Display for Energy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quantity(f, self.0, ENERGY_UNITS, "pJ")
    }
}
impl FromStr for Power {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse_quantity(text, POWER_UNITS, POWER_NAMES, "whole microwatts").map(Power)
    }
}
impl fmt::Display for Power {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quantity(f, self.0, POWER_UNITS, "uW")
    }
}
impl FromStr for Ratio {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let units = &[("%", 10_000_000), ("", 1_000_000_000)];
        parse_quantity(text, units, "%, or none for a plain fraction", "whole parts per billion")
            .map(Ratio::parts_per_billion)
    }
}
impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.as_parts_per_billion();
        let (whole, rest) = (parts / 10_000_000, parts % 10_000_000);
        if rest == 0 {
            return f.pad(&format!("{whole}%"));
        }
        f.pad(&format!("{whole}.{}%", format!("{rest:07}").trim_end_matches('0')))
    }
}

/// Reads a text or a number through [`FromStr`], so that errors read as in [`QuantityError`].
#[doc(hidden)]
pub fn deserialize_quantity<'de, T, D>(deserializer: D, expected: &'static str) -> Result<T, D::Error>
where
    T: FromStr<Err = QuantityError>,
    D: Deserializer<'de>,
{
    struct Text<T> {
        expected: &'static str,
        target: PhantomData<T>,
    }
    impl<T: FromStr<Err = QuantityError>> Visitor<'_> for Text<T> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.expected)
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(E::custom)
        }
        fn visit_i64<E: de::Error>(self, value: i64) -> Result<T, E> {
            self.visit_str(&value.to_string())
        }
        fn visit_u64<E: de::Error>(self, value: u64) -> Result<T, E> {
            self.visit_str(&value.to_string())
        }
        fn visit_f64<E: de::Error>(self, value: f64) -> Result<T, E> {
            self.visit_str(&value.to_string())
        }
    }
    deserializer.deserialize_any(Text { expected, target: PhantomData })
}

/// Implements serde and `JsonSchema` for a type that [`FromStr`] reads (with a [`QuantityError`]) and [`fmt::Display`]
/// writes. `$expected` describes the value in words; `$pattern` is for the schema.
#[macro_export]
macro_rules! quantity_as_text {
    ($type:ident, $expected:literal, $pattern:literal) => {
        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::deserialize_quantity(deserializer, $expected)
            }
        }
        impl ::schemars::JsonSchema for $type {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                ::schemars::json_schema!({ "type": "string", "description": $expected, "pattern": $pattern })
            }
        }
    };
}
quantity_as_text!(
    Nanos,
    "a time with its unit, such as \"25us\" or \"5y\"",
    "^[0-9._]+ *(ns|us|µs|μs|ms|s|min|h|d|y)$"
);
quantity_as_text!(Bytes, "a size with its unit, such as \"32KiB\" or \"1TB\"", "^[0-9._]+ *([kMGTP]B|[KMGTP]iB|B)$");
quantity_as_text!(ByteRate, "a rate, such as \"160MB/s\"", "^[0-9._]+ *([kMG]B|[KMG]iB|B)/s$");
quantity_as_text!(Energy, "an energy with its unit, such as \"38.04uJ\"", "^[0-9._]+ *(pJ|nJ|uJ|µJ|μJ|mJ|J)$");
quantity_as_text!(Power, "a power with its unit, such as \"2mW\"", "^[0-9._]+ *(uW|µW|μW|mW|W)$");
quantity_as_text!(Ratio, "a share, such as \"15%\"", "^[0-9._]+ *%?$");

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantities_are_written_with_the_unit_that_leaves_the_fewest_digits() {
        let sizes = [20_000_000_000_000_000, 960_000_000_000, 3 << 30, 48 << 10, 1_000 << 10, 1_025, 0];
        let written = ["20PB", "960GB", "3GiB", "48KiB", "1000KiB", "1025B", "0B"];
        assert_eq!(sizes.map(|bytes| Bytes(bytes).to_string()), written);
        assert_eq!(ByteRate(1_200_000_000).to_string(), "1200MB/s");
        assert_eq!([Nanos::from_secs(60), Nanos::from_secs(90)].map(|time| time.to_string()), ["1min", "90s"]);
    }

    #[test]
    fn a_number_alone_is_refused_with_the_units_that_would_do() {
        let error = "25".parse::<Nanos>().unwrap_err();
        assert_eq!(error.to_string(), "`25` needs a unit: ns, µs (or us), ms, s, min, h, d or y (365 days)");
        assert!("25 parsecs".parse::<Nanos>().unwrap_err().to_string().contains("unknown unit `parsecs`"));
        assert!("-3s".parse::<Nanos>().is_err());
        assert!("1.0.0s".parse::<Nanos>().is_err());
    }

    #[test]
    fn units_in_other_letters_are_a_question_and_too_large_values_are_called_so() {
        let said = |text: &str| text.parse::<Bytes>().unwrap_err().to_string();
        for (text, meant) in [("20tb", "20TB"), ("1.5 Gib", "1.5GiB"), ("20T", "20TB"), ("4K", "4KiB"), ("3gi", "3GiB")]
        {
            assert!(said(text).ends_with(&format!("; did you mean `{meant}`?")), "{}", said(text));
        }
        let time = "5MS".parse::<Nanos>().unwrap_err().to_string();
        assert!(time.ends_with("did you mean `5ms`?"), "{time}");
        assert_eq!("900PB".parse(), Ok(Bytes(900_000_000_000_000_000)));
        assert_eq!("1PiB".parse(), Ok(Bytes(1 << 50)));
        assert_eq!(said("90000PB"), "`90000PB` is too large: it can be whole bytes up to 16 EiB");
        assert!(said("999999999999999999999B").contains("too large"));
        assert!(said("0.1B").contains("cannot be held exactly"));
    }

    #[test]
    fn fractions_are_exact_or_refused() {
        assert_eq!("0.1us".parse(), Ok(Nanos(100)));
        assert_eq!("25µs".parse(), Ok(Nanos(25_000)));
        assert_eq!("25 μs".parse(), Ok(Nanos(25_000)));
        assert_eq!("2µJ".parse(), Ok(Energy(2_000_000)));
        assert_eq!("1.5GiB".parse(), Ok(Bytes(1_610_612_736)));
        assert!("0.1ns".parse::<Nanos>().is_err());
        assert_eq!("12.5%".parse(), Ok(Ratio::parts_per_billion(125_000_000)));
        assert_eq!("0.15".parse(), Ok(Ratio::percent(15)));
        assert_eq!("527.68uJ".parse(), Ok(Energy(527_680_000)));
        assert_eq!("1.5mW".parse(), Ok(Power(1_500)));
    }

    proptest! {
        #[test]
        fn writing_and_reading_is_the_identity(value in 0..u64::MAX) {
            prop_assert_eq!(Nanos(value).to_string().parse(), Ok(Nanos(value)));
            prop_assert_eq!(Bytes(value).to_string().parse(), Ok(Bytes(value)));
            prop_assert_eq!(ByteRate(value).to_string().parse(), Ok(ByteRate(value)));
            prop_assert_eq!(Energy(value).to_string().parse(), Ok(Energy(value)));
            prop_assert_eq!(Power(value).to_string().parse(), Ok(Power(value)));
            let ratio = Ratio::parts_per_billion(value % 2_000_000_000);
            prop_assert_eq!(ratio.to_string().parse(), Ok(ratio));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,40}") {
            let _ = text.parse::<Nanos>();
            let _ = text.parse::<Ratio>();
        }
    }
}
