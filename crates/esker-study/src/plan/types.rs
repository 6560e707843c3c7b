//! The types of devices that a plan chooses from: products at their capacities on sale, and devices in use.

use std::collections::BTreeMap;
use std::sync::Arc;

use esker_catalogue::{Capacity, Class, Market, Product};
use esker_core::{Bytes, jobs, words};

use super::service::ServiceTimes;
use super::settings::PlanSettings;
use crate::models::{WholeDrive, disk_settings};
use crate::offers::{InUse, Part, PartMinimum, Terms, TouchedData};
use crate::{Hooks, StudyError, StudySettings};

/// A type of device.
#[derive(Clone, Debug)]
pub(super) struct PlanType<'a> {
    /// One device of it, to be bought.
    pub(super) part: Part<'a>,
    /// Devices in use, for each copy of the data.
    pub(super) installed: u32,
    /// Whether more can be bought.
    pub(super) is_on_sale: bool,
    pub(super) times: Arc<ServiceTimes>,
}

impl PlanType<'_> {
    pub(super) fn is_flash(&self) -> bool {
        self.part.product.kind == "ssd"
    }

    /// Its name for people: maker, model and capacity.
    pub(super) fn title(&self) -> String {
        self.part.title()
    }

    /// What one device draws while it works, in watts; `None` if that is not known.
    pub(super) fn watts(&self) -> Option<f64> {
        watts(&self.part)
    }
}

fn watts(part: &Part<'_>) -> Option<f64> {
    let draw = part.product.power.as_ref()?.value;
    Some((draw.active.0 + draw.supplement.0) as f64 / 1e6)
}

/// A type that has not been measured.
struct Unmeasured<'a> {
    part: Part<'a>,
    installed: u32,
    is_on_sale: bool,
    /// Equal for types that are simulated alike.
    key: String,
}

/// Returns the types that may be bought, and those in use, each measured.
pub(super) fn types<'a>(plan: &'a PlanSettings, hooks: &Hooks<'_>) -> Result<Vec<PlanType<'a>>, StudyError> {
    let settings = &plan.study;
    let found = without_dearer_equals(unmeasured(settings)?, plan);
    if found.is_empty() {
        let message = "no device of the catalogue may be planned with".to_string();
        return Err(StudyError::Settings { message });
    }
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, one) in found.iter().enumerate() {
        first.entry(&one.key).or_insert(place);
    }
    let distinct: Vec<(&str, usize)> = first.into_iter().collect();
    let measured = jobs::collect(settings.threads, distinct.len(), |number| {
        let part = &found[distinct[number].1].part;
        hooks.check()?;
        hooks.tell(&format!("measuring {}", part.title()), 0, None);
        let least = PartMinimum::ALONE;
        let data = TouchedData { active: Bytes::ZERO, utilisation: settings.utilisation, least };
        ServiceTimes::measure(part, data).map(Arc::new)
    });
    let mut times: BTreeMap<String, Arc<ServiceTimes>> = BTreeMap::new();
    for ((key, _), measured) in distinct.iter().zip(measured) {
        times.insert((*key).to_string(), measured?);
    }
    let of = |Unmeasured { part, installed, is_on_sale, key }| {
        let times = Arc::clone(&times[&key]);
        PlanType { part, installed, is_on_sale, times }
    };
    Ok(found.into_iter().map(of).collect())
}

fn unmeasured(settings: &StudySettings) -> Result<Vec<Unmeasured<'_>>, StudyError> {
    let copies = settings.data.copies.max(1);
    let mut found: Vec<Unmeasured<'_>> = Vec::new();
    let devices = settings.catalogue.products.iter().filter(|product| !product.is_cloud_volume());
    for product in devices.filter(|product| may_be_bought(product, settings)) {
        found.extend(product.capacities.iter().map(|&capacity| one(product, capacity)));
    }
    for in_use in InUse::together(&settings.in_use) {
        let product = in_use.product(&settings.catalogue, copies)?;
        let same = |known: &&mut Unmeasured<'_>| {
            known.part.product.name == product.name && known.part.capacity.bytes == in_use.capacity
        };
        let installed = in_use.count / copies;
        match found.iter_mut().find(same) {
            Some(known) => known.installed = installed,
            None => {
                let capacity = Capacity { bytes: in_use.capacity, dies: product.dies_at(in_use.capacity) };
                found.push(Unmeasured { installed, is_on_sale: false, ..one(product, capacity) });
            }
        }
    }
    Ok(found)
}

/// Devices in use of which no copy of the data can have as many as the others, in words. `bought` says how many devices
/// of a product and capacity a plan buys; `None` without a plan.
pub(super) fn left_out(
    settings: &StudySettings,
    bought: impl Fn(&str, Bytes) -> Option<u32>,
) -> Result<Vec<String>, StudyError> {
    let copies = settings.data.copies.max(1);
    let mut all = Vec::new();
    for one in InUse::together(&settings.in_use).into_iter().filter(|one| one.count % copies > 0) {
        let (product, left) = (one.product(&settings.catalogue, copies)?, one.count % copies);
        let capacity = Capacity { bytes: one.capacity, dies: None };
        let part = Part { terms: Terms::InUse, ..Part::bought(product, capacity, left) };
        let Some(more) = bought(&product.name, one.capacity) else {
            let title = Part { terms: Terms::Bought, ..part }.title();
            all.push(format!(
                "{} x {title} are there: {copies} copies of the data can use {}.",
                one.count,
                one.count - left
            ));
            continue;
        };
        let currency = &settings.catalogue.currency;
        let there = format!(
            "{} x {} are there: {copies} copies of the data use {}.",
            one.count,
            Part { terms: Terms::Bought, ..part }.title(),
            one.count - left
        );
        let rest = if more >= left {
            let purchase = Part { terms: Terms::Bought, ..part }.cost(1, 0.0, &settings.running).purchase.as_f64();
            format!(
                "Of the {more} more that the plan has, {left} {} there, too. All that it costs is said as if they were \
                 bought: buy {} of them, and it costs {} {currency} less. No mix was looked for that has more use for \
                 them.",
                if left == 1 { "is" } else { "are" },
                more - left,
                words::money(purchase),
            )
        } else {
            format!(
                "The plan does not count the rest: it may be removed. Left where it is and idle, its electricity costs \
                 {} {currency} more.",
                words::money(part.cost(1, 0.0, &settings.running).total.as_f64()),
            )
        };
        all.push(format!("{there} {rest}"));
    }
    Ok(all)
}

fn may_be_bought(product: &Product, settings: &StudySettings) -> bool {
    let allowed = product.class != Class::Consumer || settings.consumer;
    product.market == Market::OnPremises && allowed && product.may_be_advised()
}

fn one(product: &Product, capacity: Capacity) -> Unmeasured<'_> {
    let drive = WholeDrive::of(product, capacity.bytes);
    let key =
        drive.map_or_else(|| format!("{:?}", disk_settings(product, capacity.bytes)), |drive| format!("{drive:?}"));
    Unmeasured { part: Part::bought(product, capacity, 1), installed: 0, is_on_sale: true, key }
}

/// Leaves out types beside which there is another one that is simulated alike, as large, warranted for as many writes,
/// and no dearer, and draws no more where power is limited.
fn without_dearer_equals<'a>(found: Vec<Unmeasured<'a>>, settings: &PlanSettings) -> Vec<Unmeasured<'a>> {
    let cost = |part: &Part<'_>| part.cost(1, 0.0, &settings.study.running).total;
    let draws = |part: &Part<'_>| settings.power.map_or(0.0, |_| watts(part).unwrap_or(f64::INFINITY));
    let warranted = |part: &Part<'_>| part.warranty().map_or(f64::INFINITY, |warranty| warranty.bytes_per_day);
    let is_in_use = |one: &Unmeasured<'_>| one.installed > 0 || one.part.terms == Terms::InUse;
    let mut kept: Vec<Unmeasured<'a>> = Vec::new();
    for one in found {
        let alike = |other: &Unmeasured<'_>| {
            other.key == one.key && other.part.capacity.bytes == one.part.capacity.bytes && !is_in_use(other)
        };
        let no_worse = |this: &Unmeasured<'_>, than: &Unmeasured<'_>| {
            cost(&this.part) <= cost(&than.part)
                && warranted(&this.part) >= warranted(&than.part)
                && draws(&this.part) <= draws(&than.part)
        };
        if is_in_use(&one) {
            kept.push(one);
        } else if !kept.iter().any(|other| alike(other) && no_worse(other, &one)) {
            kept.retain(|other| !(alike(other) && no_worse(&one, other)));
            kept.push(one);
        }
    }
    kept
}
