//! Amounts of money, exact to a millionth.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};
use std::str::FromStr;

use esker_core::{QuantityError, parse_quantity};
use serde::{Deserialize, Deserializer, Serialize};

/// Millionths of a unit of currency. Sums that are too large stay at the largest amount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Money(pub i64);

impl Money {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// `units` whole units of a currency.
    pub const fn units(units: i64) -> Self {
        Self(units * 1_000_000)
    }

    /// In units of the currency, for reports.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The nearest millionth; what is no number becomes zero.
    pub fn from_f64(units: f64) -> Self {
        Self((units * 1e6).round() as i64)
    }

    /// This amount `numerator / denominator` times, to the nearest millionth. A denominator of zero counts as one.
    pub fn times(self, numerator: u128, denominator: u128) -> Self {
        let (numerator, denominator) =
            (numerator.min(i64::MAX as u128) as i128, denominator.clamp(1, 1 << 100) as i128);
        let product = i128::from(self.0) * numerator;
        Self(clamped((product + product.signum() * (denominator / 2)) / denominator))
    }
}

fn clamped(amount: i128) -> i64 {
    amount.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

impl Add for Money {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}
impl AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

/// Two decimals where that is exact, else as many as needed: "60.00", "0.005".
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (whole, rest) = (self.0.unsigned_abs() / 1_000_000, self.0.unsigned_abs() % 1_000_000);
        let digits = format!("{rest:06}");
        let digits = digits.trim_end_matches('0');
        f.pad(&format!("{sign}{whole}.{digits:0<2}"))
    }
}

/// An amount with its currency, as catalogues write it: "0.12 USD".
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) money: Money,
    pub(crate) currency: String,
}

/// Whether `text` has the form of a code of ISO 4217: three capital letters.
pub(crate) fn is_currency(text: &str) -> bool {
    text.len() == 3 && text.bytes().all(|letter| letter.is_ascii_uppercase())
}

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const EXAMPLE: &str = "write an amount and its currency, such as \"0.12 USD\"";
        let trimmed = text.trim();
        if trimmed.starts_with('-') {
            return Err(format!("`{trimmed}` is negative; a price is zero or more"));
        }
        let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(trimmed.len());
        let (number, currency) = (&trimmed[..split], trimmed[split..].trim());
        if !is_currency(currency) {
            return Err(format!("`{trimmed}` is no price: {EXAMPLE}"));
        }
        let micros = parse_quantity(&format!("{number}u"), &[("u", 1_000_000)], "", "whole millionths");
        match micros.map(i64::try_from) {
            Ok(Ok(micros)) => Ok(Self { money: Money(micros), currency: currency.to_string() }),
            Err(QuantityError::NotANumber { .. }) => Err(format!("`{trimmed}` is no price: {EXAMPLE}")),
            _ => Err(format!("`{trimmed}` cannot be held exactly: whole millionths up to 9,000,000,000,000")),
        }
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
