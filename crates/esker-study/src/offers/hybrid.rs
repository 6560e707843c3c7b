//! Hybrids: flash of one product and disks of one product as one volume, run by the placement engine.
//!
//! Disks hold the data, as many as these ask for. Flash comes on top and adds no capacity: as many places as it has
//! stay free, so that what is hot finds room there. A policy that moves what is used to where it is answered faster
//! does the rest.

use std::collections::BTreeMap;

use esker_core::{Bytes, Ratio};
use esker_disk::DiskSettings;
use esker_plan::{Capacity, Class, Cost, Market, Product, Running, owned_cost};
use esker_results::study::{Candidate, HybridPart, HybridResults, ProductSummary};
use esker_sim::{Allocate, ArraySettings, DeviceDescription, HybridSettings, PreconditionKind, System};
use esker_tier::PolicySettings;

use super::{COUNT_MAX, Design, Offer, STRIPE, owned, settings_fault};
use crate::StudyError;

/// The policy. A budget is for 99 of 100 requests, so that every hot extent has to be on flash: `wardrop` keeps some on
/// disks, by lot, and asks a disk ten times a second to learn how fast it is.
pub(crate) const POLICY: &str = "migration";
/// No more flash drives than this are part of a hybrid.
const FLASH_MAX: u32 = 4;
/// Extents are as small as the map allows, but no smaller than this: smaller ones would need many more moves.
const EXTENT_MIN: u64 = 128 << 10;
/// Touched areas are known by the MiB, so that larger extents would have less to move than in truth.
const EXTENT_MAX: u64 = 1 << 20;
/// The most extents that an engine takes.
const EXTENTS_MAX: u64 = 1 << 26;
/// Of the flash, what data fill before the first request, whatever is hot: one half. The other is free.
const FILLED_AT_FIRST: f64 = 0.5;
/// Weights add up to this.
const WEIGHTS: f64 = 1_000.0;

/// The disks of a hybrid, of which the offer itself is the flash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disks<'a> {
    pub(crate) product: &'a Product,
    /// Capacity of each.
    pub(crate) capacity: Capacity,
    /// Disks that share the data; as many again for each further copy.
    pub(crate) count: u32,
}

impl Disks<'_> {
    /// Capacity of one copy.
    pub(crate) fn bytes(&self) -> u64 {
        self.capacity.bytes.0.saturating_mul(self.count.into())
    }
}

/// What is needed to price offers.
pub(crate) struct Pricing<'a> {
    pub(crate) running: &'a Running,
    /// Whether drives for desktops may be part of an offer.
    pub(crate) consumer: bool,
}

/// Every hybrid that may be worth its price, of the devices among `products`, for `capacity` bytes of one copy.
pub(super) fn offers<'a>(
    products: &'a [Product],
    capacity: u64,
    copies: u32,
    pricing: &Pricing<'_>,
) -> Result<Vec<Offer<'a>>, StudyError> {
    let device = |product: &&Product| {
        product.market == Market::OnPremises && (product.class != Class::Consumer || pricing.consumer)
    };
    let disks = disks(products.iter().filter(device), capacity, copies, pricing)?;
    let mut offers = Vec::new();
    for product in products.iter().filter(device).filter(|product| product.kind == "ssd") {
        for &on_sale in &product.capacities {
            let least = |count: u32| {
                owned_cost(product, on_sale.bytes, count.saturating_mul(copies), 0.0, pricing.running).total
            };
            // So many hold all the data without a disk. A hybrid with as many of them is dearer and no faster, and one
            // with fewer is of use only if it is cheaper.
            let alone = capacity.div_ceil(on_sale.bytes.0.max(1)).max(1);
            let alone_cost = u32::try_from(alone).ok().map(least);
            for count in (1..=FLASH_MAX).filter(|&count| u64::from(count) < alone) {
                for disks in &disks {
                    let one = Offer {
                        product,
                        capacity: on_sale,
                        count,
                        copies,
                        rented: None,
                        disks: Some(*disks),
                        in_use: false,
                    };
                    let cheaper = alone_cost.is_none_or(|alone| one.cost(0.0, pricing.running).total < alone);
                    if cheaper && extent(&one).is_some() {
                        offers.push(one);
                    }
                }
            }
        }
    }
    Ok(offers)
}

/// The disks that hold `capacity`: of each product those of the capacity with which it takes the least money, and of
/// products that are simulated alike the cheapest.
///
/// The latter costs no answer: two hybrids with the same flash whose disks are simulated alike answer alike, and their
/// flash lasts as long, so that both keep the budgets or neither does. The dearer one never wins.
fn disks<'a>(
    products: impl Iterator<Item = &'a Product>,
    capacity: u64,
    copies: u32,
    pricing: &Pricing<'_>,
) -> Result<Vec<Disks<'a>>, StudyError> {
    let cost = |disks: &Disks<'_>| {
        let count = disks.count.saturating_mul(copies);
        owned_cost(disks.product, disks.capacity.bytes, count, 0.0, pricing.running).total
    };
    let mut alike: BTreeMap<String, Disks<'a>> = BTreeMap::new();
    for product in products.filter(|product| product.kind == "hdd") {
        let held = product.capacities.iter().filter_map(|&on_sale| {
            let fewest = capacity.div_ceil(on_sale.bytes.0.max(1)).max(1);
            let count = u32::try_from(fewest).ok().filter(|&count| count <= COUNT_MAX)?;
            Some(Disks { product, capacity: on_sale, count })
        });
        let Some(cheapest) = held.min_by_key(&cost) else { continue };
        let key = format!("{} x {:?}", cheapest.count, disk_settings(&cheapest)?);
        let known = alike.entry(key).or_insert(cheapest);
        if cost(&cheapest) < cost(known) {
            *known = cheapest;
        }
    }
    Ok(alike.into_values().collect())
}

fn disk_settings(disks: &Disks<'_>) -> Result<DiskSettings, StudyError> {
    serde_json::from_value(disks.product.settings_at(disks.capacity.bytes)).map_err(settings_fault)
}

/// Size of an extent: the smallest with which the map has room for all devices; `None` if there is none.
fn extent(offer: &Offer<'_>) -> Option<Bytes> {
    let all = flash_bytes(offer).saturating_add(offer.disks.as_ref()?.bytes());
    let sizes = (0..).map(|power| EXTENT_MIN << power).take_while(|&size| size <= EXTENT_MAX);
    sizes.into_iter().find(|size| all / size <= EXTENTS_MAX).map(Bytes)
}

/// Capacity of the flash of one copy.
fn flash_bytes(offer: &Offer<'_>) -> u64 {
    offer.capacity.bytes.0.saturating_mul(offer.count.into())
}

/// Part of the data that is on flash before the first request.
fn share_at_first(offer: &Offer<'_>, disks: &Disks<'_>) -> f64 {
    let share = FILLED_AT_FIRST * flash_bytes(offer) as f64 / disks.bytes().max(1) as f64;
    (share * WEIGHTS).round().clamp(1.0, WEIGHTS / 2.0) / WEIGHTS
}

/// Makes the design of a hybrid for `active` bytes of touched data.
///
/// Of these, the flash has at first what its share of all data is, and then room for as many more as half of it has, as
/// full as `utilisation` says: the cold data that fill the other half are not simulated. Disks are simulated as they
/// are, but of their addresses only the first: touched data lie side by side, as on every simulated disk.
pub(super) fn design(
    offer: &Offer<'_>,
    disks: &Disks<'_>,
    active: Bytes,
    utilisation: Ratio,
    raw_min: Bytes,
) -> Result<Design, StudyError> {
    let extent = extent(offer).unwrap_or(Bytes(EXTENT_MAX));
    let data = active.0.next_multiple_of(EXTENT_MAX);
    let share = share_at_first(offer, disks);
    let free = (1.0 - FILLED_AT_FIRST) * flash_bytes(offer) as f64 * utilisation.as_f64();
    let on_flash = Bytes(data.min((data as f64 * share + free) as u64));
    let (drive, flash) = owned::drive(offer, on_flash, utilisation, raw_min)?;
    let mut disk = disk_settings(disks)?;
    // With room for all of it and a little more: what is moved away may come back.
    let room = (data + data / 16 + (64 << 20)).div_ceil(disks.count.into()).next_multiple_of(EXTENT_MAX);
    disk.capacity = Some(Bytes(room.min(disk.capacity.unwrap_or(disks.capacity.bytes).0)));
    let mut devices = Vec::new();
    let mut child = |name: &str, several: &str, device: DeviceDescription, count: u32| {
        devices.push((name.to_string(), device));
        if count == 1 {
            return name.to_string();
        }
        let array = ArraySettings { stripe: STRIPE, ..ArraySettings::alike(name, count) };
        devices.push((several.to_string(), DeviceDescription::new(array)));
        several.to_string()
    };
    let children = vec![
        child("ssd", "ssds", drive.preconditioned(PreconditionKind::Steady, utilisation), offer.count),
        child("disk", "disks", DeviceDescription::new(disk), disks.count),
    ];
    let first = (share * WEIGHTS) as u32;
    let weights = serde_json::json!([first, WEIGHTS as u32 - first]);
    let hybrid = HybridSettings {
        children,
        policy: PolicySettings {
            kind: POLICY.into(),
            options: [("weights".to_string(), weights)].into_iter().collect(),
        },
        extent,
        capacity: Some(Bytes(data)),
        reserve: None,
        allocate: Allocate::AtStart,
        cached_extents: 0,
        queue_depth: None,
    };
    devices.push((HYBRID.to_string(), DeviceDescription::new(hybrid)));
    Ok(Design {
        name: offer.name(),
        title: offer.title(),
        kind: HYBRID,
        device_count: offer.devices(),
        system: System::of(devices, HYBRID).map_err(StudyError::design)?,
        flash: Some(flash),
    })
}

/// The kind of these designs, and the name of the device that requests go to.
pub(crate) const HYBRID: &str = "hybrid";

/// What flash and disks of a hybrid cost that are at work for these shares of the time.
pub(super) fn cost(offer: &Offer<'_>, disks: &Disks<'_>, [flash, disk]: [f64; 2], running: &Running) -> [Cost; 2] {
    let flash = owned_cost(offer.product, offer.capacity.bytes, offer.devices_of(offer.count), flash, running);
    let disk = owned_cost(disks.product, disks.capacity.bytes, offer.devices_of(disks.count), disk, running);
    [flash, disk]
}

/// The price of both parts, as old as the older of them.
pub(super) fn sum([one, other]: [Cost; 2]) -> Cost {
    Cost {
        purchase: one.purchase + other.purchase,
        power: one.power + other.power,
        per_month: one.per_month + other.per_month,
        total: one.total + other.total,
        currency: one.currency,
        as_of: one.as_of.min(other.as_of),
        assumed: one.assumed || other.assumed,
    }
}

/// Both products as one, for results. What is assumed of which is told apart.
pub(super) fn summary(flash: ProductSummary, disk: ProductSummary) -> ProductSummary {
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
        class: HYBRID.into(),
        source: (!source.is_empty()).then_some(source),
        assumed,
    }
}

/// The shares of the time in which flash and disks of a simulated hybrid were at work: of each, of its busiest part.
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

/// What results say of a hybrid's parts. What its policy did is known from `simulated`.
pub(crate) fn results(offer: &Offer<'_>, simulated: &Candidate, running: &Running) -> Option<HybridResults> {
    let disks = offer.disks.as_ref()?;
    let part = |product: &Product, capacity: Capacity, count: u32, cost: &Cost| HybridPart {
        product: super::summary_of(product, offer.assumed_of(product)),
        capacity_on_sale_bytes: capacity.bytes.0,
        count: offer.devices_of(count),
        purchase: cost.purchase.as_f64(),
        power: cost.power.as_f64(),
    };
    let [flash, disk] = cost(offer, disks, busy(simulated), running);
    Some(HybridResults {
        policy: POLICY.into(),
        extent_bytes: extent(offer)?.0,
        capacity_bytes: disks.bytes(),
        reserve_bytes: flash_bytes(offer),
        flash: part(offer.product, offer.capacity, offer.count, &flash),
        disks: part(disks.product, disks.capacity, disks.count, &disk),
        ..simulated.hybrid.clone().unwrap_or_default()
    })
}
