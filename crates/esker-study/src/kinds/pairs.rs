//! Flash of one product and disks of another as one volume: what the kinds of such designs have in common.
//!
//! There are as many disks as the data need. The flash comes on top and adds no capacity.

use std::collections::BTreeMap;

use esker_catalogue::{Class, Market, Money, Product};
use esker_core::Bytes;
use esker_disk::DiskSettings;
use esker_results::study::PartRole;
use esker_sim::{ArraySettings, DeviceDescription, System};
use esker_trace::AREA_BYTES;

use crate::StudyError;
use crate::design::{Design, STRIPE};
use crate::endurance::FlashOnSale;
use crate::offers::{COUNT_MAX, Offer, OfferInputs, Part, settings_fault};

/// The most flash drives of a pair, for each copy of the data.
pub(super) const FLASH_MAX: u32 = 4;

/// What to doubt of all pairs.
pub(super) const DOUBT: &str =
    "Of its disks the first addresses are simulated, with touched data side by side: in truth their arms go further.";

/// Flash and the disks that hold the data.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) flash: Part<'a>,
    pub(super) disks: Part<'a>,
    /// What such flash costs alone, if there is enough of it for all the data: a pair is useful only if it is cheaper.
    pub(super) alone: Option<Money>,
}

impl Pair<'_> {
    /// Returns what the pair costs if nothing works.
    pub(super) fn cost(&self, inputs: &OfferInputs<'_>) -> Money {
        let cost = |part: &Part<'_>| part.cost(inputs.copies(), 0.0, &inputs.settings.running).total;
        cost(&self.flash) + cost(&self.disks)
    }

    /// Returns true if the pair costs less than its flash alone.
    pub(super) fn is_cheaper_than_flash(&self, inputs: &OfferInputs<'_>) -> bool {
        self.alone.is_none_or(|alone| self.cost(inputs) < alone)
    }

    /// Names the pair, for people.
    pub(super) fn title(&self, copies: u32) -> String {
        [&self.flash, &self.disks].map(|part| part.title_of_all(copies)).join(" + ")
    }
}

/// Returns every pair of products that may be worth its price, whatever it costs.
pub(super) fn pairs<'a>(inputs: &OfferInputs<'a>) -> Result<Vec<Pair<'a>>, StudyError> {
    let device = |product: &&Product| {
        product.market == Market::OnPremises
            && (product.class != Class::Consumer || inputs.settings.consumer)
            && product.may_be_advised()
    };
    let disks = disks(inputs.products().iter().filter(device), inputs)?;
    let mut pairs = Vec::new();
    for product in inputs.products().iter().filter(device).filter(|product| product.kind == "ssd") {
        for &on_sale in &product.capacities {
            let flash = |count| Part { name: "flash", role: PartRole::OnTop, ..Part::bought(product, on_sale, count) };
            // This many drives hold all the data without a disk. A pair with that many is more expensive and no faster.
            let enough = inputs.capacity().div_ceil(on_sale.bytes.0.max(1)).max(1);
            let running = &inputs.settings.running;
            let alone = u32::try_from(enough).ok().map(|count| flash(count).cost(inputs.copies(), 0.0, running).total);
            for count in (1..=FLASH_MAX).filter(|&count| u64::from(count) < enough) {
                pairs.extend(disks.iter().map(|&disks| Pair { flash: flash(count), disks, alone }));
            }
        }
    }
    Ok(pairs)
}

/// Returns the disks that may hold the data: for each product, the capacity with which the disks cost least; among
/// products that are simulated alike, the cheapest.
///
/// Leaving out the others loses no answer. Two pairs with the same flash, whose disks are simulated alike, answer
/// alike, and their flash lasts equally long. Both keep the budgets or neither does, so the more expensive one never
/// wins.
fn disks<'a>(
    products: impl Iterator<Item = &'a Product>,
    inputs: &OfferInputs<'_>,
) -> Result<Vec<Part<'a>>, StudyError> {
    let cost = |disks: &Part<'_>| disks.cost(inputs.copies(), 0.0, &inputs.settings.running).total;
    let mut alike: BTreeMap<String, Part<'a>> = BTreeMap::new();
    for product in products.filter(|product| product.kind == "hdd") {
        let holding = product.capacities.iter().filter_map(|&on_sale| {
            let fewest = inputs.capacity().div_ceil(on_sale.bytes.0.max(1)).max(1);
            let count = u32::try_from(fewest).ok().filter(|&count| count <= COUNT_MAX)?;
            Some(Part { name: "disks", ..Part::bought(product, on_sale, count) })
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

fn disk_settings(disks: &Part<'_>) -> Result<DiskSettings, StudyError> {
    crate::models::disk_settings(disks.product, disks.capacity.bytes).ok_or_else(|| settings_fault(disks.product))
}

/// Returns the size of the touched data in whole areas, as they lie side by side on simulated disks.
pub(super) fn touched(active: Bytes) -> u64 {
    active.0.next_multiple_of(AREA_BYTES)
}

/// Makes the design of `offer` from its simulated devices. Requests go to `volume`; `flash` is what is sold of it.
pub(super) fn design(
    offer: &Offer<'_>,
    devices: Vec<(String, DeviceDescription)>,
    volume: &str,
    flash: FlashOnSale,
) -> Result<Design, StudyError> {
    Ok(Design {
        name: offer.name(),
        title: offer.title(),
        device_count: offer.devices(),
        system: System::of(devices, volume).map_err(StudyError::design)?,
        on_disks: false,
        limits: None,
        flash: Some(flash),
        judging: offer.arrangement.judging(),
    })
}

/// Adds the simulated devices of a pair to `devices`: `drive` as often as there is flash, and disks with just enough of
/// their first addresses for `touched` bytes. Returns the names of both.
pub(super) fn devices(
    [flash, disks]: [&Part<'_>; 2],
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
    Ok([child("ssd", "ssds", drive, flash.count), child("disk", "disks", DeviceDescription::new(disk), disks.count)])
}
