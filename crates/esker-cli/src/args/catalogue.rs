//! Options that choose the products to plan with, and their prices.

use std::path::{Path, PathBuf};

use clap::Args;
use esker_catalogue::{BUILTIN, Catalogue, CurrencyChange, PriceChange};
use esker_core::Ratio;
use esker_core::registry;
use esker_study::{InUse, builtin_catalogue, read_catalogue};

use crate::failure::Failure;
use crate::values;

/// Options that choose the products to plan with, and their prices.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CatalogueArguments {
    /// Add the products of FILE (.toml or .csv), which replace those of the same name; or begin with another catalogue
    /// that comes with esker, by its name [default: current]
    #[arg(long, value_name = "FILE", help_heading = "Catalogue")]
    pub(crate) catalogue: Vec<PathBuf>,
    /// Price of a product instead of the catalogue's: micron-7450-pro=0.08USD/GB, or by /TB, or by /GiB-month
    #[arg(long, value_name = "NAME=PRICE", help_heading = "Catalogue", value_parser = values::price)]
    pub(crate) price: Vec<PriceChange>,
    /// Only these products
    #[arg(
        long,
        value_name = "NAME,...",
        help_heading = "Catalogue",
        value_delimiter = ',',
        value_parser = values::name
    )]
    pub(crate) only: Vec<String>,
    /// Not these products
    #[arg(
        long,
        value_name = "NAME,...",
        help_heading = "Catalogue",
        value_delimiter = ',',
        value_parser = values::name
    )]
    pub(crate) without: Vec<String>,
    /// Currency of all prices, with its rate: EUR=0.92 for 0.92 euros to the catalogue's dollar
    #[arg(long, value_name = "CODE=RATE", help_heading = "Catalogue", value_parser = values::currency)]
    pub(crate) currency: Option<CurrencyChange>,
    /// Share taken off every price, but for those of --price
    #[arg(long, value_name = "SHARE", help_heading = "Catalogue", value_parser = values::discount)]
    pub(crate) discount: Option<Ratio>,
}

impl CatalogueArguments {
    /// The catalogue that these options describe.
    pub(crate) fn catalogue(&self) -> Result<Catalogue, Failure> {
        self.catalogue_with(&[])
    }

    /// The catalogue that these options describe, which has the products `in_use`. One that --only or --without leaves
    /// out is an error that says so.
    pub(crate) fn catalogue_with(&self, in_use: &[InUse]) -> Result<Catalogue, Failure> {
        let mut all: Option<Catalogue> = None;
        if self.files().count() == self.catalogue.len() {
            all = Some(self.converted(builtin_catalogue(BUILTIN[0].name)?));
        }
        for path in &self.catalogue {
            let one = self.converted(if is_builtin(path) {
                builtin_catalogue(&path.to_string_lossy())?
            } else {
                read(path)?
            });
            all = Some(match all {
                Some(all) => all.extended(one)?,
                None => one,
            });
        }
        let mut all = all.expect("there is a built-in one, or one was named");
        if let Some(discount) = self.discount {
            all = all.with_discount(discount);
        }
        for change in &self.price {
            all = all.with_price(change)?;
        }
        for one in in_use {
            all.product(&one.product).map_err(|fault| {
                let hint = "`esker devices` lists the products; one of your own is added with --catalogue";
                Failure::input(format!("--have {}: {fault}", one.product)).with_hint(hint)
            })?;
        }
        if !self.only.is_empty() {
            all = all.only(&self.only)?;
        }
        check_left_out(in_use, &all, "--only", "add it to --only: devices in use are judged beside what --only names")?;
        all = all.without(&self.without)?;
        check_left_out(in_use, &all, "--without", "take it out of --without")?;
        Ok(all)
    }

    /// The same without --only and --without.
    pub(crate) fn with_all_products(&self) -> Self {
        Self { only: Vec::new(), without: Vec::new(), ..self.clone() }
    }

    /// The files that are read: inputs, which no output may replace.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.catalogue.iter().filter(|path| !is_builtin(path))
    }

    /// The options as they were given, to repeat the command.
    pub(crate) fn given(&self) -> Vec<(&'static str, String)> {
        let mut given: Vec<(&'static str, String)> = Vec::new();
        given.extend(self.catalogue.iter().map(|path| ("--catalogue", path.display().to_string())));
        given.extend(self.price.iter().map(|change| ("--price", change.to_string())));
        let names = [("--only", &self.only), ("--without", &self.without)];
        given.extend(names.iter().filter(|(_, names)| !names.is_empty()).map(|(key, names)| (*key, names.join(","))));
        given.extend(self.currency.iter().map(|change| ("--currency", change.to_string())));
        given.extend(self.discount.iter().map(|share| ("--discount", share.to_string())));
        given
    }

    /// `catalogue` in the currency that was asked for. One that is in this currency already stays as it is.
    fn converted(&self, catalogue: Catalogue) -> Catalogue {
        match &self.currency {
            Some(change) if change.currency != catalogue.currency => {
                catalogue.in_currency(&change.currency, change.rate)
            }
            _ => catalogue,
        }
    }
}

/// Refuses products in use that `option` has left out of `catalogue`.
fn check_left_out(in_use: &[InUse], catalogue: &Catalogue, option: &str, hint: &str) -> Result<(), Failure> {
    match in_use.iter().find(|one| catalogue.product(&one.product).is_err()) {
        Some(one) => {
            Err(Failure::input(format!("--have {}: {option} leaves this product out", one.product)).with_hint(hint))
        }
        None => Ok(()),
    }
}

fn is_builtin(path: &Path) -> bool {
    registry::names(BUILTIN).any(|name| path.as_os_str() == name)
}

/// Reads the catalogue file at `path`.
pub(crate) fn read(path: &Path) -> Result<Catalogue, Failure> {
    let name = path.display().to_string();
    let text = esker_files::read_to_string(path).map_err(|fault| {
        let names = registry::names(BUILTIN).collect::<Vec<_>>().join(", ");
        Failure::input(format!("{name}: cannot be read: {fault}"))
            .with_hint(format!("name a file, or a catalogue that comes with esker: {names}"))
    })?;
    Ok(read_catalogue(&name, &text)?)
}
