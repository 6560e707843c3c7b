//! Drives or disks of one product, alone or striped: as many as the data need, and more.

use std::sync::Arc;

use esker_catalogue::Capacity;
use esker_core::registry::{Entry, ParameterSource};
use esker_sim::{DeviceDescription, PreconditionKind};

use crate::StudyError;
use crate::design::{Design, Judging};
use crate::judging::AtAnyTime;
use crate::models::disk_settings;
use crate::offers::{
    Arrangement, COUNT_MAX, DesignFamily, DesignKind, InUse, KindEntry, Offer, OfferInputs, Part, Terms, TouchedData,
    as_one, drive, settings_fault, striped,
};

pub(super) const ENTRY: KindEntry = Entry {
    name: "devices",
    summary: "drives or disks of one product, alone or striped",
    source: "Patterson, Gibson and Katz, SIGMOD 1988 (RAID-0)",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: DesignKind {
        class: "devices",
        families: &[
            DesignFamily { name: "all-flash", has: is_flash },
            DesignFamily { name: "all-disk", has: |offer| !is_flash(offer) },
        ],
        assumption: None,
        offers,
    },
};

fn is_flash(offer: &Offer<'_>) -> bool {
    offer.first().product.kind == "ssd"
}

/// Devices of one product that share each copy of the data.
#[derive(Debug)]
struct Devices;

/// Returns the devices that the user has, then every device on sale in every number that holds the data.
fn offers<'a>(inputs: &OfferInputs<'a>) -> Result<Vec<Offer<'a>>, StudyError> {
    let (settings, copies) = (inputs.settings, inputs.copies());
    let mut offers = Vec::new();
    for one in InUse::together(&settings.in_use) {
        let product = one.product(&settings.catalogue, copies)?;
        let capacity = Capacity { bytes: one.capacity, dies: product.dies_at(one.capacity) };
        let part = Part::bought(product, capacity, one.count / copies);
        offers.push(offer(Part { terms: Terms::InUse, ..part }, copies));
    }
    for product in inputs.products().iter().filter(|product| !product.is_cloud_volume()) {
        for &on_sale in &product.capacities {
            let fewest = inputs.capacity().div_ceil(on_sale.bytes.0.max(1)).max(1);
            let Ok(fewest) = u32::try_from(fewest) else { continue };
            let counts = fewest..=fewest.max(COUNT_MAX);
            offers.extend(counts.map(|count| offer(Part::bought(product, on_sale, count), copies)));
        }
    }
    Ok(offers)
}

/// Returns an offer of devices of one product for each of `copies` copies of the data.
pub(crate) fn offer(part: Part<'_>, copies: u32) -> Offer<'_> {
    offer_of_parts(vec![part], copies)
}

/// The same of several parts, all of one product and capacity: those in use and bought ones are paid for apart.
pub(crate) fn offer_of_parts(parts: Vec<Part<'_>>, copies: u32) -> Offer<'_> {
    Offer { kind: &ENTRY, arrangement: Arc::new(Devices), parts, copies }
}

impl Arrangement for Devices {
    fn judging(&self) -> &'static dyn Judging {
        &AtAnyTime
    }

    fn design(&self, offer: &Offer<'_>, data: TouchedData) -> Result<Design, StudyError> {
        let part = as_one(&offer.parts);
        let (system, flash) = match part.product.kind.as_str() {
            "ssd" => {
                let (drive, flash) = drive(&part, data)?;
                let drive = drive.preconditioned(PreconditionKind::Steady, data.utilisation);
                (striped(part.device_name(), drive, part.count)?, Some(flash))
            }
            _ => {
                let settings = disk_settings(part.product, part.capacity.bytes);
                let settings = settings.ok_or_else(|| settings_fault(part.product))?;
                (striped(part.device_name(), DeviceDescription::new(settings), part.count)?, None)
            }
        };
        Ok(Design {
            name: offer.name(),
            title: offer.title(),
            device_count: offer.devices(),
            system,
            on_disks: flash.is_none(),
            limits: None,
            flash,
            judging: self.judging(),
        })
    }
}
