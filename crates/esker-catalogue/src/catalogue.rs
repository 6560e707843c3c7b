//! A catalogue: products, and the prices of their classes.

use esker_config::ConfigError;
use esker_core::Problem;
use esker_core::registry::NotFound;
use serde::Serialize;

use crate::{Class, Date, Figure, Price, Product, Running};

/// An error of a catalogue. It has file, line and column, the key, and what would do instead.
pub type CatalogueError = ConfigError;

/// Things one can buy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Catalogue {
    /// Its name: that of a built-in one, or the file's.
    pub name: String,
    /// When its prices were seen: the latest day of any of them.
    pub as_of: Date,
    /// The currency of every price: three letters, as in ISO 4217.
    pub currency: String,
    /// The products, in the order of the file.
    pub products: Vec<Product>,
    /// What a class of products costs where the price of the model is not known.
    pub price_classes: Vec<(Class, Figure<Price>)>,
    /// What running devices costs where nobody says otherwise.
    pub running: Running,
}

impl Catalogue {
    /// The product called `name`, if need be in other capital letters.
    pub fn product(&self, name: &str) -> Result<&Product, NotFound> {
        let exact = self.products.iter().find(|product| product.name == name);
        let found = exact.or_else(|| self.products.iter().find(|product| product.name.eq_ignore_ascii_case(name)));
        found.ok_or_else(|| NotFound::new("product", name, self.names()))
    }

    /// The names of the products, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.products.iter().map(|product| product.name.as_str())
    }

    /// Adds the products of `other`, which replace those of the same name. Both have to be in one currency. What
    /// running devices costs is what `other` says, if it says anything.
    pub fn extended(mut self, other: Self) -> Result<Self, CatalogueError> {
        if other.currency != self.currency {
            let message =
                format!("its prices are in {}, those of `{}` in {}", other.currency, self.name, self.currency);
            let hint = format!("convert its prices to {} before", self.currency);
            let error = CatalogueError::new("currency", Problem::with_hint(message, hint));
            return Err(CatalogueError { origin: other.name, ..error });
        }
        for product in other.products {
            match self.products.iter_mut().find(|known| known.name == product.name) {
                Some(known) => *known = product,
                None => self.products.push(product),
            }
        }
        for class in other.price_classes {
            self.price_classes.retain(|known| known.0 != class.0);
            self.price_classes.push(class);
        }
        self.as_of = self.as_of.max(other.as_of);
        if other.running != Running::usual(other.running.years) {
            self.running = other.running;
        }
        Ok(self)
    }

    /// Only the products of these names. They count as asked for, so that those no longer sold are offered, too.
    pub fn only(mut self, names: &[impl AsRef<str>]) -> Result<Self, NotFound> {
        let names = self.known(names)?;
        self.products.retain(|product| names.contains(&product.name));
        self.products.iter_mut().for_each(|product| product.asked_for = true);
        Ok(self)
    }

    /// All products but those of these names.
    pub fn without(mut self, names: &[impl AsRef<str>]) -> Result<Self, NotFound> {
        let names = self.known(names)?;
        self.products.retain(|product| !names.contains(&product.name));
        Ok(self)
    }

    /// The products of these names, as the catalogue writes them.
    fn known(&self, names: &[impl AsRef<str>]) -> Result<Vec<String>, NotFound> {
        names.iter().map(|name| self.product(name.as_ref()).map(|product| product.name.clone())).collect()
    }
}
