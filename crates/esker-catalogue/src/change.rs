//! Changes of prices: a price of one's own, another currency, a discount.

use std::fmt;
use std::str::FromStr;

use esker_core::Ratio;
use esker_core::registry::NotFound;
use serde::{Deserialize, Serialize};

use crate::money::{Amount, is_currency};
use crate::price::PriceRate;
use crate::{Catalogue, Money};

/// A price of one's own for a product: `micron-7450-pro=0.08USD/GB`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceChange {
    /// The product.
    pub product: String,
    /// The price by `per`.
    pub price: Money,
    /// The currency of the price.
    pub currency: String,
    /// What the price is for.
    pub per: PriceUnit,
}

/// What a price is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PriceUnit {
    /// A gigabyte (10^9 bytes) of a device.
    #[serde(rename = "GB")]
    Gigabyte,
    /// A terabyte (10^12 bytes) of a device.
    #[serde(rename = "TB")]
    Terabyte,
    /// A GiB of a volume for a month.
    #[serde(rename = "GiB-month")]
    GibMonth,
}

impl FromStr for PriceChange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let example = "write NAME=PRICE, such as micron-7450-pro=0.08USD/GB (or /TB, or /GiB-month for a volume)";
        let wrong = || format!("`{text}` is no price of a product: {example}");
        let (product, price) = text.split_once('=').ok_or_else(wrong)?;
        let (amount, unit) = price.split_once('/').ok_or_else(wrong)?;
        let Amount { money, currency } = amount.parse()?;
        let per = match unit.trim() {
            "GB" => PriceUnit::Gigabyte,
            "TB" => PriceUnit::Terabyte,
            "GiB-month" => PriceUnit::GibMonth,
            _ => return Err(wrong()),
        };
        Ok(Self { product: product.trim().to_string(), price: money, currency, per })
    }
}

impl fmt::Display for PriceChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.per {
            PriceUnit::Gigabyte => "GB",
            PriceUnit::Terabyte => "TB",
            PriceUnit::GibMonth => "GiB-month",
        };
        write!(f, "{}={}{}/{unit}", self.product, self.price, self.currency)
    }
}

/// Another currency: `EUR=0.92`, units of it for one unit of the catalogue's.
#[derive(Clone, Debug, PartialEq)]
pub struct CurrencyChange {
    /// The new currency.
    pub currency: String,
    /// Units of the new currency for one unit of the old one.
    pub rate: f64,
}

impl FromStr for CurrencyChange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no currency with its rate: write EUR=0.92, for 0.92 EUR to the dollar");
        let (currency, rate) = text.split_once('=').ok_or_else(wrong)?;
        let rate: f64 = rate.trim().parse().map_err(|_| wrong())?;
        if !is_currency(currency) || !rate.is_finite() || !(1e-6..=1e6).contains(&rate) {
            return Err(wrong());
        }
        Ok(Self { currency: currency.to_string(), rate })
    }
}

impl fmt::Display for CurrencyChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.currency, self.rate)
    }
}

/// Why a price cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// There is no such product.
    #[error(transparent)]
    NoProduct(#[from] NotFound),
    /// The price is in another currency than the catalogue.
    #[error("the price of {product} is in {found}, and the catalogue in {currency}")]
    Currency {
        /// The product.
        product: String,
        /// The currency of the price.
        found: String,
        /// The currency of the catalogue.
        currency: String,
    },
    /// A device has no price by the month, and a volume none by the terabyte.
    #[error("{product} is {what}")]
    Unit {
        /// The product.
        product: String,
        /// What it is, and how such things are priced.
        what: &'static str,
    },
}

impl esker_core::Hint for ChangeError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::NoProduct(name) => name.hint(),
            Self::Currency { currency, .. } => Some(format!("give the price in {currency}")),
            Self::Unit { .. } => None,
        }
    }
}

impl Catalogue {
    /// Gives a product another price. It counts as sourced: by whoever states it.
    pub fn with_price(mut self, change: &PriceChange) -> Result<Self, ChangeError> {
        let known = self.product(&change.product)?.name.clone();
        let PriceChange { product, currency, .. } = change;
        if *currency != self.currency {
            let (product, found) = (product.clone(), currency.clone());
            return Err(ChangeError::Currency { product, found, currency: self.currency });
        }
        let product = self.products.iter_mut().find(|product| product.name == known).expect("just found");
        let rate = &mut product.price.value.rate;
        let unit = |what| ChangeError::Unit { product: change.product.clone(), what };
        match (change.per, rate) {
            (PriceUnit::GibMonth, PriceRate::Monthly(price)) => {
                price.per_gib_month = change.price;
                price.classes.clear();
            }
            (PriceUnit::GibMonth, _) => return Err(unit("a device, which costs so much /GB or /TB")),
            (_, PriceRate::Monthly(_)) => return Err(unit("a volume, which costs so much /GiB-month")),
            (PriceUnit::Gigabyte, rate) => *rate = PriceRate::PerTerabyte(change.price.times(1_000, 1)),
            (PriceUnit::Terabyte, rate) => *rate = PriceRate::PerTerabyte(change.price),
        }
        // What was given is all of it.
        product.price.value.per_unit = Money::ZERO;
        product.price.source = Some("given on the command line".to_string());
        product.price.value.of_class = false;
        product.assumed.retain(|assumption| !assumption.figure.starts_with("price"));
        Ok(self)
    }

    /// Converts every amount: `rate` units of `currency` for one of the catalogue's own.
    pub fn in_currency(mut self, currency: &str, rate: f64) -> Self {
        let convert = |price: Money| Money((price.0 as f64 * rate).round() as i64);
        let prices = self.products.iter_mut().map(|product| &mut product.price);
        for price in prices.chain(self.price_classes.iter_mut().map(|(_, price)| price)) {
            price.value.map(convert);
            price.value.currency = currency.to_string();
        }
        let electricity = &mut self.running.electricity_per_kwh.value;
        *electricity = convert(*electricity);
        self.currency = currency.to_string();
        self
    }

    /// Takes `discount` off the price of every product.
    pub fn with_discount(mut self, discount: Ratio) -> Self {
        let left = u128::from(discount.complement().as_parts_per_billion());
        let prices = self.products.iter_mut().map(|product| &mut product.price);
        for price in prices.chain(self.price_classes.iter_mut().map(|(_, price)| price)) {
            price.value.map(|price| price.times(left, 1_000_000_000));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_written_as_they_are_given() {
        for text in ["micron-7450-pro=0.08USD/GB", "a=365USD/TB", "aws-ebs-gp3=0.0801USD/GiB-month"] {
            let change: PriceChange = text.parse().unwrap();
            let again: PriceChange = change.to_string().parse().unwrap();
            assert_eq!(again, change, "{change}");
        }
        assert_eq!("EUR=0.92".parse::<CurrencyChange>().unwrap().to_string(), "EUR=0.92");
    }
}
