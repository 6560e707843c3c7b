//! Rates, such as `"1000/s"`.

use std::fmt;
use std::str::FromStr;

use esker_core::{QuantityError, parse_quantity};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

/// Events per time, kept as whole events per 1,000 hours: `"0.5/s"`, `"10/ms"`, `"90/min"`, `"3/h"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(u64);

const UNITS: &[(&str, u64)] =
    &[("/us", 3_600_000_000_000), ("/ms", 3_600_000_000), ("/s", 3_600_000), ("/min", 60_000), ("/h", 1_000)];
const NAMES: &str = "/us, /ms, /s, /min or /h";

impl Rate {
    /// `events` events per second.
    pub const fn per_second(events: u64) -> Self {
        Self(events * 3_600_000)
    }

    /// `events` events in 10,000 seconds, for rates with a fraction.
    pub const fn per_10_000_seconds(events: u64) -> Self {
        Self(events * 360)
    }

    /// Whether the rate is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Mean time between events in nanoseconds; infinite at rate zero.
    pub fn mean_gap_ns(self) -> f64 {
        3.6e15 / self.0 as f64
    }
}

impl FromStr for Rate {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse_quantity(text, UNITS, NAMES, "whole events per 1000 hours").map(Self)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Prefer the most common unit; otherwise take the first one that divides.
        let (name, scale) = [UNITS[2], UNITS[3], UNITS[4]]
            .into_iter()
            .find(|(_, scale)| self.0.is_multiple_of(*scale))
            .unwrap_or(UNITS[4]);
        match self.0 % scale {
            0 => write!(f, "{}{name}", self.0 / scale),
            // Only reached with /h, where the rest counts thousandths.
            rest => write!(f, "{}.{rest:03}{name}", self.0 / scale),
        }
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl JsonSchema for Rate {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Rate".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "events per time, such as \"1000/s\"",
            "pattern": "^[0-9._]+ *(/us|/ms|/s|/min|/h)$",
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rates_carry_their_unit() {
        assert_eq!("1000/s".parse(), Ok(Rate::per_second(1000)));
        assert_eq!("10/ms".parse(), Ok(Rate::per_second(10_000)));
        assert_eq!("0.5/s".parse::<Rate>().unwrap().mean_gap_ns(), 2e9);
        assert_eq!("1/min".parse::<Rate>().unwrap().mean_gap_ns(), 6e10);
        assert!("1000".parse::<Rate>().unwrap_err().to_string().contains("needs a unit: /us"));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(parts: u64) {
            prop_assert_eq!(Rate(parts).to_string().parse(), Ok(Rate(parts)));
        }
    }
}
