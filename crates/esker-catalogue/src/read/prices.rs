//! Prices, of products and of their classes.

use esker_core::Problem;

use super::origin::Origin;
use super::raw::{Assumed, RawOperations, RawPrice, RawSizeClass};
use super::{Reading, wrong, wrong_with_hint};
use crate::{
    Assumption, CatalogueError, Class, Figure, Money, OperationTier, Price, PriceRate, SizeClass, VolumePrice,
};

/// The price of a class of products.
pub(super) struct ClassPrice {
    pub(super) price: Figure<Price>,
    /// How it was arrived at, if it is assumed.
    pub(super) reason: Option<String>,
}

impl Reading {
    /// The price of a class: by the terabyte.
    pub(super) fn class_price(&self, class: Class, raw: RawPrice) -> Result<ClassPrice, CatalogueError> {
        let key = format!("price_class.{class}");
        let mut assumed = Vec::new();
        let mut price = self.price(&key, raw, None, &mut assumed)?;
        if !matches!(price.value.rate, PriceRate::PerTerabyte(_)) {
            return Err(wrong_with_hint(key, "a class has a price by the byte", "give `per_GB` or `per_TB`"));
        }
        price.value.of_class = true;
        Ok(ClassPrice { price, reason: assumed.into_iter().find_map(|assumption| assumption.reason) })
    }

    /// The price at the dotted `key`. What is assumed of it is added to `assumed`.
    pub(super) fn price(
        &self,
        key: &str,
        mut raw: RawPrice,
        source: Option<&str>,
        assumed: &mut Vec<Assumption>,
    ) -> Result<Figure<Price>, CatalogueError> {
        let known = self.resolve(key, &Origin::of(raw.source.clone(), raw.assumed.clone()), source)?;
        assumed.extend(known.assumption("price"));
        let as_of = raw.as_of;
        let per_unit = match raw.per_unit.take() {
            Some(_) if raw.per_gb.is_none() && raw.per_tb.is_none() => {
                let hint = "it is added to `per_GB` or `per_TB`";
                return Err(wrong_with_hint(format!("{key}.per_unit"), "this price is not by the byte", hint));
            }
            Some(price) => self.money(&format!("{key}.per_unit"), price)?,
            None => Money::ZERO,
        };
        let rate = self.rate(key, raw, assumed)?;
        let value = Price { rate, per_unit, currency: self.currency.clone(), as_of, of_class: false };
        Ok(Figure { value, source: known.source })
    }

    fn rate(&self, key: &str, raw: RawPrice, assumed: &mut Vec<Assumption>) -> Result<PriceRate, CatalogueError> {
        let monthly = raw.per_gib_month.is_some() || raw.size_class.is_some();
        let given = [raw.per_gb.is_some(), raw.per_tb.is_some(), raw.each.is_some(), monthly];
        if given.iter().filter(|given| **given).count() != 1 {
            let message = match given.contains(&true) {
                true => "this has more than one price",
                false => "this has no price",
            };
            let hint = "give one of `per_GB`, `per_TB` and `each` for devices, or `per_GiB_month` or `size_class` for \
                        volumes";
            return Err(wrong_with_hint(key, message, hint));
        }
        if !monthly {
            let extra = [
                ("per_operation_month", raw.per_operation_month.is_some()),
                ("per_MiB_month", raw.per_mib_month.is_some()),
                ("free", raw.free.is_some()),
            ];
            if let Some((extra, _)) = extra.iter().find(|(_, given)| *given) {
                return Err(wrong(format!("{key}.{extra}"), "only volumes that are rented by the month have it"));
            }
        }
        if let Some(price) = raw.per_gb {
            let price = self.money(&format!("{key}.per_GB"), price)?;
            return Ok(PriceRate::PerTerabyte(price.times(1_000, 1)));
        }
        if let Some(price) = raw.per_tb {
            return Ok(PriceRate::PerTerabyte(self.money(&format!("{key}.per_TB"), price)?));
        }
        if let Some(each) = raw.each {
            if each.is_empty() {
                return Err(wrong(format!("{key}.each"), "it has no price"));
            }
            let prices =
                each.into_iter().map(|(capacity, price)| Ok((capacity, self.money(&format!("{key}.each"), price)?)));
            return Ok(PriceRate::Each(prices.collect::<Result<_, CatalogueError>>()?));
        }
        self.monthly(key, raw, assumed).map(PriceRate::Monthly)
    }

    fn monthly(&self, key: &str, raw: RawPrice, assumed: &mut Vec<Assumption>) -> Result<VolumePrice, CatalogueError> {
        let money = |name: &str, price: Option<_>| {
            price.map_or(Ok(Money::ZERO), |price| self.money(&format!("{key}.{name}"), price))
        };
        let free = raw.free.unwrap_or_default();
        let operations_key = format!("{key}.per_operation_month");
        let operations = match raw.per_operation_month {
            None => Vec::new(),
            Some(RawOperations::All(price)) => {
                vec![OperationTier { up_to: None, per_month: self.money(&operations_key, price)?, assumed: false }]
            }
            Some(RawOperations::Tiers(tiers)) => {
                let mut all: Vec<OperationTier> = Vec::new();
                for (index, tier) in tiers.into_iter().enumerate() {
                    let key = format!("{operations_key}[{index}]");
                    let is_assumed = note(assumed, format!("price.per_operation_month[{index}]"), tier.assumed);
                    let rises = match (all.last(), tier.up_to) {
                        (None, _) => true,
                        (Some(OperationTier { up_to: Some(before), .. }), Some(up_to)) => *before < up_to,
                        (Some(before), None) => before.up_to.is_some(),
                        (Some(_), Some(_)) => false,
                    };
                    if !rises {
                        let message = "tiers rise by `up_to`, and only the last one has none";
                        return Err(CatalogueError::new(key, Problem::new(message)));
                    }
                    let per_month = self.money(&key, tier.price)?;
                    all.push(OperationTier { up_to: tier.up_to, per_month, assumed: is_assumed });
                }
                all
            }
        };
        Ok(VolumePrice {
            per_gib_month: money("per_GiB_month", raw.per_gib_month)?,
            operations,
            free_operations: free.operations,
            per_mib_month: money("per_MiB_month", raw.per_mib_month)?,
            free_throughput: free.throughput.map_or(0, |rate| rate.0),
            classes: self.size_classes(key, raw.size_class.unwrap_or_default(), assumed)?,
        })
    }

    fn size_classes(
        &self,
        key: &str,
        raw: std::collections::BTreeMap<String, RawSizeClass>,
        assumed: &mut Vec<Assumption>,
    ) -> Result<Vec<SizeClass>, CatalogueError> {
        let mut classes = Vec::new();
        for (name, RawSizeClass { size, per_month, assumed: is_assumed }) in raw {
            let assumed = note(assumed, format!("price.size_class.{name}"), is_assumed);
            let per_month = self.money(&format!("{key}.size_class.{name}"), per_month)?;
            classes.push(SizeClass { name, size, per_month, assumed });
        }
        classes.sort_by_key(|class| class.size);
        if let Some(pair) = classes.windows(2).find(|pair| pair[0].size == pair[1].size) {
            let message = format!("it has the size of `{}`", pair[0].name);
            return Err(wrong(format!("{key}.size_class.{}", pair[1].name), message));
        }
        Ok(classes)
    }
}

/// Adds to `assumed` that `figure` is, if it is, and returns whether it is.
fn note(assumed: &mut Vec<Assumption>, figure: String, is_assumed: Option<Assumed>) -> bool {
    let reason = match is_assumed {
        None | Some(Assumed::Plainly(false)) => return false,
        Some(Assumed::Plainly(true)) => None,
        Some(Assumed::Because(reason)) => Some(reason),
    };
    assumed.push(Assumption { figure, reason });
    true
}
