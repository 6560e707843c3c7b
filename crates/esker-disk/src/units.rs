//! Units that only disks need: turns per minute (`"15000rpm"`), and times finer than a nanosecond.

use std::fmt;
use std::str::FromStr;

use esker_core::{QuantityError, parse_quantity, quantity_as_text, write_quantity};

/// Turns per minute, kept in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RotationSpeed(u64);

impl RotationSpeed {
    /// Creates a speed of `rpm` turns per minute.
    pub const fn rpm(rpm: u64) -> Self {
        Self(rpm * 1_000)
    }
    /// Creates a speed of `thousandths` thousandths of a turn per minute.
    pub const fn thousandths(thousandths: u64) -> Self {
        Self(thousandths)
    }
    /// Returns the speed in thousandths of a turn per minute.
    pub const fn as_thousandths(self) -> u64 {
        self.0
    }
}

/// A duration in whole picoseconds: seek times grow by a fraction of a nanosecond per cylinder.
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
        write_quantity(f, self.0, FINE_UNITS, "ps")
    }
}

quantity_as_text!(RotationSpeed, "turns per minute, such as \"15000rpm\"", "^[0-9._]+ *rpm$");
quantity_as_text!(Picoseconds, "a short time, such as \"63.47ns\"", "^[0-9._]+ *(ps|ns|us|ms|s)$");

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
