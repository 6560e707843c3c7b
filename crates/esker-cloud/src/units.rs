//! Units that only cloud volumes need: operations per second, byte rates with a fraction, credits.

use std::fmt;
use std::str::FromStr;

use esker_core::{ByteRate, QuantityError, parse_quantity, quantity_as_text, write_quantity};

/// Operations per second, kept in thousandths. Written `"3000/s"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperationRate(u64);

impl OperationRate {
    /// `per_s` operations per second; what does not fit becomes the most that does.
    pub const fn per_s(per_s: u64) -> Self {
        Self(per_s.saturating_mul(1_000))
    }
    /// From thousandths of an operation per second.
    pub const fn thousandths(thousandths: u64) -> Self {
        Self(thousandths)
    }
    /// In thousandths of an operation per second.
    pub const fn as_thousandths(self) -> u64 {
        self.0
    }
}

/// Bytes per second, kept in thousandths: what a volume gains per GiB is rarely a whole number. Written as a
/// [`ByteRate`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FineByteRate(u64);

impl FineByteRate {
    /// From thousandths of a byte per second.
    pub const fn thousandths(thousandths: u64) -> Self {
        Self(thousandths)
    }
    /// In thousandths of a byte per second.
    pub const fn as_thousandths(self) -> u64 {
        self.0
    }
}

impl From<ByteRate> for FineByteRate {
    fn from(rate: ByteRate) -> Self {
        Self(rate.0.saturating_mul(1_000))
    }
}

/// Credits: each lets one operation pass. Written `"5.4M"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Credits(pub u64);

const OPERATION_UNITS: &[(&str, u64)] = &[("/us", 1_000_000_000), ("/ms", 1_000_000), ("/s", 1_000)];
const FINE_RATE_UNITS: &[(&str, u64)] = &[
    ("GiB/s", 1000 << 30),
    ("MiB/s", 1000 << 20),
    ("KiB/s", 1000 << 10),
    ("GB/s", 1_000_000_000_000),
    ("MB/s", 1_000_000_000),
    ("kB/s", 1_000_000),
    ("B/s", 1_000),
];
const CREDIT_UNITS: &[(&str, u64)] = &[("G", 1_000_000_000), ("M", 1_000_000), ("k", 1_000), ("", 1)];

impl FromStr for OperationRate {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let limit = "whole thousandths of an operation per second";
        parse_quantity(text, OPERATION_UNITS, "/s (operations per second), /ms or /us", limit).map(Self)
    }
}
impl fmt::Display for OperationRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_thousandths(f, self.0, "/s")
    }
}
impl FromStr for FineByteRate {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let names = "B/s, kB/s, MB/s, GB/s (powers of 1000) or KiB/s, MiB/s, GiB/s (powers of 1024)";
        parse_quantity(text, FINE_RATE_UNITS, names, "whole thousandths of a byte per second").map(Self)
    }
}
impl fmt::Display for FineByteRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_multiple_of(1_000) {
            return write_quantity(f, self.0, FINE_RATE_UNITS, "B/s");
        }
        write_thousandths(f, self.0, "B/s")
    }
}
impl FromStr for Credits {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse_quantity(text, CREDIT_UNITS, "k, M, G, or none", "whole credits").map(Self)
    }
}
impl fmt::Display for Credits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quantity(f, self.0, CREDIT_UNITS, "")
    }
}

fn write_thousandths(f: &mut fmt::Formatter<'_>, value: u64, unit: &str) -> fmt::Result {
    match (value / 1_000, value % 1_000) {
        (whole, 0) => f.pad(&format!("{whole}{unit}")),
        (whole, rest) => f.pad(&format!("{whole}.{}{unit}", format!("{rest:03}").trim_end_matches('0'))),
    }
}

quantity_as_text!(OperationRate, "operations per second, such as \"3000/s\"", "^[0-9._]+ */(us|ms|s)$");
quantity_as_text!(FineByteRate, "a rate, such as \"0.28MiB/s\"", "^[0-9._]+ *([kMG]B|[KMG]iB|B)/s$");
quantity_as_text!(Credits, "a count, such as \"5.4M\"", "^[0-9._]+ *[kMG]?$");

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_are_exact_and_asked_for() {
        assert_eq!("0.75/s".parse(), Ok(OperationRate::thousandths(750)));
        assert_eq!("0.28MiB/s".parse(), Ok(FineByteRate::thousandths(293_601_280)));
        assert_eq!("5.4M".parse(), Ok(Credits(5_400_000)));
        assert_eq!(OperationRate::per_s(80_000).to_string(), "80000/s");
        assert!("3000".parse::<OperationRate>().unwrap_err().to_string().contains("needs a unit"));
    }

    proptest! {
        #[test]
        fn writing_and_reading_is_the_identity(value in 0..u64::MAX) {
            prop_assert_eq!(OperationRate(value).to_string().parse(), Ok(OperationRate(value)));
            prop_assert_eq!(FineByteRate(value).to_string().parse(), Ok(FineByteRate(value)));
            prop_assert_eq!(Credits(value).to_string().parse(), Ok(Credits(value)));
        }
    }
}
