//! From the text of a catalogue to products.

mod csv;
mod figures;
mod origin;
mod prices;
mod products;
mod raw;
mod text;

use std::collections::BTreeMap;

use esker_config::ConfigText;
use esker_core::Problem;

use crate::money::is_currency;
use crate::{Catalogue, CatalogueError, Class, Figure, Money, Product, Running};
use origin::{Origin, References};
use prices::ClassPrice;
use raw::{RawCatalogue, RawRunning};
pub use text::CatalogueText;

impl Catalogue {
    /// Reads a catalogue from TOML. `name` is its name in errors.
    pub fn read(name: &str, text: &str) -> Result<Self, CatalogueError> {
        CatalogueText::toml(name, text)?.catalogue()
    }

    /// Reads a catalogue from a table of comma-separated values, one row for each product and capacity. `name` is its
    /// name in errors.
    pub fn read_csv(name: &str, text: &str) -> Result<Self, CatalogueError> {
        CatalogueText::csv(name, text).catalogue()
    }

    /// Reads the text of a catalogue file: a table if its `name` ends in `.csv`, else TOML.
    pub fn read_file(name: &str, text: &str) -> Result<Self, CatalogueError> {
        CatalogueText::of_file(name, text)?.catalogue()
    }
}

/// What the parts of a catalogue are read with.
struct Reading {
    currency: String,
    references: References,
    classes: BTreeMap<Class, ClassPrice>,
}

fn build(name: &str, raw: RawCatalogue, text: &ConfigText) -> Result<Catalogue, CatalogueError> {
    if !is_currency(&raw.currency) {
        let message = format!("`{}` is no currency: write three capital letters, such as \"USD\"", raw.currency);
        return Err(wrong("currency", message));
    }
    let mut reading = Reading { currency: raw.currency, references: References(raw.source), classes: BTreeMap::new() };
    for (class, price) in raw.price_class {
        let price = reading.class_price(class, price)?;
        reading.classes.insert(class, price);
    }
    let running = reading.running(raw.running)?;
    let mut products = Vec::new();
    for (name, raw) in raw.product {
        products.push(reading.product(&name, raw)?);
    }
    products.sort_by_key(|product: &Product| text.offset(&format!("product.{}", product.name)));
    finished(name, reading, products, running)
}

/// The catalogue of these products.
fn finished(
    name: &str,
    reading: Reading,
    products: Vec<Product>,
    running: Running,
) -> Result<Catalogue, CatalogueError> {
    let Some(as_of) = products.iter().map(|product| product.price.value.as_of).max() else {
        let problem = Problem::with_hint("it has no product", "a product is a table [product.NAME], or a row of a CSV");
        return Err(CatalogueError { origin: name.to_string(), ..CatalogueError::new("", problem) });
    };
    Ok(Catalogue {
        name: name.to_string(),
        as_of,
        currency: reading.currency,
        products,
        price_classes: reading.classes.into_iter().map(|(class, known)| (class, known.price)).collect(),
        running,
    })
}

/// An error at the dotted `key`.
fn wrong(key: impl Into<String>, message: impl Into<String>) -> CatalogueError {
    CatalogueError::new(key, Problem::new(message))
}

/// An error at the dotted `key`, with what would do.
fn wrong_with_hint(key: impl Into<String>, message: impl Into<String>, hint: impl Into<String>) -> CatalogueError {
    CatalogueError::new(key, Problem::with_hint(message, hint))
}

impl Reading {
    fn running(&self, raw: Option<RawRunning>) -> Result<Running, CatalogueError> {
        let mut running = Running::usual(5.0);
        let Some(raw) = raw else { return Ok(running) };
        let origin = Origin::of(raw.source, raw.assumed);
        if let Some(years) = raw.years {
            if !(years > 0.0 && years <= 100.0) {
                return Err(wrong("running.years", "expected more than 0 and at most 100 years"));
            }
            running.years = years;
        }
        if let Some(price) = raw.electricity_per_kwh {
            let value = self.money("running.electricity_per_kwh", price)?;
            running.electricity_per_kwh = Figure { value, source: self.resolve("running", &origin, None)?.source };
        }
        if let Some(value) = raw.power_usage_effectiveness {
            if !(1.0..=10.0).contains(&value) {
                let message = "expected 1 (nothing but the machines) to 10";
                return Err(wrong("running.power_usage_effectiveness", message));
            }
            let source = self.resolve("running", &origin, None)?.source;
            running.power_usage_effectiveness = Figure { value, source };
        }
        Ok(running)
    }

    /// The amount, which has to be in the catalogue's currency.
    fn money(&self, key: &str, amount: crate::money::Amount) -> Result<Money, CatalogueError> {
        if amount.currency == self.currency {
            return Ok(amount.money);
        }
        let message = format!("this price is in {}, and the catalogue in {}", amount.currency, self.currency);
        let hint = format!("a catalogue has one currency; for another say `currency = \"{}\"`", amount.currency);
        Err(wrong_with_hint(key, message, hint))
    }

    fn resolve(&self, key: &str, origin: &Origin, product: Option<&str>) -> Result<origin::Known, CatalogueError> {
        origin.resolve(key, product, &self.references)
    }
}
