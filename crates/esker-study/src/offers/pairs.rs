//! Flash of one product and disks of another as one volume: what hybrids and caches have in common.
//!
//! There are as many disks as the data need. The flash comes on top and adds no capacity.

use std::collections::BTreeMap;

use esker_catalogue::{Capacity, Class, Cost, Market, Product, Running, owned_cost};
use esker_core::{Bytes, Power};
use esker_disk::DiskSettings;
use esker_results::study::{Candidate, DesignPart, Electricity, PartRole, ProductSummary};
use esker_sim::{ArraySettings, DeviceDescription};
use esker_trace::AREA_BYTES;

use super::{COUNT_MAX, Offer, STRIPE, settings_fault};
use crate::StudyError;

/// The most flash drives of a pair, for each copy of the data.
pub(super) const FLASH_MAX: u32 = 4;

/// The disks of a hybrid or a cache. The offer itself describes the flash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disks<'a> {
    pub(crate) product: &'a Product,
    /// Capacity of each disk.
    pub(crate) capacity: Capacity,
    /// Disks that share one copy of the data. Each further copy takes as many again.
    pub(crate) count: u32,
}

impl Disks<'_> {
    /// Capacity of the disks of one copy, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.capacity.bytes.0.saturating_mul(self.count.into())
    }
}

/// What is needed to price offers.
#[derive(Clone, Copy)]
pub(crate) struct Pricing<'a> {
    pub(crate) running: &'a Running,
    /// Whether desktop drives may be part of an offer.
    pub(crate) consumer: bool,
}

/// The size of the data that pairs have to hold, and the number of copies.
#[derive(Clone, Copy)]
pub(crate) struct DataSize {
    /// Bytes of one copy.
    pub(crate) bytes: u64,
    pub(crate) copies: u32,
}

/// Returns every pair of devices among `products` that may be worth its price. `kinds` makes the offers of a pair,
/// which may be useful in several ways or in none.
pub(super) fn offers<'a>(
    products: &'a [Product],
    data_size: DataSize,
    pricing: &Pricing<'_>,
    kinds: impl Fn(Offer<'a>) -> Vec<Offer<'a>>,
) -> Result<Vec<Offer<'a>>, StudyError> {
    let device = |product: &&Product| {
        product.market == Market::OnPremises
            && (product.class != Class::Consumer || pricing.consumer)
            && product.may_be_advised()
    };
    let disks = disks(products.iter().filter(device), data_size, pricing)?;
    let mut offers = Vec::new();
    for product in products.iter().filter(device).filter(|product| product.kind == "ssd") {
        for &on_sale in &product.capacities {
            let least = |count: u32| {
                owned_cost(product, on_sale.bytes, count.saturating_mul(data_size.copies), 0.0, pricing.running).total
            };
            // This many drives hold all the data without a disk. A pair with that many is more expensive and no faster;
            // a pair with fewer is useful only if it is cheaper.
            let alone = data_size.bytes.div_ceil(on_sale.bytes.0.max(1)).max(1);
            let alone_cost = u32::try_from(alone).ok().map(least);
            for count in (1..=FLASH_MAX).filter(|&count| u64::from(count) < alone) {
                for disks in &disks {
                    let pair =
                        Offer { disks: Some(*disks), ..Offer::bought(product, on_sale, count, data_size.copies) };
                    let cheaper =
                        |one: &Offer<'_>| alone_cost.is_none_or(|alone| one.cost(0.0, pricing.running).total < alone);
                    offers.extend(kinds(pair).into_iter().filter(cheaper));
                }
            }
        }
    }
    Ok(offers)
}

/// Returns the disks that may hold the data: for each product, the capacity with which the disks cost least; among
/// products that are simulated alike, the cheapest.
///
/// Leaving out the others loses no answer. Two pairs with the same flash, whose disks are simulated alike, answer
/// alike, and their flash lasts equally long. Both keep the budgets or neither does, so the more expensive one never
/// wins.
fn disks<'a>(
    products: impl Iterator<Item = &'a Product>,
    data_size: DataSize,
    pricing: &Pricing<'_>,
) -> Result<Vec<Disks<'a>>, StudyError> {
    let cost = |disks: &Disks<'_>| {
        let count = disks.count.saturating_mul(data_size.copies);
        owned_cost(disks.product, disks.capacity.bytes, count, 0.0, pricing.running).total
    };
    let mut alike: BTreeMap<String, Disks<'a>> = BTreeMap::new();
    for product in products.filter(|product| product.kind == "hdd") {
        let holding = product.capacities.iter().filter_map(|&on_sale| {
            let fewest = data_size.bytes.div_ceil(on_sale.bytes.0.max(1)).max(1);
            let count = u32::try_from(fewest).ok().filter(|&count| count <= COUNT_MAX)?;
            Some(Disks { product, capacity: on_sale, count })
        });
        let Some(cheapest) = holding.min_by_key(&cost) else { continue };
        let key = format!("{} x {:?}", cheapest.count, disk_settings(&cheapest)?);
        let known = alike.entry(key).or_insert(cheapest);
        if cost(&cheapest) < cost(known) {
            *known = cheapest;
        }
    }
    Ok(alike.into_values().collect())
}

fn disk_settings(disks: &Disks<'_>) -> Result<DiskSettings, StudyError> {
    crate::models::disk_settings(disks.product, disks.capacity.bytes).ok_or_else(|| settings_fault(disks.product))
}

/// Capacity of the flash for one copy of the data. Mirrored lines count once.
pub(super) fn flash_bytes(offer: &Offer<'_>) -> u64 {
    offer.capacity.bytes.0.saturating_mul(offer.count.into())
}

/// Returns the size of the touched data in whole areas, as they lie side by side on simulated disks.
pub(super) fn touched(active: Bytes) -> u64 {
    active.0.next_multiple_of(AREA_BYTES)
}

/// Adds the simulated devices of a pair to `devices`: `drive` as often as the offer has it, and disks with just enough
/// of their first addresses for `touched` bytes. Returns the names of both.
pub(super) fn devices(
    offer: &Offer<'_>,
    disks: &Disks<'_>,
    drive: DeviceDescription,
    touched: u64,
    devices: &mut Vec<(String, DeviceDescription)>,
) -> Result<[String; 2], StudyError> {
    let mut disk = disk_settings(disks)?;
    // Leaves a little room beside the data: extents that moved away may come back.
    let room = (touched + touched / 16 + (64 << 20)).div_ceil(disks.count.into()).next_multiple_of(AREA_BYTES);
    disk.capacity = Some(Bytes(room.min(disk.capacity.unwrap_or(disks.capacity.bytes).0)));
    let mut child = |name: &str, several: &str, device: DeviceDescription, count: u32| {
        devices.push((name.to_string(), device));
        if count == 1 {
            return name.to_string();
        }
        let array = ArraySettings { stripe: STRIPE, ..ArraySettings::alike(name, count) };
        devices.push((several.to_string(), DeviceDescription::new(array)));
        several.to_string()
    };
    Ok([child("ssd", "ssds", drive, offer.count), child("disk", "disks", DeviceDescription::new(disk), disks.count)])
}

/// Returns the costs of flash and disks that are at work for these shares of the time.
pub(super) fn cost(offer: &Offer<'_>, disks: &Disks<'_>, [flash, disk]: [f64; 2], running: &Running) -> [Cost; 2] {
    let flash = owned_cost(offer.product, offer.capacity.bytes, offer.drives(), flash, running);
    let disk = owned_cost(disks.product, disks.capacity.bytes, offer.of_all_copies(disks.count), disk, running);
    [flash, disk]
}

/// Returns the electricity of `count` devices that are at work for the share `busy` of the time; `None` if their power
/// is not known.
pub(super) fn electricity((product, count, busy): (&Product, u32, f64), running: &Running) -> Option<Electricity> {
    let power = &product.power.as_ref()?.value;
    let watts = |power: Power| power.0 as f64 / 1e6;
    Some(Electricity {
        product: product.title.clone(),
        devices: count,
        idle_w: watts(power.idle),
        active_w: watts(power.active),
        supplement_w: watts(power.supplement),
        busy: busy.clamp(0.0, 1.0),
        price_per_kwh: running.electricity_per_kwh.value.as_f64(),
        power_usage_effectiveness: running.power_usage_effectiveness.value,
    })
}

/// Adds the costs of both parts. The sum is as old as the older price.
pub(super) fn sum([one, other]: [Cost; 2]) -> Cost {
    Cost {
        purchase: one.purchase + other.purchase,
        power: one.power + other.power,
        per_month: one.per_month + other.per_month,
        total: one.total + other.total,
        currency: one.currency,
        as_of: one.as_of.min(other.as_of),
        assumed: one.assumed || other.assumed,
        power_is_assumed: one.power_is_assumed || other.power_is_assumed,
    }
}

/// Describes both products as one of class `class`, for results. Assumed figures name their product.
pub(super) fn summary(flash: ProductSummary, disk: ProductSummary, class: &str) -> ProductSummary {
    let assumed = |product: &ProductSummary| -> Vec<String> {
        product.assumed.iter().map(|figure| format!("{figure} of the {}", product.title)).collect()
    };
    let assumed = [assumed(&flash), assumed(&disk)].concat();
    let source = [flash.source, disk.source].into_iter().flatten().collect::<Vec<_>>().join("; ");
    ProductSummary {
        name: format!("{} + {}", flash.name, disk.name),
        title: format!("{} + {}", flash.title, disk.title),
        year: flash.year.max(disk.year),
        market: flash.market,
        class: class.into(),
        source: (!source.is_empty()).then_some(source),
        assumed,
        simulated_over_published: flash.simulated_over_published,
    }
}

/// Returns the shares of the time in which the simulated flash and disks were at work: for each, that of its busiest
/// resource.
pub(crate) fn busy(simulated: &Candidate) -> [f64; 2] {
    let of = |flash: bool| {
        let devices = simulated.devices.values().filter(|device| match flash {
            true => device.flash.is_some(),
            false => device.disk.is_some(),
        });
        devices.flat_map(|device| device.utilisation.values()).copied().fold(0.0, f64::max)
    };
    [of(true), of(false)]
}

/// Returns what results say of both parts, which are at work for `shares` of the time.
pub(super) fn parts(offer: &Offer<'_>, disks: &Disks<'_>, shares: [f64; 2], running: &Running) -> [DesignPart; 2] {
    let part =
        |name: &str, role: PartRole, product: &Product, capacity: Capacity, count: u32, cost: &Cost| DesignPart {
            name: name.into(),
            role,
            product: super::summary_of(product, offer.assumed_of(product)),
            capacity_on_sale_bytes: capacity.bytes.0,
            count,
            purchase: cost.purchase.as_f64(),
            power: cost.power.as_f64(),
        };
    let [flash, disk] = cost(offer, disks, shares, running);
    [
        part("flash", PartRole::OnTop, offer.product, offer.capacity, offer.drives(), &flash),
        part("disks", PartRole::Capacity, disks.product, disks.capacity, offer.of_all_copies(disks.count), &disk),
    ]
}
