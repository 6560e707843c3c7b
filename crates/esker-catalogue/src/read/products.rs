//! One product: its figures, and the settings that model it.

use std::collections::BTreeMap;

use esker_core::registry::NotFound;
use esker_core::{Bytes, Problem};

use super::origin::Origin;
use super::prices::ClassPrice;
use super::raw::{Brief, RawDies, RawProduct};
use super::{Reading, wrong, wrong_with_hint};
use crate::class::{CLOUD_VOLUME, DRIVE, KINDS};
use crate::product::THROUGHPUT;
use crate::{Assumption, Capacity, CatalogueError, Class, Figure, PriceRate, Product, VolumeSizes, capacity_in_words};

/// A die of 512 Gbit.
const USUAL_DIE: Bytes = Bytes::gib(64);

/// The parts of a product that are read one by one, with what they have in common.
pub(super) struct Draft<'a> {
    pub(super) path: String,
    pub(super) source: Option<&'a str>,
    pub(super) assumed: Vec<Assumption>,
}

impl Draft<'_> {
    pub(super) fn key(&self, key: &str) -> String {
        format!("{}.{key}", self.path)
    }
}

impl Reading {
    pub(super) fn product(&self, name: &str, mut raw: RawProduct) -> Result<Product, CatalogueError> {
        let path = format!("product.{name}");
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || !name.chars().all(plain) {
            let hint = "such as [product.micron-7450-pro]; `title` has the name in full";
            return Err(wrong_with_hint(path, "a product's name is made of small letters, digits and `-`", hint));
        }
        if !(1950..2100).contains(&raw.year) {
            return Err(wrong(format!("{path}.year"), format!("{} is no year of a product", raw.year)));
        }
        let source = match &raw.source {
            Some(source) => Some(self.references.expand(&format!("{path}.source"), source)?),
            None => None,
        };
        let mut draft = Draft { path, source: source.as_deref(), assumed: Vec::new() };
        let kind = kind(&draft, &raw)?;
        let volume = kind == CLOUD_VOLUME;
        let (capacities, die) = self.capacities(&mut draft, &mut raw, kind)?;
        let volume_sizes = self.volume_sizes(&mut draft, &mut raw, volume)?;
        let own_settings = self.own_settings(&mut draft, &raw)?;
        let endurance = self.endurance(&mut draft, &mut raw, &capacities)?;
        let price = self.product_price(&mut draft, &mut raw, volume)?;
        Ok(Product {
            name: name.to_string(),
            power: self.power(&mut draft, &mut raw)?,
            annual_failure_rate: self.failure_rate(&mut draft, &mut raw)?,
            performance_differs: differs(&draft, &mut raw)?,
            performance: self.performance(&mut draft, &mut raw)?,
            discontinued: self.discontinued(&draft, raw.discontinued.take())?,
            shared_limits: self.shared_limits(&draft, raw.shared_limits.take(), volume)?,
            asked_for: false,
            simulated: None,
            title: raw.title,
            year: raw.year,
            market: raw.market,
            class: raw.class,
            interface: raw.interface,
            kind: kind.to_string(),
            preset: raw.preset,
            settings: None,
            own_settings,
            capacities,
            volume_sizes,
            die,
            endurance,
            warranty_years: raw.warranty.map_or(0.0, |warranty| warranty.as_secs_f64() / (365.0 * 86_400.0)),
            price,
            assumed: draft.assumed,
            source: source.clone(),
        })
    }

    fn capacities(
        &self,
        draft: &mut Draft<'_>,
        raw: &mut RawProduct,
        kind: &str,
    ) -> Result<(Vec<Capacity>, Option<Bytes>), CatalogueError> {
        let key = draft.key("capacities");
        let (sizes, origin) = match raw.capacities.take() {
            Some(Brief::Alone(sizes)) => (sizes, Origin::default()),
            Some(Brief::Table(table)) => (table.sizes, Origin::of(table.source, table.assumed)),
            None if kind == CLOUD_VOLUME => return Ok((Vec::new(), None)),
            None => {
                let hint = Some("list what is on sale, such as capacities = [\"960GB\", \"1.92TB\"]".to_string());
                let problem = Problem::MissingKey { key: "capacities".to_string(), hint };
                return Err(CatalogueError::new(draft.path.clone(), problem));
            }
        };
        if kind == CLOUD_VOLUME {
            let hint = "a volume has `size = { min = \"1GiB\", max = \"16TiB\" }`";
            return Err(wrong_with_hint(key, "a cloud volume is of any size within bounds", hint));
        }
        if sizes.is_empty() || sizes.contains(&Bytes::ZERO) {
            return Err(wrong(key, "expected at least one capacity, each larger than zero"));
        }
        let mut sorted = sizes.clone();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(wrong(key, format!("{} is there twice", capacity_in_words(twice[0]))));
        }
        let known = self.resolve(&key, &origin, draft.source)?;
        draft.assumed.extend(known.assumption("capacities"));
        if kind != DRIVE {
            for (key, given) in [("die", raw.die.is_some()), ("dies", raw.dies.is_some())] {
                if given {
                    return Err(wrong(draft.key(key), "only drives of flash have dies"));
                }
            }
            return Ok((sorted.into_iter().map(|bytes| Capacity { bytes, dies: None }).collect(), None));
        }
        let (dies, die) = self.dies(draft, raw, &sorted)?;
        let capacities = sorted.into_iter().zip(dies).map(|(bytes, dies)| Capacity { bytes, dies: Some(dies) });
        Ok((capacities.collect(), Some(die)))
    }

    /// The dies of each capacity, and the size of one. What is not stated follows from the raw flash, which is the next
    /// power of two: 960 GB are sold of 1 TiB.
    fn dies(
        &self,
        draft: &mut Draft<'_>,
        raw: &mut RawProduct,
        sizes: &[Bytes],
    ) -> Result<(Vec<u32>, Bytes), CatalogueError> {
        let RawDies { counts, source, assumed: is_assumed } = raw.dies.take().unwrap_or_default();
        let raw_flash = |sold: Bytes| sold.0.checked_next_power_of_two().unwrap_or(u64::MAX);
        if let Some(stranger) = counts.keys().find(|capacity| !sizes.contains(capacity)) {
            return Err(wrong(
                draft.key("dies"),
                format!("{} is none of the capacities on sale", capacity_in_words(*stranger)),
            ));
        }
        if !counts.is_empty() {
            let known = self.resolve(&draft.key("dies"), &Origin::of(source, is_assumed), draft.source)?;
            draft.assumed.extend(known.assumption("dies"));
        }
        let (size, origin) = match (raw.die.take(), counts.first_key_value()) {
            (Some(Brief::Alone(size)), _) => (size, Origin::default()),
            (Some(Brief::Table(table)), _) => (table.size, Origin::of(table.source, table.assumed)),
            (None, Some((sold, dies))) => (
                Bytes(raw_flash(*sold) / u64::from(*dies).max(1)),
                assumed("from the number of dies: together the next power of two"),
            ),
            (None, None) => (USUAL_DIE, assumed("dies of 512 Gbit, as many as make the next power of two")),
        };
        if size < Bytes::mib(1) {
            return Err(wrong(draft.key("die"), format!("{size} is too little flash for a die: at least 1MiB")));
        }
        let known = self.resolve(&draft.key("die"), &origin, draft.source)?;
        draft.assumed.extend(known.assumption("die"));
        let mut dies = Vec::new();
        for sold in sizes {
            let count = match counts.get(sold) {
                Some(count) => u64::from(*count),
                None => (raw_flash(*sold) / size.0).max(1),
            };
            let count = u32::try_from(count).ok().filter(|count| (1..=1 << 16).contains(count));
            let Some(count) = count else {
                return Err(wrong(
                    draft.key("dies"),
                    format!("{} has no reasonable number of dies", capacity_in_words(*sold)),
                ));
            };
            if u128::from(count) * u128::from(size.0) <= u128::from(sold.0) {
                let message =
                    format!("{count} dies of {size} do not hold {} and something to spare", capacity_in_words(*sold));
                return Err(wrong(draft.key("dies"), message));
            }
            dies.push(count);
        }
        Ok((dies, size))
    }

    fn volume_sizes(
        &self,
        draft: &mut Draft<'_>,
        raw: &mut RawProduct,
        volume: bool,
    ) -> Result<Option<VolumeSizes>, CatalogueError> {
        let key = draft.key("size");
        match raw.size.take() {
            None if volume => {
                let hint = Some("the bounds of its size: size = { min = \"1GiB\", max = \"16TiB\" }".to_string());
                let problem = Problem::MissingKey { key: "size".to_string(), hint };
                Err(CatalogueError::new(draft.path.clone(), problem))
            }
            None => Ok(None),
            Some(_) if !volume => Err(wrong_with_hint(key, "only cloud volumes have it", "give `capacities`")),
            Some(sizes) => {
                if sizes.min > sizes.max || sizes.min == Bytes::ZERO {
                    return Err(wrong(key, "expected `min` of more than nothing, and `max` of at least `min`"));
                }
                let known = self.resolve(&key, &Origin::of(sizes.source, sizes.assumed), draft.source)?;
                draft.assumed.extend(known.assumption("size"));
                Ok(Some(VolumeSizes { least: sizes.min, most: sizes.max }))
            }
        }
    }

    /// The keys of the settings that the product states itself.
    fn own_settings(&self, draft: &mut Draft<'_>, raw: &RawProduct) -> Result<Vec<String>, CatalogueError> {
        let Some(device) = &raw.device else { return Ok(Vec::new()) };
        let origin = Origin::of(device.source.clone(), device.assumed.clone());
        let known = self.resolve(&draft.key("device"), &origin, draft.source)?;
        draft.assumed.extend(known.assumption("device"));
        Ok(device.keys.clone())
    }

    fn product_price(
        &self,
        draft: &mut Draft<'_>,
        raw: &mut RawProduct,
        volume: bool,
    ) -> Result<Figure<crate::Price>, CatalogueError> {
        let key = draft.key("price");
        let price = match raw.price.take() {
            Some(price) => self.price(&key, price, draft.source, &mut draft.assumed)?,
            None => self.price_of_class(draft, raw.class)?,
        };
        match (&price.value.rate, volume) {
            (PriceRate::Monthly(_), false) => {
                let hint = "give `per_GB`, `per_TB` or `each`";
                Err(wrong_with_hint(key, "a device is bought, not rented by the month", hint))
            }
            (PriceRate::PerTerabyte(_) | PriceRate::Each(_), true) => {
                let hint = "give `per_GiB_month` or `size_class`";
                Err(wrong_with_hint(key, "a volume is rented by the month", hint))
            }
            _ => Ok(price),
        }
    }

    fn price_of_class(&self, draft: &mut Draft<'_>, class: Class) -> Result<Figure<crate::Price>, CatalogueError> {
        let Some(ClassPrice { price, reason }) = self.classes.get(&class) else {
            let hint = Some(format!("give the price of the product, or of its class: [price_class.{class}]"));
            let problem = Problem::MissingKey { key: "price".to_string(), hint };
            return Err(CatalogueError::new(draft.path.clone(), problem));
        };
        if price.source.is_none() {
            let reason = reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
            let reason = Some(format!("that of the class {class}{reason}"));
            draft.assumed.push(Assumption { figure: "price".to_string(), reason });
        }
        Ok(price.clone())
    }
}

/// Why what is simulated is far from published figures: a reason for each figure.
fn differs(draft: &Draft<'_>, raw: &mut RawProduct) -> Result<BTreeMap<String, String>, CatalogueError> {
    let Some(performance) = &mut raw.performance else { return Ok(BTreeMap::new()) };
    let reasons = std::mem::take(&mut performance.differs);
    for figure in reasons.keys() {
        if !THROUGHPUT.iter().any(|(known, _)| known == figure) {
            let known = THROUGHPUT.map(|(known, _)| known);
            let problem = NotFound::new("published throughput", figure, known).into();
            return Err(CatalogueError::new(draft.key("performance.differs"), problem));
        }
    }
    Ok(reasons)
}

fn assumed(reason: &str) -> Origin {
    Origin::of(None, Some(super::raw::Assumed::Because(reason.to_string())))
}

/// The product's kind of device: what it says, or else that of its class.
fn kind(draft: &Draft<'_>, raw: &RawProduct) -> Result<&'static str, CatalogueError> {
    let Some(named) = &raw.kind else { return Ok(raw.class.kind()) };
    KINDS.iter().find(|kind| *kind == named).copied().ok_or_else(|| {
        let problem = NotFound::new("kind of device", named, KINDS).into();
        CatalogueError::new(draft.key("kind"), problem)
    })
}
