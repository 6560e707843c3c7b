//! What can be bought for a workload: products, by capacity and number, with their prices; and the design to simulate
//! for each offer. The kinds of offers are in [`crate::kinds`].

mod bounds;
mod in_use;
mod kind;
mod price;
mod results;
mod simulated_part;
mod survival;

use std::sync::Arc;

use esker_catalogue::{Capacity, Class, CloudVolume, Market, Product};
use esker_core::{Bytes, Nanos, Ratio, words};
use esker_results::study::PartRole;
use esker_sim::{ArraySettings, DeviceDescription, System};

use crate::design::{Design, STRIPE};
use crate::endurance::{FlashOnSale, Warranty};
use crate::models::WholeDrive;
use crate::{DesignFault, StudyError};

pub(crate) use bounds::{Bounds, missed as missed_bounds, ruled_out};
pub use in_use::InUse;
pub(crate) use kind::{Arrangement, DesignFamily, DesignKind, KindCapability, KindEntry, OfferInputs, RuledOutBy};
pub(crate) use simulated_part::{PartMinimum, RAW_MIN, TouchedData, drive, min_note, smallest_part};

/// Offers have at most this many devices of a product, unless the capacity needs more.
pub(crate) const COUNT_MAX: u32 = 8;

/// Devices or volumes to buy or rent, and how they work together.
#[derive(Clone, Debug)]
pub(crate) struct Offer<'a> {
    pub(crate) kind: &'static KindEntry,
    pub(crate) arrangement: Arc<dyn Arrangement>,
    /// The devices of each product. The search varies the number of those of the first part.
    pub(crate) parts: Vec<Part<'a>>,
    /// Copies of the data. Each takes all parts.
    pub(crate) copies: u32,
}

/// The devices of one product in an offer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    /// What these devices are called beside those of other products.
    pub(crate) name: &'static str,
    pub(crate) role: PartRole,
    pub(crate) product: &'a Product,
    /// Capacity of each device.
    pub(crate) capacity: Capacity,
    /// Devices that share one copy of the data. All of them are simulated.
    pub(crate) count: u32,
    /// Devices that hold the same data of a copy, in place of each of `count`. One of them is simulated.
    pub(crate) mirrors: u32,
    /// Whether a copy of the data survives the failure of one of these devices.
    pub(crate) may_fail: bool,
    pub(crate) terms: Terms,
}

/// How devices are paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Terms {
    Bought,
    /// The user already has them, so that they cost only electricity.
    InUse,
    /// Volumes, by what is ordered.
    Rented(CloudVolume),
}

impl<'a> Part<'a> {
    /// Returns `count` devices to buy that hold the data.
    pub(crate) fn bought(product: &'a Product, capacity: Capacity, count: u32) -> Self {
        let (name, role) = ("devices", PartRole::Capacity);
        Self { name, role, product, capacity, count, mirrors: 1, may_fail: false, terms: Terms::Bought }
    }

    /// Returns as many devices of the same product, which the user does not have yet.
    fn once_more(&self) -> Self {
        let terms = if self.terms == Terms::InUse { Terms::Bought } else { self.terms };
        Self { terms, ..*self }
    }
}

/// Devices of one product and capacity, in use and bought ones, as one part.
pub(crate) fn as_one<'a>(parts: &[Part<'a>]) -> Part<'a> {
    let last = parts.last().expect("no offer is without a part");
    Part { count: parts.iter().map(|part| part.count).sum(), ..*last }
}

impl Part<'_> {
    /// What one device is called in a simulation, if there are none of other products like it.
    pub(crate) fn device_name(&self) -> &'static str {
        if self.product.kind == "ssd" { "ssd" } else { "disk" }
    }

    /// Capacity of one copy's devices, in bytes. Mirrors count once.
    pub(crate) fn bytes(&self) -> u64 {
        self.capacity.bytes.0.saturating_mul(self.count.into())
    }

    /// Host bytes a day that the maker warrants for the devices of one copy, and for how long.
    pub(crate) fn warranty(&self) -> Option<Warranty> {
        let each = self.product.drive_writes_per_day_sold(self.capacity.bytes)? * self.capacity.bytes.0 as f64;
        Some(Warranty { bytes_per_day: each * f64::from(self.count), years: self.product.warranty_years })
    }

    /// The flash of one copy's drives, each of which is `whole`.
    pub(crate) fn flash_on_sale(&self, whole: &WholeDrive) -> FlashOnSale {
        FlashOnSale {
            raw: Bytes(whole.raw().0.saturating_mul(self.count.into())),
            capacity: Bytes(self.bytes()),
            warranty: self.warranty(),
            cycles_are_stated: self.product.own_settings.iter().any(|key| key == "endurance_cycles"),
        }
    }

    /// Returns the number of devices to buy for `copies` copies of the data.
    pub(crate) fn devices(&self, copies: u32) -> u32 {
        self.count.saturating_mul(copies).saturating_mul(self.mirrors)
    }

    /// Names the number of devices, for results.
    fn name(&self, copies: u32) -> String {
        let size = match &self.terms {
            Terms::Rented(volume) => ordered(volume, "-", "iops", "MiBps"),
            Terms::Bought | Terms::InUse => words::on_sale(self.capacity.bytes.0),
        };
        let in_use = if self.terms == Terms::InUse { "-in-use" } else { "" };
        let one = format!("{}-{}{in_use}", self.product.name, size.replace(' ', ""));
        match self.devices(copies) {
            1 => one,
            count => format!("{count}x-{one}"),
        }
    }

    /// Names one device, for people.
    pub(crate) fn title(&self) -> String {
        let size = match &self.terms {
            Terms::Rented(volume) => ordered(volume, ", ", " operations/s", " MiB/s"),
            Terms::Bought | Terms::InUse => words::on_sale(self.capacity.bytes.0),
        };
        let in_use = if self.terms == Terms::InUse { ", already in use" } else { "" };
        format!("{}, {size}{in_use}", self.product.title)
    }

    /// Names all devices, of each of `copies` copies of the data, for people.
    pub(crate) fn title_of_all(&self, copies: u32) -> String {
        let mirrored = if self.mirrors > 1 { ", mirrored" } else { "" };
        format!("{} x {}{mirrored}", self.devices(copies), self.title())
    }
}

impl<'a> Offer<'a> {
    /// The first part. No offer is without one.
    pub(crate) fn first(&self) -> &Part<'a> {
        &self.parts[0]
    }

    /// The only part, if all devices are of one product. Then it is known before any simulation what each of them takes
    /// of the load.
    pub(crate) fn only(&self) -> Option<&Part<'a>> {
        self.parts.first().filter(|_| self.parts.len() == 1)
    }
}

impl Offer<'_> {
    /// The name in results. It is unique, and begins or ends such that `esker devices` finds the product.
    pub(crate) fn name(&self) -> String {
        let parts: Vec<String> = self.parts.iter().map(|part| part.name(self.copies)).collect();
        parts.join("+") + &self.arrangement.name_suffix()
    }

    /// The name for people.
    pub(crate) fn title(&self) -> String {
        if self.devices() == 1 {
            return self.first().title();
        }
        let parts: Vec<String> = self.parts.iter().map(|part| part.title_of_all(self.copies)).collect();
        let how = self.arrangement.in_title(self).map_or(String::new(), |how| format!(", {how}"));
        let copies = if self.copies > 1 { format!(", {} copies", self.copies) } else { String::new() };
        parts.join(" + ") + &how + &copies
    }

    /// Number of devices to buy.
    pub(crate) fn devices(&self) -> u32 {
        self.parts.iter().map(|part| part.devices(self.copies)).fold(0, u32::saturating_add)
    }

    /// Number of devices in a simulation, which has one copy.
    pub(crate) fn simulated_devices(&self) -> u32 {
        self.parts.iter().map(|part| part.count).fold(0, u32::saturating_add)
    }

    pub(crate) fn market(&self) -> Market {
        self.first().product.market
    }

    pub(crate) fn class(&self) -> Class {
        self.first().product.class
    }

    /// Whether the user already has the devices.
    pub(crate) fn is_in_use(&self) -> bool {
        self.parts.iter().all(|part| part.terms == Terms::InUse)
    }

    /// Whether the offer is made only because designs of its kind were asked for. The search looks at such offers after
    /// the others.
    pub(crate) fn is_on_request(&self) -> bool {
        self.kind.can(KindCapability::OnRequest)
    }

    /// The family of designs to which the offer belongs.
    pub(crate) fn family(&self) -> &'static str {
        let family = self.kind.build.families.iter().find(|family| (family.has)(self));
        family.expect("every design of a kind is of one of its families").name
    }

    /// Host bytes a day that the maker warrants for the devices of one copy, and for how long. With devices of several
    /// products, it is not known how much each of them takes.
    pub(crate) fn warranty(&self) -> Option<Warranty> {
        self.only()?.warranty()
    }

    /// Returns the logarithm of how many times `bytes_per_day` exceeds the warranty, at least zero.
    pub(crate) fn missed_warranty(&self, bytes_per_day: Option<f64>) -> f64 {
        let exceeded =
            bytes_per_day.zip(self.warranty()).map(|(asked, warranty)| asked / warranty.bytes_per_day.max(1.0));
        exceeded.map_or(0.0, |times| times.max(1.0).ln())
    }

    /// Devices of one copy that are of the first part's product and capacity: those in use and bought ones are two
    /// parts.
    fn count_of_first(&self) -> u32 {
        let first = self.first();
        let is_alike = |part: &&Part<'_>| (&part.product.name, part.capacity) == (&first.product.name, first.capacity);
        self.parts.iter().filter(is_alike).map(|part| part.count).sum()
    }

    /// Returns the design to simulate for `active` bytes of touched data, which fill `utilisation` of the simulated
    /// part of the drives. The more drives, the less of each is simulated.
    pub(crate) fn design(&self, active: Bytes, utilisation: Ratio) -> Result<Design, StudyError> {
        let least = PartMinimum::of_each(self.count_of_first());
        self.arrangement.design(self, TouchedData { active, utilisation, least })
    }

    /// Returns a design for a rough look: several drives together have no more simulated flash than a single drive
    /// otherwise. That is prepared as fast, and tells a far better design from a worse one.
    pub(crate) fn rough_design(&self, active: Bytes, utilisation: Ratio) -> Result<Design, StudyError> {
        let least = PartMinimum::for_looks(self.count_of_first());
        self.arrangement.design(self, TouchedData { active, utilisation, least })
    }

    /// Returns the design of rented volumes that save up unused limits for `time`; `None` for devices, and for volumes
    /// that save up as long already.
    pub(crate) fn design_saving_up(&self, time: Nanos) -> Result<Option<Design>, StudyError> {
        self.arrangement.design_saving_up(self, time)
    }
}

/// Returns a volume's size and orders in words: "200GiB-7200iops".
fn ordered(volume: &CloudVolume, between: &str, operations: &str, throughput: &str) -> String {
    let mut words = vec![format!("{} GiB", volume.size.0 >> 30)];
    words.extend(volume.operations_per_s.map(|rate| format!("{}{operations}", words::count(rate))));
    words.extend(volume.bytes_per_s.map(|rate| format!("{}{throughput}", rate >> 20)));
    words.join(between)
}

/// Makes a system of one device, or of several as a RAID-0.
pub(crate) fn striped(name: &str, device: DeviceDescription, count: u32) -> Result<System, StudyError> {
    if count == 1 {
        return System::single(name, device).map_err(StudyError::design);
    }
    let array = DeviceDescription::new(ArraySettings { stripe: STRIPE, ..ArraySettings::alike(name, count) });
    System::of([(name.to_string(), device), ("array".to_string(), array)], "array").map_err(StudyError::design)
}

pub(crate) fn settings_fault(product: &Product) -> StudyError {
    let kind = &product.kind;
    StudyError::design(DesignFault::Settings(format!("{} has no settings of kind `{kind}`", product.name)))
}
