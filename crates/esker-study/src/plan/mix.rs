//! A plan as a design: the devices of each product, and which of them holds which records.

use std::sync::Arc;

use esker_core::Bytes;
use esker_core::registry::{Entry, ParameterSource};
use esker_results::study::{Composition, Hybrid};
use esker_sim::{ArraySettings, DeviceDescription, HybridSettings, PreconditionKind, System};
use esker_tier::PolicySettings;
use esker_trace::AREA_BYTES;

use super::place::PlacedRange;
use crate::StudyError;
use crate::design::{Design, Judging, STRIPE};
use crate::endurance::{FlashOnSale, Warranty};
use crate::judging::InPlace;
use crate::models::disk_settings;
use crate::offers::{
    Arrangement, DesignFamily, DesignKind, KindEntry, Offer, Part, PartMinimum, TouchedData, as_one, drive,
    settings_fault,
};

/// The kind of such designs. Studies do not offer them.
static ENTRY: KindEntry = Entry {
    name: "mixes",
    summary: "devices of several products, each with the data that were planned for it",
    source: "Kim 2009, chapter 4 (MixPlan)",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: DesignKind {
        class: "mix",
        families: &[DesignFamily { name: "mix", has: |_| true }],
        assumption: None,
        offers: |_| Ok(Vec::new()),
    },
};

/// The placement policy: each range of addresses has its device, and nothing moves.
const POLICY: &str = "pinned";
const VOLUME: &str = "mix";

/// Where the touched data are.
#[derive(Debug)]
struct Mix {
    ranges: Vec<PlacedRange>,
    volumes: Vec<Volume>,
}

/// All devices of a type, which are one device for the data.
#[derive(Clone, Copy, Debug)]
struct Volume {
    /// Parts of the offer that follow one another: devices in use and bought ones are paid for apart.
    parts: usize,
    /// Bytes of touched data.
    touched: u64,
}

/// The name of the devices of a type as one device.
pub(super) fn volume_name(number: usize, part: &Part<'_>) -> String {
    let name = device_name(number, part);
    if part.count == 1 { name } else { format!("{name}s") }
}

/// The name of one device of a part, with which those of several begin.
pub(super) fn device_name(number: usize, part: &Part<'_>) -> String {
    format!("{}{number}", part.device_name())
}

/// The design of `volumes`, each the parts of a type, on which the touched data lie as `ranges` say.
pub(super) fn offer<'a>(volumes: &[Vec<Part<'a>>], ranges: Vec<PlacedRange>, copies: u32) -> Offer<'a> {
    let parts = volumes.concat();
    let mut volumes: Vec<Volume> = volumes.iter().map(|parts| Volume { parts: parts.len(), touched: 0 }).collect();
    ranges.iter().for_each(|range| volumes[range.part].touched += range.length);
    Offer { kind: &ENTRY, arrangement: Arc::new(Mix { ranges, volumes }), parts, copies }
}

impl Mix {
    /// Adds the simulated devices of a part that hold `touched` bytes to `devices`. Returns the name of their volume,
    /// and their flash.
    fn child(
        (number, part): (usize, &Part<'_>),
        touched: u64,
        data: TouchedData,
        devices: &mut Vec<(String, DeviceDescription)>,
    ) -> Result<(String, Option<FlashOnSale>), StudyError> {
        let name = device_name(number, part);
        let (device, flash) = match part.product.kind.as_str() {
            "ssd" => {
                let least = PartMinimum::of_each(part.count);
                let (drive, flash) = drive(part, TouchedData { active: Bytes(touched), least, ..data })?;
                let drive = drive.preconditioned(PreconditionKind::Steady, data.utilisation);
                (drive, Some(flash))
            }
            _ => {
                let settings = disk_settings(part.product, part.capacity.bytes);
                let mut settings = settings.ok_or_else(|| settings_fault(part.product))?;
                // Only the first addresses, and a little more than the data need on each.
                let room = (touched.div_ceil(part.count.into()) + AREA_BYTES).next_multiple_of(AREA_BYTES);
                settings.capacity = Some(Bytes(room.min(settings.capacity.unwrap_or(part.capacity.bytes).0)));
                (DeviceDescription::new(settings), None)
            }
        };
        devices.push((name.clone(), device));
        if part.count == 1 {
            return Ok((name, flash));
        }
        let array = ArraySettings { stripe: STRIPE, ..ArraySettings::alike(&name, part.count) };
        let several = volume_name(number, part);
        devices.push((several.clone(), DeviceDescription::new(array)));
        Ok((several, flash))
    }
}

impl Arrangement for Mix {
    fn judging(&self) -> &'static dyn Judging {
        &InPlace
    }

    /// Volumes that hold only data that are never asked for are not simulated.
    fn design(&self, offer: &Offer<'_>, data: TouchedData) -> Result<Design, StudyError> {
        let (mut devices, mut children, mut flash) = (Vec::new(), Vec::new(), None);
        let mut place = vec![0_usize; self.volumes.len()];
        let mut parts = &offer.parts[..];
        for (number, &Volume { parts: of_volume, touched }) in self.volumes.iter().enumerate() {
            let (volume, others) = parts.split_at(of_volume);
            parts = others;
            if touched > 0 {
                let (child, of_child) = Self::child((number, &as_one(volume)), touched, data, &mut devices)?;
                place[number] = children.len();
                children.push(child);
                flash = sum(flash, of_child);
            }
        }
        let target = match children.as_slice() {
            [only] => only.clone(),
            _ => {
                let range = |range: &PlacedRange| {
                    serde_json::json!({
                        "start": Bytes(range.start), "length": Bytes(range.length), "device": place[range.part],
                    })
                };
                let ranges: Vec<serde_json::Value> = self.ranges.iter().map(range).collect();
                let options = [("ranges".to_string(), serde_json::Value::Array(ranges))].into_iter().collect();
                let policy = PolicySettings::new(POLICY, options);
                let hybrid = HybridSettings {
                    extent: Bytes(AREA_BYTES),
                    capacity: Some(Bytes(self.volumes.iter().map(|volume| volume.touched).sum())),
                    ..HybridSettings::new(children.iter().map(String::as_str), policy)
                };
                devices.push((VOLUME.to_string(), DeviceDescription::new(hybrid)));
                VOLUME.to_string()
            }
        };
        Ok(Design {
            name: offer.name(),
            title: offer.title(),
            device_count: offer.devices(),
            system: System::of(devices, &target).map_err(StudyError::design)?,
            on_disks: false,
            limits: None,
            flash,
            judging: self.judging(),
        })
    }

    fn device_name(&self, offer: &Offer<'_>, part: usize) -> String {
        let mut behind = 0;
        let is_in = |volume: &Volume| {
            behind += volume.parts;
            part < behind
        };
        let number = self.volumes.iter().position(is_in).expect("every part is of a volume");
        device_name(number, &offer.parts[part])
    }

    fn in_title(&self, _: &Offer<'_>) -> Option<String> {
        None
    }

    fn composition(&self, _: &Offer<'_>) -> Composition {
        Composition::Hybrid(Hybrid {
            policy: POLICY.into(),
            extent_bytes: AREA_BYTES,
            reserve_bytes: 0,
            ..Hybrid::default()
        })
    }
}

/// The flash of two parts together.
fn sum(one: Option<FlashOnSale>, other: Option<FlashOnSale>) -> Option<FlashOnSale> {
    let (Some(one), Some(other)) = (one, other) else { return one.or(other) };
    let warranty = one.warranty.zip(other.warranty).map(|(one, other)| Warranty {
        bytes_per_day: one.bytes_per_day + other.bytes_per_day,
        years: one.years.min(other.years),
    });
    Some(FlashOnSale {
        raw: Bytes(one.raw.0 + other.raw.0),
        capacity: Bytes(one.capacity.0 + other.capacity.0),
        warranty,
        cycles_are_stated: one.cycles_are_stated && other.cycles_are_stated,
    })
}

#[cfg(test)]
mod tests {
    use esker_results::DeviceReport;
    use esker_results::study::Candidate;

    use super::*;
    use crate::offers::Terms;

    /// Flash of two sorts, of which the second is in use and bought, and disks that nobody asks for anything.
    #[test]
    fn each_type_of_a_mix_draws_power_for_its_own_work() {
        let catalogue = crate::hybrid_tests::small();
        let part = |product: usize, terms: Terms| {
            let product = &catalogue.products[product];
            Part { terms, ..Part::bought(product, product.capacities[0], 1) }
        };
        let flash = catalogue.products.iter().position(|product| product.kind == "ssd").unwrap();
        let volumes = [
            vec![part(flash, Terms::Bought)],
            vec![part(flash, Terms::InUse), part(flash, Terms::Bought)],
            vec![part(1 - flash, Terms::Bought)],
        ];
        let busy = |share: f64| DeviceReport { utilisation: [("die".to_string(), share)].into(), ..Default::default() };
        let devices = [("ssd0", 0.9), ("ssd1.0", 0.1), ("ssd1.1", 0.3)];
        let simulated = Candidate {
            devices: devices.into_iter().map(|(name, share)| (name.to_string(), busy(share))).collect(),
            ..Candidate::new("mix", "mix", "hybrid", 4)
        };
        assert_eq!(offer(&volumes, Vec::new(), 1).busy_shares(&simulated), [0.9, 0.2, 0.2, 0.0]);
    }
}
