//! What can be bought for a workload: products, by capacity and number, with their price; and the simulated design of
//! each.

mod bounds;
mod owned;

use esker_core::{Bytes, Ratio};
use esker_plan::{Capacity, Catalogue, Class, Cost, Market, Product, Running, owned_cost};
use esker_results::study::{Need, ProductSummary, RuledOut};
use esker_sim::System;

use crate::StudyError;
use crate::endurance::FlashOnSale;

pub(crate) use bounds::{Bounds, ruled_out};
pub(crate) use owned::{RAW_MIN, min_note};

/// No more devices of a kind than this are offered unless capacity asks for them.
pub(crate) const COUNT_MAX: u32 = 8;

/// Some devices of one product.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer<'a> {
    pub(crate) product: &'a Product,
    /// Capacity of each.
    pub(crate) capacity: Capacity,
    /// Devices that share the data; as many again for each further copy.
    pub(crate) count: u32,
    pub(crate) copies: u32,
}

/// A design, ready to be simulated.
#[derive(Clone, Debug)]
pub(crate) struct Design {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) kind: &'static str,
    pub(crate) device_count: u32,
    pub(crate) system: System,
    /// The flash of the devices as sold; `None` for devices that do not wear.
    pub(crate) flash: Option<FlashOnSale>,
}

/// Returns every offer of the catalogue that holds what is needed, in the order of the catalogue.
pub(crate) fn offers<'a>(catalogue: &'a Catalogue, need: &Need) -> Vec<Offer<'a>> {
    let copies = need.copies.max(1);
    // Of one copy.
    let capacity = need.capacity_bytes.div_ceil(copies.into());
    let mut offers = Vec::new();
    for product in catalogue.products.iter().filter(|product| !product.is_cloud_volume()) {
        for &on_sale in &product.capacities {
            let fewest = capacity.div_ceil(on_sale.bytes.0.max(1)).max(1);
            let Ok(fewest) = u32::try_from(fewest) else { continue };
            offers.extend((fewest..=fewest.max(COUNT_MAX)).map(|count| Offer {
                product,
                capacity: on_sale,
                count,
                copies,
            }));
        }
    }
    offers
}

impl Offer<'_> {
    /// The name in results: unique, and it begins or ends such that `esker devices` finds the product.
    pub(crate) fn name(&self) -> String {
        let one = format!("{}-{}", self.product.name, on_sale(self.capacity.bytes).replace(' ', ""));
        match self.devices() {
            1 => one,
            n => format!("{n}x-{one}"),
        }
    }

    /// The name for people.
    pub(crate) fn title(&self) -> String {
        let one = format!("{}, {}", self.product.title, on_sale(self.capacity.bytes));
        let copies = if self.copies > 1 { format!(", {} copies", self.copies) } else { String::new() };
        match self.devices() {
            1 => one,
            n if self.count > 1 => format!("{n} x {one}, striped{copies}"),
            n => format!("{n} x {one}{copies}"),
        }
    }

    /// Devices bought.
    pub(crate) fn devices(&self) -> u32 {
        self.count.saturating_mul(self.copies)
    }

    /// What it costs if its devices are at work for the share `busy` of the time.
    pub(crate) fn cost(&self, busy: f64, running: &Running) -> Cost {
        owned_cost(self.product, self.capacity.bytes, self.devices(), busy, running)
    }

    pub(crate) fn market(&self) -> Market {
        self.product.market
    }

    pub(crate) fn class(&self) -> Class {
        self.product.class
    }

    /// The product, for results.
    pub(crate) fn summary(&self) -> ProductSummary {
        let product = self.product;
        ProductSummary {
            name: product.name.clone(),
            title: product.title.clone(),
            year: product.year,
            market: product.market.name().into(),
            class: product.class.name().into(),
            source: product.source.clone(),
            assumed: product.assumed.iter().map(|assumption| assumption.figure.clone()).collect(),
        }
    }

    /// Host bytes a day that the makers of one copy's devices warrant.
    pub(crate) fn warranted_bytes_per_day(&self) -> Option<f64> {
        let each = self.product.drive_writes_per_day_sold(self.capacity.bytes)? * self.capacity.bytes.0 as f64;
        Some(each * f64::from(self.count))
    }

    /// The design to simulate, for `active` bytes of touched data that fill `utilisation` of what is simulated of
    /// drives.
    pub(crate) fn design(&self, active: Bytes, utilisation: Ratio) -> Result<Design, StudyError> {
        owned::design(self, active, utilisation)
    }

    /// This offer as one that is not simulated, or ruled out.
    pub(crate) fn ruled_out(&self, by: &str, reason: String, total: Option<f64>) -> RuledOut {
        RuledOut {
            name: self.name(),
            title: self.title(),
            market: self.market().name().into(),
            total,
            by: by.into(),
            reason,
        }
    }
}

/// A capacity as it is sold, by thousands: "3.84 TB", "480 GB".
pub(crate) fn on_sale(bytes: Bytes) -> String {
    let (scale, unit) = if bytes.0 >= 1_000_000_000_000 { (1e12, "TB") } else { (1e9, "GB") };
    let number = format!("{:.3}", bytes.0 as f64 / scale);
    format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacities_are_written_as_they_are_sold() {
        let written =
            [480, 960, 1_920, 3_840, 20_000, 36_700].map(|gigabytes| on_sale(Bytes(gigabytes * 1_000_000_000)));
        assert_eq!(written, ["480 GB", "960 GB", "1.92 TB", "3.84 TB", "20 TB", "36.7 TB"]);
    }
}
