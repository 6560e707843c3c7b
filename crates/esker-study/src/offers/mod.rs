//! What can be bought for a workload: products, by capacity and number, with their prices; and the design to simulate
//! for each offer.

mod bounds;
mod cache;
mod hybrid;
mod in_use;
mod owned;
mod pairs;
mod rented;
mod survival;

use std::collections::BTreeMap;

use esker_catalogue::{
    Capacity, Catalogue, Class, CloudVolume, Cost, Market, Money, Product, Running, cloud_cost, owned_cost,
};
use esker_core::{Bytes, Nanos, Ratio, words};
use esker_results::study::{Composition, DesignPart, Need, ProductSummary, RuledOut};
use esker_sim::{ArraySettings, DeviceDescription, System};

use crate::busy::Stretch;
use crate::endurance::{FlashOnSale, Warranty};
use crate::load::StudyWorkload;
use crate::policies::Policies;
use crate::{DesignFault, StudyError};

pub(crate) use bounds::{Bounds, missed as missed_bounds, ruled_out};
use cache::Cache;
pub(crate) use cache::{CACHE, shapes as cache_shapes};
pub(crate) use hybrid::{HYBRID, POLICY};
pub use in_use::InUse;
pub(crate) use owned::{PartMinimum, RAW_MIN, min_note, smallest_part};
use pairs::Disks;
pub(crate) use pairs::{DataSize, Pricing, busy as busy_of_parts};
use rented::RentedVolume;
pub(crate) use rented::peaks;

/// Offers have at most this many devices of a kind, unless the capacity needs more.
pub(crate) const COUNT_MAX: u32 = 8;

/// A number of devices of one product, or such flash with disks of another product.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer<'a> {
    pub(crate) product: &'a Product,
    /// Capacity of each device.
    pub(crate) capacity: Capacity,
    /// Devices that share one copy of the data. Each further copy takes as many again.
    pub(crate) count: u32,
    pub(crate) copies: u32,
    /// The volume that is rented; `None` for devices.
    pub(crate) rented: Option<RentedVolume>,
    /// The disks of a hybrid or a cache, while the other fields describe its flash; `None` for devices of one kind.
    pub(crate) disks: Option<Disks<'a>>,
    /// How the flash caches the disks; `None` for a hybrid.
    pub(crate) cache: Option<Cache<'a>>,
    /// Whether the user already has the devices, so that they cost only electricity.
    pub(crate) in_use: bool,
}

/// A design, ready to be simulated.
#[derive(Clone, Debug)]
pub(crate) struct Design {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) kind: &'static str,
    pub(crate) device_count: u32,
    pub(crate) system: System,
    /// Whether the design has nothing but disks: how far their arms move depends on where data lie.
    pub(crate) on_disks: bool,
    /// For rented volumes, everything that their times depend on. Volumes with equal limits are simulated once,
    /// whatever their size and whatever was ordered.
    pub(crate) limits: Option<String>,
    /// The flash of the devices as sold; `None` if no device wears.
    pub(crate) flash: Option<FlashOnSale>,
}

impl Design {
    /// Whether it is flash and disks as one volume, run by a policy.
    pub(crate) fn is_hybrid(&self) -> bool {
        self.kind == HYBRID
    }

    /// Whether it is flash that caches disks.
    pub(crate) fn is_cache(&self) -> bool {
        self.kind == CACHE
    }

    /// Whether it is flash and disks. What it does depends on the requests that it has served.
    pub(crate) fn is_pair(&self) -> bool {
        self.is_hybrid() || self.is_cache()
    }

    /// Returns a key that is equal for designs that are simulated alike, such as drives of two makers that differ in
    /// price alone.
    pub(crate) fn key(&self) -> String {
        self.limits.clone().unwrap_or_else(|| format!("{:?}", self.system))
    }
}

/// What decides which offers are made.
pub(crate) struct OfferInputs<'a> {
    pub(crate) need: &'a Need,
    pub(crate) workload: &'a StudyWorkload,
    /// The stretch in which budgets hold; `None` if the trace has no times.
    pub(crate) stretch: Option<&'a Stretch>,
    /// The budget for the busiest resource.
    pub(crate) utilisation: f64,
    /// What is needed to price flash and disks together.
    pub(crate) pricing: Pricing<'a>,
    /// Whether hybrids are offered.
    pub(crate) hybrids: bool,
    /// The policies of caches; `None` if none is offered.
    pub(crate) policies: Option<&'a Policies>,
}

/// Returns every offer of the catalogue that holds the data, in the order of the catalogue; devices in use come first.
pub(crate) fn offers<'a>(
    catalogue: &'a Catalogue,
    in_use: &[InUse],
    wanted: &OfferInputs<'a>,
) -> Result<Vec<Offer<'a>>, StudyError> {
    let copies = wanted.need.copies.max(1);
    // The capacity for one copy.
    let capacity = wanted.need.capacity_bytes.div_ceil(copies.into());
    let mut offers = Vec::new();
    for one in in_use {
        let product = one.product(catalogue, copies)?;
        let capacity = Capacity { bytes: one.capacity, dies: product.dies_at(one.capacity) };
        offers.push(Offer { in_use: true, ..Offer::bought(product, capacity, one.count / copies, copies) });
    }
    let paces = wanted.stretch.map(|stretch| rented::paces(&catalogue.products, wanted.workload, stretch));
    let paces = paces.transpose()?;
    for product in &catalogue.products {
        if product.is_cloud_volume() {
            let pace = paces.as_ref().map(|paces| paces[&product.name]);
            offers.extend(rented::offers(product, capacity, copies, pace, wanted.utilisation)?);
            continue;
        }
        for &on_sale in &product.capacities {
            let fewest = capacity.div_ceil(on_sale.bytes.0.max(1)).max(1);
            let Ok(fewest) = u32::try_from(fewest) else { continue };
            let counts = fewest..=fewest.max(COUNT_MAX);
            offers.extend(counts.map(|count| Offer::bought(product, on_sale, count, copies)));
        }
    }
    let (data_size, pricing) = (DataSize { bytes: capacity, copies }, &wanted.pricing);
    if wanted.hybrids && wanted.stretch.is_some() {
        offers.extend(hybrid::offers(&catalogue.products, data_size, pricing)?);
    }
    if let (Some(policies), Some(_)) = (wanted.policies, wanted.stretch) {
        offers.extend(cache::offers(&catalogue.products, data_size, pricing, policies)?);
    }
    Ok(offers)
}

impl<'a> Offer<'a> {
    /// Returns an offer of `count` devices for each of `copies` copies of the data.
    fn bought(product: &'a Product, capacity: Capacity, count: u32, copies: u32) -> Self {
        Self { product, capacity, count, copies, rented: None, disks: None, cache: None, in_use: false }
    }

    fn rented(product: &'a Product, rented: RentedVolume, count: u32, copies: u32) -> Self {
        Self { rented: Some(rented), ..Self::bought(product, rented::capacity(&rented.volume), count, copies) }
    }
}

impl Offer<'_> {
    /// The name in results. It is unique, and begins or ends such that `esker devices` finds the product.
    pub(crate) fn name(&self) -> String {
        let size = match &self.rented {
            Some(rented) => ordered(&rented.volume, "-", "iops", "MiBps"),
            None => words::on_sale(self.capacity.bytes.0),
        };
        let one = format!("{}-{}", self.product.name, size.replace(' ', ""));
        let one = if self.in_use { format!("{one}-in-use") } else { one };
        let several = |one: String, count: u32| if count == 1 { one } else { format!("{count}x-{one}") };
        let flash = several(one, self.drives());
        let Some(Disks { product, capacity, count }) = &self.disks else { return flash };
        let disk = format!("{}-{}", product.name, words::on_sale(capacity.bytes.0).replace(' ', ""));
        let cache = self.cache.map_or(String::new(), |cache| format!("-{}-cache", cache.write_name()));
        format!("{flash}+{}{cache}", several(disk, self.of_all_copies(*count)))
    }

    /// The name for people.
    pub(crate) fn title(&self) -> String {
        let size = match &self.rented {
            Some(rented) => ordered(&rented.volume, ", ", " operations/s", " MiB/s"),
            None => words::on_sale(self.capacity.bytes.0),
        };
        let in_use = if self.in_use { ", already in use" } else { "" };
        let one = format!("{}, {size}{in_use}", self.product.title);
        let copies = if self.copies > 1 { format!(", {} copies", self.copies) } else { String::new() };
        if let Some(Disks { product, capacity, count }) = &self.disks {
            let disk = format!("{}, {}", product.title, words::on_sale(capacity.bytes.0));
            let (flash, disks) = (self.drives(), self.of_all_copies(*count));
            let Some(cache) = &self.cache else {
                return format!("{flash} x {one} + {disks} x {disk}, hybrid ({POLICY}){copies}");
            };
            let mirrored = if cache.drives_a_line(self.copies) > 1 { ", mirrored" } else { "" };
            let how = format!("cache ({}, {})", cache.policy_name(), cache.write_name());
            return format!("{flash} x {one}{mirrored} + {disks} x {disk}, {how}{copies}");
        }
        match self.devices() {
            1 => one,
            n if self.count > 1 => format!("{n} x {one}, striped{copies}"),
            n => format!("{n} x {one}{copies}"),
        }
    }

    /// Number of devices to buy.
    pub(crate) fn devices(&self) -> u32 {
        let disks = self.disks.as_ref().map_or(0, |disks| self.of_all_copies(disks.count));
        self.drives().saturating_add(disks)
    }

    /// Number of devices in a simulation, which has one copy.
    pub(crate) fn simulated_devices(&self) -> u32 {
        self.count.saturating_add(self.disks.as_ref().map_or(0, |disks| disks.count))
    }

    /// Number of devices of the first product to buy: all, except the disks of a hybrid or a cache.
    fn drives(&self) -> u32 {
        let drives_a_line = self.cache.map_or(1, |cache| cache.drives_a_line(self.copies));
        self.of_all_copies(self.count).saturating_mul(drives_a_line)
    }

    /// Returns the number of devices to buy if one copy takes `count`.
    fn of_all_copies(&self, count: u32) -> u32 {
        count.saturating_mul(self.copies)
    }

    /// Returns the cost if devices are at work for the share `busy` of the time.
    pub(crate) fn cost(&self, busy: f64, running: &Running) -> Cost {
        self.cost_of_parts([busy; 2], running)
    }

    /// Returns the cost if the flash of a hybrid or a cache is at work for the first of `shares` of the time, and its
    /// disks for the second. Other offers use the first.
    pub(crate) fn cost_of_parts(&self, shares: [f64; 2], running: &Running) -> Cost {
        if let Some(disks) = &self.disks {
            return pairs::sum(pairs::cost(self, disks, shares, running));
        }
        let busy = shares[0];
        if let Some(rented) = &self.rented {
            return cloud_cost(self.product, &rented.volume, self.devices(), running.years);
        }
        let cost = owned_cost(self.product, self.capacity.bytes, self.devices(), busy, running);
        if !self.in_use {
            return cost;
        }
        // Devices in use are paid for: only their electricity can be saved.
        let month = Money::from_f64(cost.power.as_f64() / (12.0 * running.years));
        let assumed = cost.power_is_assumed;
        Cost { purchase: Money::ZERO, per_month: month, total: cost.power, assumed, ..cost }
    }

    pub(crate) fn market(&self) -> Market {
        self.product.market
    }

    pub(crate) fn class(&self) -> Class {
        self.product.class
    }

    /// The product, for results.
    pub(crate) fn summary(&self) -> ProductSummary {
        let one = summary_of(self.product, self.assumed_of(self.product));
        let Some(Disks { product, .. }) = self.disks else { return one };
        let class = if self.cache.is_some() { CACHE } else { HYBRID };
        pairs::summary(one, summary_of(product, self.assumed_of(product)), class)
    }

    /// Returns what results say of how its parts work together. Data fill `utilisation` of the flash.
    pub(crate) fn composition(&self, utilisation: Ratio) -> Composition {
        match (&self.disks, &self.cache) {
            (None, _) => Composition::Alike,
            (Some(_), None) => Composition::Hybrid(hybrid::composition(self)),
            (Some(disks), Some(cache)) => Composition::Cache(cache::composition(self, (disks, cache), utilisation)),
        }
    }

    /// Returns what results say of its parts; nothing if all devices are of one product.
    pub(crate) fn parts(&self, shares: [f64; 2], running: &Running) -> Vec<DesignPart> {
        self.disks.as_ref().map_or(Vec::new(), |disks| pairs::parts(self, disks, shares, running).into())
    }

    /// Returns the names of a product's figures that are assumed.
    fn assumed_of(&self, product: &Product) -> Vec<String> {
        // The price of a device in use does not matter.
        let paid = |figure: &&str| !(self.in_use && figure.starts_with("price"));
        let stated = product.assumed.iter().map(|assumption| assumption.figure.as_str()).filter(paid);
        let Some(rented) = &self.rented else { return stated.map(Into::into).collect() };
        // Of the price list, only what this volume is billed by counts. No provider publishes a distribution of
        // response times.
        let price = cloud_cost(product, &rented.volume, 1, 1.0).assumed.then_some("price");
        let others = stated.filter(|figure| !figure.starts_with("price"));
        others.chain(price).chain(["response times"]).map(Into::into).collect()
    }

    /// Host bytes a day that the makers warrant for the devices of one copy, and for how long.
    pub(crate) fn warranty(&self) -> Option<Warranty> {
        let each = self.product.drive_writes_per_day_sold(self.capacity.bytes)? * self.capacity.bytes.0 as f64;
        Some(Warranty { bytes_per_day: each * f64::from(self.count), years: self.product.warranty_years })
    }

    /// Returns the logarithm of how many times `bytes_per_day` exceeds the warranty, at least zero. For a hybrid or a
    /// cache it is zero: how much the flash takes is not known.
    pub(crate) fn missed_warranty(&self, bytes_per_day: Option<f64>) -> f64 {
        let warranted = self.warranty().filter(|_| self.disks.is_none());
        let exceeded = bytes_per_day.zip(warranted).map(|(asked, warranty)| asked / warranty.bytes_per_day.max(1.0));
        exceeded.map_or(0.0, |times| times.max(1.0).ln())
    }

    /// Returns the design to simulate for `active` bytes of touched data, which fill `utilisation` of the simulated
    /// part of the drives. The more drives, the less of each is simulated.
    pub(crate) fn design(&self, active: Bytes, utilisation: Ratio) -> Result<Design, StudyError> {
        self.design_of(active, utilisation, PartMinimum::of_each(self.count))
    }

    /// Returns the design of rented volumes that save up unused limits for `time`; `None` for devices, and for volumes
    /// that save up as long already.
    pub(crate) fn design_saving_up(&self, time: Nanos) -> Result<Option<Design>, StudyError> {
        let Some(rented) = &self.rented else { return Ok(None) };
        let longer = rented::settings_of(self.product, &rented.volume)?.saves_up < time;
        longer.then(|| rented::design(self, &rented.volume, Some(time))).transpose()
    }

    /// Returns a design for a rough look: several drives together have no more simulated flash than a single drive
    /// otherwise. That is prepared as fast, and tells a far better design from a worse one.
    pub(crate) fn rough_design(&self, active: Bytes, utilisation: Ratio) -> Result<Design, StudyError> {
        self.design_of(active, utilisation, PartMinimum::for_looks(self.count))
    }

    /// Returns the design with at least `least` of each drive simulated.
    fn design_of(&self, active: Bytes, utilisation: Ratio, least: PartMinimum) -> Result<Design, StudyError> {
        match (&self.rented, &self.disks, &self.cache) {
            (Some(rented), ..) => rented::design(self, &rented.volume, None),
            (None, Some(disks), Some(cache)) => cache::design(self, (disks, cache), active, utilisation, least),
            (None, Some(disks), None) => hybrid::design(self, disks, active, utilisation, least),
            (None, None, _) => owned::design(self, active, utilisation, least),
        }
    }

    /// Describes this offer as ruled out or not simulated.
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

fn summary_of(product: &Product, assumed: Vec<String>) -> ProductSummary {
    ProductSummary {
        name: product.name.clone(),
        title: product.title.clone(),
        year: product.year,
        market: product.market.name().into(),
        class: product.class.name().into(),
        source: product.source.clone(),
        assumed,
        simulated_over_published: over_published(product),
    }
}

/// Returns the ratios of simulated to published throughput of a product, by figure.
fn over_published(product: &Product) -> BTreeMap<String, f64> {
    let rounded = |ratio: f64| (ratio * 1_000.0).round() / 1_000.0;
    product.beside_published().iter().map(|one| (one.figure.to_string(), rounded(one.ratio()))).collect()
}

/// Returns a volume's size and orders in words: "200GiB-7200iops".
fn ordered(volume: &CloudVolume, between: &str, operations: &str, throughput: &str) -> String {
    let mut words = vec![format!("{} GiB", volume.size.0 >> 30)];
    words.extend(volume.operations_per_s.map(|rate| format!("{}{operations}", words::count(rate))));
    words.extend(volume.bytes_per_s.map(|rate| format!("{}{throughput}", rate >> 20)));
    words.join(between)
}

/// Stripe unit of a design with several devices.
const STRIPE: Bytes = Bytes::kib(64);

/// Makes a system of one device, or of several as a RAID-0.
fn striped(name: &str, device: DeviceDescription, count: u32) -> Result<System, StudyError> {
    if count == 1 {
        return System::single(name, device).map_err(StudyError::design);
    }
    let array = DeviceDescription::new(ArraySettings { stripe: STRIPE, ..ArraySettings::alike(name, count) });
    System::of([(name.to_string(), device), ("array".to_string(), array)], "array").map_err(StudyError::design)
}

fn settings_fault(product: &Product) -> StudyError {
    let kind = &product.kind;
    StudyError::design(DesignFault::Settings(format!("{} has no settings of kind `{kind}`", product.name)))
}
