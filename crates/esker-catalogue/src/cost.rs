//! What it costs to own devices, and to rent volumes.

use esker_core::Bytes;
use serde::Serialize;

use crate::price::PriceRate;
use crate::{Figure, Money, Product};

/// Hours of a year, of 365 days.
const HOURS: f64 = 8_760.0;
const MONTHS: f64 = 12.0;

/// For how long devices run, and what their electricity costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Running {
    /// Years.
    pub years: f64,
    /// Price of a kilowatt-hour, in the catalogue's currency.
    pub electricity_per_kwh: Figure<Money>,
    /// Electricity of the whole building divided by that of the machines in it: what cooling and supplies add.
    pub power_usage_effectiveness: Figure<f64>,
}

impl Running {
    /// Usual figures: electricity in the United States, all sectors, 2022; the mean of the Uptime Institute's survey of
    /// 2025.
    pub fn usual(years: f64) -> Self {
        let source = |text: &str| Some(text.to_string());
        Self {
            years,
            electricity_per_kwh: Figure {
                value: Money(124_900),
                source: source("United States, all sectors, 2022: 12.49 cents (datasetsearch.research.google.com)"),
            },
            power_usage_effectiveness: Figure {
                value: 1.54,
                source: source("Uptime Institute, survey of 2025, mean (thefreesheet.com, 2026-01-19)"),
            },
        }
    }
}

/// What something costs over some years.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// Paid at the beginning.
    pub purchase: Money,
    /// Electricity over the years, with that for cooling.
    pub power: Money,
    /// `total` divided by the months, or what a month of a volume costs.
    pub per_month: Money,
    /// All of it.
    pub total: Money,
    /// The currency.
    pub currency: String,
    /// When the price was seen.
    pub as_of: String,
    /// Whether the price, the power or the price of power is assumed, or the power is not known and left out.
    pub assumed: bool,
    /// Whether the power is assumed, or not known and left out.
    pub power_is_assumed: bool,
}

/// What `count` devices of `capacity` cost that are at work for the share `busy` (0 to 1) of the time. Electricity of a
/// product whose power is not known is left out, and the cost counts as assumed. Zero for what is rented.
pub fn owned_cost(product: &Product, capacity: Bytes, count: u32, busy: f64, running: &Running) -> Cost {
    let purchase = product.purchase(capacity).times(count.into(), 1);
    let watts = product.power.as_ref().map_or(0.0, |power| {
        let (active, idle) = (power.value.active.0 as f64, power.value.idle.0 as f64);
        (idle + busy.clamp(0.0, 1.0) * (active - idle) + power.value.supplement.0 as f64) / 1e6
    });
    let kilowatt_hours = watts / 1e3 * f64::from(count) * running.years * HOURS;
    let price = running.electricity_per_kwh.value.as_f64() * running.power_usage_effectiveness.value;
    let power = Money::from_f64(kilowatt_hours * price);
    let total = purchase + power;
    let power_is_assumed = product.power.as_ref().is_none_or(|power| power.source.is_none())
        || running.electricity_per_kwh.source.is_none()
        || running.power_usage_effectiveness.source.is_none();
    Cost {
        purchase,
        power,
        per_month: spread(total, running.years),
        total,
        assumed: product.price.source.is_none() || power_is_assumed,
        power_is_assumed,
        ..of(product)
    }
}

/// A volume to rent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CloudVolume {
    /// Its size, billed by whole GiB.
    pub size: Bytes,
    /// Operations per second that are provisioned; `None` for what comes with the size.
    pub operations_per_s: Option<u64>,
    /// Bytes per second that are provisioned; `None` for what comes with the size.
    pub bytes_per_s: Option<u64>,
}

/// What `count` such volumes cost over `years`: by the GiB or by size class, with what is provisioned above what is
/// free. Zero for what is not rented.
pub fn cloud_cost(product: &Product, volume: &CloudVolume, count: u32, years: f64) -> Cost {
    let PriceRate::Monthly(price) = &product.price.value.rate else { return of(product) };
    let month = price.per_month(volume.size, volume.operations_per_s, volume.bytes_per_s).times(count.into(), 1);
    let assumed = product.price.source.is_none() || price.rests_on_assumptions(volume.size, volume.operations_per_s);
    Cost { assumed, per_month: month, total: Money((month.0 as f64 * MONTHS * years).round() as i64), ..of(product) }
}

/// `total` by the month.
fn spread(total: Money, years: f64) -> Money {
    if years > 0.0 { Money((total.0 as f64 / (MONTHS * years)).round() as i64) } else { Money::ZERO }
}

/// A cost of nothing, in the product's currency.
fn of(product: &Product) -> Cost {
    let price = &product.price;
    Cost {
        purchase: Money::ZERO,
        power: Money::ZERO,
        per_month: Money::ZERO,
        total: Money::ZERO,
        currency: price.value.currency.clone(),
        as_of: price.value.as_of.to_string(),
        assumed: price.source.is_none(),
        power_is_assumed: false,
    }
}
