//! Units that only disks need: `"15000rpm"`, and times finer than a nanosecond.

use std::fmt;
use std::str::FromStr;

use esker_core::{QuantityError, parse_quantity};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// Turns per minute, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RotationSpeed(u64);

impl RotationSpeed {
    /// `rpm` turns per minute.
    pub const fn rpm(rpm: u64) -> Self {
        Self(rpm * 1_000)
    }
    /// In thousandths of a turn per minute.
    pub const fn as_thousandths(self) -> u64 {
        self.0
    }
}

/// A duration in whole picoseconds: what a cylinder more costs is a fraction of a nanosecond's precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Picoseconds(pub u64);

const SPEED_UNITS: &[(&str, u64)] = &[("rpm", 1_000)];
const FINE_UNITS: &[(&str, u64)] =
    &[("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000), ("ps", 1)];

impl FromStr for RotationSpeed {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse_quantity(text, SPEED_UNITS, "rpm (turns per minute)", "whole thousandths of a turn per minute").map(Self)
    }
}
impl fmt::Display for RotationSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0 / 1_000, self.0 % 1_000) {
            (whole, 0) => f.pad(&format!("{whole}rpm")),
            (whole, rest) => f.pad(&format!("{whole}.{}rpm", format!("{rest:03}").trim_end_matches('0'))),
        }
    }
}
impl FromStr for Picoseconds {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse_quantity(text, FINE_UNITS, "ps, ns, us, ms or s", "whole picoseconds up to 213 days").map(Self)
    }
}
impl fmt::Display for Picoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_with_largest_unit(f, self.0, FINE_UNITS)
    }
}

/// Writes `value` with the largest unit that divides it, so that reading it back is exact.
fn write_with_largest_unit(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    let exact = units.iter().find(|(_, scale)| value != 0 && value.is_multiple_of(*scale));
    let (name, scale) = exact.unwrap_or(units.last().expect("there are units"));
    f.pad(&format!("{}{name}", value / scale))
}

macro_rules! serde_as_text {
    ($type:ident, $expected:literal, $pattern:literal) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl Visitor<'_> for Text {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expected)
                    }
                    fn visit_str<E: Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                    fn visit_i64<E: Error>(self, value: i64) -> Result<$type, E> {
                        value.to_string().parse().map_err(E::custom)
                    }
                    fn visit_u64<E: Error>(self, value: u64) -> Result<$type, E> {
                        value.to_string().parse().map_err(E::custom)
                    }
                    fn visit_f64<E: Error>(self, value: f64) -> Result<$type, E> {
                        value.to_string().parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_any(Text)
            }
        }
        impl JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "description": $expected, "pattern": $pattern })
            }
        }
    };
}
serde_as_text!(RotationSpeed, "turns per minute, such as \"15000rpm\"", "^[0-9._]+ *rpm$");
serde_as_text!(Picoseconds, "a short time, such as \"63.47ns\"", "^[0-9._]+ *(ps|ns|us|ms|s)$");

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_are_exact_and_asked_for() {
        assert_eq!("15020.5rpm".parse(), Ok(RotationSpeed(15_020_500)));
        assert_eq!("63.47ns".parse(), Ok(Picoseconds(63_470)));
        assert!("15000".parse::<RotationSpeed>().unwrap_err().to_string().contains("needs a unit"));
    }

    proptest! {
        #[test]
        fn writing_and_reading_is_the_identity(value in 0..u64::MAX) {
            prop_assert_eq!(RotationSpeed(value).to_string().parse(), Ok(RotationSpeed(value)));
            prop_assert_eq!(Picoseconds(value).to_string().parse(), Ok(Picoseconds(value)));
        }
    }
}
